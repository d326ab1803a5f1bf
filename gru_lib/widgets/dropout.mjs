// Dropout masks: where three schemes drop, and what is left of a stored value (chapter 14).
// Keys of the model: rate, z (the gate of every unit), place ("read" or "state"), seed, and lang.
import DROP from "./dropout.json";
import { maskedMemory, uniform } from "./gru-math.mjs";
import {
  announcer, choice, enliven, fill, fixed, fromText, furnish, num, presetRow, showInputs, slider, uniqueId,
  wordsFor,
} from "./explorer.mjs";

const { steps: T, inputs: D, units: H, stored: STORED, schemes: SCHEMES } = DROP;
const WEIGHT = Math.atanh(STORED) / STORED; // tanh(WEIGHT * STORED) = STORED: without masks the value stays
const PLACES = ["read", "state"];

const preset = (name) => DROP.presets[name];

/** What a link sets: rate=0.5, z=0.99, seed=3, place=state, preset=name. Anything else is dropped. */
function fromLink(get, asked) {
  const patch = Object.hasOwn(DROP.presets, asked.preset ?? "") ? { ...preset(asked.preset) } : {};
  for (const key of ["rate", "z", "seed"]) {
    const value = fromText(asked[key] ?? "", DROP.limits[key]);
    if (value !== undefined) patch[key] = key === "seed" ? Math.round(value) : value;
  }
  if (PLACES.includes(asked.place)) patch.place = asked.place;
  return patch;
}

/** Masks of one scheme: x (D rows of T) and h (H rows of T), each number 0 or 1 / (1 - rate). */
function masks(scheme, s) {
  const drawn = (row, t) => Number(uniform(s.seed, row * T + t) >= s.rate) / (1 - s.rate);
  const rows = (first, count) => Array.from({ length: count }, (_, i) => Array.from({ length: T }, (_, t) =>
    scheme === "zaremba" && first ? 1 : drawn(first + i, scheme === "variational" ? 0 : t)));
  return { x: rows(0, D), h: rows(D, H) };
}

/** For each scheme its masks, the states of every unit, and how many still hold the value at the end. */
function compute(s) {
  return Object.fromEntries(SCHEMES.map((scheme) => {
    const mask = masks(scheme, s);
    const states = mask.h.map((row) => maskedMemory(row, s.z, WEIGHT, STORED, s.place));
    const holds = states.filter((row) => Math.abs(row[T - 1] / STORED - 1) < 0.5).length;
    return [scheme, { ...mask, states, holds }];
  }));
}

// ------------------------------------------------------------------------------------------------ the drawing

const label = (cls, x, y, anchor, content) =>
  `<text class="${cls}" x="${num(x)}" y="${num(y)}" text-anchor="${anchor}">${content}</text>`;
const it = (symbol, role) => `<tspan class="ex-it ex-${role}">${symbol}</tspan>`;

/** Three blocks of masks and states; dropout.py draws the same where there is no JavaScript. */
function drawBlocks(found, L, words) {
  const out = [];
  const right = L.left + T * L.column;
  SCHEMES.forEach((scheme, nth) => {
    const { x, h, states, holds } = found[scheme];
    const top = L.top + nth * L.block;
    out.push(label("ex-head", L.slim ? 0 : L.left, top - 8, "start", words[scheme]));
    out.push(label("ex-num", right, top - 8, "end", fill(words.holds, { k: holds })));
    [[x, "x", L.x], [h, "h", L.h]].forEach(([rows, role, from]) => {
      const middle = top + from + (rows.length * L.cell) / 2 + 5;
      out.push(L.slim ? label(`ex-it ex-${role}`, 0, middle, "start", role)
        : label("ex-small", L.left - 12, middle, "end", `${words.mask} ${it(role, role)}`));
      rows.forEach((row, i) => {
        const cell = (t) => `M${L.left + t * L.column + 1} ${num(top + from + i * L.cell)}` +
          `h${L.column - 2}v${L.cell - 2}h${2 - L.column}z`;
        const cells = (wanted) => row.map((m, t) => (m > 0 === wanted ? cell(t) : "")).join("");
        out.push(`<path class="ex-fill-${role}" d="${cells(true)}"/><path class="ex-none" d="${cells(false)}"/>`);
      });
    });
    const y = (v) => top + L.y + L.high * (1 - Math.min(Math.max(v, 0), DROP.most) / DROP.most);
    out.push(`<path class="ex-axis" d="M${L.left} ${num(y(0))}H${right}"/>`);
    out.push(`<path class="ex-ctl" d="M${L.left} ${num(y(STORED))}H${right}"/>`);
    if (!L.slim) out.push(label("ex-small", L.left - 12, y(0) - 14, "end", words.left));
    out.push(label("ex-part", L.left - 5, y(STORED) + 4, "end", num(STORED)));
    for (const row of states) {
      const points = [STORED, ...row].map((v, t) => `${num(L.left + t * L.column)} ${num(y(v))}`);
      out.push(`<path class="ex-line ex-h" d="M${points.join("L")}"/>`);
    }
  });
  return out.join("");
}

const sentence = (s, found, words) => fill(words.say, {
  rate: fixed(s.rate, 2), z: fixed(s.z), ...Object.fromEntries(SCHEMES.map((name) => [name, found[name].holds])),
});

// ------------------------------------------------------------------------------------------------ the page

function pageHTML(id, words) {
  const one = (key, symbol, name, role, step) =>
    slider({ id, key, range: DROP.limits[key], step, symbol, name, role });
  return (
    presetRow(Object.keys(DROP.presets), words) +
    `<svg class="ex-blocks" role="img" aria-label="${words.diagram}" aria-describedby="${id}-say"></svg>` +
    `<p class="ex-note" aria-hidden="true">${words.hint}</p>` +
    `<p class="ex-say" id="${id}-say" aria-live="polite"></p>` +
    `<div class="ex-main"><div>` +
    one("rate", "<i>p</i>", words.rate, "a", 0.05) + one("z", "<i>z</i>", words.keep, "z", 0.001) +
    one("seed", "", words.seed, "a", 1) + "</div>" +
    choice({ id, key: "place", legend: words.where, options: [["read", words.read], ["state", words.carried]] }) +
    "</div>"
  );
}

function render({ model, el }) {
  const words = wordsFor(DROP.words, model, el);
  furnish(el, "dropout", words.title, pageHTML(uniqueId("dropout"), words));
  const svg = el.querySelector(".ex-blocks");
  const voice = announcer(el.querySelector(".ex-say"));

  function paint(state, slim) {
    const s = { ...state, seed: Math.round(state.seed) };
    const L = DROP.layout[slim ? "slim" : "wide"];
    const found = compute(s);
    svg.setAttribute("viewBox", `0 0 ${L.W} ${L.H}`);
    svg.innerHTML = drawBlocks(found, L, words);
    const textOf = (v, key) => (key === "seed" ? String(v) : fixed(v, key === "rate" ? 2 : 3));
    showInputs(el, s, textOf, (v, key) => (key === "seed" ? `${words.seed} ${v}` : fixed(v)));
    voice.say(sentence(s, found, words));
  }

  return enliven({ model, el, start: DROP.start, paint, voice, preset }).wire();
}

export default { render, fromLink };
