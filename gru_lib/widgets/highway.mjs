// The highway: the norm of dh_T/dh_0 of a GRU against T, all paths and the direct one (chapter 9).
// Keys of the model: b_z, length, convention, and lang.
import HIGHWAY from "./highway.json";
import { gruJacobian, gruStep, matmul, spectralNorm } from "./gru-math.mjs";
import { decadesRender, size } from "./decades.mjs";
import { choice, fill, fixed, fromText, percent, presetRow, slider, sub } from "./explorer.mjs";

const H = HIGHWAY.weights.W_hr.length;
const T = HIGHWAY.inputs.length;
const CONVENTIONS = ["keep", "write"];

/** For T = 0 … 100: norm of the whole Jacobian, largest entry of the direct path, mean share kept so far. */
function reach({ b_z, convention }) {
  const none = Array(H).fill(0);
  const p = { ...HIGHWAY.weights, b_r: none, b_z: Array(H).fill(b_z), b_n: none, convention, reset_after: false };
  const [total, direct, kept] = [[1], [1], [1]];
  let [h, J, open, sum] = [none, none.map((_, i) => none.map((__, j) => Number(i === j))), Array(H).fill(1), 0];
  for (let t = 1; t <= T; t++) {
    const x = HIGHWAY.inputs[t - 1];
    const c = gruStep(x, h, p);
    J = matmul(gruJacobian(x, h, c, p), J);
    open = open.map((v, i) => v * c.keep[i]);
    sum += c.keep.reduce((a, b) => a + b) / H;
    h = c.h;
    total.push(spectralNorm(J));
    direct.push(Math.max(...open));
    kept.push(sum / t);
  }
  return { total, direct, kept };
}

const preset = (name) => HIGHWAY.presets[name];

/** What a link sets: b_z, length, convention, or preset=name. Anything else is dropped. */
function fromLink(get, asked) {
  const patch = Object.hasOwn(HIGHWAY.presets, asked.preset ?? "") ? { ...preset(asked.preset) } : {};
  for (const [key, range] of Object.entries(HIGHWAY.limits)) {
    const value = fromText(asked[key] ?? "", range);
    if (value !== undefined) patch[key] = key === "length" ? Math.round(value) : value;
  }
  if (CONVENTIONS.includes(asked.convention)) patch.convention = asked.convention;
  return patch;
}

function curvesOf(c, words) {
  return [
    { role: "g", cls: "", name: words.total, values: c.total },
    { role: "z", cls: "ex-line-direct", name: words.direct, values: c.direct },
  ];
}

function sentence(s, c, words) {
  return fill(words.say, {
    T: s.length, bias: fixed(s.b_z, 1), kept: percent(c.kept[s.length]), total: size(c.total[s.length]),
    direct: size(c.direct[s.length]),
  });
}

function pageHTML(id, words) {
  const one = (key, symbol, role, step) =>
    slider({ id, key, range: HIGHWAY.limits[key], step, symbol, name: words[key], role });
  const convention = choice({
    id, key: "convention", legend: fill(words.share, { z: '<i class="ex-z">z</i>' }),
    options: CONVENTIONS.map((name) => [name, words[name]]),
  });
  return (
    presetRow(Object.keys(HIGHWAY.presets), words) +
    `<svg class="ex-growth" role="img" aria-label="${words.diagram}" aria-describedby="${id}-say"></svg>` +
    `<p class="ex-say" id="${id}-say" aria-live="polite"></p>` +
    `<div class="ex-main"><fieldset><legend>${words.gate}</legend>${one("b_z", sub("b", "z"), "z", 0.1)}</fieldset>` +
    `<fieldset><legend>${words.far}</legend>${one("length", "<i>T</i>", "a", 1)}</fieldset></div>` +
    `<div class="ex-switches">${convention}</div>` +
    `<p class="ex-note" aria-hidden="true">${words.note}</p>`
  );
}

const render = decadesRender("highway", HIGHWAY, { pageHTML, preset, compute: reach, curvesOf, sentence, digits: 1 });

export default { render, fromLink };
