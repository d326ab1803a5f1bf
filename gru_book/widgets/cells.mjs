// @ts-check
// Cells side by side: Elman, GRU and LSTM, one unit each, on the same 24 inputs (chapter 12).
import CELLS from "./cells.json";
import { across, bar, columnsOf, dyed, frame, index, label, num, path, show, signedBar, tank, tick } from "./draw.mjs";
import { elmanStep, gruStep, lstmStep } from "./gru-math.mjs";
import {
  choice, columnAt, enliven, fieldset, fill, fixed, grip, note, numbersFrom, picture, pointIn, presetRow, query,
  readLink, saying, setUp, showInputs, sideBySide, slider, sub, withEntry,
} from "./explorer.mjs";
/** @import { Elman, Gru, Lstm, Vector } from "./gru-math.mjs" */
/** @import { Asked, Role, Stage } from "./explorer.mjs" */

/**
 * @typedef {object} State
 * @property {number} at the framed step
 * @property {number[]} x inputs
 * @property {number[]} m marks: write now
 * @property {number} w Elman's W_h
 * @property {number} b_z bias of the GRU's update gate
 * @property {number} b_f bias of the LSTM's forget gate
 * @property {string} input_gate "coupled": its bias is −b_f; "free": 0
 */
/**
 * The states of the cells at every step, the memory c of the LSTM, and gates.
 *
 * @typedef {Record<"elman" | "gru" | "c" | "lstm" | "z" | "f" | "i", Vector>} Walk
 */
/** @typedef {ReturnType<typeof compute>} Computed */
/** @typedef {typeof CELLS.layout.wide | typeof CELLS.layout.slim} Layout */
/** @typedef {"x" | "m" | Strip} GapRow a row of the first drawing @typedef {"elman" | "gru" | "lstm"} Strip */
/** @typedef {typeof CELLS.words} Words */

const T = CELLS.start.x.length;
const RANGES = { at: [1, T], ...CELLS.limits };
const { x: X_RANGE, m: M_RANGE, ...KNOBS } = RANGES;
/** @type {("elman" | "gru" | "c" | "lstm")[]} */
const STATES = ["elman", "gru", "c", "lstm"];
const ROLES = /** @type {const} */ ({ elman: "h", z: "z", gru: "h", f: "a", i: "a", c: "a", lstm: "h" });
const SYMBOLS = { elman: "h", z: "z", gru: "h", f: "f", i: "i", c: "c", lstm: "h" };
const ROWS = /** @type {(keyof typeof ROLES)[]} */ (Object.keys(CELLS.layout.wide.states.rows));
/** The strips, and the states whose gaps each shows. @type {Record<Strip, ("elman" | "gru" | "c" | "lstm")[]>} */
const STRIPS = { elman: ["elman"], gru: ["gru"], lstm: ["c", "lstm"] };
const NAMES = { elman: "Elman", gru: "GRU", lstm: "LSTM" };
/** @type {Record<string, Partial<State>>} */
const PRESETS = CELLS.presets;

/**
 * What a link sets: at, w, b_z, b_f; x or m as T numbers; input_gate; preset=name.
 *
 * @param {unknown} _get @param {Asked} asked
 */
function fromLink(_get, asked) {
  const patch = readLink(asked, {
    presets: PRESETS, ranges: KNOBS, whole: ["at"], choices: { input_gate: ["coupled", "free"] },
  });
  const [x, m] = [numbersFrom(asked.x, X_RANGE, T), numbersFrom(asked.m, M_RANGE, T)];
  return { ...patch, ...(x && { x }), ...(m && { m }) };
}

/**
 * What a slider sets: a knob, or the input or the mark of the framed step.
 *
 * @param {string} key @param {number} value @param {State} state
 */
function put(key, value, state) {
  return { [key]: key === "x" || key === "m" ? withEntry(state[key], state.at, value) : value };
}

// ------------------------------------------------------------------------------------------------ the numbers

/**
 * The three cells' parameters, D = 2 inputs (x and m), one unit. What is not in cells.json is 0.
 *
 * @param {State} s
 * @returns {{ elman: Elman, gru: Gru, lstm: Lstm }}
 */
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

/**
 * The states and gates of all steps on inputs x.
 *
 * @param {Vector} x @param {State} s @param {ReturnType<typeof params>} p
 */
function walk(x, s, p) {
  /** @type {Walk} */
  const out = { elman: [], gru: [], c: [], lstm: [], z: [], f: [], i: [] };
  let [e, g, l] = [[0], [0], { h: [0], c: [0] }];
  for (let t = 0; t < T; t++) {
    const both = [x[t], s.m[t]];
    e = elmanStep(both, e, p.elman);
    const gru = gruStep(both, g, p.gru);
    g = gru.h;
    const lstm = lstmStep(both, l, p.lstm);
    l = lstm;
    const now = { elman: e[0], gru: g[0], c: l.c[0], lstm: l.h[0], z: gru.z[0], f: lstm.f[0], i: lstm.i[0] };
    for (const key of /** @type {(keyof Walk)[]} */ (Object.keys(now))) out[key].push(now[key]);
  }
  return out;
}

/** The walk, and the walk with the first input's sign turned. @param {State} s */
function compute(s) {
  const p = params(s);
  return { here: walk(s.x, s, p), there: walk(withEntry(s.x, 1, -s.x[0]), s, p) };
}

/** How far apart the two walks are. @param {Computed} c @param {keyof Walk} key @param {number} t */
const away = (c, key, t) => Math.abs(c.here[key][t - 1] - c.there[key][t - 1]);

/** The last step at which a state is so far away that it tells the two inputs apart; 0 if there is none. @param {Computed} c @param {keyof Walk} key */
function toldUntil(c, key) {
  for (let t = T; t > 0; t--) if (away(c, key, t) > CELLS.told) return t;
  return 0;
}

/** @param {State} s @param {Computed} c @param {Words} words */
function sentence(s, c, words) {
  if (!s.x[0]) return words.same;
  const [elman, gru, memory, lstm] = STATES.map((key) => away(c, key, s.at));
  const told = Object.entries({ Elman: elman, GRU: gru, LSTM: Math.max(memory, lstm) })
    .filter(([, gap]) => gap > CELLS.told).map(([name]) => name);
  const shown = { elman: fixed(elman), gru: fixed(gru), c: fixed(memory), lstm: fixed(lstm) };
  const who = told.length ? told.join(words.and) : words.nobody;
  return fill(words.say, { t: s.at, first: fixed(s.x[0], 1), other: fixed(-s.x[0], 1), ...shown, who });
}

// ------------------------------------------------------------------------------------------------ the drawing

/**
 * The inputs, and for each cell how far its state would be away, had the first input been another.
 *
 * @param {State} s @param {Computed} c @param {Layout} layout @param {Words} words
 */
function drawGaps(s, c, layout, words) {
  const L = { ...layout, ...layout.gaps };
  const { x, edge, middle, right } = columnsOf(L, T);
  const { x: xs, m: ms } = L.rows;
  const tall = 2 * L.high; // a gap is at most 2
  const out = [label("ex-now", L.left, 14, "start", `${words.step} ${s.at}`), across(L.left, xs.y, right)];
  for (const [key, centre] of /** @type {const} */ ([["x", xs.y], ["m", ms.y + 5]])) {
    const name = `${dyed("x", index(key, "t"))}\u2002${words[key]}`;
    out.push(label("ex-small", L.slim ? L.left : 0, L.slim ? (key === "x" ? xs.y - xs.half : ms.y) - 6 : centre + 5,
      "start", name));
  }
  for (let t = 1; t <= T; t++) {
    out.push(signedBar("x", s.x[t - 1], { x: x(t), y: xs.y, width: L.bar, half: xs.half }));
    out.push(tank("ex-fill-x", s.m[t - 1], { x: x(t), y: ms.y, width: L.bar, height: ms.high }));
    out.push(tick(t, 6, middle(t), L.H - 2));
  }
  const asked = fill(words.gap, { other: fixed(-s.x[0], 1) });
  out.push(label("ex-small", L.left, L.asked, "start", asked));
  for (const strip of /** @type {Strip[]} */ (Object.keys(STRIPS))) {
    const { y } = L.rows[strip];
    const keys = STRIPS[strip];
    out.push(across(L.left, y, right), across(L.left, y - CELLS.told * L.high, right, "ex-told"));
    const verdicts = keys.map((key) => {
      const t = toldUntil(c, key);
      const verdict = t === T ? words.toEnd : t ? fill(words.toStep, { t }) : words.never;
      return keys.length > 1 ? `${dyed(ROLES[key], SYMBOLS[key])} ${verdict}` : fill(words.knows, { verdict });
    });
    if (L.slim) {
      const lines = `<tspan class="ex-cell">${NAMES[strip]}</tspan>\u2002${verdicts.join(", ")}`;
      out.push(label("ex-small", L.left, y - tall - 5, "start", lines));
    } else {
      out.push(label("ex-cell", 0, y - tall + 14, "start", NAMES[strip]));
      verdicts.forEach((verdict, i) => out.push(label("ex-small", 0, y - tall + 32 + 17 * i, "start", verdict)));
    }
    const wide = keys.length > 1 ? (L.bar - 1) / 2 : L.bar;
    keys.forEach((key, i) => {
      for (let t = 1; t <= T; t++) {
        const gap = L.high * away(c, key, t);
        if (gap > 0.25) out.push(bar(`ex-fill-${ROLES[key]}`, x(t) + i * (wide + 1), y - gap, wide, gap));
      }
    });
  }
  out.push(frame(edge(s.at), L.top, L.column, L.H - L.top - 18));
  return out.join("");
}

/** States and gates; a tick where the state would be. @param {State} s @param {Computed} c @param {Layout} layout @param {Words} words */
function drawStates(s, c, layout, words) {
  const L = { ...layout, ...layout.states };
  const { x, edge, middle, right } = columnsOf(L, T);
  const scale = Math.max(1, Math.ceil(10 * Math.max(...c.here.c.map(Math.abs), ...c.there.c.map(Math.abs))) / 10);
  const out = [];
  for (const row of ROWS) {
    const { y, half = 0, high = 0 } = /** @type {{ y: number, half?: number, high?: number }} */ (L.rows[row]);
    const role = ROLES[row];
    const symbol = index(SYMBOLS[row], "t");
    const axis = row === "c" && scale > 1 ? fill(words.axis, { scale: `\u00b1${fixed(scale, 1)}` }) : "";
    if (L.slim) {
      const name = `${dyed(role, symbol)}\u2002${words[row]}${axis && `, ${axis}`}`;
      out.push(label("ex-small", L.left, y - half - 6, "start", name));
    } else {
      const centre = y + high / 2;
      out.push(label(`ex-sym ex-${role}`, 2, centre + 5, "start", symbol)); // an italic f reaches out to the left
      out.push(label("ex-small", 32, centre + 5, "start", words[row]));
      if (axis) out.push(label("ex-small", 32, centre + 22, "start", axis));
    }
    if (half) out.push(across(L.left, y, right));
    const unit = row === "c" ? half / scale : half;
    for (let t = 1; t <= T; t++) {
      const value = c.here[row][t - 1];
      if (!half) {
        out.push(tank(`ex-fill-${role}`, value, { x: x(t), y, width: L.bar, height: high }));
        continue;
      }
      const there = y - unit * c.there[row][t - 1];
      out.push(signedBar(role, value, { x: x(t), y, width: L.bar, half: unit }));
      out.push(path("ex-tick", `M${num(x(t) - 2)} ${num(there)}H${num(x(t) + L.bar + 2)}`));
    }
  }
  for (let t = 1; t <= T; t++) out.push(tick(t, 6, middle(t), L.H - 2));
  /** @type {(name: string, symbol: string, role: Role, value: string) => string} */
  const part = (name, symbol, role, value) => `${name}${dyed(role, symbol)} ${value}`;
  const now = (/** @type {keyof Walk} */ key) => fixed(c.here[key][s.at - 1]);
  const states = [
    part("Elman ", "h", "h", now("elman")), part("GRU ", "h", "h", now("gru")),
    part(L.slim ? "" : "LSTM ", "c", "a", now("c")), part("", "h", "h", now("lstm")),
  ];
  out.push(label(L.slim ? "ex-now ex-tight" : "ex-now", L.left, 14, "start", (L.slim ? states : [`${words.step} ${s.at}`, ...states]).join("\u2003")));
  out.push(frame(edge(s.at), L.top, L.column, L.H - L.top - 18));
  return out.join("");
}

// ------------------------------------------------------------------------------------------------ the page

/** @param {string} id @param {Words} words */
function pageHTML(id, words) {
  /**
   * @type {(key: "at" | "x" | "m" | "w" | "b_z" | "b_f", symbol: string, role: Role, step: number, name?: string) =>
   *   string}
   */
  const one = (key, symbol, role, step, name = words[/** @type {"x"} */ (key)]) =>
    slider({ id, key, range: RANGES[key], step, symbol, name, role });
  const gate = choice({
    id, key: "input_gate", legend: words.input,
    options: [["coupled", `\u2212${sub("b", "f")}`], ["free", "0"]],
  });
  const framed = [one("x", sub("x", "t"), "x", 0.1), one("m", sub("m", "t"), "x", 1)];
  const knobs = [
    one("w", sub("W", "h"), "a", 0.01), one("b_z", sub("b", "z"), "z", 0.1), one("b_f", sub("b", "f"), "a", 0.1),
  ];
  const at = one("at", "<i>t</i>", "a", 1, words.framed);
  return (
    presetRow(PRESETS, words) +
    sideBySide(picture(id, "ex-gaps", words.diagram) + saying(id), `<div class="ex-main">${at}</div>` + note(words.hint)) +
    `<details><summary>${words.states}</summary><svg class="ex-states" role="img" aria-label="${words.stated}"></svg>` +
    `</details>` +
    `<details><summary>${words.change}</summary><div class="ex-columns">${fieldset(words.frame, ...framed)}` +
    `${fieldset(words.knobs, ...knobs)}</div><div class="ex-switches">${gate}</div></details>`
  );
}

/** @param {Stage} stage */
function render({ model, el }) {
  const { words } = CELLS;
  const voice = setUp("cells", words, el, pageHTML);
  const [gaps, states] = [".ex-gaps", ".ex-states"].map((one) => query(el, one, SVGSVGElement));
  /** @type {Layout} */
  let layout = CELLS.layout.wide;

  /** @param {State} s @param {boolean} slim */
  function paint(s, slim) {
    layout = CELLS.layout[slim ? "slim" : "wide"];
    const shown = { ...s, at: Math.round(s.at) };
    const c = compute(shown);
    show(gaps, { W: layout.W, H: layout.gaps.H }, drawGaps(shown, c, layout, words));
    show(states, { W: layout.W, H: layout.states.H }, drawStates(shown, c, layout, words));
    const values = { ...shown, x: shown.x[shown.at - 1], m: shown.m[shown.at - 1] };
    /** @type {(v: number, key: string) => string} */
    const textOf = (v, key) => (key === "at" ? String(v) : fixed(v, key === "b_z" || key === "b_f" ? 1 : 2));
    showInputs(el, values, textOf, (v, key) => (key === "at" ? `${words.step} ${v}` : textOf(v, key)));
    voice.say(sentence(shown, c, words));
  }

  const preset = (/** @type {string} */ name) => PRESETS[name];
  const life = enliven({ model, el, start: CELLS.start, paint, voice, preset, put });

  // A press in the row of x makes a pulse, one in the row of m a mark; elsewhere the pointer moves the frame.
  for (const drawing of [gaps, states]) {
    const stepAt = (/** @type {PointerEvent} */ event) => columnAt(pointIn(drawing, event).x, layout, T);
    grip(drawing, {
      press(event) {
        const { x, y } = pointIn(drawing, event);
        const { top, rows: { x: xs, m: ms } } = layout.gaps;
        if (x < layout.left || y < top) return null;
        event.preventDefault();
        const t = stepAt(event);
        const row = drawing === states || y > ms.y + ms.high + 4 ? "at" : y < xs.y + xs.half + 4 ? "x" : "m";
        const { x: given, m: marks } = life.state;
        if (row === "x") life.commit({ at: t, x: withEntry(given, t, given[t - 1] === 0 ? 1 : given[t - 1] > 0 ? -1 : 0) });
        else if (row === "m") life.commit({ at: t, m: withEntry(marks, t, marks[t - 1] > 0.5 ? 0 : 1) });
        else life.commit({ at: t });
        return row === "at" ? row : null;
      },
      drag: (event) => life.commit({ at: stepAt(event) }),
    });
  }
  return life.wire();
}

export default { render, fromLink };
