// @ts-check
// The gate explorer: one GRU unit, one time step, held in the hand; or the same step with both places of the reset.
import GATE from "./gate.json";
import { label, num, show } from "./draw.mjs";
import { clamp, gruStep, logit } from "./gru-math.mjs";
import {
  choice, enliven, fieldset, fill, fixed, grip, note, percent, picture, pointIn, presetRow, pressed, query, saying, setUp,
  showInputs, sideBySide, slider, sub,
} from "./explorer.mjs";
import { drawCell } from "./gate-cell.mjs";
import { drawLines, LINES_HEIGHT, ROW_R, ROW_Z, scale } from "./gate-lines.mjs";
/** @import { Asked, Model, Role, Stage } from "./explorer.mjs" */

/**
 * x, h_prev, the weights and biases of a unit, convention and reset, and the view: one step, or both resets.
 *
 * @typedef {typeof GATE.start} State
 */
/**
 * One step of it, in plain numbers; `past` is what the old state adds to the candidate.
 *
 * @typedef {Record<"a_r" | "a_z" | "a_n" | "r" | "z" | "n" | "keep" | "write" | "h" | "past", number>} Cell
 */
/** Where its parts stand. @typedef {typeof GATE.layout.wide} Layout */
/** @typedef {typeof GATE.words} Words */
/** @typedef {"r" | "z" | "n"} Gate */
/** @typedef {Exclude<keyof State, "convention" | "reset" | "view">} NumberKey */
/** @typedef {Record<string, { r?: number, z?: number }>} Presets the biases that hold a gate */

const START = GATE.start;
const KEYS = /** @type {(keyof State)[]} */ (Object.keys(START));
const PRESETS = /** @type {Presets} */ (GATE.presets);
/** @type {Gate[]} */
const GATES = ["r", "z", "n"];
/** @type {("r" | "z")[]} */
const TURNED = ["r", "z"]; // the gates that are held
const CHOICES = { convention: ["keep", "write"], reset: ["before", "after"], view: ["step", "resets"] };
const GATE_RANGE = [0.001, 0.999];
const PULL = 32; // by so much a plate is pulled to open its gate, or close it; in units of the drawing

/**
 * The largest size of a number of the state: limits are kept by kind (x, h_prev, weights, biases).
 *
 * @param {string} key
 */
function limit(key) {
  const limits = /** @type {Record<string, number>} */ (GATE.limits);
  return limits[key] ?? limits[key[0]];
}

/** One step of one unit. @param {State} s @returns {Cell} */
function gateStep(s) {
  const c = gruStep([s.x], [s.h_prev], {
    W_xr: [[s.W_xr]], W_xz: [[s.W_xz]], W_xn: [[s.W_xn]], W_hr: [[s.W_hr]], W_hz: [[s.W_hz]], W_hn: [[s.W_hn]],
    b_r: [s.b_r], b_z: [s.b_z], b_n: [s.b_n], b_hn: [s.b_hn], convention: s.convention,
    reset_after: s.reset === "after",
  });
  const [a_r, a_z, a_n, r, z, n] = [c.a_r[0], c.a_z[0], c.a_n[0], c.r[0], c.z[0], c.n[0]];
  const past = s.reset === "after" ? r * (s.h_prev * s.W_hn + s.b_hn) : r * s.h_prev * s.W_hn;
  return { a_r, a_z, a_n, r, z, n, keep: c.keep[0], write: c.write[0], h: c.h[0], past };
}

/**
 * The bias at which a gate is `value`, all else as it is.
 *
 * @param {State} s @param {"r" | "z"} gate @param {number} value
 */
function biasFor(s, gate, value) {
  const others = s.x * s[`W_x${gate}`] + s.h_prev * s[`W_h${gate}`];
  return { [`b_${gate}`]: clamp(logit(clamp(value, GATE_RANGE[0], GATE_RANGE[1])) - others, -limit("b"), limit("b")) };
}

/**
 * A preset sets the two gates' weights, never x, h_prev or the candidate's: so its states compare.
 *
 * @param {string} name @param {State} s
 */
function presetState(name, s) {
  /** @type {Partial<State>} */
  const patch = {};
  for (const gate of TURNED) {
    const sign = gate === "z" && s.convention === "write" ? -1 : 1;
    const bias = PRESETS[name][gate];
    for (const key of keysOf(gate)) {
      const held = key[0] === "b" ? bias ?? 0 : 0; // a fixed gate reads nothing
      patch[key] = sign * (bias === undefined ? START[key] : held) || 0; // never -0
    }
  }
  return patch;
}

/** The weights and the bias of a gate. @param {Gate} gate @returns {NumberKey[]} */
function keysOf(gate) {
  return [`W_x${gate}`, `W_h${gate}`, `b_${gate}`];
}

/**
 * What a link sets: state keys, r and z (through their biases), or preset=name. Anything else is dropped.
 *
 * @param {Model["get"]} get reads the present state
 * @param {Asked} asked
 */
function fromLink(get, asked) {
  const s = { ...START, ...Object.fromEntries(KEYS.map((key) => [key, get(key) ?? START[key]])) };
  /** @type {Partial<State>} */
  const patch = {};
  const put = (/** @type {object} */ more) => { Object.assign(patch, more); Object.assign(s, more); };
  for (const key of KEYS.filter((each) => each in asked)) {
    const text = asked[key];
    if (key === "convention" || key === "reset" || key === "view") {
      if (CHOICES[key].includes(text)) put({ [key]: text });
    } else if (text.trim() && Number.isFinite(Number(text))) {
      put({ [key]: clamp(Number(text), -limit(key), limit(key)) });
    }
  }
  if (Object.hasOwn(PRESETS, asked.preset ?? "")) put(presetState(asked.preset, s));
  for (const gate of TURNED) {
    if (Number.isFinite(parseFloat(asked[gate]))) put(biasFor(s, gate, parseFloat(asked[gate])));
  }
  return patch;
}

// ------------------------------------------------------------------------------------------------ the drawing

/**
 * The cells that are drawn, and where: one; or one for each place of the reset, side by side or, if slim, stacked.
 *
 * @param {State} s @param {boolean} slim
 */
function cellsOf(s, slim) {
  if (s.view === "step") return [{ s, L: GATE.layout[slim ? "slim" : "wide"], left: 0, top: 0 }];
  const L = GATE.layout.slim;
  const { apart, above } = GATE.resets;
  return CHOICES.reset.map((reset, i) => (
    { s: { ...s, reset }, L, left: slim ? 0 : i * (L.W + apart), top: above + (slim ? i * (L.H + above) : 0) }
  ));
}

/** How large the drawing of these cells is. @param {ReturnType<typeof cellsOf>} cells */
function sizeOf(cells) {
  const { left, top, L } = cells[cells.length - 1];
  return { W: left + L.W, H: top + L.H };
}

/**
 * The gates of a cell where its plates stand: each with the middle of its gap and what it shows.
 *
 * @param {State} s @param {Cell} c @param {Layout} L
 */
function gatesOf(s, c, L) {
  return /** @type {const} */ ([
    { share: "r", x: s.reset === "after" ? L.b : L.a, y: L.mid, value: c.r },
    { share: "keep", x: L.v, y: L.top, value: c.keep },
    { share: "write", x: L.v, y: L.mid, value: c.write },
  ]);
}

/**
 * The title of one of two cells, and a frame around what differs.
 *
 * @param {string} title @param {Layout} L @param {Words} words
 */
function titled(title, L, words) {
  const [left, top] = [L.a - 31, L.mid - 31];
  return (
    label("ex-which", 2, -8, "start", title) +
    label("ex-small", left, top - 6, "start", words.swap) +
    `<rect class="ex-swap" x="${num(left)}" y="${num(top)}" width="${num(L.b + 31 - left)}" height="62" rx="4"/>`
  );
}

/**
 * The cells, with a knob on every plate.
 *
 * @param {State} s @param {boolean} slim @param {boolean} reads whether it shows what the gates read @param {Words} words
 */
function drawCells(s, slim, reads, words) {
  return cellsOf(s, slim).map(({ s: own, L, left, top }) => {
    const c = gateStep(own);
    const knobs = gatesOf(own, c, L).flatMap(({ share, x, y, value }) => [-1, 1].map((side) => {
      const end = y + side * ((value * L.full) / 2 + L.full / 2 + 8); // of the plate
      return (
        `<g class="ex-knob ex-fill-${share === "r" ? "r" : "z"}" data-share="${share}">` +
        `<rect class="ex-hold" x="${num(x - 16)}" y="${num(side < 0 ? end - 7 : y)}" width="32" ` +
        `height="${num(side * (end - y) + 7)}"/>` +
        `<rect x="${num(x - 9)}" y="${num(end - 2.5)}" width="18" height="5" rx="2"/></g>`
      );
    }));
    const title = s.view === "step" ? "" : titled(own.reset === "after" ? words.which_after : words.which_before, L, words);
    return `<g transform="translate(${num(left)} ${num(top)})">${title}${drawCell(own, c, L, words, { reads })}` +
      `${knobs.join("")}</g>`;
  }).join("");
}

// ------------------------------------------------------------------------------------------------ the page

const I = {
  r: "<i>r</i>", z: "<i>z</i>", n: "<i>n</i>", x: "<i>x</i>", h: sub("h", "t"), hp: sub("h", "t−1"),
};

/** "W_xr" as w with a subscript: with one unit, the matrix is a number. @param {string} key */
const weightName = (key) => sub(key[0].toLowerCase(), key.slice(2));

/** @param {Words} words */
function legendHTML(words) {
  /** @type {(key: string, word: string) => string} */
  const item = (key, word) => `<span><b class="ex-key ${key}"></b>${word}</span>`;
  return (
    `<p class="ex-legend" aria-hidden="true"><span>${words.width}</span>${item("", words.positive)}` +
    `${item("ex-key-hollow", words.negative)}${item("ex-key-gate", words.gate)}</p>`
  );
}

/** @param {string} id @param {Words} words */
function slidersHTML(id, words) {
  /** @type {(key: "x" | "h_prev", symbol: string, role: Role) => string} */
  const input = (key, symbol, role) =>
    slider({ id, key, range: [-1, 1], step: 0.01, symbol, name: words[key], role });
  const gate = (/** @type {"r" | "z"} */ key) =>
    slider({ id, key, range: GATE_RANGE, step: 0.001, symbol: I[key], name: words[key], role: key });
  const inside = slider({
    id: `${id}-main`, key: "b_hn", range: [-limit("b_hn"), limit("b_hn")].map((v) => v / 8), step: 0.01,
    symbol: weightName("b_hn"), name: words.inside, role: "n",
  });
  return (
    `<div class="ex-main">${fieldset(words.gates, gate("r"), gate("z"))}` +
    `${fieldset(words.inputs, input("x", I.x, "x"), input("h_prev", I.hp, "h"))}` +
    `<div data-only="resets">${inside}</div></div>`
  );
}

/** @param {string} id @param {Words} words */
function switchesHTML(id, words) {
  const [z, r] = [`<i class="ex-z">z</i>`, `<i class="ex-r">r</i>`];
  const w = weightName("W_hn");
  const convention = choice({
    id, key: "convention", legend: fill(words.share, { z }),
    options: [["keep", words.kept], ["write", words.written]],
  });
  const reset = choice({
    id, key: "reset", legend: fill(words.acts, { r }),
    options: [["before", fill(words.before, { w })], ["after", fill(words.after, { w })]],
  });
  const b = weightName("b_hn");
  return (
    `<div class="ex-switches">${convention}` +
    `<button type="button" class="ex-plain" data-flip>${fill(words.flip, { z: "<i>z</i>" })}</button>` +
    `<div data-only="step">${reset}</div></div>` +
    `<p class="ex-note" data-only="step">${fill(words.note, { rb: `<i>r</i> ${b}`, b, W: sub("W", "hn") })}</p>`
  );
}

/** @param {string} id @param {Words} words */
function weightsHTML(id, words) {
  /** @type {(key: NumberKey, role: Role) => string} */
  const one = (key, role) => {
    const range = [-limit(key), limit(key)];
    return slider({ id, key, range, step: 0.01, symbol: weightName(key), name: "", role });
  };
  const column = (/** @type {Gate} */ gate) => {
    const keys = gate === "n" ? [...keysOf(gate), /** @type {const} */ ("b_hn")] : keysOf(gate);
    return fieldset(words[gate], ...keys.map((key) => one(key, gate)));
  };
  return `<div class="ex-columns">${GATES.map(column).join("")}</div>`;
}

/** @param {string} id @param {Words} words */
function pageHTML(id, words) {
  return (
    presetRow(PRESETS, words) +
    sideBySide(picture(id, "ex-cell", words.diagram) + legendHTML(words) + saying(id), slidersHTML(id, words) + note(words.hint)) +
    fold(' class="ex-kept"', words.equations, `<div class="ex-equations" role="group" aria-label="${words.equations}"></div>` +
      `<p class="ex-note">${words.gates_note}</p>${weightsHTML(id, words)}`) +
    fold(' class="ex-kept" data-only="step"', words.lines, `<svg class="ex-lines" aria-hidden="true"></svg>`) +
    fold("", words.switches, switchesHTML(id, words))
  );
}

/** @param {string} more attributes @param {string} title @param {string} content */
function fold(more, title, content) {
  return `<details${more}><summary>${title}</summary>${content}</details>`;
}

/** Symbol = formula = numbers = result: four rows, or six for both places of the reset. @param {State} s */
function equationsHTML(s) {
  const c = gateStep(s);
  /** @type {(name: keyof typeof I, role?: string) => string} */
  const dye = (name, role = name) => `<span class="ex-${role}">${I[name]}</span>`;
  const [r, z, n, x, hp] = [dye("r"), dye("z"), dye("n"), dye("x"), dye("hp", "h")];
  const w = weightName;
  const signed = (/** @type {number} */ v) => (v < 0 ? `(${fixed(v)})` : fixed(v));
  /** @type {(symbol: string, formula: string, numbers: string, value: number, role: Role) => string} */
  const row = (symbol, formula, numbers, value, role) =>
    `<div><span>${symbol}</span><span>= ${formula}</span><span>= ${numbers}</span>` +
    `<span>= <b class="ex-${role}">${fixed(value)}</b></span></div>`;

  const gate = (/** @type {string} */ g) => `σ(${x} ${w(`W_x${g}`)} + ${hp} ${w(`W_h${g}`)} + ${w(`b_${g}`)})`;
  const candidates = {
    before: `tanh(${x} ${w("W_xn")} + (${r} ${hp}) ${w("W_hn")} + ${w("b_n")})`,
    after: `tanh(${x} ${w("W_xn")} + ${w("b_n")} + ${r} (${hp} ${w("W_hn")} + ${w("b_hn")}))`,
  };
  const shares = s.convention === "keep" ? [z, `(1 − ${z})`] : [`(1 − ${z})`, z];
  const states = cellsOf(s, true).map(({ s: own }) => {
    const one = gateStep(own);
    const mix = `${fixed(one.keep)} × ${signed(s.h_prev)} + ${fixed(one.write)} × ${signed(one.n)}`;
    return (
      row(n, candidates[own.reset === "after" ? "after" : "before"], `tanh(${fixed(one.a_n)})`, one.n, "n") +
      row(dye("h"), `${shares[0]} ${hp} + ${shares[1]} ${n}`, mix, one.h, "h")
    );
  });
  return (
    row(r, gate("r"), `σ(${fixed(c.a_r)})`, c.r, "r") +
    row(z, gate("z"), `σ(${fixed(c.a_z)})`, c.z, "z") +
    states.join("")
  );
}

/** @param {State} s @param {Words} words */
function sentence(s, words) {
  if (s.view === "resets") return bothResets(s, words);
  const c = gateStep(s);
  const whole = c.keep >= 0.01 && c.keep <= 0.99; // then the two are printed without decimals, and add up to 100
  const write = whole ? `${100 - parseInt(percent(c.keep), 10)}\u00a0%` : percent(c.write);
  const shares = { keep: percent(c.keep), write, seen: percent(c.r) };
  const moves = fill(words.moves, { from: fixed(s.h_prev), to: fixed(c.h) });
  return `${fill(words.say, shares)} ${moves}`;
}

/** What the two places of the reset make of the same weights. @param {State} s @param {Words} words */
function bothResets(s, words) {
  const [before, after] = CHOICES.reset.map((reset) => gateStep({ ...s, reset }));
  const b = Math.round(1000 * s.b_hn) / 1000;
  const why = fill(b ? words.differ : words.agree, { b: fixed(b), r: fixed(before.r), rb: fixed(before.r * b) });
  const both = { n: fixed(before.n), h: fixed(before.h), n_after: fixed(after.n), h_after: fixed(after.h) };
  return `${fill(words.both, both)} ${why}`;
}

// ------------------------------------------------------------------------------------------------ the widget

/** @param {Stage} stage */
function render({ model, el }) {
  const { words } = GATE;
  const voice = setUp("gate", words, el, pageHTML);
  const [cell, lines] = [".ex-cell", ".ex-lines"].map((one) => query(el, one, SVGSVGElement));
  const equations = query(el, ".ex-equations", HTMLElement);
  const asked = query(el, "details", HTMLDetailsElement); // the equations and the weights
  /** @type {NodeListOf<HTMLElement>} */
  const ofOneView = el.querySelectorAll("[data-only]");
  let layout = GATE.layout.wide;
  let narrow = false;

  /** @param {State} s @param {boolean} slim */
  function paint(s, slim) {
    layout = GATE.layout[slim ? "slim" : "wide"];
    narrow = slim;
    for (const one of ofOneView) one.hidden = one.dataset.only !== s.view;
    el.classList.toggle("ex-resets", s.view === "resets");
    const c = gateStep(s);
    show(cell, sizeOf(cellsOf(s, slim)), drawCells(s, slim, asked.open, words));
    show(lines, { W: layout.W, H: LINES_HEIGHT }, drawLines(s, c, layout.W, words));
    equations.innerHTML = equationsHTML(s);
    foldLines(true);
    showInputs(el, { ...s, r: c.r, z: c.z });
    voice.say(sentence(s, words));
  }

  const tooWide = () => equations.scrollWidth > equations.clientWidth;
  /**
   * Each equation on two lines, if one line is too narrow for any of them; once folded, they stay so while numbers
   * change. What then can be scrolled must be in reach of the keyboard.
   *
   * @param {boolean} stay
   */
  function foldLines(stay) {
    if (!stay) el.classList.remove("ex-two-lines");
    if (tooWide()) el.classList.add("ex-two-lines");
    if (tooWide()) equations.tabIndex = 0;
    else equations.removeAttribute("tabindex");
  }

  /** @param {string} key @param {number} value @param {State} s */
  const put = (key, value, s) => (key === "r" || key === "z" ? biasFor(s, key, value) : { [key]: value });

  /** Turn the sign of what z is computed from. @param {Event} event */
  function onClick(event) {
    if (!pressed(event, "[data-flip]")) return;
    const { W_xz, W_hz, b_z } = life.state;
    life.moveTo({ W_xz: -W_xz || 0, W_hz: -W_hz || 0, b_z: -b_z || 0 });
  }

  const hear = { click: onClick };
  const life = enliven({ model, el, start: START, paint, voice, preset: presetState, put, hear });

  // Plates can be pulled apart and pushed together, and the blocks on the lines dragged; from the keyboard, the sliders
  // do the same.
  grip(cell, {
    press(event) {
      const share = event.target instanceof Element && event.target.closest("[data-share]")?.getAttribute("data-share");
      if (!share) return null;
      life.halt(); // or the plate would go on by itself
      event.preventDefault();
      const { y } = pointIn(cell, event);
      const c = gateStep(life.state);
      const tops = cellsOf(life.state, narrow).flatMap(({ s, L, top }) =>
        gatesOf(s, c, L).filter((one) => one.share === share).map((one) => top + one.y));
      const middle = tops.reduce((a, b) => (Math.abs(b - y) < Math.abs(a - y) ? b : a));
      return { share, from: c[/** @type {"r" | "keep" | "write"} */ (share)], y, side: y < middle ? -1 : 1 };
    },
    drag(event, { share, from, y, side }) {
      const s = life.state;
      const value = from + (side * (pointIn(cell, event).y - y)) / PULL;
      const ofZ = (share === "keep") === (s.convention === "keep") ? value : 1 - value;
      life.commit(share === "r" ? biasFor(s, "r", value) : biasFor(s, "z", ofZ));
    },
  });
  grip(lines, {
    press(event) {
      const { x, y, pixel } = pointIn(lines, event);
      const { at } = scale(layout.W);
      const c = gateStep(life.state);
      const near = (/** @type {number} */ v, /** @type {number} */ row) => Math.hypot(x - at(v), y - row) < 22 * pixel;
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

  // A finger that holds a plate does not scroll the page. A part of a drawing has no touch-action of its own.
  cell.addEventListener("touchstart", (event) => {
    if (event.target instanceof Element && event.target.closest("[data-share]")) event.preventDefault();
  }, { passive: false });
  asked.addEventListener("toggle", () => life.commit({})); // the drawing shows then what the gates read

  let wide = 0; // of the equations, when it was last asked whether they fit
  new ResizeObserver(() => {
    if (equations.clientWidth === wide) return;
    wide = equations.clientWidth;
    foldLines(false);
  }).observe(equations);
  return life.wire();
}

export default { render, fromLink };
