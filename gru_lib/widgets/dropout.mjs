// @ts-check
// Dropout masks: where three schemes drop, and what is left of a stored value (chapter 14).
import DROP from "./dropout.json";
import { across, box, dyed, label, num, path, show, through } from "./draw.mjs";
import { clamp, maskedMemory, uniform } from "./gru-math.mjs";
import {
  choice, enliven, fill, fixed, note, picture, presetRow, query, readLink, saying, setUp, showInputs, slider,
} from "./explorer.mjs";
/** @import { Matrix } from "./gru-math.mjs" */
/** @import { Asked, Role, Stage } from "./explorer.mjs" */

/**
 * The rate, the gate z of every unit, what is masked ("read" or "state"), and the seed.
 *
 * @typedef {typeof DROP.start} State
 */
/** Where and when masks are drawn. @typedef {"zaremba" | "variational" | "naive"} Scheme */
/**
 * Masks of one scheme: x (D rows of T) and h (H rows of T), each number 0 or 1 / (1 - rate).
 *
 * @typedef {{ x: Matrix, h: Matrix }} Masks
 */
/**
 * For each scheme its masks, the states of every unit, and how many still hold the value at the end.
 *
 * @typedef {Record<Scheme, Masks & { states: Matrix, holds: number }>} Found
 */
/** @typedef {typeof DROP.layout.wide} Layout */
/** @typedef {typeof DROP.words.en} Words */

/** @type {Record<string, Partial<State>>} */
const PRESETS = DROP.presets;
const { steps: T, inputs: D, units: H, stored: STORED } = DROP;
const SCHEMES = /** @type {Scheme[]} */ (DROP.schemes);
const WEIGHT = Math.atanh(STORED) / STORED; // tanh(WEIGHT * STORED) = STORED: without masks the value stays

/** What a link sets: rate=0.5, z=0.99, seed=3, place=state, preset=name. @param {unknown} _get @param {Asked} asked */
function fromLink(_get, asked) {
  const { rate, z, seed } = DROP.limits;
  return readLink(asked, {
    presets: PRESETS, ranges: { rate, z, seed }, whole: ["seed"], choices: { place: ["read", "state"] },
  });
}

/** @param {Scheme} scheme @param {State} s @returns {Masks} */
function masks(scheme, s) {
  /** @param {number} row @param {number} t */
  const drawn = (row, t) => Number(uniform(s.seed, row * T + t) >= s.rate) / (1 - s.rate);
  /** @param {number} first @param {number} count */
  const rows = (first, count) => Array.from({ length: count }, (_, i) => Array.from({ length: T }, (__, t) =>
    scheme === "zaremba" && first ? 1 : drawn(first + i, scheme === "variational" ? 0 : t)));
  return { x: rows(0, D), h: rows(D, H) };
}

/** @param {State} s @returns {Found} */
function compute(s) {
  return /** @type {Found} */ (Object.fromEntries(SCHEMES.map((scheme) => {
    const mask = masks(scheme, s);
    const states = mask.h.map((row) => maskedMemory(row, s.z, WEIGHT, STORED, s.place));
    const holds = states.filter((row) => Math.abs(row[T - 1] / STORED - 1) < 0.5).length;
    return [scheme, { ...mask, states, holds }];
  })));
}

// ------------------------------------------------------------------------------------------------ the drawing

/** Three blocks of masks and states. @param {Found} found @param {Layout} L @param {Words} words */
function drawBlocks(found, L, words) {
  /** @type {string[]} */
  const out = [];
  const right = L.left + T * L.column;
  SCHEMES.forEach((scheme, nth) => {
    const { x, h, states, holds } = found[scheme];
    const top = L.top + nth * L.block;
    out.push(label("ex-head", L.slim ? 0 : L.left, top - 8, "start", words[scheme]));
    out.push(label("ex-num", right, top - 8, "end", fill(words.holds, { k: holds })));
    for (const { rows, role, from } of [{ rows: x, role: "x", from: L.x }, { rows: h, role: "h", from: L.h }]) {
      const middle = top + from + (rows.length * L.cell) / 2 + 5;
      out.push(L.slim ? label(`ex-it ex-${role}`, 0, middle, "start", role)
        : label("ex-small", L.left - 12, middle, "end", `${words.mask} ${dyed(role, role)}`));
      rows.forEach((row, i) => {
        const cells = row.map((_, t) =>
          box(L.left + t * L.column + 1, top + from + i * L.cell, L.column - 2, L.cell - 2));
        const kept = cells.filter((_, t) => row[t] > 0).join("");
        const dropped = cells.filter((_, t) => row[t] === 0).join("");
        out.push(`<path class="ex-fill-${role}" d="${kept}"/><path class="ex-none" d="${dropped}"/>`);
      });
    }
    const y = (/** @type {number} */ v) => top + L.y + L.high * (1 - clamp(v, 0, DROP.most) / DROP.most);
    out.push(across(L.left, y(0), right));
    out.push(across(L.left, y(STORED), right, "ex-ctl"));
    if (!L.slim) out.push(label("ex-small", L.left - 12, y(0) - 14, "end", words.left));
    out.push(label("ex-part", L.left - 5, y(STORED) + 4, "end", num(STORED)));
    for (const row of states) {
      out.push(path("ex-line ex-h", through([STORED, ...row].map((v, t) => [L.left + t * L.column, y(v)]))));
    }
  });
  return out.join("");
}

/** @param {State} s @param {Found} found @param {Words} words */
const sentence = (s, found, words) => fill(words.say, {
  rate: fixed(s.rate, 2), z: fixed(s.z), ...Object.fromEntries(SCHEMES.map((name) => [name, found[name].holds])),
});

// ------------------------------------------------------------------------------------------------ the page

/** @param {string} id @param {Words} words */
function pageHTML(id, words) {
  /** @type {(key: "rate" | "z" | "seed", symbol: string, name: string, role: Role, step: number) => string} */
  const one = (key, symbol, name, role, step) =>
    slider({ id, key, range: DROP.limits[key], step, symbol, name, role });
  return (
    presetRow(PRESETS, words) +
    picture(id, "ex-blocks", words.diagram) +
    note(words.hint) +
    saying(id) +
    `<div class="ex-main"><div>` +
    one("rate", "<i>p</i>", words.rate, "a", 0.05) + one("z", "<i>z</i>", words.keep, "z", 0.001) +
    one("seed", "", words.seed, "a", 1) + "</div>" +
    choice({ id, key: "place", legend: words.where, options: [["read", words.read], ["state", words.carried]] }) +
    "</div>"
  );
}

/** @param {Stage} stage */
function render(stage) {
  const { model, el } = stage;
  const { words, voice } = setUp("dropout", DROP.words, stage, pageHTML);
  const drawing = query(el, ".ex-blocks", SVGSVGElement);

  /** @param {State} state @param {boolean} slim */
  function paint(state, slim) {
    const s = { ...state, seed: Math.round(state.seed) };
    const L = DROP.layout[slim ? "slim" : "wide"];
    const found = compute(s);
    show(drawing, L, drawBlocks(found, L, words));
    /** @type {(v: number, key: string) => string} */
    const textOf = (v, key) => (key === "seed" ? String(v) : fixed(v, key === "rate" ? 2 : 3));
    showInputs(el, s, textOf, (v, key) => (key === "seed" ? `${words.seed} ${v}` : fixed(v)));
    voice.say(sentence(s, found, words));
  }

  return enliven({ model, el, start: DROP.start, paint, voice, preset: (name) => PRESETS[name] }).wire();
}

export default { render, fromLink };
