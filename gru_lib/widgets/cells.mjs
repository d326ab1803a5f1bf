// Cells side by side: Elman, GRU and LSTM, one unit each, on the same 24 inputs (chapter 12).
// Keys of the model: at (the framed step), x (inputs), m (marks: write now), w, b_z, b_f, input_gate, and lang.
import CELLS from "./cells.json";
import { elmanStep, gruStep, lstmStep } from "./gru-math.mjs";
import {
  announcer, choice, columnAt, enliven, fill, fixed, fromText, furnish, grip, num, pointIn, presetRow, showInputs,
  slider, sub, uniqueId, wordsFor,
} from "./explorer.mjs";

const T = CELLS.start.x.length;
const RANGES = { at: [1, T], ...CELLS.limits };
const GATES = ["coupled", "free"];
const STATES = ["elman", "gru", "c", "lstm"];
const ROLES = { x: "x", m: "x", elman: "h", z: "z", gru: "h", f: "a", i: "a", c: "a", lstm: "h" };
const SYMBOLS = { x: "x", m: "m", elman: "h", z: "z", gru: "h", f: "f", i: "i", c: "c", lstm: "h" };

const preset = (name) => CELLS.presets[name];

/** What a link sets: at, w, b_z, b_f; x or m as T numbers; input_gate; preset=name. Anything else is dropped. */
function fromLink(get, asked) {
  const patch = Object.hasOwn(CELLS.presets, asked.preset ?? "") ? { ...preset(asked.preset) } : {};
  for (const [key, range] of Object.entries(RANGES)) {
    const value = fromText(asked[key] ?? "", range, ["x", "m"].includes(key) ? T : undefined);
    if (value !== undefined) patch[key] = key === "at" ? Math.round(value) : value;
  }
  if (GATES.includes(asked.input_gate)) patch.input_gate = asked.input_gate;
  return patch;
}

const withEntry = (list, t, value) => list.map((old, i) => (i + 1 === t ? value : old));

/** What a slider sets: a knob, or the input or the mark of the framed step. */
function put(key, value, state) {
  return ["x", "m"].includes(key) ? { [key]: withEntry(state[key], state.at, value) } : { [key]: value };
}

// ------------------------------------------------------------------------------------------------ the numbers

/** The three cells' parameters, D = 2 inputs (x and m), one unit. What is not in cells.json is 0. */
function params(s) {
  const [none, zero] = [[[0], [0]], [[0]]];
  const { elman, gru, lstm } = CELLS.weights;
  const b_i = s.input_gate === "coupled" ? -s.b_f : 0;
  return {
    elman: { ...elman, W_h: [[s.w]], b: [0] },
    gru: {
      W_xr: none, W_hr: zero, W_hz: zero, W_hn: zero, b_r: [0], b_n: [0], ...gru, b_z: [s.b_z],
      convention: "keep", reset_after: false,
    },
    lstm: {
      W_xo: none, W_hi: zero, W_hf: zero, W_hg: zero, W_ho: zero, b_g: [0], b_o: [0], ...lstm, b_i: [b_i],
      b_f: [s.b_f],
    },
  };
}

/** The states and gates of all steps on inputs x. */
function walk(x, s, p) {
  const out = { elman: [], gru: [], c: [], lstm: [], z: [], f: [], i: [] };
  let [e, g, l] = [[0], [0], { h: [0], c: [0] }];
  for (let t = 0; t < T; t++) {
    const both = [x[t], s.m[t]];
    e = elmanStep(both, e, p.elman);
    const gru = gruStep(both, g, p.gru);
    g = gru.h;
    l = lstmStep(both, l, p.lstm);
    const now = { elman: e[0], gru: g[0], c: l.c[0], lstm: l.h[0], z: gru.z[0], f: l.f[0], i: l.i[0] };
    for (const [key, value] of Object.entries(now)) out[key].push(value);
  }
  return out;
}

/** The walk, and the walk with the first input's sign turned. */
function compute(s) {
  const p = params(s);
  return { here: walk(s.x, s, p), there: walk(withEntry(s.x, 1, -s.x[0]), s, p) };
}

const away = (c, key, t) => Math.abs(c.here[key][t - 1] - c.there[key][t - 1]);

function sentence(s, c, words) {
  const gaps = Object.fromEntries(STATES.map((key) => [key, away(c, key, s.at)]));
  const told = [
    ["Elman", gaps.elman], ["GRU", gaps.gru], ["LSTM", Math.max(gaps.c, gaps.lstm)],
  ].filter(([, gap]) => gap > CELLS.told).map(([name]) => name);
  const shown = Object.fromEntries(STATES.map((key) => [key, fixed(gaps[key])]));
  return fill(words.say, { t: s.at, ...shown, who: told.join(words.and) || words.nobody });
}

// ------------------------------------------------------------------------------------------------ the drawing

const label = (cls, x, y, anchor, content) =>
  `<text class="${cls}" x="${num(x)}" y="${num(y)}" text-anchor="${anchor}">${content}</text>`;
const bar = (cls, x, y, width, height) =>
  `<rect class="${cls}" x="${num(x)}" y="${num(y)}" width="${num(width)}" height="${num(Math.max(height, 0))}"/>`;

/** A bar from a midline: solid up, hollow down. */
function signedBar(role, x, y, width, v, half) {
  const size = Math.abs(v) * half;
  return v < 0
    ? bar(`ex-down ex-${role}`, x + 0.75, y, width - 1.5, size)
    : bar(`ex-fill-${role}`, x, y - size, width, size);
}

/** The rows, as SVG text; cells.py draws the same where there is no JavaScript. */
function drawRows(s, c, L, words) {
  const x = (t) => L.left + (t - 1) * L.column + (L.column - L.bar) / 2;
  const right = L.left + T * L.column;
  const scale = Math.max(1, Math.ceil(10 * Math.max(...c.here.c.map(Math.abs), ...c.there.c.map(Math.abs))) / 10);
  const out = [];
  for (const [row, at] of Object.entries(L.rows)) {
    const role = ROLES[row];
    const symbol = `${SYMBOLS[row]}<tspan class="ex-sub" dy="4">t</tspan><tspan dy="-4">\u200b</tspan>`;
    const axis = row === "c" && scale > 1 ? fill(words.axis, { scale: `\u00b1${fixed(scale, 1)}` }) : "";
    const top = at.half ? at.y - at.half : at.y;
    if (L.slim) {
      const name = `<tspan class="ex-it ex-${role}">${symbol}</tspan>\u2002${words[row]}${axis && `, ${axis}`}`;
      out.push(label("ex-small", L.left, top - 6, "start", name));
    } else {
      const middle = at.half ? at.y : at.y + at.high / 2;
      out.push(label(`ex-sym ex-${role}`, 0, middle + 5, "start", symbol));
      out.push(label("ex-small", 32, middle + 5, "start", words[row]));
      if (axis) out.push(label("ex-small", 32, middle + 22, "start", axis));
    }
    if (at.half) out.push(`<path class="ex-axis" d="M${L.left} ${at.y}H${right}"/>`);
    const values = s[row] ?? c.here[row];
    const unit = row === "c" ? at.half / scale : at.half;
    for (let t = 1; t <= T; t++) {
      const v = values[t - 1];
      if (!at.half) {
        out.push(bar("ex-tank", x(t), at.y, L.bar, at.high));
        out.push(bar(`ex-fill-${role}`, x(t), at.y + at.high * (1 - v), L.bar, at.high * v));
        continue;
      }
      out.push(signedBar(role, x(t), at.y, L.bar, v, unit));
      if (row === "x") continue;
      const y = at.y - unit * c.there[row][t - 1];
      out.push(`<path class="ex-tick" d="M${num(x(t) - 2)} ${num(y)}H${num(x(t) + L.bar + 2)}"/>`);
    }
  }
  for (let t = 1; t <= T; t++) {
    if (t === 1 || t % 6 === 0) out.push(label("ex-small", x(t) + L.bar / 2, L.H - 2, "middle", String(t)));
  }
  const part = (name, symbol, role, value) =>
    `\u2003${name}<tspan class="ex-it ex-${role}">${symbol}</tspan> ${value}`;
  const now = (key) => fixed(c.here[key][s.at - 1]);
  const given = part("", "x", "x", fixed(s.x[s.at - 1], 2));
  const states = part("Elman ", "h", "h", now("elman")) + part("GRU ", "h", "h", now("gru")) +
    part(L.slim ? "" : "LSTM ", "c", "a", now("c")) + part("", "h", "h", now("lstm"));
  out.push(label("ex-now", L.left, 14, "start", `${words.step} ${s.at}${given}${L.slim ? "" : states}`));
  if (L.slim) out.push(label("ex-now", L.left, 32, "start", states.slice(1)));
  const left = L.left + (s.at - 1) * L.column;
  out.push(
    `<rect class="ex-frame" x="${num(left)}" y="${L.top}" width="${L.column}" height="${L.H - L.top - 18}" rx="2"/>`,
  );
  return out.join("");
}

// ------------------------------------------------------------------------------------------------ the page

function pageHTML(id, words) {
  const one = (key, symbol, role, step) => slider({ id, key, range: RANGES[key], step, symbol, name: words[key], role });
  const gate = choice({
    id, key: "input_gate", legend: words.input,
    options: [["coupled", `\u2212${sub("b", "f")}`], ["free", "0"]],
  });
  const framed = slider({ id, key: "at", range: RANGES.at, step: 1, symbol: "<i>t</i>", name: words.framed, role: "a" });
  return (
    presetRow(Object.keys(CELLS.presets), words) +
    `<svg class="ex-rows" role="img" aria-label="${words.diagram}" aria-describedby="${id}-say"></svg>` +
    `<p class="ex-note" aria-hidden="true">${words.hint}</p>` +
    `<p class="ex-say" id="${id}-say" aria-live="polite"></p>` +
    `<div class="ex-main"><fieldset><legend>${words.frame}</legend>` +
    framed + one("x", sub("x", "t"), "x", 0.1) + one("m", sub("m", "t"), "x", 1) +
    `</fieldset><fieldset><legend>${words.knobs}</legend>` +
    one("w", sub("W", "h"), "a", 0.01) + one("b_z", sub("b", "z"), "z", 0.1) + one("b_f", sub("b", "f"), "a", 0.1) +
    `</fieldset></div><div class="ex-switches">${gate}</div>`
  );
}

function render({ model, el }) {
  const words = wordsFor(CELLS.words, model, el);
  furnish(el, "cells", words.title, pageHTML(uniqueId("cells"), words));
  const rows = el.querySelector(".ex-rows");
  const voice = announcer(el.querySelector(".ex-say"));
  let layout = CELLS.layout.wide;

  function paint(s, slim) {
    layout = CELLS.layout[slim ? "slim" : "wide"];
    const shown = { ...s, at: Math.round(s.at) };
    const c = compute(shown);
    rows.setAttribute("viewBox", `0 0 ${layout.W} ${layout.H}`);
    rows.innerHTML = drawRows(shown, c, layout, words);
    const values = { ...shown, x: shown.x[shown.at - 1], m: shown.m[shown.at - 1] };
    const textOf = (v, key) => (key === "at" ? String(v) : fixed(v, key === "b_z" || key === "b_f" ? 1 : 2));
    showInputs(el, values, textOf, (v, key) => (key === "at" ? `${words.step} ${v}` : textOf(v, key)));
    voice.say(sentence(shown, c, words));
  }

  const life = enliven({ model, el, start: CELLS.start, paint, voice, preset, put });

  // A press in the row of x makes a pulse, one in the row of m a mark; elsewhere the pointer moves the frame.
  function press(event) {
    const { x, y } = pointIn(rows, event);
    const t = columnAt(x, layout, T);
    if (x < layout.left) return null;
    event.preventDefault();
    const { x: xs, m: ms } = layout.rows;
    if (y < layout.top) return null;
    if (y < xs.y + xs.half + 4) {
      const old = life.state.x[t - 1];
      life.commit({ at: t, x: withEntry(life.state.x, t, old === 0 ? 1 : old > 0 ? -1 : 0) });
    } else if (y < ms.y + ms.high + 4) {
      life.commit({ at: t, m: withEntry(life.state.m, t, life.state.m[t - 1] > 0.5 ? 0 : 1) });
    } else {
      life.commit({ at: t });
      return "frame";
    }
    return null;
  }

  grip(rows, { press, drag: (event) => life.commit({ at: columnAt(pointIn(rows, event).x, layout, T) }) });
  return life.wire();
}

export default { render, fromLink };
