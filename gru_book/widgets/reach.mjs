// @ts-check
// Reach: the norm of dh_T/dh_0 against T, of an Elman net (chapter 2) and of a GRU (chapter 9), on an axis that fits.
import REACH from "./reach.json";
import { across, index, label, num, path, show, through } from "./draw.mjs";
import { clamp, elmanJacobian, elmanStep, gruJacobian, gruStep, matmul, spectralNorm } from "./gru-math.mjs";
import {
  choice, enliven, fieldset, fill, fixed, grip, note, percent, picture, pointIn, presetRow, query, readLink, saying,
  setUp, showInputs, sideBySide, slider, sub,
} from "./explorer.mjs";
/** @import { Gru, Matrix, Vector } from "./gru-math.mjs" */
/** @import { Asked, Role, Stage } from "./explorer.mjs" */

/** The net shown, what sets each of the two, and T. @typedef {typeof REACH.start} State */
/**
 * For T = 0 … 100: the norm of the whole Jacobian; beside it, that of the net at rest or of the direct path; and the
 * mean, of the slopes or of the shares kept so far.
 *
 * @typedef {{ whole: number[], beside: number[], mean: number[] }} Found
 */
/** A curve: its colour, its class, its name, its values. @typedef {{ role: string, cls: string, name: string,
 *   values: number[] }} Curve */
/** @typedef {typeof REACH.layout.wide} Layout */
/** @typedef {typeof REACH.words} Words */

/** @type {Record<string, Partial<State>>} */
const PRESETS = REACH.presets;
const T = REACH.elman.inputs.length;

/** @param {number} n @returns {Vector} */
const zeros = (n) => Array(n).fill(0);
/** @param {number} n @returns {Matrix} */
const unit = (n) => zeros(n).map((_, i) => zeros(n).map((__, j) => Number(i === j)));

const BASE = REACH.elman.W_h.map((row) => row.map((w) => w / REACH.elman.radius)); // spectral radius 1
/** @type {Vector | undefined} */
let powers;

/** Norms of the powers of BASE: with radius ρ, at rest, they are ρ^T times these. */
function normsOfPowers() {
  if (powers) return powers;
  const none = zeros(BASE.length);
  powers = [1];
  for (let t = 1, J = unit(BASE.length); t <= T; t++) {
    J = elmanJacobian(J, none, BASE);
    powers.push(spectralNorm(J));
  }
  return powers;
}

/** Driven and at rest; the mean is the root mean square of the slopes. @param {State} s @returns {Found} */
function ofElman({ radius, strength }) {
  const H = BASE.length;
  const W_h = BASE.map((row) => row.map((w) => radius * w));
  const p = { W_x: unit(H), W_h, b: zeros(H) };
  const [whole, beside, mean] = [[1], [1], [1]];
  let [h, J, logs] = [zeros(H), unit(H), 0];
  for (let t = 1; t <= T; t++) {
    h = elmanStep(REACH.elman.inputs[t - 1].map((u) => strength * u), h, p);
    J = elmanJacobian(J, h, W_h);
    logs += Math.log(h.reduce((sum, v) => sum + (1 - v * v) ** 2, 0) / H);
    whole.push(spectralNorm(J));
    beside.push(radius ** t * normsOfPowers()[t]);
    mean.push(Math.exp(logs / (2 * t)));
  }
  return { whole, beside, mean };
}

/** All paths, and the direct one; the mean is that of the shares kept. @param {State} s @returns {Found} */
function ofGru({ b_z, convention }) {
  const H = REACH.gru.weights.W_hr.length;
  /** @type {Gru} */
  const p = {
    ...REACH.gru.weights, b_r: zeros(H), b_z: Array(H).fill(b_z), b_n: zeros(H), convention, reset_after: false,
  };
  const [whole, beside, mean] = [[1], [1], [1]];
  let [h, J, open, sum] = [zeros(H), unit(H), Array(H).fill(1), 0];
  for (let t = 1; t <= T; t++) {
    const x = REACH.gru.inputs[t - 1];
    const c = gruStep(x, h, p);
    J = matmul(gruJacobian(x, h, c, p), J);
    open = open.map((v, i) => v * c.keep[i]);
    sum += c.keep.reduce((a, b) => a + b) / H;
    h = c.h;
    whole.push(spectralNorm(J));
    beside.push(Math.max(...open));
    mean.push(sum / t);
  }
  return { whole, beside, mean };
}

/** What is drawn; it does not depend on the length. @param {State} s */
function reach(s) {
  return s.net === "gru" ? ofGru(s) : ofElman(s);
}

/** What a link sets: any key of the state, or preset=name. @param {unknown} _get @param {Asked} asked */
function fromLink(_get, asked) {
  return readLink(asked, {
    presets: PRESETS, ranges: REACH.limits, whole: ["length"],
    choices: { net: ["elman", "gru"], convention: ["keep", "write"] },
  });
}

const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const raise = (/** @type {number} */ n) =>
  String(n).replace("-", "⁻").replace(/\d/g, (digit) => RAISED[Number(digit)]);

/** A number, not negative, over many powers of ten: 0.042, 31, 4.2 · 10², 2.3 · 10⁻⁹. @param {number} v */
function size(v) {
  if (v === 0) return "0";
  if (v >= 0.01 && v < 99.5) return v.toPrecision(2);
  const [digits, power] = v.toExponential(1).split("e");
  return `${digits}\u00a0·\u00a010${raise(Number(power))}`;
}

// ------------------------------------------------------------------------------------------------ the drawing

/** The curve behind comes first. @param {State} s @param {Found} found @param {Words} words @returns {Curve[]} */
function curvesOf(s, { whole, beside }, words) {
  return s.net === "gru"
    ? [
      { role: "g", cls: "", name: words.total, values: whole },
      { role: "z", cls: "ex-line-direct", name: words.direct, values: beside },
    ]
    : [
      { role: "g", cls: "ex-line-rest", name: words.rest, values: beside },
      { role: "g", cls: "", name: words.driven, values: whole },
    ];
}

/**
 * The powers of ten of an axis that fits the values: round ends, at most seven ticks, and always the room from 1 down to
 * REACH.shallow, so that a curve that hardly falls looks like one. Below REACH.deepest it ends, and curves leave it.
 *
 * @param {number[]} values 1 among them
 */
function axisOf(values) {
  const logs = values.map((v) => Math.max(Math.log10(v), REACH.deepest)); // of 0 too
  const [least, most] = [Math.min(REACH.shallow, ...logs), Math.max(...logs)];
  const ends = (/** @type {number} */ step) =>
    ({ step, low: step * Math.floor(least / step), high: step * Math.ceil(most / step) });
  return [1, 2, 5, 10].map(ends).find(({ step, low, high }) => high - low <= 6 * step) ?? ends(20);
}

/** @param {Curve[]} curves @param {number} length @param {Layout} L @param {Words} words */
function draw(curves, length, L, words) {
  const { step, low, high } = axisOf(curves.flatMap(({ values }) => values));
  const x = (/** @type {number} */ t) => L.left + (t / T) * (L.right - L.left);
  const y = (/** @type {number} */ v) => L.bottom - ((Math.log10(v) - low) / (high - low)) * (L.bottom - L.top);
  const out = [];
  for (let d = low; d <= high; d += step) {
    const at = y(10 ** d);
    const text = Math.abs(d) < 2 ? String(10 ** d) : `10${raise(d)}`;
    out.push(across(L.left, at, L.right, d === 0 ? "ex-one" : "ex-rule"));
    out.push(label("ex-small", L.left - 6, at + 4.5, "end", text));
  }
  for (const t of [0, 25, 50, 75, 100]) out.push(label("ex-small", x(t), L.bottom + 18, "middle", String(t)));
  out.push(label("ex-small", L.right, L.bottom + 36, "end", `<tspan class="ex-it">T</tspan>, ${words.steps}`));
  const ratio = `<tspan class="ex-it">∂${index("h", "T")}/∂${index("h", 0)}</tspan>`;
  out.push(label("ex-ratio", L.left, 16, "start", fill(words.norm, { d: ratio })));

  const ends = curves.map(({ role, cls, values }) => {
    const points = values.map((v, t) => ({ v, t })).filter(({ v, t }) => t <= length && v >= 10 ** low);
    out.push(path(`ex-line ex-${role} ${cls}`, through(points.map(({ v, t }) => [x(t), y(v)]))));
    const { v, t } = points[points.length - 1];
    return { x: x(t), y: y(v), reached: t === length };
  });
  const [a, b] = ends;
  const near = Math.abs(a.y - b.y) < 16 && Math.abs(a.x - b.x) < 60;
  const up = a.y <= b.y ? 1 : -1;
  ends.forEach((end, i) => {
    const { role, name } = curves[i];
    const shift = near ? (i === 0 ? -up : up) * (16 - Math.abs(a.y - b.y)) / 2 : 0;
    out.push(`<circle class="ex-fill-${role}" cx="${num(end.x)}" cy="${num(end.y)}" r="${end.reached ? 4 : 0}"/>`);
    out.push(label(`ex-name-g ex-${role}`, end.x + 8, end.y + 4.5 + shift, "start", name));
  });
  const at = x(length);
  out.push(path("ex-cursor", `M${num(at)} ${L.top}V${L.bottom}`));
  return out.join("");
}

/** @param {State} s @param {Found} found @param {Words} words */
function sentence(s, found, words) {
  const [whole, beside, mean] = [found.whole[s.length], found.beside[s.length], found.mean[s.length]];
  return s.net === "gru"
    ? fill(words.say_gru, {
      T: s.length, bias: fixed(s.b_z, 1), kept: percent(mean), total: size(whole), direct: beside === 0 ? `< 10${raise(-300)}` : size(beside),
    })
    : fill(words.say_elman, {
      T: s.length, radius: fixed(s.radius, 2), rest: size(beside), driven: size(whole), slope: fixed(mean, 3),
      rate: fixed(s.radius * mean, 2), measured: fixed(whole ** (1 / s.length), 2),
    });
}

// ------------------------------------------------------------------------------------------------ the page

/** @param {string} id @param {Words} words */
function pageHTML(id, words) {
  /** @type {(key: "radius" | "strength" | "b_z" | "length", symbol: string, role: Role, step: number) => string} */
  const one = (key, symbol, role, step) =>
    slider({ id, key, range: REACH.limits[key], step, symbol, name: fill(words[key], { W: sub("W", "h") }), role });
  const elman = [one("radius", "<i>ρ</i>", "a", 0.01), one("strength", "<i>x</i>", "x", 0.05)];
  const net = choice({
    id, key: "net", legend: words.choose, options: [["elman", words.elman], ["gru", words.gru]],
  });
  const convention = choice({
    id, key: "convention", legend: fill(words.share, { z: '<i class="ex-z">z</i>' }),
    options: [["keep", words.keep], ["write", words.write]],
  });
  return (
    `<div class="ex-switches">${net}</div>` +
    presetRow(PRESETS, words) +
    sideBySide(
      picture(id, "ex-growth", words.diagram) + saying(id),
      `<div class="ex-main">` +
      `<div data-of="elman">${fieldset(words.net, ...elman)}</div>` +
      `<div data-of="gru">${fieldset(words.gate, one("b_z", sub("b", "z"), "z", 0.1))}${convention}</div>` +
      `${fieldset(words.far, one("length", "<i>T</i>", "a", 1))}</div>`,
    ) +
    note(words.note)
  );
}

/** @param {Stage} stage */
function render({ model, el }) {
  const { words } = REACH;
  const voice = setUp("reach", words, el, pageHTML);
  const drawing = query(el, ".ex-growth", SVGSVGElement);
  /** @type {NodeListOf<HTMLElement>} */
  const owned = el.querySelectorAll("[data-preset], [data-of]");
  let layout = REACH.layout.wide;
  /** @type {{ from: string, of: Found } | undefined} */
  let found; // what was computed last, and the state it was computed from

  /** @param {State} s @param {boolean} slim */
  function paint(s, slim) {
    layout = REACH.layout[slim ? "slim" : "wide"];
    const shown = { ...s, length: Math.round(s.length) };
    const from = JSON.stringify({ ...s, length: 0 });
    if (found?.from !== from) found = { from, of: reach(s) };
    show(drawing, layout, draw(curvesOf(s, found.of, words), shown.length, layout, words));
    for (const one of owned) { // what sets the other net has nothing to say here
      one.hidden = (one.dataset.of ?? PRESETS[one.dataset.preset ?? ""].net) !== s.net;
    }
    showInputs(el, shown, (v, key) => (key === "length" ? String(v) : fixed(v, key === "b_z" ? 1 : 2)));
    voice.say(sentence(shown, found.of, words));
  }

  const life = enliven({ model, el, start: REACH.start, paint, voice, preset: (name) => PRESETS[name] });

  /** @param {MouseEvent} event */
  function follow(event) {
    const along = (pointIn(drawing, event).x - layout.left) / (layout.right - layout.left);
    life.commit({ length: clamp(Math.round(along * T), 1, T) });
  }
  /** @param {MouseEvent} event */
  function press(event) {
    event.preventDefault();
    follow(event);
    return "length";
  }
  grip(drawing, { press, drag: follow });
  return life.wire();
}

export default { render, fromLink };
