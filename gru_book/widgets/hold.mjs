// @ts-check
// Hold the gate: a memory of one number over 24 steps, every gate in the reader's hand (chapter 3).
import HOLD from "./hold.json";
import {
  across, bar, columnsOf, dyed, frame, index, label, path, rowName, show, signedBar, tank, tick,
} from "./draw.mjs";
import { clamp, gatedStates, gateWeights } from "./gru-math.mjs";
import {
  columnAt, enliven, fieldset, fill, fixed, grip, note, oneOrAllFrom, picture, pointIn, presetRow, query, readLink,
  saying, setUp, share, showInputs, sideBySide, slider, sub, withEntry,
} from "./explorer.mjs";
/** @import { Asked, Role, Stage } from "./explorer.mjs" */

/** The framed step, the candidates, the shares kept. @typedef {typeof HOLD.start} State */
/**
 * The states, and the weights of h_0 and of every candidate in the framed one.
 *
 * @typedef {ReturnType<typeof compute>} Computed
 */
/** @typedef {typeof HOLD.layout.wide} Layout */
/** @typedef {typeof HOLD.words} Words */

const T = HOLD.start.n.length;
const RANGES = { at: [1, T], n: [-1, 1], z: [0, 1] };
const TINY = 1e-12; // a gate of 0 or 1 is allowed here

/** Every gate the same, but for the step that stores. @type {Record<string, Partial<State>>} */
const PRESETS = Object.fromEntries(Object.entries(HOLD.presets).map(([name, { store, else: other }]) =>
  [name, { z: withEntry(Array(T).fill(other), HOLD.store, store) }]));

/**
 * What a link sets: at=5; n or z as T numbers, or as one for all; preset=name.
 *
 * @param {unknown} _get @param {Asked} asked
 */
function fromLink(_get, asked) {
  const patch = readLink(asked, { presets: PRESETS, ranges: { at: RANGES.at }, whole: ["at"] });
  const [n, z] = [oneOrAllFrom(asked.n, RANGES.n, T), oneOrAllFrom(asked.z, RANGES.z, T)];
  return { ...patch, ...(n && { n }), ...(z && { z }) };
}

/**
 * What a slider sets: the gate or the candidate of the framed step, or all gates.
 *
 * @param {string} key @param {number} value @param {State} state
 * @returns {Partial<State>}
 */
function put(key, value, state) {
  if (key === "all") return { z: Array(T).fill(value) };
  return key === "n" || key === "z" ? { [key]: withEntry(state[key], state.at, value) } : { at: value };
}

// ------------------------------------------------------------------------------------------------ the drawing

/** The rows. @param {State} s @param {Computed} c @param {Layout} L @param {Words} words */
function drawRows(s, c, L, words) {
  const { x, edge, middle, right } = columnsOf(L, T);
  /** @type {(y: number, symbol: string, word: string, role: string) => string} */
  const name = (y, symbol, word, role) => (L.slim
    ? rowName(L, { y, above: 7, beside: 0 }, `${dyed(role, symbol)}\u2002${word}`)
    : rowName(L, { y, above: 0, beside: 14 }, symbol, `ex-sym ex-${role}`) + rowName(L, { y, above: 0, beside: 32 }, word));
  const out = [
    name(L.n.y - L.n.half, index("n", "t"), words.n, "n"),
    name(L.z.y, index("z", "t"), words.z, "z"),
    name(L.h.y - L.h.half, index("h", "t"), words.h, "h"),
    name(L.w.y, index("w", "k"), fill(words.w, { h: dyed("h", index("h", s.at)) }), "n"),
    ...[L.n.y, L.h.y, L.w.y + L.w.high].map((y) => across(L.left, y, right)),
  ];
  for (let t = 1; t <= T; t++) {
    out.push(signedBar("n", s.n[t - 1], { x: x(t), y: L.n.y, width: L.bar, half: L.n.half }));
    out.push(tank("ex-fill-z", s.z[t - 1], { x: x(t), y: L.z.y, width: L.bar, height: L.z.high }));
    out.push(signedBar("h", c.h[t - 1], { x: x(t), y: L.h.y, width: L.bar, half: L.h.half }));
    if (t <= s.at) out.push(bar("ex-fill-n", x(t), L.w.y + L.w.high * (1 - c.w[t]), L.bar, L.w.high * c.w[t]));
    out.push(tick(t, 6, middle(t), L.H - 2));
  }
  /** @type {(role: Role, value: string) => string} */
  const part = (role, value) => `\u2003${dyed(role, role)} <tspan class="ex-${role}">${value}</tspan>`;
  out.push(label("ex-now", L.left, 14, "start", `${words.step} ${s.at}` + part("n", fixed(s.n[s.at - 1], 2)) +
    part("z", fixed(s.z[s.at - 1])) + part("h", fixed(c.h[s.at - 1]))));
  const goal = L.h.y - L.h.half * s.n[HOLD.store - 1]; // the line that the last state should reach
  out.push(across(edge(HOLD.store), goal, right, "ex-goal"));
  out.push(label("ex-small", edge(HOLD.store) - 3, goal + 4, "end", words.aim));
  out.push(path("ex-mark", `M${middle(HOLD.store)} ${L.n.y + 6}l5 9h-10z`)); // the number worth keeping
  out.push(label("ex-score", L.slim ? right - 18 : right, L.score, "end", fill(words.score, { score: c.score })));
  out.push(frame(edge(s.at), 22, L.column, L.H - 40));
  return out.join("");
}

/** The score is the stored number's share of the last state, in per cent: 100 if nothing else is in it. @param {State} s */
function compute(s) {
  const part = gateWeights(s.z)[HOLD.store];
  const score = part > 1 - TINY ? 100 : Math.min(Math.round(100 * part), 99);
  return { h: gatedStates(s.n, s.z), w: gateWeights(s.z.slice(0, s.at)), score };
}

/** What is to be done. @param {State} s @param {Words} words */
const taskOf = (s, words) => fill(words.task, { n: fixed(s.n[HOLD.store - 1], 2) });

/** @param {State} s @param {Computed} c @param {Words} words */
function sentence(s, c, words) {
  const k = c.w.indexOf(Math.max(...c.w.slice(1)), 1);
  const m = Math.min(10, s.at);
  const late = c.w.slice(1).slice(-m).reduce((a, b) => a + b, 0);
  const shares = { most: share(c.w[k], TINY), late: share(late, TINY), start: share(c.w[0], TINY) };
  const goal = fill(c.score === 100 ? words.reached : words.goal, { n: fixed(s.n[HOLD.store - 1], 2), score: c.score });
  return `${goal} ${fill(words.say, { t: s.at, h: fixed(c.h[s.at - 1]), k, m, ...shares })}`;
}

// ------------------------------------------------------------------------------------------------ the page

/** @param {string} id @param {Words} words */
function pageHTML(id, words) {
  const framed = [
    slider({ id, key: "at", range: RANGES.at, step: 1, symbol: "<i>t</i>", name: words.step, role: "a" }),
    slider({ id, key: "n", range: RANGES.n, step: 0.01, symbol: sub("n", "t"), name: words.n, role: "n" }),
    slider({ id, key: "z", range: RANGES.z, step: 0.01, symbol: sub("z", "t"), name: words.z, role: "z" }),
  ];
  const all = slider({ id, key: "all", range: RANGES.z, step: 0.01, symbol: "<i>z</i>", name: "", role: "z" });
  return (
    presetRow(PRESETS, words) +
    `<p class="ex-task"></p>` +
    sideBySide(
      picture(id, "ex-rows", words.diagram) + note(words.hint) + saying(id),
      `<div class="ex-main">${fieldset(words.frame, ...framed)}` +
      `${fieldset(words.all, all)}</div>`,
    )
  );
}

/** @param {Stage} stage */
function render({ model, el }) {
  const { words } = HOLD;
  const voice = setUp("hold", words, el, pageHTML);
  const rows = query(el, ".ex-rows", SVGSVGElement);
  const task = query(el, ".ex-task", HTMLElement);
  let layout = HOLD.layout.wide;

  /** @param {State} s @param {boolean} slim */
  function paint(s, slim) {
    layout = HOLD.layout[slim ? "slim" : "wide"];
    const shown = { ...s, at: Math.round(s.at) };
    const c = compute(shown);
    show(rows, layout, drawRows(shown, c, layout, words));
    const mean = shown.z.reduce((a, b) => a + b, 0) / T;
    const values = { at: shown.at, n: shown.n[shown.at - 1], z: shown.z[shown.at - 1], all: mean };
    /** @type {(v: number, key: string) => string} */
    const textOf = (v, key) => (key === "at" ? String(v) : fixed(v));
    showInputs(el, values, textOf, (v, key) => (key === "at" ? `${words.step} ${v}` : fixed(v)));
    task.textContent = taskOf(shown, words);
    voice.say(sentence(shown, c, words));
  }

  const preset = (/** @type {string} */ name) => PRESETS[name];
  const life = enliven({ model, el, start: HOLD.start, paint, voice, preset, put });

  /**
   * A pointer in the rows of n and z sets what it passes over; in those of h and w it moves the frame.
   *
   * @param {{ x: number, y: number }} pointer @param {"n" | "z" | "at"} held
   */
  function set({ x, y }, held) {
    const t = columnAt(x, layout, T);
    if (held === "at") return life.commit({ at: t });
    const { n, z } = layout;
    const raw = held === "n" ? (n.y - y) / n.half : 1 - (y - z.y) / z.high;
    const [lo, hi] = RANGES[held];
    const value = clamp(Math.round(raw * 50) / 50, lo, hi); // in steps of 0.02; the sliders are finer
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

/** Beside the preview stands the task too. @param {State} s */
function preview(s) {
  return { said: `${taskOf(s, HOLD.words)} ${sentence(s, compute(s), HOLD.words)}` };
}

export default { render, fromLink, preview };
