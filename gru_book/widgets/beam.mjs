// @ts-check
// The beam, step by step: what is kept, dropped and finished (chapter 19). It searches a network that writes a
// day out, or a small tree of three letters.
import BEAM from "./beam.json";
import NET from "./beam-net.json";
import { bar, escaped, label, num, path, show } from "./draw.mjs";
import { clamp } from "./gru-math.mjs";
import { beamSearch, greedyDecode, seq2seqFrom, seq2seqRead, seq2seqStart, seq2seqStep } from "./search.mjs";
import {
  choice, enliven, fieldset, fill, fixed, picture, presetRow, pressed, query, readLink, remark, remarkPlace, saying,
  setUp, showInputs, sideBySide, slider,
} from "./explorer.mjs";
/** @import { Vector } from "./gru-math.mjs" */
/** @import { Begun, DecoderState, Found, Seq2seq, Step } from "./search.mjs" */
/** @import { Asked, Stage } from "./explorer.mjs" */

/**
 * What is searched, the day to be written out, the width of the beam, the power of the length that a score is divided
 * by, and the step that is looked at; beyond the last it is the last.
 *
 * @typedef {typeof BEAM.start} State
 */
/** What may be searched: its steps from a state, its tokens as text, the one that ends a text, the most tokens. */
/** @typedef {{ key: string, step: Step<Path>, first: Path, start: number, end: number | null, most: number, tokens: string[] }} Tree */
/** A beginning, and the decoder's state there. @typedef {{ path: string, inner?: DecoderState }} Path */
/** One step: what is kept, the likeliest that are dropped, greedy search's own if it is, the best that are finished. */
/** @typedef {{ live: Begun[], fell: Begun[], lost?: Begun, done: Found[] }} Moment */
/** @typedef {{ tree: Tree, moments: Moment[], found: Found[], greedy: { tokens: number[], logProb: number } }} Search */
/** @typedef {typeof BEAM.layout.wide} Layout */
/** @typedef {typeof BEAM.words} Words */

/** @type {Record<string, Partial<State>>} */
const PRESETS = BEAM.presets;
const END = NET.target.length;
/** @type {("width" | "step")[]} */
const WHOLE = ["width", "step"];

/** What a link sets: tree, day, any number, or preset=name. @param {unknown} _get @param {Asked} asked */
function fromLink(_get, asked) {
  const choices = { tree: ["dates", "letters"] };
  const patch = readLink(asked, { presets: PRESETS, ranges: BEAM.limits, whole: WHOLE, choices });
  return { ...patch, ...(asked.day !== undefined && { day: [...asked.day].slice(0, BEAM.longest).join("") }) };
}

// ------------------------------------------------------------------------------------------------ what is searched

/** @type {Seq2seq | undefined} */
let net; // its numbers are read when the first day is

/** The stored net: the upper three bytes of 32-bit floats, in base 64. */
function theNet() {
  const data = atob(NET.data), bytes = new Uint8Array((4 * data.length) / 3);
  for (let i = 0; i < data.length; i++) bytes[4 * Math.floor(i / 3) + (i % 3) + 1] = data.charCodeAt(i);
  const [V_source, V_target] = [NET.source.length + 2, NET.target.length + 2];
  net ??= seq2seqFrom(new Float32Array(bytes.buffer), { V_source, V_target, E: NET.E, H: NET.H });
  return net;
}

/** What the net reads of a text. @param {string} text */
const legible = (text) => [...text].filter((c) => NET.source.includes(c)).join("");

/**
 * A step that remembers: what follows a beginning is computed once.
 *
 * @param {Step<Path>} step @returns {Step<Path>}
 */
function remembering(step) {
  /** @type {Map<string, [Vector, Path]>} */
  const known = new Map();
  return (before, token) => {
    const key = `${before.path},${token}`;
    const found = known.get(key) ?? step(before, token);
    known.set(key, found);
    return found;
  };
}

/** What the net may write for a day. @param {string} day @returns {Tree} */
function datesTree(day) {
  const p = theNet();
  const next = seq2seqStep(p);
  const start = NET.target.length + 1;
  return {
    key: day, start, end: END, most: BEAM.limits.step[1], tokens: [...NET.target],
    first: { path: "", inner: seq2seqStart(seq2seqRead([...day].map((c) => NET.source.indexOf(c)), p)) },
    step: remembering(({ path: before, inner }, token) => {
      if (!inner) throw new Error("No state of the decoder.");
      const [logProbs, after] = next(inner, token);
      return [logProbs, { path: `${before},${token}`, inner: after }];
    }),
  };
}

/** The tree of three letters, which is given. @returns {Tree} */
function lettersTree() {
  const { tokens, depth, next } = BEAM.letters;
  const table = /** @type {Record<string, number[]>} */ (next);
  return {
    key: "letters", start: -1, end: null, most: depth, tokens, first: { path: "" },
    step: ({ path: before }, token) => {
      const text = before + (tokens[token] ?? "");
      return [table[text].map(Math.log), { path: text }];
    },
  };
}

/** Whether one begins with all of the other. @param {number[]} tokens @param {number[]} others */
const beginsWith = (tokens, others) => others.every((token, i) => tokens[i] === token);

/**
 * Every step of a beam.
 *
 * @param {Tree} tree @param {number} width @param {number} alpha
 * @returns {Search}
 */
function search(tree, width, alpha) {
  const greedy = greedyDecode(tree.step, tree.first, tree.start, { end: tree.end, maxSteps: tree.most });
  /** @type {Moment[]} */
  const moments = [];
  const found = beamSearch(tree.step, tree.first, tree.start, {
    width, end: tree.end, maxSteps: tree.most, alpha,
    watch({ candidates, live, done }) {
      const ended = (/** @type {Begun} */ { tokens }) => tokens[tokens.length - 1] === tree.end || tokens.length === tree.most;
      const on = new Set(live.map(({ tokens }) => tokens));
      const fell = candidates.filter((one, rank) => (ended(one) ? rank >= width : !on.has(one.tokens)));
      const lost = fell.find(({ tokens }) => beginsWith(greedy.tokens, tokens));
      moments.push({ live: live.filter((one) => !ended(one)), fell: fell.slice(0, BEAM.fallen), lost, done });
    },
  });
  return { tree, moments, found, greedy };
}

/** A beginning as text, without the token that ends it. @param {number[]} tokens @param {Tree} tree */
const textOf = (tokens, { tokens: signs, end }) => tokens.filter((k) => k !== end).map((k) => signs[k] ?? "?").join("");

/** A probability: two digits, in per cent. @param {number} logProb */
function chance(logProb) {
  const p = 100 * Math.exp(logProb);
  if (p < 0.0001) return "<0.0001\u00a0%";
  return `${p >= 9.95 ? p.toFixed(0) : p.toPrecision(2)}\u00a0%`;
}

// ------------------------------------------------------------------------------------------------ the drawing

/**
 * One step as lists, and how high they are: that depends on the width of the beam alone.
 *
 * @param {State} s the step in it is one that there is @param {Search} c @param {Layout} L @param {Words} words
 */
function draw(s, c, L, words) {
  const { live, fell, lost, done } = c.moments[s.step - 1];
  const fallen = lost && !fell.includes(lost) ? [...fell.slice(0, -1), lost] : fell;
  const scored = s.alpha > 0;
  const most = Math.exp(Math.max(...[...live, ...fallen, ...done].map(({ logProb }) => logProb)));
  /** @type {string[]} */
  const out = [];

  const ring = (/** @type {number} */ x, /** @type {number} */ y) =>
    `<circle class="ex-greedy" cx="${num(x + 6)}" cy="${num(y - 4.5)}" r="4.5"/>`;
  const square = (/** @type {number} */ x, /** @type {number} */ y) => bar("ex-won", x + 2, y - 8.5, 8, 8);
  /** @type {(place: [x: number, right: number, y: number], one: Begun | Found, kind: "go" | "fall" | "done") => void} */
  const row = ([x, right, y], one, kind) => {
    const signs = [...textOf(one.tokens, c.tree)].map((sign) => (sign === " " ? "\u00a0" : escaped(sign)));
    const over = one.tokens[one.tokens.length - 1] === c.tree.end;
    const size = signs.length > L.many ? "ex-text ex-tight" : "ex-text";
    const last = over ? "" : signs.pop() ?? "";
    const inside = over && !signs.length ? `<tspan class="ex-none">${words.nothing}</tspan>`
      : signs.join("") + (last && `<tspan class="ex-last">${last}</tspan>`) +
        (over && kind === "fall" ? `<tspan class="ex-none">${words.mark}</tspan>` : "");
    const p = chance(one.logProb) + (scored && "score" in one ? `\u2002${fixed(one.score, 2)}` : "");
    out.push(bar("ex-chance", x + L.text, y + 6, (right - x - L.text) * (Math.exp(one.logProb) / most), 3.5));
    out.push(label(`${size} ex-${kind}`, x + L.text, y, "start", inside), label(`ex-part ex-${kind}`, right, y, "end", p));
    if (beginsWith(c.greedy.tokens, one.tokens)) {
      out.push(ring(x, y));
    } else if (kind === "fall") out.push(path("ex-cut", `M${num(x + 3)} ${num(y - 8)}l7 7m0 -7l-7 7`));
    if (kind === "done" && one === done[0]) out.push(square(x, y));
  };
  /**
   * A list under its name; returns where the next may begin.
   *
   * @type {(kind: "go" | "fall" | "done", list: (Begun | Found)[], heads: string[],
   *   at: { k: number, y: number, room: number }) => number}
   */
  const section = (kind, list, [name, unit, none], { k, y, room }) => {
    const [x, right] = L.columns[k];
    out.push(label("ex-small", x, y, "start", name));
    if (list.length) out.push(label("ex-small", right, y, "end", unit));
    else out.push(label("ex-text ex-none", x + L.text, y + L.row, "start", none));
    list.forEach((one, i) => row([x, right, y + (i + 1) * L.row], one, kind));
    return y + (room + 1) * L.row + L.gap;
  };

  const T = c.moments.length;
  const going = fill(s.step === T ? words.left : words.go, { t: s.step, T });
  const fall = section("go", live, [going, words.P, words.noneGo], { k: 0, y: L.top, room: s.width });
  const below = section("fall", fallen, [words.fall, words.P, words.noneFall], { k: 0, y: fall, room: BEAM.fallen });
  const unit = scored ? `${words.whole}\u2002${words.score}` : words.whole;
  const finished = fill(words.done, { width: s.width });
  const end = section("done", done, [finished, unit, words.noneDone], { k: 1, y: L.slim ? below : L.top, room: s.width });
  const [x] = L.columns[1];
  out.push(ring(x, end), label("ex-small", x + L.text, end, "start", words.greedy));
  out.push(square(x, end + L.row), label("ex-small", x + L.text, end + L.row, "start", words.won));
  return { H: Math.max(below, end + 2 * L.row) - L.gap, content: out.join("") };
}

/** @param {State} s @param {Search} c @param {Words} words */
function sentence(s, c, words) {
  const name = (/** @type {{ tokens: number[] }} */ { tokens }) => {
    const text = textOf(tokens, c.tree);
    return text ? fill(words.quoted, { text }) : words.theEmpty;
  };
  const falling = (/** @type {Begun} */ one) =>
    name(one) + (one.tokens.length > 1 && one.tokens[one.tokens.length - 1] === c.tree.end ? words.ended : "");
  const T = c.moments.length;
  const greedy = { greedy: name(c.greedy), q: chance(c.greedy.logProb) };
  if (s.step === T) {
    const [best] = c.found;
    const verdict = name(best) === name(c.greedy) ? "same" : best.logProb > c.greedy.logProb ? "higher" : "lower";
    return fill(words.end, { width: s.width, T, best: name(best), p: chance(best.logProb) }) +
      (s.alpha > 0 ? fill(words.endScore, { score: fixed(best.score, 2) }) : "") + fill(words[verdict], greedy);
  }
  const { live, fell, lost, done } = c.moments[s.step - 1];
  const falls = lost ?? fell[0];
  return fill(words.say, { t: s.step, T, width: s.width, best: name(live[0]), p: chance(live[0].logProb) }) +
    (falls ? fill(lost ? words.sayGreedy : words.sayFell, { fell: falling(falls), q: chance(falls.logProb) }) : "") +
    (done.length ? fill(words.sayDone, { done: name(done[0]), r: chance(done[0].logProb) }) : "");
}

/** What of the typed day the net cannot use, in words. @param {string} day @param {Words} words */
function complaint(day, words) {
  const unknown = [...new Set([...day].filter((c) => !NET.source.includes(c)))];
  const text = legible(day);
  const [first, last] = BEAM.years;
  const [, year] = text.match(/^(\d{4})-\d\d-\d\d$/) ?? [];
  const date = new Date(`${text}T00:00:00Z`);
  const real = year && !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
  return [
    unknown.length ? fill(words.unknown, { letters: unknown.map((c) => fill(words.quoted, { text: c })).join(", ") }) : "",
    !text ? words.empty : !real ? fill(words.noDay, { text })
      : Number(year) < first || Number(year) > last ? fill(words.strangeYear, { first, last, year }) : "",
  ].filter(Boolean).join(" ");
}

// ------------------------------------------------------------------------------------------------ the page

/** @param {string} id @param {Words} words */
function pageHTML(id, words) {
  /** @type {(key: "width" | "alpha" | "step", symbol: string, name: string, step: number) => string} */
  const one = (key, symbol, name, step) =>
    slider({ id, key, range: BEAM.limits[key], step, symbol, name, role: "a" });
  const by = (/** @type {number} */ step, /** @type {string} */ text) => `<button type="button" data-by="${step}">${text}</button>`;
  const options = [["dates", words.dates], ["letters", words.letters]];
  return (
    `<div class="ex-typed"><label for="${id}-day">${words.day}</label>` +
    `<input type="text" id="${id}-day" maxlength="${BEAM.longest}" autocomplete="off" spellcheck="false" ` +
    `aria-describedby="${id}-day-strange">${remarkPlace(`${id}-day`)}</div>` +
    presetRow(PRESETS, words) +
    sideBySide(
      picture(id, "ex-lists", words.diagram) + saying(id),
      `<div class="ex-main ex-walk">${one("step", "<i>t</i>", words.step, 1)}${by(-1, words.back)}${by(1, words.next)}</div>` +
      `<div class="ex-main ex-two">${fieldset(words.beam, one("width", "<i>k</i>", words.width, 1))}` +
      `${fieldset(`${words.norm}<sup>α</sup>`, one("alpha", "<i>α</i>", words.alpha, 0.05))}</div>` +
      `<div class="ex-switches">${choice({ id, key: "tree", legend: words.tree, options })}</div>`,
    )
  );
}

/** @param {Stage} stage */
function render({ model, el }) {
  const { words } = BEAM;
  const voice = setUp("beam", words, el, pageHTML);
  const drawing = query(el, ".ex-lists", SVGSVGElement);
  const field = query(el, "input[type=text]", HTMLInputElement);
  const typed = query(el, ".ex-typed", HTMLElement);
  const walk = query(el, "[data-key=step]", HTMLInputElement);
  /** @type {Tree | undefined} */
  let tree; // the last, with what it has computed
  /** @type {{ key: string, found: Search } | undefined} */
  let last;

  /** The search that a state asks for; none if there is nothing to read. @param {State} s */
  function searched(s) {
    const key = s.tree === "letters" ? "letters" : legible(s.day);
    if (!key) return;
    if (tree?.key !== key) tree = s.tree === "letters" ? lettersTree() : datesTree(key);
    const whole = JSON.stringify([key, s.width, s.alpha]);
    if (last?.key !== whole) last = { key: whole, found: search(tree, s.width, s.alpha) };
    return last.found;
  }

  /** @param {State} s @param {boolean} slim */
  function paint(s, slim) {
    const L = BEAM.layout[slim ? "slim" : "wide"];
    const shown = { ...s, width: Math.round(s.width) };
    const c = searched(shown);
    const T = c?.moments.length ?? BEAM.limits.step[1];
    shown.step = clamp(Math.round(s.step), 1, T);
    walk.max = String(T);
    const { H, content } = c ? draw(shown, c, L, words) : { H: 40, content: label("ex-text ex-none", 0, L.top, "start", words.unread) };
    show(drawing, { W: L.W, H }, content);
    showInputs(el, shown, (v, key) => (key === "alpha" ? fixed(v, 2) : key === "step" ? `${v} / ${T}` : String(v)));
    typed.hidden = s.tree === "letters"; // they are no day's
    if (field.value !== s.day) field.value = s.day;
    remark(field, complaint(s.day, words));
    voice.say(c ? sentence(shown, c, words) : words.unread);
  }

  /** @param {MouseEvent} event */
  function onClick(event) {
    const { by } = pressed(event, "button")?.dataset ?? {};
    if (by) life.commit({ step: clamp(Number(walk.value) + Number(by), 1, Number(walk.max)) });
  }

  const life = enliven({
    model, el, start: BEAM.start, paint, voice, preset: (name) => PRESETS[name], hear: { click: onClick },
  });
  field.addEventListener("input", () => life.commit({ day: field.value }));
  return life.wire();
}

export default { render, fromLink };
