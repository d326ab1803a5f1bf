// @ts-check
// The language model: a trained GRU writes on from what the reader typed. For any character it shows what made the net
// expect it; one press away, how it was drawn, which units follow what, and the cell of one unit (chapter 16).
import GATE from "./gate.json";
import LANGUAGE from "./language.json";
import NET from "./language-net.json";
import { across, box, dyed, escaped, frame, index, label, num, path, show, signedRow, unescaped } from "./draw.mjs";
import { clamp, languageBackward, languageStep, pick, readLanguageNet, tempered, uniform } from "./gru-math.mjs";
import {
  choice, enliven, fill, fixed, grip, note, percent, picture, pointIn, presetRow, pressed, query, readLink, remark,
  remarkPlace, saying, setUp, showInputs, sideBySide, slider,
} from "./explorer.mjs";
import { drawCell, unitCell } from "./gate-cell.mjs";
import { byChance, columnsFrom, correlations, patternOver } from "./text-units.mjs";
/** @import { LanguageNet, LanguageStep, Vector } from "./gru-math.mjs" */
/** @import { Asked, Stage } from "./explorer.mjs" */

/** @typedef {"why" | "draw" | "units" | "cell"} View */
/**
 * @typedef {object} State
 * @property {string} prefix what the reader typed
 * @property {number} at so many characters are read before the prediction that is looked at
 * @property {View} view
 * @property {"without" | "gradient"} measure of how much the prediction hangs on a character
 * @property {number} temperature
 * @property {number} seed
 * @property {string} pattern that units may follow; "find": every place of `find`
 * @property {string} find
 * @property {"r" | "z" | "h"} show what the bars below the text are
 * @property {number} unit of which unit
 */
/**
 * A text that is being written: its tokens, and a step for each of them that was read. The first were `typed`, as they
 * were typed.
 *
 * @typedef {{ prefix: string, temperature: number, seed: number, typed: string[], tokens: number[],
 *   steps: LanguageStep[] }} Run
 */
/** The probability without each of the last characters; and, where it is asked for, the gradient's length at each. */
/** @typedef {{ p: number, without: { i: number, p: number }[], lengths?: Vector }} Pulls */
/** How all units agree with a pattern: the best at the top. @typedef {{ r: Vector, order: number[], chance: number }} Ranking */
/** All units over a text, the marks of a pattern on it, and the units that agree best. */
/** @typedef {{ key: string, states: Float64Array[], marks: Vector, ranked: Ranking, best: number[] }} Heat */
/** @typedef {typeof LANGUAGE.layout.wide} Layout */
/** @typedef {typeof LANGUAGE.words.en} Words */

const LENGTH = LANGUAGE.limits.at[1]; // characters in all
const SLICE = 6; // ms of writing in a frame; the rest is for drawing
const START = /** @type {State} */ (LANGUAGE.start);
/** @type {State["show"][]} */
const SHOWS = ["r", "z", "h"];
/** @type {View[]} */
const VIEWS = ["why", "draw", "units", "cell"];
/** @type {State["measure"][]} */
const MEASURES = ["without", "gradient"];
const KNOWN = ["quotes", "brackets", "word", "space", "column"];
const TOKENS = new Map([...NET.vocabulary].map((c, k) => [c, k]));
/** @type {("seed" | "unit" | "at")[]} */
const WHOLE = ["seed", "unit", "at"];
const PRESETS = /** @type {Record<string, Partial<State>>} */ (LANGUAGE.presets);

/** @type {LanguageNet | undefined} */
let net; // its numbers are read when the first character is
const theNet = () => (net ??= readLanguageNet(NET));

/** At most as many characters as may be typed. @param {string} text */
const cut = (text) => [...text].slice(0, LANGUAGE.longest).join("");

/** What a link sets: prefix, find, pattern, show, view, measure, any number, or preset=name. @param {unknown} _get @param {Asked} asked */
function fromLink(_get, asked) {
  const choices = { show: SHOWS, pattern: [...KNOWN, "find"], view: VIEWS, measure: MEASURES };
  const patch = readLink(asked, { presets: PRESETS, ranges: LANGUAGE.limits, whole: WHOLE, choices });
  if (asked.prefix !== undefined) patch.prefix = cut(asked.prefix);
  if (asked.find !== undefined) patch.find = cut(asked.find);
  return patch;
}

// ------------------------------------------------------------------------------------------------ the writing

/**
 * A text begun; what it begins with in common with the old one is not read again.
 *
 * @param {State} state @param {Run} [old]
 */
function begin({ prefix, temperature, seed }, old) {
  const typed = [...(prefix || "\n")];
  const tokens = typed.map((c) => TOKENS.get(c) ?? 0);
  const before = old ?? { tokens: [], steps: [] };
  let same = 0;
  while (same < Math.min(tokens.length, before.steps.length) && before.tokens[same] === tokens[same]) same++;
  /** @type {Run} */
  const run = { prefix, temperature, seed, typed, tokens, steps: before.steps.slice(0, same) };
  if (same === typed.length) drawNext(run);
  return run;
}

/** Draw the token after the last one that was read. @param {Run} run */
function drawNext(run) {
  const last = run.steps.length - 1;
  const p = tempered(run.steps[last].a, run.temperature, 0);
  run.tokens.push(pick(p, uniform(run.seed, run.steps.length - run.typed.length)));
}

/**
 * Read, and beyond the prefix draw, until the text is full or the time (ms) is up; the prefix and one character at
 * least. Returns whether it is full.
 *
 * @param {Run} run @param {number} time
 */
function writeOn(run, time) {
  const end = performance.now() + time;
  while (run.steps.length < LENGTH) {
    if (run.steps.length > run.typed.length && performance.now() > end) return false;
    const t = run.steps.length;
    const step = languageStep(run.tokens[t], run.steps.at(-1)?.h ?? new Float64Array(theNet().H), theNet());
    run.steps.push(step);
    if (run.steps.length === run.tokens.length) drawNext(run);
  }
  return true;
}

// ------------------------------------------------------------------------------------------------ what made it so

/**
 * What the model's own probability of the character after the first `at` hangs on: the length of the gradient of its
 * logarithm with respect to each of these characters.
 *
 * @param {Run} run @param {number} at
 */
function gradientLengths({ tokens, steps }, at) {
  const m = theNet();
  const p = tempered(steps[at - 1].a, 1, 0);
  const dh = new Float64Array(m.H);
  for (let i = 0; i < m.H; i++) {
    for (let k = 0; k < m.V; k++) dh[i] += (Number(k === tokens[at]) - p[k]) * m["out.W"][i * m.V + k];
  }
  return languageBackward(steps.slice(0, at), dh, m).map((dx) => Math.hypot(...dx));
}

/**
 * The same probability once one character is not read, for each of the last `count`.
 *
 * @param {Run} run @param {number} at @param {number} count
 */
function withoutEach({ tokens, steps }, at, count) {
  const m = theNet();
  return Array.from({ length: Math.min(at, count) }, (_, k) => {
    const i = Math.max(0, at - count) + k;
    /** @type {{ h: ArrayLike<number>, a: ArrayLike<number> }} */
    let step = i ? steps[i - 1] : { h: new Float64Array(m.H), a: m["out.b"] };
    for (let t = i + 1; t < at; t++) step = languageStep(tokens[t], step.h, m);
    return { i, p: tempered(step.a, 1, 0)[tokens[at]] };
  });
}

/** How much one left out changes the probability p with all. @param {{ p: number }} left @param {number} p */
const change = (left, p) => Math.abs(left.p - p);

/** The one whose leaving out changes most. @param {{ i: number, p: number }[]} without @param {number} p with all */
const decisive = (without, p) => without.reduce((a, b) => (change(b, p) > change(a, p) ? b : a));

/** The units in the order in which they agree with a pattern. @param {ArrayLike<number>[]} states @param {Vector} pattern */
function ranking(states, pattern) {
  const columns = columnsFrom(states);
  const r = correlations(columns, pattern);
  const order = r.map((_, j) => j).sort((i, j) => r[j] - r[i] || i - j);
  return { r, order, chance: byChance(columns, pattern) };
}

/** Those that agree best, or do the opposite best. @param {Ranking} ranking */
const bestOf = ({ r, order }) =>
  [...order].sort((i, j) => Math.abs(r[j]) - Math.abs(r[i])).slice(0, LANGUAGE.best).map((j) => j + 1);

// ------------------------------------------------------------------------------------------------ the drawing

/** The characters of the text. @param {Run} run */
const charactersOf = ({ tokens, typed }) => tokens.map((k, i) => typed[i] ?? NET.vocabulary[k]);

/** A character as it is drawn. @param {string} c @param {string} space how a space is */
const shown = (c, space) => (c === "\n" ? "↵" : c === " " ? space : escaped(c));

/** A character in a sentence. @param {string} c @param {Words} words */
const nameOf = (c, words) =>
  c === '"' ? words.mark : c === " " ? words.gap : c === "\n" ? words.break : fill(words.character, { c });

/**
 * The row and the column of each character, as many as there is room for.
 *
 * @param {number[]} tokens @param {Layout} L
 */
function places(tokens, L) {
  /** @type {[row: number, column: number][]} */
  const found = [];
  const line = TOKENS.get("\n");
  for (let i = 0, row = 0, column = 0; i < tokens.length && row < L.rows; i++) {
    found.push([row, column++]);
    if (column === L.columns || (tokens[i] === line && tokens[i + 1] !== line)) [row, column] = [row + 1, 0];
  }
  return found;
}

/** How many characters are read and have room. @param {Run} run @param {Layout} L */
const roomFor = (run, L) => Math.min(run.steps.length, places(run.tokens, L).length);

/** Whether a view asks of a character why it came; the others show the step that read it. @param {State} s */
const asksWhy = ({ view }) => view === "why" || view === "draw";

/** So many characters are read: as many as asked for, or as there is room for. @param {Run} run @param {State} s @param {Layout} L */
function readTo(run, s, L) {
  const last = asksWhy(s) ? Math.min(run.steps.length, places(run.tokens, L).length - 1) : roomFor(run, L);
  return clamp(s.at, 1, Math.max(1, last));
}

/**
 * The tokens that are likeliest next, by the model's own order; what stands there is always among them.
 *
 * @param {Run} run @param {number} at @param {number} count
 */
function candidates(run, at, count) {
  const { a } = run.steps[at - 1];
  const [own, there] = [tempered(a, 1, 0), tempered(a, run.temperature, 0)];
  const order = own.map((_, k) => k).sort((i, j) => own[j] - own[i] || i - j).slice(0, count);
  const next = run.tokens[at];
  if (!order.includes(next)) order[order.length - 1] = next;
  return { order, own, there, next };
}

/** What a pattern is called. @param {State} s @param {Words} words */
const nameOfPattern = ({ pattern, find }, words) =>
  pattern !== "find" ? words[/** @type {"quotes"} */ (pattern)]
    : find ? fill(words.findEvery, { find: short(find) }) : words.findNothing;

/** At most so many characters of a text, its spaces shown. @param {string} text */
const short = (text) => {
  const characters = [...text].map((c) => unescaped(shown(c, "␣")));
  return characters.slice(0, 20).join("") + (characters.length > 20 ? "…" : "");
};

/** Where the text of a view stands. @param {State} s @param {Layout} L */
const textOf = ({ view }, L) => L.text[view === "draw" ? "why" : view];

/** How high the drawing of a view is. @param {State} s @param {Layout} L */
function heightOf(s, L) {
  const { top, row } = textOf(s, L);
  return top + (L.rows - 1) * row + (s.view === "units" ? 27 : 8);
}

/**
 * How much the prediction hangs on each character, by the measure that is asked for; 1 is the tallest bar.
 *
 * @param {Pulls} pulls @param {State} s @param {number} at
 */
function weights({ p, without, lengths }, { measure }, at) {
  if (measure === "gradient" && lengths) {
    const top = Math.max(...lengths) || 1;
    return lengths.map((v) => v / top);
  }
  const top = Math.max(p, ...without.map((left) => change(left, p)));
  const all = new Float64Array(at);
  for (const left of without) all[left.i] = change(left, p) / top;
  return [...all];
}

/** @param {State} s @param {Run} run @param {Pulls | undefined} pulls @param {Layout} L @param {Words} words */
function draw(s, run, pulls, L, words) {
  if (!pulls) return drawText(s, run, [], L, words);
  const of = weights(pulls, s, readTo(run, s, L));
  return drawLens(run, s, pulls, of, L, words) + drawList(run, s, L, words) + drawText(s, run, of, L, words);
}

/** The last characters read, large, how much the prediction hangs on each, and the one that is asked about. */
/** @param {Run} run @param {State} s @param {Pulls} pulls @param {Vector} of @param {Layout} L @param {Words} words */
function drawLens(run, s, { p, lengths }, of, L, words) {
  const { count, step, floor, high } = L.lens;
  const at = readTo(run, s, L);
  const characters = charactersOf(run);
  const x = (/** @type {number} */ i) => L.left + (count - at + i) * step;
  const here = characters.map((_, i) => i).slice(Math.max(0, at - count), at);
  const end = x(at);
  const key = lengths ? fill(words.red, { top: fixed(Math.max(...lengths), 2) }) : fill(L.slim ? words.leftSlim : words.left, { p: percent(p) });
  return [
    label("ex-why", L.left, 14, "start", fill(L.slim ? words.whySlim : words.why, { c: escapedAll(nameOf(characters[at], words)) })),
    label(lengths ? "ex-small ex-red" : "ex-small", L.left, 33, "start", key),
    path(lengths ? "ex-fill-g" : "ex-chance", here.map((i) => box(x(i) + 1, floor - high * of[i], step - 2, high * of[i]))),
    across(x(here[0]), floor + 0.5, end),
    ...[...here, at].map((i) =>
      label(i < run.typed.length ? "ex-big ex-given" : "ex-big", x(i) + step / 2, floor + 28, "middle", shown(characters[i], "␣"))),
    path("ex-strike", here.filter((i) => struck(run, i)).map((i) => `M${num(x(i))} ${floor + 20}h${step}`)),
    frame(end + 1, floor + 2, step, 34),
  ].join("");
}

/** Whether a typed character is one that the net does not know. @param {Run} run @param {number} i */
const struck = ({ typed }, i) => i < typed.length && !TOKENS.has(typed[i]);

/** @param {State} s @param {Run} run @param {Vector} of @param {Layout} L @param {Words} words */
function drawText(s, run, of, L, words) {
  const at = readTo(run, s, L);
  const { top, row: pitch } = textOf(s, L);
  const characters = charactersOf(run);
  const where = places(run.tokens, L);
  const x = (/** @type {number} */ i) => L.left + where[i][1] * L.step;
  const y = (/** @type {number} */ i) => top + where[i][0] * pitch;
  const here = where.map((_, i) => i);
  const pulled = of.map((v, i) => ({ i, v: 18 * v })).filter(({ v }) => v > 0.2);
  const out = [path(s.measure === "gradient" ? "ex-pull ex-pull-g" : "ex-pull", pulled.map(({ i, v }) => box(x(i), y(i) + 5 - v, L.step, v)))];
  for (let row = 0; row < L.rows; row++) {
    const inRow = here.filter((i) => where[i][0] === row);
    if (!inRow.length) break;
    for (const { cls, part } of [
      { cls: "ex-char ex-given", part: inRow.filter((i) => i < run.typed.length) },
      { cls: "ex-char", part: inRow.filter((i) => i >= run.typed.length) },
    ]) {
      if (!part.length) continue;
      const xs = part.map((i) => num(x(i) + L.step / 2)).join(" ");
      const text = part.map((i) => shown(characters[i], "\u00a0")).join("");
      out.push(`<text class="${cls}" x="${xs}" y="${num(y(part[0]))}" text-anchor="middle">${text}</text>`);
    }
    if (s.view === "units") out.push(drawUnit(s, run, inRow, x, top + row * pitch + 17, L));
  }
  out.push(path("ex-strike", here.filter((i) => struck(run, i)).map((i) => `M${num(x(i))} ${num(y(i) - 4.5)}h${L.step}`)));
  if (s.view === "units") {
    const marks = patternOver(s.pattern, characters, s.find);
    if (s.pattern !== "column") {
      out.push(path("ex-over", here.filter((i) => marks[i]).map((i) => `M${num(x(i))} ${num(y(i) - 16)}h${L.step}`)));
    }
    const v = `<tspan class="ex-${s.show}">${fixed(run.steps[at - 1][s.show][s.unit - 1], 2)}</tspan>`;
    const below = fill(words.below, { name: words[s.show], symbol: dyed(s.show, index(s.show, s.unit)), v });
    const above = s.pattern === "column" || L.slim ? [] : [fill(words.above, { pattern: escapedAll(nameOfPattern(s, words)) })];
    out.push(label("ex-small", L.left, top - 24, "start", [below, ...above].join(words.between)));
  } else {
    const press = s.view === "cell" ? fill(words.pressCell, { unit: s.unit }) : words.press;
    out.push(label("ex-small", L.left, top - 22, "start", press));
  }
  const one = asksWhy(s) ? at : at - 1;
  out.push(frame(x(one) - 0.5, y(one) - 16, L.step + 1, s.view === "units" ? 43 : 22));
  return out.join("");
}

/**
 * What one unit holds, or a gate of it lets through, below a row of the text.
 *
 * @param {State} s @param {Run} run @param {number[]} inRow @param {(i: number) => number} x @param {number} level
 * @param {Layout} L
 */
function drawUnit(s, run, inRow, x, level, L) {
  const read = roomFor(run, L);
  /** @type {[x: number, v: number][]} */
  const bars = inRow.filter((i) => i < read).map((i) => [x(i) + 1.2, run.steps[i][s.show][s.unit - 1]]);
  if (!bars.length) return "";
  if (s.show === "h") {
    return across(L.left, level, bars[bars.length - 1][0] - 1.2 + L.step, "ex-rule") + signedRow(bars, level, L.step - 2.4, 8, 0.6);
  }
  return (
    path("ex-tank", bars.map(([left]) => box(left, level - 8, L.step - 2.4, 16))) +
    path(`ex-fill-${s.show}`, bars.map(([left, v]) => box(left, level + 8 - 16 * v, L.step - 2.4, 16 * v)))
  );
}

/** @param {string} text */
const escapedAll = (text) => [...text].map(escaped).join("");

/** What may come next, a bar each. @param {Run} run @param {State} s @param {Layout} L @param {Words} words */
function drawList(run, s, L, words) {
  const { x, y, first, pitch, count, right, long } = L.list;
  const { order, own, there, next } = candidates(run, readTo(run, s, L), count);
  const out = [label("ex-why", x, y, "start", words.next)];
  if (s.view === "draw") {
    const drawn = fill(words.drawn, { T: fixed(run.temperature, 2) });
    out.push(L.slim ? label("ex-small", right, y, "end", drawn) : label("ex-small", x, y + 19, "start", drawn));
  }
  const left = x + 30;
  order.forEach((k, i) => {
    const middle = first + i * pitch;
    out.push(path("ex-chance", box(left, middle - 8, long * own[k], 16)));
    if (s.view === "draw") out.push(path("ex-own", box(left, middle - 11, long * there[k], 22)));
    out.push(label("ex-next", x + 12, middle + 6, "middle", shown(NET.vocabulary[k], "␣")));
    out.push(label(k === next ? "ex-odds ex-lead" : "ex-odds", right, middle + 5, "end", percent(own[k])));
    if (k === next) out.push(frame(x + 1, middle - 13, 22, 26));
  });
  out.push(path("ex-axis", `M${left} ${first - 14}v${(order.length - 1) * pitch + 28}`));
  return out.join("");
}

/** What stands below the drawing of a character that is asked about. */
/** @param {State} s @param {Run} run @param {Pulls} pulls @param {Layout} L @param {Words} words */
function sentence(s, run, { p, without, lengths }, L, words) {
  const at = readTo(run, s, L);
  const characters = charactersOf(run);
  const tail = characters.slice(Math.max(0, at - 16), at).map((c) => unescaped(shown(c, " "))).join("");
  const name = (/** @type {number} */ i) => nameOf(characters[i], words);
  const parts = [fill(words.say, { tail: `“${at > 16 ? "…" : ""}${tail}”`, next: name(at), p: percent(p) })];
  const other = decisive(without, p);
  const last = { d: name(other.i), back: at - other.i, q: percent(other.p) };
  if (s.view === "draw") {
    const { there, next } = candidates(run, at, 1);
    parts.push(fill(words.sayDraw, { T: fixed(run.temperature, 2), q: percent(there[next]) }));
  } else if (!lengths) parts.push(fill(words.sayLeft, last));
  else {
    const most = lengths.indexOf(Math.max(...lengths));
    const left = without.find(({ i }) => i === most);
    const its = { ...last, c: name(most), back: at - most, p: left && percent(left.p) };
    const agree = left && change(left, p) >= 0.8 * change(other, p);
    parts.push(fill(!left ? words.sayMost : agree ? words.saySame : words.sayOther, its));
  }
  return parts.join(words.between);
}

// ------------------------------------------------------------------------------------------------ all units

/**
 * Every unit over the text: the best in rows of their own, then all of them, a line each, in the order of the ranking.
 *
 * @param {HTMLCanvasElement} canvas @param {Heat} heat @param {Layout} layout
 */
function paintHeat(canvas, { states, ranked: { order }, best }, { heat: L }) {
  const context = canvas.getContext("2d");
  const all = new OffscreenCanvas(states.length, order.length);
  const inner = all.getContext("2d");
  if (!context || !inner) return;
  const style = getComputedStyle(canvas);
  const [up, down] = ["--gru-h", "--gru-muted"].map((name) => Number.parseInt(style.getPropertyValue(name).trim().slice(1), 16));
  const image = inner.createImageData(all.width, all.height);
  order.forEach((j, row) => {
    states.forEach((h, i) => {
      const colour = h[j] < 0 ? down : up;
      const alpha = Math.round(255 * Math.abs(h[j]));
      image.data.set([colour >> 16, (colour >> 8) & 255, colour & 255, alpha], 4 * (row * states.length + i));
    });
  });
  inner.putImageData(image, 0, 0);
  [canvas.width, canvas.height] = [2 * L.W, 2 * L.H];
  context.imageSmoothingEnabled = false;
  context.scale(2, 2);
  context.drawImage(all, 0, L.all, L.W, order.length * L.row);
  best.forEach((unit, k) => {
    context.drawImage(all, 0, order.indexOf(unit - 1), all.width, 1, 0, L.top + k * L.pitch, L.W, L.high);
  });
}

/** The unit whose row is at a height of the strip. @param {number} y @param {Heat} heat @param {Layout} layout */
function unitAt(y, { ranked: { order }, best }, { heat: L }) {
  if (y < L.all && best.length) return best[clamp(Math.floor((y - L.top) / L.pitch), 0, best.length - 1)];
  return order[clamp(Math.floor((y - L.all) / L.row), 0, order.length - 1)] + 1;
}

/**
 * What lies over that: the pattern, the unit that is shown, and the framed character.
 *
 * @param {Heat} heat @param {State} s @param {Layout} layout @param {Words} words
 */
function drawHeat({ marks, ranked: { order }, best }, s, { heat: L, slim }, words) {
  const wide = L.W / marks.length;
  const most = Math.max(...marks, 1);
  const place = L.all + order.indexOf(s.unit - 1) * L.row;
  const row = best.indexOf(s.unit);
  return [
    label("ex-small", 0, 11, "start", escapedAll(nameOfPattern(s, words))),
    path("ex-mark", marks.map((v, i) => (v ? box(i * wide, L.top - 6 - (16 * v) / most, wide, (16 * v) / most) : ""))),
    across(0, L.top - 5.5, L.W),
    label("ex-small", 0, L.all - 8, "start", slim ? words.heatSlim : words.heatTitle),
    path("ex-ctl", `M${num((s.at - 0.5) * wide)} ${L.top - 4}V${L.H}`),
    row >= 0 ? frame(-1, L.top + row * L.pitch - 1, L.W + 2, L.high + 2) : "",
    `<rect class="ex-halo" x="-1" y="${num(place - 2.5)}" width="${L.W + 2}" height="6"/>`,
    frame(-1, place - 2.5, L.W + 2, 6),
  ].join("");
}

// ------------------------------------------------------------------------------------------------ the page

/** @param {string} id @param {Words} words */
function pageHTML(id, words) {
  /** @type {(key: keyof typeof LANGUAGE.limits, symbol: string, name: string, step: number, views: string) => string} */
  const one = (key, symbol, name, step, views) =>
    `<div data-only="${views}">${slider({ id, key, range: LANGUAGE.limits[key], step, symbol, name, role: "a" })}</div>`;
  /** @type {(key: string, text: string, hint: string) => string} */
  const field = (key, text, hint) =>
    `<label for="${id}-${key}">${text}</label><input type="text" id="${id}-${key}" data-text="${key}" ` +
    `maxlength="${LANGUAGE.longest}" spellcheck="false" autocomplete="off" autocapitalize="off" ${hint} ` +
    `aria-describedby="${id}-${key}-strange">${remarkPlace(`${id}-${key}`)}`;
  /** @type {(key: string, legend: string, options: string[][]) => string} */
  const switches = (key, legend, options) => choice({ id, key, legend, options });
  const patterns = KNOWN.map((name) =>
    `<button type="button" data-pattern="${name}" aria-pressed="false">${words[/** @type {"quotes"} */ (name)]}</button>`);
  return (
    `<div class="ex-typed">${field("prefix", `${words.prefix} <small>${words.newline}</small>`, "")}</div>` +
    presetRow(PRESETS, words) +
    sideBySide(
      picture(id, "ex-lines", words.diagram) +
      `<div class="ex-heat" data-only="units"><canvas aria-hidden="true"></canvas>` +
      `<svg class="ex-rows" role="img" aria-label="${words.heat}"></svg>` +
      `<div class="ex-best" role="group" aria-label="${words.units}"></div></div>` +
      `<div data-only="cell"><svg class="ex-cell" role="img" aria-label="${words.cell}"></svg></div>` + saying(id),
      `<div class="ex-switches">${switches("view", words.view, VIEWS.map((name) => [name, words[`view_${name}`]]))}</div>` +
      `<div class="ex-switches" data-only="why">` +
      `${switches("measure", words.measure, MEASURES.map((name) => [name, words[`by_${name}`]]))}</div>` +
      `<div class="ex-patterns" data-only="units" role="group" aria-label="${words.follow}">` +
      `<span aria-hidden="true">${words.follow}</span>${patterns.join("")}` +
      `<span class="ex-find">${field("find", words.find, `placeholder="${words.findHint}"`)}</span></div>` +
      `<div class="ex-main">${one("at", "", words.at, 1, VIEWS.join(" "))}` +
      `${one("temperature", "<i>τ</i>", words.temperature, 0.05, "draw")}${one("seed", "", words.seed, 1, "draw")}` +
      `${one("unit", "", words.unit, 1, "units cell")}</div>` +
      `<div class="ex-switches" data-only="units">` +
      `${switches("show", words.show, SHOWS.map((name) => [name, `<i>${name}</i>\u2002${words[name]}`]))}</div>`,
    ) +
    `<details><summary>${words.about}</summary>${note(fill(words.note, { bits: fixed(NET.bits["8 bits"], 2) }))}</details>`
  );
}

/** @param {Stage} stage */
function render(stage) {
  const { model, el } = stage;
  const { words, voice } = setUp("language", LANGUAGE.words, stage, pageHTML);
  const [lines, rows, cell] = [".ex-lines", ".ex-rows", ".ex-cell"].map((one) => query(el, one, SVGSVGElement));
  const [prefix, find] = ["prefix", "find"].map((one) => query(el, `[data-text=${one}]`, HTMLInputElement));
  const best = query(el, ".ex-best", HTMLElement);
  const canvas = query(el, "canvas", HTMLCanvasElement);
  let layout = LANGUAGE.layout.wide;
  /** @type {{ run: Run, state: State } | undefined} */
  let now; // the text, and the state that is drawn
  /** @type {Map<string, Pulls>} */
  let pulls = new Map(); // of this text, by measure and place
  /** @type {Heat | undefined} */
  let heat; // of this text and pattern
  let drawn = "";
  let narrow = false; // so many characters are large
  let over = 0; // what `at` would be if the character under the pointer were pressed
  let asked = 0; // the frame asked for

  /** @param {Run} run @param {State} s */
  function pullsAt(run, { at, measure }) {
    const key = `${measure} ${at}`;
    const known = pulls.get(key) ?? {
      p: tempered(run.steps[at - 1].a, 1, 0)[run.tokens[at]],
      without: withoutEach(run, at, layout.lens.count),
      ...(measure === "gradient" && { lengths: gradientLengths(run, at) }),
    };
    pulls.set(key, known);
    return known;
  }

  /** The text, what the view shows of it, and the sentence. @param {Run} run @param {State} state */
  function scene(run, state) {
    const s = { ...state, at: readTo(run, { ...state, at: over || state.at }, layout) };
    const its = asksWhy(s) ? pullsAt(run, s) : undefined;
    const content = draw(s, run, its, layout, words);
    if (content !== drawn) show(lines, { W: layout.W, H: heightOf(s, layout) }, content);
    drawn = content;
    if (its) voice.say(sentence(s, run, its, layout, words));
    else if (s.view === "cell") voice.say(opened(run, s));
    else if (heat) {
      show(rows, layout.heat, drawHeat(heat, s, layout, words));
      voice.say(found(heat, s));
    }
  }

  /** @param {Run} run @param {State} state @param {number} time */
  function drawing(run, state, time) {
    const full = writeOn(run, time);
    if (full && state.view === "units") rank(run, state);
    scene(run, state);
    lines.dataset.written = String(run.steps.length);
    asked = full ? 0 : requestAnimationFrame(() => drawing(run, state, SLICE));
  }

  /** The units in the order in which they agree with the pattern. @param {Run} run @param {State} s */
  function rank(run, s) {
    const read = roomFor(run, layout);
    const key = JSON.stringify([run.tokens, read, s.pattern, s.find, layout.slim]);
    if (heat?.key !== key) {
      const states = run.steps.slice(0, read).map(({ h }) => h);
      const marks = patternOver(s.pattern, charactersOf(run), s.find).slice(0, read);
      const ranked = ranking(states, marks);
      heat = { key, states, marks, ranked, best: marks.every((v) => v === marks[0]) ? [] : bestOf(ranked) };
      paintHeat(canvas, heat, layout);
    }
    const { ranked: { r }, marks, best: units } = heat;
    const { H, top, pitch } = layout.heat;
    const place = (/** @type {number} */ k) => num((100 * (top + k * pitch)) / H);
    best.innerHTML = units.map((unit, k) =>
      `<button type="button" data-unit="${unit}" data-lm-suppress-shortcuts="true" aria-pressed="${unit === s.unit}" ` +
      `style="top: ${place(k)}%">` +
      `${fill(words.unitButton, { unit, r: fixed(r[unit - 1], 2) })}</button>`).join("");
    const lost = s.pattern === "find" && s.find && !marks.includes(1);
    remark(find, lost ? fill(words.notThere, { find: short(s.find) }) : "");
  }

  /** How well the best unit follows the pattern. @param {Heat} heat @param {State} s */
  function found({ ranked: { r, chance }, best: [unit] }, s) {
    const pattern = nameOfPattern(s, words);
    return unit === undefined ? fill(words.foundNone, { pattern })
      : fill(words.found, { unit, pattern, r: fixed(r[unit - 1], 2), chance: fixed(chance, 2) });
  }

  /** Draw the cell of the unit at the framed character, and say what it does. @param {Run} run @param {State} s */
  function opened(run, s) {
    const c = nameOf(charactersOf(run)[s.at - 1], words);
    const h_prev = run.steps[s.at - 2]?.h ?? new Float64Array(theNet().H);
    const step = { ...run.steps[s.at - 1], token: run.tokens[s.at - 1], h_prev };
    const it = unitCell(theNet(), step, s.unit - 1, GATE.start);
    const L = GATE.layout[layout.slim ? "slim" : "wide"];
    const text = GATE.words[words === LANGUAGE.words.zh ? "zh" : "en"];
    const [x, past] = [fill(words.x, { c: shown(charactersOf(run)[s.at - 1], "␣") }), `× ${index("W", "hn")}`];
    show(cell, L, drawCell(it.state, it.cell, L, text, { x, past }));
    const term = (/** @type {number} */ v) => (v < 0 ? `(${fixed(v)})` : fixed(v));
    return fill(words.sayUnit, {
      unit: s.unit, c, x: fixed(it.state.W_xn), b: term(it.state.b_n), past: term(it.cell.past), n: fixed(it.cell.n),
      keep: percent(it.cell.keep), h_prev: fixed(it.state.h_prev), write: percent(it.cell.write), h: fixed(it.cell.h),
    });
  }

  /** What is wrong with what was typed, in words. @param {string} text */
  function complaint(text) {
    const unknown = [...new Set([...text].filter((c) => !TOKENS.has(c)))].map((c) => `“${c}”`).join(words.and);
    if (unknown) return fill(words.unknown, { letters: unknown });
    if (!text) return words.empty;
    return [...text].length >= LANGUAGE.longest ? fill(words.full, { longest: LANGUAGE.longest }) : "";
  }

  /** @param {State} s @param {boolean} slim */
  function paint(s, slim) {
    layout = LANGUAGE.layout[slim ? "slim" : "wide"];
    const first = !now;
    const state = { ...s };
    for (const key of WHOLE) state[key] = Math.round(s[key]);
    const old = now?.run;
    const { temperature, seed } = state;
    const run = old && old.prefix === state.prefix && old.temperature === temperature && old.seed === seed
      ? old : begin(state, old);
    if (run !== old || slim !== narrow) pulls = new Map();
    narrow = slim;
    now = { run, state };
    showInputs(el, state, (v, key) => (key === "temperature" ? fixed(v, 2) : String(v)));
    for (const [input, text] of /** @type {[HTMLInputElement, string][]} */ ([[prefix, state.prefix], [find, state.find]])) {
      const visible = text.replaceAll("\n", "↵");
      if (input.value !== visible) input.value = visible;
    }
    for (const button of el.querySelectorAll("[data-pattern]")) {
      button.setAttribute("aria-pressed", String(button instanceof HTMLElement && button.dataset.pattern === state.pattern));
    }
    for (const part of el.querySelectorAll("[data-only]")) {
      if (part instanceof HTMLElement) part.hidden = !part.dataset.only?.split(" ").includes(state.view);
    }
    remark(prefix, complaint(state.prefix));
    cancelAnimationFrame(asked);
    if (first) asked = requestAnimationFrame(() => drawing(run, state, SLICE)); // the page comes first
    else drawing(run, state, SLICE);
  }

  /** A pattern, and the unit that agrees best with it. @param {Partial<State>} patch */
  function follow(patch) {
    if (!now) return;
    const s = { ...now.state, ...patch };
    const read = roomFor(now.run, layout);
    const marks = patternOver(s.pattern, charactersOf(now.run), s.find).slice(0, read);
    const [unit] = bestOf(ranking(now.run.steps.slice(0, read).map(({ h }) => h), marks));
    life.commit(marks.every((v) => v === marks[0]) ? patch : { ...patch, unit, show: "h" });
  }

  /** @param {MouseEvent} event */
  function onClick(event) {
    const { pattern, unit, preset, again } = pressed(event, "button")?.dataset ?? {};
    if (preset) life.commit(PRESETS[preset]); // at once: on its way a draw would be another text at every step
    if (again !== undefined) life.commit(first);
    if (pattern) follow({ pattern });
    if (unit) life.commit({ unit: Number(unit), show: "h" });
  }
  const life = enliven({
    model, el, start: START, paint, voice, preset: (name) => PRESETS[name], hear: { click: onClick },
  });

  const first = { ...life.state };
  const typedIn = (/** @type {HTMLInputElement} */ input) => cut(input.value.replaceAll("↵", "\n"));
  prefix.addEventListener("input", () => {
    over = 0;
    const text = typedIn(prefix);
    life.commit({ prefix: text, at: Math.max(1, [...text].length) });
  });
  find.addEventListener("input", () => follow({ pattern: "find", find: typedIn(find) }));

  /** The character at a place of the drawing, from 1; 0 if there is none. @param {PointerEvent} event */
  function characterAt(event) {
    if (!now) return 0;
    const { x, y } = pointIn(lines, event);
    const { count, step, floor } = layout.lens;
    const { top, row: pitch } = textOf(now.state, layout);
    if (asksWhy(now.state) && y > floor - 50 && y < floor + 36) { // the large letters
      const i = Math.floor((x - layout.left) / step) - count + readTo(now.run, now.state, layout);
      return event.type === "pointerdown" && x < layout.left + count * step && i >= 0 ? i + 1 : 0;
    }
    const row = Math.floor((y - top + 17) / pitch);
    const column = Math.floor((x - layout.left) / layout.step);
    return 1 + places(now.run.tokens, layout).slice(0, roomFor(now.run, layout)).findIndex(([r, c]) => r === row && c === column);
  }
  /** What `at` is for a character: it has been read, or it is the one that is asked about. @param {number} place */
  const atOf = (place) => (place && asksWhy(life.state) ? place - 1 : place);
  /** @param {number} at */
  function lookAt(at) {
    if (at === over || !now) return;
    over = at;
    scene(now.run, now.state);
  }
  grip(lines, {
    press(event) {
      const place = characterAt(event);
      const at = atOf(place);
      over = 0;
      if (!at) return null;
      life.commit({ at });
      return place;
    },
    drag(event, from) {
      const to = characterAt(event);
      if (!now || !to) return;
      if (now.state.view !== "units") {
        if (atOf(to)) life.commit({ at: atOf(to) });
      } else if (to !== from || life.state.pattern === "find") {
        const text = cut(charactersOf(now.run).slice(Math.min(from, to) - 1, Math.max(from, to)).join(""));
        if (text !== life.state.find || life.state.pattern !== "find") follow({ pattern: "find", find: text });
      }
    },
  });
  lines.addEventListener("pointermove", (event) => {
    if (event.pointerType === "mouse" && !event.buttons) lookAt(atOf(characterAt(event)));
  });
  lines.addEventListener("pointerleave", () => lookAt(0));

  /** @param {PointerEvent} event */
  function pressRow(event) {
    if (!heat) return null;
    life.commit({ unit: unitAt(pointIn(rows, event).y, heat, layout), show: "h" });
    return true;
  }
  grip(rows, { press: pressRow, drag: pressRow });

  const dye = new MutationObserver(() => { if (heat) paintHeat(canvas, heat, layout); });
  dye.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  dye.observe(document.body, { attributeFilter: ["data-jp-theme-light"] });
  const stop = life.wire();
  return () => {
    cancelAnimationFrame(asked);
    dye.disconnect();
    stop();
  };
}

export default { render, fromLink };
