// @ts-check
// The highway: the norm of dh_T/dh_0 of a GRU against T, all paths and the direct one (chapter 9).
import HIGHWAY from "./highway.json";
import { gruJacobian, gruStep, matmul, spectralNorm } from "./gru-math.mjs";
import { decadesRender, size } from "./decades.mjs";
import {
  choice, fieldset, fill, fixed, note, percent, picture, presetRow, readLink, saying, slider, sub,
} from "./explorer.mjs";
/** @import { Gru, Vector } from "./gru-math.mjs" */
/** @import { Curve } from "./decades.mjs" */
/** @import { Asked, Role } from "./explorer.mjs" */

/** The bias of the update gate, T, and which share is called z. @typedef {typeof HIGHWAY.start} State */
/** For T = 0 … 100. @typedef {ReturnType<typeof reach>} Reach */
/** @typedef {typeof HIGHWAY.words.en} Words */

/** @type {Record<string, Partial<State>>} */
const PRESETS = HIGHWAY.presets;

const H = HIGHWAY.weights.W_hr.length;
const T = HIGHWAY.inputs.length;

/**
 * For T = 0 … 100: norm of the whole Jacobian, largest entry of the direct path, mean share kept so far.
 *
 * @param {State} s
 */
function reach({ b_z, convention }) {
  /** @type {Vector} */
  const none = Array(H).fill(0);
  /** @type {Gru} */
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

/** What a link sets: b_z, length, convention, or preset=name. @param {unknown} _get @param {Asked} asked */
function fromLink(_get, asked) {
  return readLink(asked, {
    presets: PRESETS, ranges: HIGHWAY.limits, whole: ["length"], choices: { convention: ["keep", "write"] },
  });
}

/** @param {Reach} c @param {Words} words @returns {Curve[]} */
function curvesOf(c, words) {
  return [
    { role: "g", cls: "", name: words.total, values: c.total },
    { role: "z", cls: "ex-line-direct", name: words.direct, values: c.direct },
  ];
}

/** @param {State} s @param {Reach} c @param {Words} words */
function sentence(s, c, words) {
  return fill(words.say, {
    T: s.length, bias: fixed(s.b_z, 1), kept: percent(c.kept[s.length]), total: size(c.total[s.length]),
    direct: size(c.direct[s.length]),
  });
}

/** @param {string} id @param {Words} words */
function pageHTML(id, words) {
  /** @type {(key: "b_z" | "length", symbol: string, role: Role, step: number) => string} */
  const one = (key, symbol, role, step) =>
    slider({ id, key, range: HIGHWAY.limits[key], step, symbol, name: words[key], role });
  const convention = choice({
    id, key: "convention", legend: fill(words.share, { z: '<i class="ex-z">z</i>' }),
    options: [["keep", words.keep], ["write", words.write]],
  });
  return (
    presetRow(PRESETS, words) +
    picture(id, "ex-growth", words.diagram) +
    saying(id) +
    `<div class="ex-main">${fieldset(words.gate, one("b_z", sub("b", "z"), "z", 0.1))}` +
    `${fieldset(words.far, one("length", "<i>T</i>", "a", 1))}</div>` +
    `<div class="ex-switches">${convention}</div>` +
    note(words.note)
  );
}

const render = decadesRender("highway", HIGHWAY, {
  pageHTML, preset: (name) => PRESETS[name], compute: reach, curvesOf, sentence, digits: 1,
});

export default { render, fromLink };
