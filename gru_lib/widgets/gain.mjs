// Gain and length: the norm of dh_T/dh_0 of an Elman net, at rest and driven, against T (chapter 2).
// Keys of the model: radius, strength, length, and lang.
import GAIN from "./gain.json";
import { elmanJacobian, elmanStep, spectralNorm } from "./gru-math.mjs";
import { decadesRender, size } from "./decades.mjs";
import { fill, fixed, fromText, presetRow, slider } from "./explorer.mjs";

const H = GAIN.W_h.length;
const T = GAIN.inputs.length;
const UNIT = GAIN.W_h.map((_, i) => GAIN.W_h.map((_, j) => Number(i === j)));
const BASE = GAIN.W_h.map((row) => row.map((w) => w / GAIN.net_radius)); // spectral radius 1

/** Norms of the powers of BASE: with radius ρ, at rest, they are ρ^T times these. */
let powers = null;

function normsOfPowers() {
  if (powers) return powers;
  powers = [1];
  for (let t = 1, J = UNIT; t <= T; t++) {
    J = elmanJacobian(J, Array(H).fill(0), BASE);
    powers.push(spectralNorm(J));
  }
  return powers;
}

/** For T = 0 … 100: norms at rest and driven, and the root mean square of the slopes so far. */
function growth({ radius, strength }) {
  const W_h = BASE.map((row) => row.map((w) => radius * w));
  const p = { W_x: UNIT, W_h, b: Array(H).fill(0) };
  const [rest, driven, slope] = [[1], [1], [1]];
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

const preset = (name) => GAIN.presets[name];

/** What a link sets: radius, strength, length, or preset=name. Anything else is dropped. */
function fromLink(get, asked) {
  const patch = Object.hasOwn(GAIN.presets, asked.preset ?? "") ? { ...preset(asked.preset) } : {};
  for (const [key, range] of Object.entries(GAIN.limits)) {
    const value = fromText(asked[key] ?? "", range);
    if (value !== undefined) patch[key] = key === "length" ? Math.round(value) : value;
  }
  return patch;
}

/** The two curves, as drawDecades takes them. */
function curvesOf(c, words) {
  return [
    { role: "g", cls: "ex-line-rest", name: words.rest, values: c.rest },
    { role: "g", cls: "", name: words.driven, values: c.driven },
  ];
}

function sentence(s, c, words) {
  const slope = c.slope[s.length];
  return fill(words.say, {
    T: s.length, radius: fixed(s.radius, 2), rest: size(c.rest[s.length]), driven: size(c.driven[s.length]),
    slope: fixed(slope, 2), rate: fixed(s.radius * slope, 2), measured: fixed(c.driven[s.length] ** (1 / s.length), 2),
  });
}

// ------------------------------------------------------------------------------------------------ the page

function pageHTML(id, words) {
  const one = (key, symbol, role, step) =>
    slider({ id, key, range: GAIN.limits[key], step, symbol, name: words[key], role });
  return (
    presetRow(Object.keys(GAIN.presets), words) +
    `<svg class="ex-growth" role="img" aria-label="${words.diagram}" aria-describedby="${id}-say"></svg>` +
    `<p class="ex-say" id="${id}-say" aria-live="polite"></p>` +
    `<div class="ex-main"><fieldset><legend>${words.net}</legend>${one("radius", "<i>ρ</i>", "a", 0.01)}` +
    `${one("strength", "<i>x</i>", "x", 0.05)}</fieldset>` +
    `<fieldset><legend>${words.far}</legend>${one("length", "<i>T</i>", "a", 1)}</fieldset></div>` +
    `<p class="ex-note" aria-hidden="true">${words.note}</p>`
  );
}

const render = decadesRender("gain", GAIN, { pageHTML, preset, compute: growth, curvesOf, sentence, digits: 2 });

export default { render, fromLink };
