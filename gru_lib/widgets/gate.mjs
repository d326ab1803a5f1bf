// The gate explorer: one GRU unit, one time step, held in the hand.
// Keys of the model: those of START, and lang.
import GATE from "./gate.json";
import { clamp, gruStep, logit } from "./gru-math.mjs";
import {
  announcer, choice, enliven, fill, fixed, furnish, grip, percent, pointIn, presetRow, showInputs, slider, sub,
  uniqueId, wordsFor,
} from "./explorer.mjs";
import { drawCell } from "./gate-cell.mjs";
import { drawLines, LINES_HEIGHT, ROW_R, ROW_Z, scale } from "./gate-lines.mjs";

const START = GATE.start;
const KEYS = Object.keys(START);
const CHOICES = { convention: ["keep", "write"], reset: ["before", "after"] };
const GATE_RANGE = [0.001, 0.999];

/** The largest size of a number of the state: limits are kept by kind (x, h_prev, weights, biases). */
const limit = (key) => GATE.limits[key] ?? GATE.limits[key[0]];

/** One step of one unit, in plain numbers; `past` is what the old state adds to the candidate. */
function gateStep(s) {
  const p = { convention: s.convention, reset_after: s.reset === "after", b_hn: [s.b_hn] };
  for (const gate of "rzn") {
    p[`W_x${gate}`] = [[s[`W_x${gate}`]]];
    p[`W_h${gate}`] = [[s[`W_h${gate}`]]];
    p[`b_${gate}`] = [s[`b_${gate}`]];
  }
  const arrays = Object.entries(gruStep([s.x], [s.h_prev], p));
  const c = Object.fromEntries(arrays.map(([name, value]) => [name, value[0]]));
  const past = s.reset === "after" ? c.r * (s.h_prev * s.W_hn + s.b_hn) : c.r * s.h_prev * s.W_hn;
  return { ...c, past };
}

/** The bias that opens a gate by `share`, all else as it is. */
function biasFor(s, gate, share) {
  const others = s.x * s[`W_x${gate}`] + s.h_prev * s[`W_h${gate}`];
  return { [`b_${gate}`]: clamp(logit(clamp(share, ...GATE_RANGE)) - others, -limit("b"), limit("b")) };
}

/** A preset sets the two gates' weights, never x, h_prev or the candidate's: so its states compare. */
function presetState(name, s) {
  const patch = {};
  for (const gate of "rz") {
    const sign = gate === "z" && s.convention === "write" ? -1 : 1;
    const bias = GATE.presets[name][gate];
    for (const key of [`W_x${gate}`, `W_h${gate}`, `b_${gate}`]) {
      const held = key[0] === "b" ? bias : 0; // a fixed gate reads nothing
      patch[key] = sign * (bias === undefined ? START[key] : held) || 0; // never -0
    }
  }
  return patch;
}

/**
 * What a link sets: state keys, r and z (through their biases), or preset=name. Anything else is dropped.
 *
 * @param {(key: string) => any} get reads the present state
 * @param {object} asked keys and values as text
 */
function fromLink(get, asked) {
  const s = Object.fromEntries(KEYS.map((key) => [key, get(key) ?? START[key]]));
  const patch = {};
  const put = (more) => { Object.assign(patch, more); Object.assign(s, more); };
  for (const [key, text] of Object.entries(asked)) {
    if (CHOICES[key]?.includes(text)) put({ [key]: text });
    else if (typeof START[key] === "number" && text.trim() && Number.isFinite(Number(text))) {
      put({ [key]: clamp(Number(text), -limit(key), limit(key)) });
    }
  }
  if (Object.hasOwn(GATE.presets, asked.preset ?? "")) put(presetState(asked.preset, s));
  for (const gate of "rz") {
    if (Number.isFinite(parseFloat(asked[gate]))) put(biasFor(s, gate, parseFloat(asked[gate])));
  }
  return patch;
}

// ------------------------------------------------------------------------------------------------ the page

const I = {
  r: "<i>r</i>", z: "<i>z</i>", n: "<i>n</i>", x: "<i>x</i>", h: sub("h", "t"), hp: sub("h", "t−1"),
};

/** "W_xr" as w with a subscript: with one unit, the matrix is a number. */
const weightName = (key) => sub(key[0].toLowerCase(), key.slice(2));

function legendHTML(words) {
  const item = (key, word) => `<span><b class="ex-key ${key}"></b>${word}</span>`;
  return (
    `<p class="ex-legend" aria-hidden="true"><span>${words.width}</span>${item("", words.positive)}` +
    `${item("ex-key-hollow", words.negative)}${item("ex-key-gate", words.gate)}` +
    `${item("ex-key-dots", words.reads)}</p>`
  );
}

function slidersHTML(id, words) {
  const input = (key, symbol, role) =>
    slider({ id, key, range: [-1, 1], step: 0.01, symbol, name: words[key], role });
  const gate = (key) =>
    slider({ id, key, range: GATE_RANGE, step: 0.001, symbol: I[key], name: words[key], role: key });
  return (
    `<div class="ex-main"><fieldset><legend>${words.inputs}</legend>${input("x", I.x, "x")}` +
    `${input("h_prev", I.hp, "h")}</fieldset>` +
    `<fieldset><legend>${words.gates} · ${words.gates_note}</legend>` +
    `${gate("r")}${gate("z")}</fieldset></div>`
  );
}

function switchesHTML(id, words) {
  const [z, r] = [`<i class="ex-z">z</i>`, `<i class="ex-r">r</i>`];
  const w = weightName("W_hn");
  const convention = choice({
    id, key: "convention", legend: fill(words.share, { z }),
    options: [["keep", words.kept], ["write", words.written]],
  });
  const reset = choice({
    id, key: "reset", legend: fill(words.acts, { r }),
    options: CHOICES.reset.map((place) => [place, fill(words[place], { w })]),
  });
  const b = weightName("b_hn");
  return (
    `<div class="ex-switches">${convention}` +
    `<button type="button" class="ex-plain" data-flip>${fill(words.flip, { z: "<i>z</i>" })}</button>` +
    `${reset}</div>` +
    `<p class="ex-note">${fill(words.note, { rb: `<i>r</i> ${b}`, b, W: sub("W", "hn") })}</p>`
  );
}

function weightsHTML(id, words) {
  const one = (key, role) => {
    const range = [-limit(key), limit(key)];
    return slider({ id, key, range, step: 0.01, symbol: weightName(key), name: "", role });
  };
  const column = (gate) => {
    const keys = [`W_x${gate}`, `W_h${gate}`, `b_${gate}`, ...(gate === "n" ? ["b_hn"] : [])];
    const sliders = keys.map((key) => one(key, gate)).join("");
    return `<fieldset><legend>${words[gate]}</legend>${sliders}</fieldset>`;
  };
  return (
    `<details><summary>${words.weights}</summary>` +
    `<div class="ex-columns">${[..."rzn"].map(column).join("")}</div></details>`
  );
}

function pageHTML(id, words) {
  return (
    presetRow(Object.keys(GATE.presets), words) +
    `<svg class="ex-cell" role="img" aria-label="${words.diagram}" aria-describedby="${id}-say"></svg>` +
    legendHTML(words) +
    `<p class="ex-say" id="${id}-say" aria-live="polite"></p>` +
    `<svg class="ex-lines" aria-hidden="true"></svg>` +
    slidersHTML(id, words) +
    `<div class="ex-equations" role="group" aria-label="${words.equations}"></div>` +
    switchesHTML(id, words) +
    weightsHTML(id, words)
  );
}

/** Symbol = formula = numbers = result, four rows. */
function equationsHTML(s, c) {
  const dye = (name, role = name) => `<span class="ex-${role}">${I[name]}</span>`;
  const [r, z, n, x, hp] = [dye("r"), dye("z"), dye("n"), dye("x"), dye("hp", "h")];
  const w = weightName;
  const signed = (v) => (v < 0 ? `(${fixed(v)})` : fixed(v));
  const row = (symbol, formula, numbers, value, role) =>
    `<div><span>${symbol}</span><span>= ${formula}</span><span>= ${numbers}</span>` +
    `<span>= <b class="ex-${role}">${fixed(value)}</b></span></div>`;

  const gate = (g) => `σ(${x} ${w(`W_x${g}`)} + ${hp} ${w(`W_h${g}`)} + ${w(`b_${g}`)})`;
  const candidate = s.reset === "after"
    ? `tanh(${x} ${w("W_xn")} + ${w("b_n")} + ${r} (${hp} ${w("W_hn")} + ${w("b_hn")}))`
    : `tanh(${x} ${w("W_xn")} + (${r} ${hp}) ${w("W_hn")} + ${w("b_n")})`;
  const shares = s.convention === "keep" ? [z, `(1 − ${z})`] : [`(1 − ${z})`, z];
  const mix = `${fixed(c.keep)} × ${signed(s.h_prev)} + ${fixed(c.write)} × ${signed(c.n)}`;
  return (
    row(r, gate("r"), `σ(${fixed(c.a_r)})`, c.r, "r") +
    row(z, gate("z"), `σ(${fixed(c.a_z)})`, c.z, "z") +
    row(n, candidate, `tanh(${fixed(c.a_n)})`, c.n, "n") +
    row(dye("h"), `${shares[0]} ${hp} + ${shares[1]} ${n}`, mix, c.h, "h")
  );
}

function sentence(s, c, words) {
  const shares = { keep: percent(c.keep), write: percent(c.write), seen: percent(c.r) };
  const moves = fill(words.moves, { from: fixed(s.h_prev), to: fixed(c.h) });
  return fill(words.say, shares) + words.space + moves; // no space after a Chinese full stop
}

// ------------------------------------------------------------------------------------------------ the widget

function render({ model, el }) {
  const words = wordsFor(GATE.words, model, el);
  furnish(el, "gate", words.title, pageHTML(uniqueId("gate"), words));
  const [cell, lines, equations] = [".ex-cell", ".ex-lines", ".ex-equations"].map((one) => el.querySelector(one));
  const voice = announcer(el.querySelector(".ex-say"));
  let layout = GATE.layout.wide;

  function paint(s, slim) {
    layout = GATE.layout[slim ? "slim" : "wide"];
    const c = gateStep(s);
    cell.setAttribute("viewBox", `0 0 ${layout.W} ${layout.H}`);
    cell.innerHTML = drawCell(s, c, layout, words);
    lines.setAttribute("viewBox", `0 0 ${layout.W} ${LINES_HEIGHT}`);
    lines.innerHTML = drawLines(s, c, layout.W, words);
    equations.innerHTML = equationsHTML(s, c);
    showInputs(el, { ...s, r: c.r, z: c.z });
    voice.say(sentence(s, c, words));
  }

  const put = (key, value, s) => (key === "r" || key === "z" ? biasFor(s, key, value) : { [key]: value });

  function onClick({ target }) {
    if (!target.closest("[data-flip]")) return;
    life.moveTo(Object.fromEntries(["W_xz", "W_hz", "b_z"].map((key) => [key, -life.state[key] || 0])));
  }

  const hear = { click: onClick };
  const life = enliven({ model, el, start: START, paint, voice, preset: presetState, put, hear });

  // The two blocks on the lines can be dragged; from the keyboard, the sliders do the same.
  grip(lines, {
    press(event) {
      const { x, y, pixel } = pointIn(lines, event);
      const { at } = scale(layout.W);
      const c = gateStep(life.state);
      const near = (v, row) => Math.hypot(x - at(v), y - row) < 22 * pixel;
      const held = near(c.h, ROW_Z) ? "z" : near(c.r * life.state.h_prev, ROW_R) ? "r" : null;
      if (!held) return null;
      life.halt(); // or the block would go on by itself
      event.preventDefault();
      return held;
    },
    drag(event, held) {
      const s = life.state;
      const { left, right } = scale(layout.W);
      const v = (2 * (pointIn(lines, event).x - left)) / (right - left) - 1;
      const c = gateStep(s);
      if (held === "r" && Math.abs(s.h_prev) > 0.02) life.commit(biasFor(s, "r", v / s.h_prev));
      if (held === "z" && Math.abs(s.h_prev - c.n) > 0.02) {
        const keep = (v - c.n) / (s.h_prev - c.n);
        life.commit(biasFor(s, "z", s.convention === "keep" ? keep : 1 - keep));
      }
    },
  });

  new ResizeObserver(() => { // what can be scrolled must be in reach of the keyboard
    if (equations.scrollWidth > equations.clientWidth) equations.tabIndex = 0;
    else equations.removeAttribute("tabindex");
  }).observe(equations);
  return life.wire();
}

export default { render, fromLink };
