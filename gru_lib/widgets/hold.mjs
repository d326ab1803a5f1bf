// Hold the gate: a memory of one number over 24 steps, every gate in the reader's hand (chapter 3).
// Keys of the model: at (the framed step), n (candidates), z (shares kept), and lang.
import HOLD from "./hold.json";
import { clamp, gatedStates, gateWeights } from "./gru-math.mjs";
import {
  announcer, columnAt, enliven, fill, fixed, fromText, furnish, grip, num, percent, pointIn, presetRow, showInputs,
  slider, sub, uniqueId, wordsFor,
} from "./explorer.mjs";

const T = HOLD.start.n.length;
const RANGES = { at: [1, T], n: [-1, 1], z: [0, 1] };

function preset(name) {
  const { store, else: other } = HOLD.presets[name];
  return { z: HOLD.start.z.map((_, i) => (i + 1 === HOLD.store ? store : other)) };
}

/** What a link sets: at=5; n or z as T numbers, or as one for all; preset=name. Anything else is dropped. */
function fromLink(get, asked) {
  const patch = Object.hasOwn(HOLD.presets, asked.preset ?? "") ? preset(asked.preset) : {};
  const at = fromText(asked.at ?? "", RANGES.at);
  if (at !== undefined) patch.at = Math.round(at);
  for (const key of ["n", "z"]) {
    const one = fromText(asked[key] ?? "", RANGES[key]);
    const all = one === undefined ? fromText(asked[key] ?? "", RANGES[key], T) : Array(T).fill(one);
    if (all) patch[key] = all;
  }
  return patch;
}

const withEntry = (list, t, value) => list.map((old, i) => (i + 1 === t ? value : old));

/** What a slider sets: the gate or the candidate of the framed step, or all gates. */
function put(key, value, state) {
  if (key === "all") return { z: Array(T).fill(value) };
  if (key === "at") return { at: value };
  return { [key]: withEntry(state[key], state.at, value) };
}

// ------------------------------------------------------------------------------------------------ the drawing

const label = (cls, x, y, anchor, content) =>
  `<text class="${cls}" x="${num(x)}" y="${num(y)}" text-anchor="${anchor}">${content}</text>`;
const bar = (cls, x, y, width, height) =>
  `<rect class="${cls}" x="${num(x)}" y="${num(y)}" width="${num(width)}" height="${num(Math.max(height, 0))}"/>`;
const index = (letter, i) =>
  `${letter}<tspan class="ex-sub" dy="4">${i}</tspan><tspan dy="-4">\u200b</tspan>`;

/** A bar from a midline: solid up, hollow down. */
function signedBar(role, x, y, width, v, half) {
  const size = Math.abs(v) * half;
  return v < 0
    ? bar(`ex-down ex-${role}`, x + 0.75, y, width - 1.5, size)
    : bar(`ex-fill-${role}`, x, y - size, width, size);
}

/** The rows, as SVG text; hold.py draws the same where there is no JavaScript. */
function drawRows(s, c, L, words) {
  const x = (t) => L.left + (t - 1) * L.column + (L.column - L.bar) / 2;
  const out = [];
  const name = (row, y, symbol, word, role) => out.push(L.slim
    ? label("ex-small", L.left, y - 7, "start", `<tspan class="ex-it ex-${role}">${symbol}</tspan>\u2002${word}`)
    : label(`ex-sym ex-${role}`, 0, y + 14, "start", symbol) + label("ex-small", 0, y + 32, "start", word));
  name("n", L.n.y - L.n.half, index("n", "t"), words.n, "n");
  name("z", L.z.y, index("z", "t"), words.z, "z");
  name("h", L.h.y - L.h.half, index("h", "t"), words.h, "h");
  name("w", L.w.y, index("w", "k"), fill(words.w, { h: `<tspan class="ex-it ex-h">${index("h", s.at)}</tspan>` }), "n");
  const right = L.left + T * L.column;
  for (const row of ["n", "h"]) out.push(`<path class="ex-axis" d="M${L.left} ${L[row].y}H${right}"/>`);
  out.push(`<path class="ex-axis" d="M${L.left} ${L.w.y + L.w.high}H${right}"/>`);
  for (let t = 1; t <= T; t++) {
    out.push(signedBar("n", x(t), L.n.y, L.bar, s.n[t - 1], L.n.half));
    out.push(bar("ex-tank", x(t), L.z.y, L.bar, L.z.high));
    out.push(bar("ex-fill-z", x(t), L.z.y + L.z.high * (1 - s.z[t - 1]), L.bar, L.z.high * s.z[t - 1]));
    out.push(signedBar("h", x(t), L.h.y, L.bar, c.h[t - 1], L.h.half));
    if (t <= s.at) out.push(bar("ex-fill-n", x(t), L.w.y + L.w.high * (1 - c.w[t]), L.bar, L.w.high * c.w[t]));
    if (t === 1 || t % 6 === 0) out.push(label("ex-small", x(t) + L.bar / 2, L.H - 2, "middle", String(t)));
  }
  const part = (symbol, role, value) =>
    `\u2003<tspan class="ex-it ex-${role}">${symbol}</tspan> <tspan class="ex-${role}">${value}</tspan>`;
  out.push(label("ex-now", L.left, 14, "start", `${words.step} ${s.at}` +
    part("n", "n", fixed(s.n[s.at - 1], 2)) + part("z", "z", fixed(s.z[s.at - 1])) +
    part("h", "h", fixed(c.h[s.at - 1]))));
  const left = L.left + (s.at - 1) * L.column;
  out.push(`<rect class="ex-frame" x="${num(left)}" y="22" width="${L.column}" height="${L.H - 40}" rx="2"/>`);
  return out.join("");
}

function compute(s) {
  return { h: gatedStates(s.n, s.z), w: gateWeights(s.z.slice(0, s.at)) };
}

function sentence(s, c, words) {
  const k = c.w.indexOf(Math.max(...c.w.slice(1)), 1);
  const m = Math.min(10, s.at);
  const late = c.w.slice(1).slice(-m).reduce((a, b) => a + b, 0);
  const shares = { most: share(c.w[k]), late: share(late), start: share(c.w[0]) };
  return fill(words.say, { t: s.at, h: fixed(c.h[s.at - 1]), k, m, ...shares });
}

/** percent, but exact at both ends: a gate of 0 or 1 is allowed here. */
function share(v) {
  if (v < 1e-12) return "0\u00a0%";
  if (v > 1 - 1e-12) return "100\u00a0%";
  return percent(v);
}

// ------------------------------------------------------------------------------------------------ the page

function pageHTML(id, words) {
  const one = (key, symbol, name, role, range, step) => slider({ id, key, range, step, symbol, name, role });
  return (
    presetRow(Object.keys(HOLD.presets), words) +
    `<svg class="ex-rows" role="img" aria-label="${words.diagram}" aria-describedby="${id}-say"></svg>` +
    `<p class="ex-note" aria-hidden="true">${words.hint}</p>` +
    `<p class="ex-say" id="${id}-say" aria-live="polite"></p>` +
    `<div class="ex-main"><fieldset><legend>${words.frame}</legend>` +
    one("at", "<i>t</i>", words.framed, "a", RANGES.at, 1) +
    one("n", sub("n", "t"), words.n, "n", RANGES.n, 0.01) +
    one("z", sub("z", "t"), words.z, "z", RANGES.z, 0.01) +
    `</fieldset><fieldset><legend>${words.all}</legend>` +
    one("all", "<i>z</i>", "", "z", RANGES.z, 0.01) + "</fieldset></div>"
  );
}

function render({ model, el }) {
  const words = wordsFor(HOLD.words, model, el);
  furnish(el, "hold", words.title, pageHTML(uniqueId("hold"), words));
  const rows = el.querySelector(".ex-rows");
  const voice = announcer(el.querySelector(".ex-say"));
  let layout = HOLD.layout.wide;

  function paint(s, slim) {
    layout = HOLD.layout[slim ? "slim" : "wide"];
    const shown = { ...s, at: Math.round(s.at) };
    const c = compute(shown);
    rows.setAttribute("viewBox", `0 0 ${layout.W} ${layout.H}`);
    rows.innerHTML = drawRows(shown, c, layout, words);
    const mean = shown.z.reduce((a, b) => a + b, 0) / T;
    const values = { at: shown.at, n: shown.n[shown.at - 1], z: shown.z[shown.at - 1], all: mean };
    const textOf = (v, key) => (key === "at" ? String(v) : fixed(v));
    showInputs(el, values, textOf, (v, key) => (key === "at" ? `${words.step} ${v}` : fixed(v)));
    voice.say(sentence(shown, c, words));
  }

  const life = enliven({ model, el, start: HOLD.start, paint, voice, preset, put });

  // A pointer in the rows of n and z sets what it passes over; in those of h and w it moves the frame.
  function set({ x, y }, held) {
    const t = columnAt(x, layout, T);
    if (held === "at") return life.commit({ at: t });
    const { n, z } = layout;
    const raw = held === "n" ? (n.y - y) / n.half : 1 - (y - z.y) / z.high;
    const value = clamp(Math.round(raw * 50) / 50, ...RANGES[held]); // in steps of 0.02; the sliders are finer
    life.commit({ [held]: withEntry(life.state[held], t, value || 0) });
  }

  grip(rows, {
    press(event) {
      const at = pointIn(rows, event);
      if (at.x < layout.left) return null;
      const { n, z } = layout;
      const held = at.y > z.y + z.high + 4 ? "at" : at.y >= z.y - 4 ? "z" : at.y > n.y - n.half - 6 ? "n" : null;
      if (!held) return null;
      event.preventDefault();
      set(at, held);
      return held;
    },
    drag: (event, held) => set(pointIn(rows, event), held),
  });
  return life.wire();
}

export default { render, fromLink };
