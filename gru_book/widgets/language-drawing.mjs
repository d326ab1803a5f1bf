// @ts-check
// The language model, drawn as SVG text, and said: the text and what made it so, the units over it, the cell of one unit.
import GATE from "./gate.json";
import NET from "./language-net.json";
import { across, box, dyed, escaped, frame, index, label, num, path, signedRow, unescaped } from "./draw.mjs";
import { clamp } from "./gru-math.mjs";
import { fill, fixed, percent } from "./explorer.mjs";
import { drawCell, unitCell } from "./gate-cell.mjs";
import { asksWhy, candidates, change, decisive, places, readTo, theNet, TOKENS } from "./language-run.mjs";
import { patternOver } from "./text-units.mjs";
/** @import { Point } from "./draw.mjs" */
/** @import { Layout, State, Words } from "./language.mjs" */
/** @import { Heat, Pulls, Run, Scene, Work } from "./language-run.mjs" */

/** A character as it is drawn. @param {string} c @param {string} space how a space is */
const shown = (c, space) => (c === "\n" ? "↵" : c === " " ? space : escaped(c));

/** A character in a sentence. @param {string} c @param {Words} words */
const nameOf = (c, words) =>
  c === " " ? words.gap : c === "\n" ? words.break : fill(words.character, { c });

/** What a pattern is called. @param {State} s @param {Words} words */
const nameOfPattern = ({ pattern, find }, words) =>
  pattern !== "find" ? words[/** @type {"name"} */ (pattern)]
    : find ? fill(words.findEvery, { find: short(find) }) : words.findNothing;

/** At most so many characters of a text, its spaces shown. @param {string} text */
export const short = (text) => {
  const characters = [...text].map((c) => unescaped(shown(c, "␣")));
  return characters.slice(0, 20).join("") + (characters.length > 20 ? "…" : "");
};

/** Where the text of a view stands. @param {State} s @param {Layout} L */
const textOf = ({ view }, L) => L.text[view === "draw" ? "why" : view];

/** How high the drawing of a view is. @param {Scene} scene */
export function heightOf({ s, L }) {
  const { top, row } = textOf(s, L);
  return top + (L.rows - 1) * row + (s.view === "units" ? 27 : 8);
}

/** The drawing of the text. @param {Scene} it @param {Words} words */
export function draw(it, words) {
  return (it.pulls ? drawLens(it, it.pulls, words) + drawList(it, words) : "") + drawText(it, words);
}

/** The last characters read, large, how much the prediction hangs on each, and the one that is asked about. */
/** @param {Scene} it @param {Pulls} pulls @param {Words} words */
function drawLens({ s: { at }, L, run, characters, of }, { p, lengths }, words) {
  const { count, step, floor, high } = L.lens;
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

/** @param {Scene} it @param {Words} words */
function drawText(it, words) {
  const { s, L, run, characters, where, of } = it;
  const { top, row: pitch } = textOf(s, L);
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
    if (s.view === "units") out.push(drawUnit(it, inRow.map((i) => ({ i, x: x(i) })), top + row * pitch + 17));
  }
  out.push(path("ex-strike", here.filter((i) => struck(run, i)).map((i) => `M${num(x(i))} ${num(y(i) - 4.5)}h${L.step}`)));
  if (s.view === "units") {
    const marks = patternOver(s.pattern, characters, s.find);
    if (s.pattern !== "column") {
      out.push(path("ex-over", here.filter((i) => marks[i]).map((i) => `M${num(x(i))} ${num(y(i) - 16)}h${L.step}`)));
    }
    const v = `<tspan class="ex-${s.show}">${fixed(run.steps[s.at - 1][s.show][s.unit], 2)}</tspan>`;
    const below = fill(words.below, { name: words[s.show], symbol: dyed(s.show, index(s.show, s.unit)), v });
    const above = s.pattern === "column" || L.slim ? [] : [fill(words.above, { pattern: escapedAll(nameOfPattern(s, words)) })];
    out.push(label("ex-small", L.left, top - 24, "start", [below, ...above].join(" ")));
  } else {
    const press = s.view === "cell" ? fill(words.pressCell, { unit: s.unit }) : words.press;
    out.push(label("ex-small", L.left, top - 22, "start", press));
  }
  const one = asksWhy(s) ? s.at : s.at - 1;
  out.push(frame(x(one) - 0.5, y(one) - 16, L.step + 1, s.view === "units" ? 43 : 22));
  return out.join("");
}

/**
 * What one unit holds, or a gate of it lets through, below a row of the text.
 *
 * @param {Scene} it @param {{ i: number, x: number }[]} row its characters @param {number} level
 */
function drawUnit({ s, L, run }, row, level) {
  /** @type {Point[]} */
  const bars = row.filter(({ i }) => i < run.steps.length).map(({ i, x }) => [x + 1.2, run.steps[i][s.show][s.unit]]);
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

/** What may come next, a bar each. @param {Scene} it @param {Words} words */
function drawList({ s, L, run }, words) {
  const { x, y, first, pitch, count, right, long } = L.list;
  const { order, own, there, next } = candidates(run, s.at, count);
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
/** @param {Scene} it @param {Pulls} pulls @param {Words} words */
function asked({ s, run, characters }, { p, without, lengths }, words) {
  const { at } = s;
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
  return parts.join(" ");
}

/** What is said of what is drawn; nothing while the units are not ranked. @param {Scene} it @param {Words} words */
export function sentence(it, words) {
  if (it.pulls) return asked(it, it.pulls, words);
  if (it.s.view === "cell") return openedSays(it, words);
  return it.heat && found(it.heat, it.s, words);
}

// ------------------------------------------------------------------------------------------------ all units

/**
 * Every unit over the text: the best in rows of their own, then all of them, a line each, in the order of the ranking.
 *
 * @param {HTMLCanvasElement} canvas @param {Heat} heat @param {Layout} layout
 */
export function paintHeat(canvas, { states, ranked: { order }, best }, { heat: L }) {
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
    context.drawImage(all, 0, order.indexOf(unit), all.width, 1, 0, L.top + k * L.pitch, L.W, L.high);
  });
}

/** The unit whose row is at a height of the strip. @param {number} y @param {Heat} heat @param {Layout} layout */
export function unitAt(y, { ranked: { order }, best }, { heat: L }) {
  if (y < L.all && best.length) return best[clamp(Math.floor((y - L.top) / L.pitch), 0, best.length - 1)];
  return order[clamp(Math.floor((y - L.all) / L.row), 0, order.length - 1)];
}

/**
 * What lies over that: the pattern, the unit that is shown, and the framed character.
 *
 * @param {Heat} heat @param {State} s @param {Layout} layout @param {Words} words
 */
export function drawHeat({ marks, ranked: { order }, best }, s, { heat: L, slim }, words) {
  const wide = L.W / marks.length;
  const most = Math.max(...marks, 1);
  const place = L.all + order.indexOf(s.unit) * L.row;
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

/** How well the best unit follows the pattern. @param {Heat} heat @param {State} s @param {Words} words */
function found({ ranked: { r, chance }, best: [unit] }, s, words) {
  const pattern = nameOfPattern(s, words);
  return unit === undefined ? fill(words.foundNone, { pattern })
    : fill(words.found, { unit, pattern, r: fixed(r[unit], 2), chance: fixed(chance, 2) });
}

/** A button beside the row of each of the best units. @param {Heat} heat @param {State} s @param {Layout} layout @param {Words} words */
export function bestHTML({ ranked: { r }, best }, s, { heat: { H, top, pitch } }, words) {
  const place = (/** @type {number} */ k) => num((100 * (top + k * pitch)) / H);
  return best.map((unit, k) =>
    `<button type="button" data-unit="${unit}" data-lm-suppress-shortcuts="true" aria-pressed="${unit === s.unit}" ` +
    `style="top: ${place(k)}%">` +
    `${fill(words.unitButton, { unit, r: fixed(r[unit], 2) })}</button>`).join("");
}

// ------------------------------------------------------------------------------------------------ one unit

/** The step of the unit at the framed character. @param {Scene} it */
function unitOf({ s: { at, unit }, run }) {
  const h_prev = run.steps[at - 2]?.h ?? new Float64Array(theNet().H);
  return unitCell(theNet(), { ...run.steps[at - 1], token: run.tokens[at - 1], h_prev }, unit, GATE.start);
}

/** The cell of the unit at the framed character, and its size. @param {Scene} it @param {Words} words */
export function drawOpened(it, words) {
  const { state, cell } = unitOf(it);
  const L = GATE.layout[it.L.slim ? "slim" : "wide"];
  const marks = { x: fill(words.x, { c: shown(it.characters[it.s.at - 1], "␣") }), past: `× ${index("W", "hn")}` };
  return { L, content: drawCell(state, cell, L, GATE.words, marks) };
}

/** @param {Scene} it @param {Words} words */
function openedSays(it, words) {
  const { state, cell } = unitOf(it);
  const term = (/** @type {number} */ value) => (value < 0 ? `(${fixed(value)})` : fixed(value));
  return fill(words.sayUnit, {
    unit: it.s.unit, c: nameOf(it.characters[it.s.at - 1], words), x: fixed(state.W_xn), b: term(state.b_n), past: term(cell.past),
    n: fixed(cell.n), keep: percent(cell.keep), h_prev: fixed(state.h_prev), write: percent(cell.write), h: fixed(cell.h),
  });
}

// ------------------------------------------------------------------------------------------------ where a press falls

/**
 * The character at a place of the drawing, from 1; 0 if there is none.
 *
 * @param {Work} work @param {{ x: number, y: number }} point @param {boolean} large whether the large letters count
 */
export function characterAt({ s, L, run }, { x, y }, large) {
  const { count, step, floor } = L.lens;
  const { top, row: pitch } = textOf(s, L);
  if (asksWhy(s) && y > floor - 50 && y < floor + 36) { // the large letters
    const i = Math.floor((x - L.left) / step) - count + readTo(run, s, L);
    return large && x < L.left + count * step && i >= 0 ? i + 1 : 0;
  }
  const row = Math.floor((y - top + 17) / pitch);
  const column = Math.floor((x - L.left) / L.step);
  return 1 + places(run.tokens, L).slice(0, run.steps.length).findIndex(([r, c]) => r === row && c === column);
}
