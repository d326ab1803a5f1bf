// @ts-check
// Subtraction: a small net subtracts two numbers of up to 64 bits, bit by bit (chapter 7).
import SUBTRACTION from "./subtraction.json";
import NETS from "./subtraction-nets.json";
import { across, box, columnsOf, cross, frame, hatch, label, path, rowName, runsOf, show, signedRow, tick } from "./draw.mjs";
import { clamp, gruStep, matvec, sigmoid } from "./gru-math.mjs";
import {
  choice, columnAt, enliven, fieldset, fill, fixed, grip, note, percent, picture, pointIn, presetRow, query, readLink,
  remark, remarkPlace, saying, setUp, showInputs, sideBySide, slider,
} from "./explorer.mjs";
/** @import { Gru, GruBiases, GruMatrices, Matrix, Vector } from "./gru-math.mjs" */
/** @import { Asked, Stage } from "./explorer.mjs" */

/**
 * @typedef {object} State
 * @property {string} a decimal digits
 * @property {string} b decimal digits
 * @property {Kind} net
 * @property {number} at the framed place
 */
/** How a net came about: trained with four or eight units, or set by hand. @typedef {"four" | "eight" | "hand"} Kind */
/**
 * A GRU that reads pairs of bits, and its linear layer.
 *
 * @typedef {GruMatrices & GruBiases & { out: { W: Matrix, b: Vector } }} Subtractor
 */
/** @typedef {ReturnType<typeof compute>} Computed */
/** @typedef {typeof SUBTRACTION.layout.wide} Layout */
/** @typedef {typeof SUBTRACTION.words} Words */

const MOST = 64;
const RANGE = [1, MOST];
const START = /** @type {State} */ (SUBTRACTION.start);
const KINDS = /** @type {Kind[]} */ (Object.keys(NETS.nets));
const SEEDS = /** @type {{ [K in Kind]?: number }} */ (NETS.seed);
/** @type {Record<string, Partial<State>>} */
const PRESETS = SUBTRACTION.presets;

/**
 * The digits of a whole number of at most 64 bits as the reader writes it (0x and 0b too), in decimal; else null.
 *
 * @param {string} text
 */
function digitsOf(text) {
  const plain = text.replace(/[\s_]/g, "");
  if (!/^(\d{1,30}|0x[0-9a-f]{1,30}|0b[01]{1,80})$/i.test(plain)) return null;
  const value = BigInt(plain);
  return value < 1n << BigInt(MOST) ? String(value) : null;
}

/** Bits of a number, the least significant first. @param {bigint} value @param {number} T */
function bitsOf(value, T) {
  return Array.from({ length: T }, (_, t) => Number((value >> BigInt(t)) & 1n));
}

/** The number that bits stand for, the least significant first. @param {number[]} bits */
function valueOf(bits) {
  return bits.reduce((sum, bit, t) => sum + (BigInt(bit) << BigInt(t)), 0n);
}

/**
 * States and probabilities of a net that reads pairs of bits: hs (T, H), ys (T,).
 *
 * @param {Subtractor} net @param {number[][]} pairs
 */
function runNet(net, pairs) {
  /** @type {Gru} */
  const p = { ...net, convention: "keep", reset_after: false };
  let h = net.b_r.map(() => 0);
  const hs = pairs.map((pair) => (h = gruStep(pair, h, p).h));
  return { hs, ys: hs.map((state) => sigmoid(matvec(state, net.out.W)[0] + net.out.b[0])) };
}

/** Everything that is drawn and said: whole-number arithmetic is the judge of the net. @param {State} s */
function compute(s) {
  const [A, B] = [BigInt(s.a), BigInt(s.b)];
  const T = Math.max(4, A.toString(2).length, B.toString(2).length);
  const [a, b] = [bitsOf(A, T), bitsOf(B, T)];
  const { hs, ys } = runNet(NETS.nets[s.net], a.map((bit, t) => [bit, b[t]]));
  const says = ys.map((y) => Number(y > 0.5));
  const right = bitsOf(BigInt.asUintN(T, A - B), T);
  /** @type {number[]} */
  const c = []; // borrows after each place
  a.forEach((bit, t) => c.push(Number(bit - b[t] - (c[t - 1] ?? 0) < 0)));
  const wrong = says.flatMap((bit, t) => (bit === right[t] ? [] : [t + 1]));
  return { A, B, T, a, b, hs, ys, says, right, c, wrong, at: clamp(Math.round(s.at), 1, T), said: valueOf(says) };
}

/** What a link sets: a, b, net, at, or preset=name. @param {unknown} _get @param {Asked} asked */
function fromLink(_get, asked) {
  const patch = readLink(asked, { presets: PRESETS, ranges: { at: RANGE }, whole: ["at"], choices: { net: KINDS } });
  const [a, b] = [digitsOf(asked.a ?? ""), digitsOf(asked.b ?? "")];
  return { ...patch, ...(a !== null && { a }), ...(b !== null && { b }) };
}

// ------------------------------------------------------------------------------------------------ the drawing

/**
 * Where things stand: columns for T places, a row for every unit.
 *
 * @param {Layout} L @param {number} T @param {number} units
 */
function place(L, T, units) {
  const column = Math.min(L.most, L.room / T);
  const bar = 0.72 * column;
  const bottom = L.units + L.pitch * units;
  const [says, right] = [bottom + L.gap, bottom + L.gap + L.step];
  return { left: L.left, column, bar, bottom, says, right, H: right + L.bit + 38 };
}

/** The rows. @param {State} s @param {Computed} c @param {Layout} L @param {Words} words */
function drawRows(s, c, L, words) {
  const { borrow } = NETS.measured[s.net];
  const units = c.hs[0].length;
  const at = place(L, c.T, units);
  const { edge, x, middle, right } = columnsOf(at, c.T);
  const places = c.a.map((_, t) => t + 1);
  /** @type {string[]} */
  const out = [];
  /** @type {(y: number, cls: string, text: string) => void} */
  const name = (y, cls, text) => { out.push(rowName(L, { y, above: 5, beside: 11 }, text, cls)); };
  const borrowed = places.filter((t) => c.c[t - 1]);
  out.push(path("ex-shade", borrowed.map((t) => box(edge(t), L.units, at.column, at.bottom - L.units))));
  /** @type {(y: number, cls: string, row: number[]) => void} */
  const bits = (y, cls, row) => {
    const boxes = places.map((t) => box(x(t), y, at.bar, L.bit));
    out.push(path("ex-tank", boxes), path(cls, boxes.filter((_, t) => row[t])));
  };
  name(L.a, "ex-it ex-x", "a");
  bits(L.a, "ex-fill-x", c.a);
  name(L.b, "ex-it ex-x", "b");
  bits(L.b, "ex-fill-x", c.b);
  for (let k = 0; k < units; k++) {
    const unit = (borrow.unit + k) % units; // the borrow first
    const text = fill(words.unit, { i: unit + 1 });
    const zero = L.units + L.pitch * (k + 1) - L.half - 3;
    name(L.slim ? zero - L.half - 1 : zero - 7, k ? "ex-small" : "ex-unit ex-h",
      k ? text : text + (borrow.sign > 0 ? words.is : words.opposite));
    out.push(across(L.left, zero, right));
    out.push(signedRow(places.map((t) => [x(t), c.hs[t - 1][unit]]), zero, at.bar, L.half, 0.5));
  }
  const runs = runsOf(c.wrong);
  out.push(path("ex-hatch", runs.map(({ from, to }) =>
    hatch(edge(from), at.says - 4, at.column * (to - from + 1), at.right - at.says + L.bit + 8))));
  name(at.says, "ex-small", words.says);
  bits(at.says, "ex-ink", c.says);
  name(at.right, "ex-small", words.right);
  bits(at.right, "ex-ink", c.right);
  const marks = at.right + L.bit + 12;
  const crossed = at.column < 11 ? runs.map(({ from, to }) => (from + to) / 2) : c.wrong; // room for one in each place?
  out.push(path("ex-cross", crossed.map((t) => cross(middle(t), marks, 4.5))));
  if (c.wrong.length) {
    const text = fill(words.marked, { n: c.wrong.length });
    out.push(L.slim ? label("ex-error", L.left + L.room, at.says - 8, "end", text) : label("ex-error", 0, marks + 4, "start", text));
  }
  const each = at.column * 8 > 20 ? 8 : Infinity;
  for (const t of places) out.push(tick(t, each, middle(t), at.H - 3));
  const now = c.at;
  /** @type {(cls: string, symbol: string, value: string | number) => string} */
  const part = (cls, symbol, value) => `\u2002<tspan class="ex-it ${cls}">${symbol}</tspan> ${value}`;
  const named = (/** @type {string} */ word, /** @type {string | number} */ value) => `\u2002${word} ${value}`;
  out.push(label("ex-now", L.left, 14, "start", `${words.place} ${now}` + part("ex-x", "a", c.a[now - 1]) +
    part("ex-x", "b", c.b[now - 1]) + named(words.borrow, c.c[now - 2] ?? 0) + named(words.right, c.right[now - 1]) +
    named(words.sure, fixed(c.ys[now - 1]))));
  out.push(frame(edge(now), 22, at.column, at.H - 40));
  return out.join("");
}

/** @param {State} s @param {Computed} c @param {Words} words */
function sentence(s, c, words) {
  const { borrow } = NETS.measured[s.net];
  const held = c.c.filter((bit, t) => (borrow.sign * c.hs[t][borrow.unit] > 0) === Boolean(bit)).length;
  const difference = fill(c.A < c.B ? words.below_text : words.exact, {
    a: s.a, b: s.b, d: String(c.A - c.B).replace("-", "\u2212"), T: c.T, rest: valueOf(c.right),
  });
  const verdict = fill(c.wrong.length ? words.wrong : words.correct, {
    said: c.said, n: c.wrong.length, T: c.T, first: c.wrong[0],
  });
  const unit = fill(words.held, { i: borrow.unit + 1, n: held, T: c.T });
  const now = fill(words.now, { t: c.at, d: c.right[c.at - 1], y: percent(c.ys[c.at - 1]) });
  return [difference, verdict, unit, now].join(" ");
}

/**
 * Where the net comes from, and how often it is right: measured, with the weights that run here.
 *
 * @param {State} s @param {Words} words
 */
function provenance(s, words) {
  const { four, random, long } = NETS.measured[s.net];
  const proved = NETS.tried.eight.filter((row) => row.proved).length;
  return fill(words[`note_${s.net}`], {
    seed: SEEDS[s.net], units: NETS.nets[s.net].b_r.length, proved, of: NETS.tried.eight.length,
    four: Math.round(136 * four), random: Math.round(1000 * random), long: Math.round(1000 * long),
  });
}

// ------------------------------------------------------------------------------------------------ the page

/** @param {string} id @param {Words} words */
function pageHTML(id, words) {
  const entry = (/** @type {"a" | "b"} */ key) =>
    `<div class="ex-entry"><label for="${id}-${key}"><span class="ex-letter ex-x">${key}</span></label>` +
    `<input type="text" inputmode="numeric" id="${id}-${key}" data-number="${key}" maxlength="90" ` +
    `autocomplete="off" spellcheck="false" aria-describedby="${id}-rule ${id}-${key}-strange">` +
    `${remarkPlace(`${id}-${key}`)}</div>`;
  const framed = slider({ id, key: "at", range: RANGE, step: 1, symbol: "<i>t</i>", name: words.place, role: "a" });
  const options = KINDS.map((kind) => [kind, words[`${kind}_net`]]);
  return (
    presetRow(PRESETS, words) +
    sideBySide(
      picture(id, "ex-rows", words.diagram) + note(words.hint) + saying(id),
      `<div class="ex-main"><fieldset><legend id="${id}-rule">${words.rule}</legend>` +
      `${entry("a")}${entry("b")}</fieldset>` +
      `${fieldset(words.frame, framed)}</div>` +
      `<div class="ex-switches">${choice({ id, key: "net", legend: words.net, options })}</div>`,
    ) +
    `<p class="ex-note ex-origin"></p>`
  );
}

/** @param {Stage} stage */
function render({ model, el }) {
  const { words } = SUBTRACTION;
  const voice = setUp("subtraction", words, el, pageHTML);
  const rows = query(el, ".ex-rows", SVGSVGElement);
  const [a, b] = ["[data-number=a]", "[data-number=b]"].map((one) => query(el, one, HTMLInputElement));
  const entries = { a, b };
  const slide = query(el, "[data-key=at]", HTMLInputElement);
  const origin = query(el, ".ex-origin", HTMLElement);
  let layout = SUBTRACTION.layout.wide;
  /** @type {Computed} */
  let shown;

  /** @param {State} s @param {boolean} slim */
  function paint(s, slim) {
    layout = SUBTRACTION.layout[slim ? "slim" : "wide"];
    shown = compute(s);
    show(rows, { W: layout.W, H: place(layout, shown.T, shown.hs[0].length).H }, drawRows(s, shown, layout, words));
    for (const key of /** @type {("a" | "b")[]} */ (["a", "b"])) {
      const entry = entries[key];
      if (digitsOf(entry.value) !== s[key]) entry.value = s[key]; // not while "0b1" is being typed for "1"
      remark(entry);
    }
    slide.max = String(shown.T);
    showInputs(el, { net: s.net, at: shown.at }, String, (v) => `${words.place} ${v}`);
    origin.textContent = provenance(s, words);
    voice.say(sentence(s, shown, words));
  }

  const hear = { input: onType, focusout: onLeave };
  const life = enliven({ model, el, start: START, paint, voice, preset: (name) => PRESETS[name], hear });

  /** The number whose field an event happened to. @param {Event} event @returns {"a" | "b" | null} */
  const keyOf = ({ target }) => (target === entries.a ? "a" : target === entries.b ? "b" : null);

  /** @param {Event} event */
  function onType(event) {
    const key = keyOf(event);
    if (!key) return;
    const digits = digitsOf(entries[key].value);
    if (digits !== null) return life.commit({ [key]: digits });
    const typed = entries[key].value.trim().slice(0, 30);
    const said = fill(typed ? words.unusable : words.empty, { typed, key, number: life.state[key] });
    remark(entries[key], said);
    voice.hear(said);
  }

  /** In the place of what is no number stands the number again when the reader leaves it. @param {Event} event */
  function onLeave(event) {
    const key = keyOf(event);
    if (!key) return;
    entries[key].value = life.state[key];
    entries[key].removeAttribute("aria-invalid");
  }

  /** @param {number} x */
  function placeAt(x) {
    return columnAt(x, place(layout, shown.T, shown.hs[0].length), shown.T);
  }

  // A press on a bit flips it; elsewhere the pointer moves the frame.
  grip(rows, {
    press(event) {
      const { x, y } = pointIn(rows, event);
      const t = placeAt(x);
      if (x < layout.left || x > layout.left + layout.room) return null;
      event.preventDefault();
      const inside = (/** @type {number} */ top) => y >= top - 4 && y <= top + layout.bit + 4;
      const key = inside(layout.a) ? "a" : inside(layout.b) ? "b" : null;
      if (key) {
        const flipped = BigInt(life.state[key]) ^ (1n << BigInt(t - 1));
        life.commit({ [key]: String(flipped), at: t });
        return null;
      }
      life.commit({ at: t });
      return "frame";
    },
    drag: (event) => life.commit({ at: placeAt(pointIn(rows, event).x) }),
  });
  return life.wire();
}

export default { render, fromLink };
