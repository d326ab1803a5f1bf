// @ts-check
// Gain and length: the norm of dh_T/dh_0 of an Elman net, at rest and driven, against T (chapter 2).
import GAIN from "./gain.json";
import { elmanJacobian, elmanStep, spectralNorm } from "./gru-math.mjs";
import { decadesRender, size } from "./decades.mjs";
import { fieldset, fill, fixed, note, picture, presetRow, readLink, saying, slider } from "./explorer.mjs";
/** @import { Matrix, Vector } from "./gru-math.mjs" */
/** @import { Curve } from "./decades.mjs" */
/** @import { Asked, Role } from "./explorer.mjs" */

/** The spectral radius of W_h, the strength of the inputs, and T. @typedef {typeof GAIN.start} State */
/** For T = 0 … 100. @typedef {ReturnType<typeof growth>} Growth */
/** @typedef {typeof GAIN.words.en} Words */

/** @type {Record<string, Partial<State>>} */
const PRESETS = GAIN.presets;
const H = GAIN.W_h.length;
const T = GAIN.inputs.length;
const UNIT = GAIN.W_h.map((_, i) => GAIN.W_h.map((__, j) => Number(i === j)));
const BASE = GAIN.W_h.map((row) => row.map((w) => w / GAIN.net_radius)); // spectral radius 1

/** @type {Vector | undefined} */
let powers;

/** Norms of the powers of BASE: with radius ρ, at rest, they are ρ^T times these. */
function normsOfPowers() {
  if (powers) return powers;
  powers = [1];
  for (let t = 1, J = UNIT; t <= T; t++) {
    J = elmanJacobian(J, Array(H).fill(0), BASE);
    powers.push(spectralNorm(J));
  }
  return powers;
}

/** For T = 0 … 100: norms at rest and driven, and the root mean square of the slopes so far. @param {State} s */
function growth({ radius, strength }) {
  const W_h = BASE.map((row) => row.map((w) => radius * w));
  const p = { W_x: UNIT, W_h, b: Array(H).fill(0) };
  const [rest, driven, slope] = [[1], [1], [1]];
  /** @type {[h: Vector, J: Matrix, logs: number]} */
  let [h, J, logs] = [Array(H).fill(0), UNIT, 0];
  for (let t = 1; t <= T; t++) {
    h = elmanStep(GAIN.inputs[t - 1].map((u) => strength * u), h, p);
    J = elmanJacobian(J, h, W_h);
    logs += Math.log(h.reduce((sum, v) => sum + (1 - v * v) ** 2, 0) / H);
    rest.push(radius ** t * normsOfPowers()[t]);
    driven.push(spectralNorm(J));
    slope.push(Math.exp(logs / (2 * t)));
  }
  return { rest, driven, slope };
}

/** What a link sets: radius, strength, length, or preset=name. @param {unknown} _get @param {Asked} asked */
function fromLink(_get, asked) {
  return readLink(asked, { presets: PRESETS, ranges: GAIN.limits, whole: ["length"] });
}

/** @param {Growth} c @param {Words} words @returns {Curve[]} */
function curvesOf(c, words) {
  return [
    { role: "g", cls: "ex-line-rest", name: words.rest, values: c.rest },
    { role: "g", cls: "", name: words.driven, values: c.driven },
  ];
}

/** @param {State} s @param {Growth} c @param {Words} words */
function sentence(s, c, words) {
  const slope = c.slope[s.length];
  return fill(words.say, {
    T: s.length, radius: fixed(s.radius, 2), rest: size(c.rest[s.length]), driven: size(c.driven[s.length]),
    slope: fixed(slope, 2), rate: fixed(s.radius * slope, 2), measured: fixed(c.driven[s.length] ** (1 / s.length), 2),
  });
}

// ------------------------------------------------------------------------------------------------ the page

/** @param {string} id @param {Words} words */
function pageHTML(id, words) {
  /** @type {(key: keyof State, symbol: string, role: Role, step: number) => string} */
  const one = (key, symbol, role, step) =>
    slider({ id, key, range: GAIN.limits[key], step, symbol, name: words[key], role });
  return (
    presetRow(PRESETS, words) +
    picture(id, "ex-growth", words.diagram) +
    saying(id) +
    `<div class="ex-main">` +
    fieldset(words.net, one("radius", "<i>ρ</i>", "a", 0.01), one("strength", "<i>x</i>", "x", 0.05)) +
    fieldset(words.far, one("length", "<i>T</i>", "a", 1)) +
    "</div>" +
    note(words.note)
  );
}

const render = decadesRender("gain", GAIN, {
  pageHTML, preset: (name) => PRESETS[name], compute: growth, curvesOf, sentence, digits: 2,
});

export default { render, fromLink };
