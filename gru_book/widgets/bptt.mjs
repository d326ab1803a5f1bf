// @ts-check
// The stepper of chapter 5: one unit, three steps, forward and then backward, one line at a time.
import BPTT from "./bptt.json";
import { bar, frame, index, label, num, path, show, through } from "./draw.mjs";
import { clamp, gruStep, gruStepBackward } from "./gru-math.mjs";
import {
  enliven, fieldset, fill, fixed, note, picture, presetRow, pressed, query, readLink, saying, setUp, showInputs,
  slider, sub,
} from "./explorer.mjs";
/** @import { Point } from "./draw.mjs" */
/** @import { Gru } from "./gru-math.mjs" */
/** @import { Asked, Role, Stage } from "./explorer.mjs" */

/**
 * `at` counts the lines: 8 for each step forward, then 11 for each step backward, from the last step to the first. The
 * rest is what is given: inputs, the first state, the gradients from outside, the parameters.
 *
 * @typedef {typeof BPTT.start} State
 */
/** @typedef {"W_xr" | "W_hr" | "b_r" | "W_xz" | "W_hz" | "b_z" | "W_xn" | "W_hn" | "b_n"} Parameter */
/** @typedef {"r" | "z" | "n"} Gate */
/** @typedef {1 | 2 | 3} StepNumber */
/** @typedef {keyof typeof BPTT.equations} Key the name of a line */
/** The line at hand. @typedef {{ t: StepNumber, back: boolean, key: Key }} Place */
/**
 * All numbers of a step: names as in gru_lib, and dh = out + next, the gradient from outside and that from later; terms
 * are the four summands of dh_prev.
 *
 * @typedef {Record<"a_r" | "a_z" | "a_n" | "r" | "z" | "n" | "write" | "h" | "x" | "h_prev" | "q", number>} Forward
 * @typedef {Record<"dz" | "da_z" | "dn" | "da_n" | "dq" | "dr" | "da_r" | "dx" | "dh_prev" | "dh" |
 *   "next" | "out", number>} Backward
 * @typedef {Forward & Backward & { terms: number[], grads: Record<Parameter, number> }} Numbers
 */
/**
 * A line: symbol = formula = numbers (HTML) = value, and the summands by their names.
 *
 * @typedef {{ symbol: string, formula: string, numbers: string, value: number, terms?: { word: string, v: number }[] }}
 *   Line
 */
/** A node of the graph: one for each quantity of a step. @typedef {keyof typeof BPTT.layout.wide.nodes} Node */
/** @typedef {typeof BPTT.layout.wide} Layout */
/** @typedef {typeof BPTT.words} Words */

const T = 3;
const [FORWARD, BACKWARD] = /** @type {Key[][]} */ ([BPTT.forward, BPTT.backward]);
const [F, B] = [FORWARD.length, BACKWARD.length];
const LAST = T * (F + B) - 1;
/** ms that a line stands while it plays: forward, backward, a result, and a result for who asked for less motion. */
const PACE = { forward: 180, backward: 400, result: 1200, calm: 2000 };
const KEYS = /** @type {(keyof State)[]} */ (Object.keys(BPTT.start));
const PARAMETERS = /** @type {Parameter[]} */ (KEYS.filter((key) => /^[Wb]_/.test(key)));
/** @type {Gate[]} */
const GATES = ["r", "z", "n"];
/** @type {StepNumber[]} */
const STEPS = [1, 2, 3];
const WAYS = "zrq"; // what the second, third and fourth term of a gradient go through
const PRESETS = Object.fromEntries(Object.entries(BPTT.presets).map(([name, held]) => [name, presetOf(held)]));

/** The range of a key of the state. @param {keyof State} key */
function rangeOf(key) {
  if (key === "at") return [0, LAST];
  const limit = /** @type {Record<string, number>} */ (BPTT.limits)[key.replace(/_.*|\d/, "")];
  return [-limit, limit];
}

/** Where line number `at` is. @param {number} at @returns {Place} */
function place(at) {
  const back = at >= T * F;
  const [step, nth] = back ? [Math.floor((at - T * F) / B), (at - T * F) % B] : [Math.floor(at / F), at % F];
  return { t: STEPS[back ? T - 1 - step : step], back, key: (back ? BACKWARD : FORWARD)[nth] };
}

/** The number of the line `key` at step t. @param {Key} key @param {number} t */
function lineNumber(key, t) {
  const nth = BACKWARD.indexOf(key);
  return nth < 0 ? (t - 1) * F + FORWARD.indexOf(key) : T * F + (T - t) * B + nth;
}

/** The three steps, forward and backward: an array with steps[t] for t = 1, 2, 3. @param {State} s */
function run(s) {
  /** @type {Gru} */
  const p = {
    W_xr: [[s.W_xr]], W_xz: [[s.W_xz]], W_xn: [[s.W_xn]], W_hr: [[s.W_hr]], W_hz: [[s.W_hz]], W_hn: [[s.W_hn]],
    b_r: [s.b_r], b_z: [s.b_z], b_n: [s.b_n], convention: "keep", reset_after: false,
  };
  /** Numbers from arrays of one. @param {Record<string, number[] | number[][]>} arrays */
  const plain = (arrays) => Object.fromEntries(Object.entries(arrays).map(([k, v]) => [k, [v].flat(2)[0]]));
  const given = [];
  let h = s.h0;
  for (const t of STEPS) {
    const [x, h_prev] = [s[`x${t}`], h];
    const cache = gruStep([x], [h_prev], p);
    given[t] = { x, h_prev, cache };
    [h] = cache.h;
  }
  /** @type {Numbers[]} */
  const steps = [];
  let next = 0;
  for (const t of [...STEPS].reverse()) {
    const { x, h_prev, cache } = given[t];
    const out = s[`out${t}`];
    const { terms, grads, ...back } = gruStepBackward([out + next], [x], [h_prev], cache, p);
    steps[t] = /** @type {Numbers} */ ({
      ...plain(cache), x, h_prev, ...plain(back), terms: terms.map(([v]) => v), grads: plain(grads), dh: out + next,
      next, out,
    });
    next = steps[t].dh_prev;
  }
  return steps;
}

/**
 * A preset fixes a gate by its bias, as the gate explorer does; weights of the candidate and inputs stay.
 *
 * @param {{ r?: number, z?: number }} held the biases
 */
function presetOf(held) {
  /** @type {Partial<State>} */
  const patch = {};
  for (const gate of /** @type {("r" | "z")[]} */ (["r", "z"])) {
    for (const key of /** @type {Parameter[]} */ ([`W_x${gate}`, `W_h${gate}`, `b_${gate}`])) {
      patch[key] = held[gate] === undefined ? BPTT.start[key] : key[0] === "b" ? held[gate] : 0;
    }
  }
  return patch;
}

/** What a link sets: keys of the state, or preset=name. @param {unknown} _get @param {Asked} asked */
function fromLink(_get, asked) {
  const ranges = Object.fromEntries(KEYS.map((key) => [key, rangeOf(key)]));
  return readLink(asked, { presets: PRESETS, ranges, whole: ["at"] });
}

/** Whether a line is what its step was for: the new state, or the gradient of the old one. @param {number} at */
const isResult = (at) => ["h", "dhprev"].includes(place(at).key);

/**
 * The line that playing goes to next, and how long it stands there. Who asked for less motion sees the results alone.
 *
 * @param {number} at @param {boolean} calm
 */
function playFrom(at, calm) {
  const shown = (/** @type {number} */ line) => !calm || line === LAST || isResult(line);
  let next = at + 1;
  while (!shown(next)) next += 1;
  const pass = place(next).back ? "backward" : "forward";
  return { at: next, wait: calm ? PACE.calm : PACE[isResult(next) ? "result" : pass] };
}

// ------------------------------------------------------------------------------------------------ the lines

/** @type {(role: string, content: string) => string} */
const dye = (role, content) => `<span class="ex-${role}">${content}</span>`;
const grad = (/** @type {string} */ name) => dye("g", `<i>δ</i><sub>${name}</sub>`);
const w = (/** @type {string} */ key) => sub(key[0].toLowerCase(), key.slice(2));
/** A letter with an index, in running text. @type {(letter: string, t: number) => string} */
const indexed = (letter, t) => letter + "₀₁₂₃"[t];
/** A number, in brackets if it has a minus sign. @param {number} v */
const signed = (v) => fixed(v).replace(/^−.*/, "($&)");

/**
 * Every line of step t.
 *
 * @param {Numbers} c @param {StepNumber} t @param {State} s @param {Words} words
 * @returns {Record<Key, Line>}
 */
function linesOf(c, t, s, words) {
  const [x, h, hp] = [dye("x", sub("x", t)), dye("h", sub("h", t)), dye("h", sub("h", t - 1))];
  const [r, z, n, q] = [dye("r", sub("r", t)), dye("z", sub("z", t)), dye("n", sub("n", t)), sub("q", t)];
  const a = (/** @type {Gate} */ gate) => sub("a", gate);
  const g = (/** @type {Gate} */ gate) => grad(`<i>a</i><sub><i>${gate}</i></sub>`);
  const [dh, dhp] = [grad(`<i>h</i><sub>${t}</sub>`), grad(`<i>h</i><sub>${t - 1}</sub>`)];
  const way = (/** @type {string} */ name) => fill(words.through, { name });
  /** @type {(gate: Gate, past: number, symbol: string) => Line} */
  const pre = (gate, past, symbol) => ({
    symbol: a(gate), value: c[`a_${gate}`],
    formula: `${x} ${w(`W_x${gate}`)} + ${symbol} ${w(`W_h${gate}`)} + ${w(`b_${gate}`)}`,
    numbers: `${fixed(c.x)} · ${signed(s[`W_x${gate}`])} + ${signed(past)} · ${signed(s[`W_h${gate}`])} + ` +
      signed(s[`b_${gate}`]),
  });
  /** @type {(gate: Gate, symbol: string, f: string) => Line} */
  const squash = (gate, symbol, f) =>
    ({ symbol, formula: `${f}(${a(gate)})`, numbers: `${f}(${fixed(c[`a_${gate}`])})`, value: c[gate] });
  return {
    ar: pre("r", c.h_prev, hp), r: squash("r", r, "σ"),
    az: pre("z", c.h_prev, hp), z: squash("z", z, "σ"),
    q: { symbol: q, formula: `${r} ${hp}`, numbers: `${fixed(c.r)} · ${signed(c.h_prev)}`, value: c.q },
    an: pre("n", c.q, q), n: squash("n", n, "tanh"),
    h: {
      symbol: h, formula: `${z} ${hp} + (1 − ${z}) ${n}`, value: c.h,
      numbers: `${fixed(c.z)} · ${signed(c.h_prev)} + ${fixed(c.write)} · ${signed(c.n)}`,
    },
    dh: {
      symbol: dh, formula: `${dh}<sup>out</sup> + ${dh}<sup>next</sup>`, value: c.dh,
      numbers: `${fixed(c.out)} + ${signed(c.next)}`,
      terms: [{ word: words.output, v: c.out }, { word: words.later, v: c.next }],
    },
    dz: {
      symbol: grad("<i>z</i>"), formula: `${dh} (${hp} − ${n})`, value: c.dz,
      numbers: `${fixed(c.dh)} · (${fixed(c.h_prev)} − ${signed(c.n)})`,
    },
    daz: {
      symbol: g("z"), formula: `${grad("<i>z</i>")} ${z} (1 − ${z})`, value: c.da_z,
      numbers: `${fixed(c.dz)} · ${fixed(c.z)} · ${fixed(c.write)}`,
    },
    dn: {
      symbol: grad("<i>n</i>"), formula: `${dh} (1 − ${z})`, value: c.dn,
      numbers: `${fixed(c.dh)} · ${fixed(c.write)}`,
    },
    dan: {
      symbol: g("n"), formula: `${grad("<i>n</i>")} (1 − ${n}<sup>2</sup>)`, value: c.da_n,
      numbers: `${fixed(c.dn)} · (1 − ${fixed(c.n * c.n)})`,
    },
    dq: {
      symbol: grad("<i>q</i>"), formula: `${g("n")} ${w("W_hn")}`, value: c.dq,
      numbers: `${fixed(c.da_n)} · ${signed(s.W_hn)}`,
    },
    dr: {
      symbol: grad("<i>r</i>"), formula: `${grad("<i>q</i>")} ${hp}`, value: c.dr,
      numbers: `${fixed(c.dq)} · ${signed(c.h_prev)}`,
    },
    dar: {
      symbol: g("r"), formula: `${grad("<i>r</i>")} ${r} (1 − ${r})`, value: c.da_r,
      numbers: `${fixed(c.dr)} · ${fixed(c.r)} · ${fixed(1 - c.r)}`,
    },
    dx: {
      symbol: grad(`<i>x</i><sub>${t}</sub>`), value: c.dx,
      formula: GATES.map((gate) => `${g(gate)} ${w(`W_x${gate}`)}`).join(" + "),
      numbers: GATES.map((gate) => signed(c[`da_${gate}`] * s[`W_x${gate}`])).join(" + "),
      terms: GATES.map((gate) => ({ word: way(gate), v: c[`da_${gate}`] * s[`W_x${gate}`] })),
    },
    dhprev: {
      symbol: dhp, value: c.dh_prev,
      formula: `${dh} ${z} + ${g("z")} ${w("W_hz")} + ${g("r")} ${w("W_hr")} + ${grad("<i>q</i>")} ${r}`,
      numbers: c.terms.map(signed).join(" + "),
      terms: c.terms.map((v, i) => ({ word: i ? way(WAYS[i - 1]) : words.kept, v })),
    },
    params: { symbol: "", formula: words.params, numbers: "", value: NaN }, // a table stands in its place
  };
}

/** The name of a line's result in running text. @param {Key} key @param {number} t @param {Words} words */
function spoken(key, t, words) {
  /** @type {{ [K in Key]?: string }} */
  const own = { h: indexed("h", t), dh: indexed("h", t), dhprev: indexed("h", t - 1), dx: indexed("x", t) };
  const letter = /** @type {"r" | "z" | "n" | "q"} */ (key.slice(-1));
  const named = (/** @type {"h" | typeof letter} */ word, name = "") => fill(words.named, { word: words[word], name });
  const name = own[key] ?? (/a[rzn]$/.test(key) ? fill(words.pre, { name: letter }) : named(letter, letter));
  return key[0] === "d" ? fill(words.gradient, { name }) : key === "h" ? named(key, name) : name;
}

/** @param {number} at @param {Line} line @param {Numbers[]} steps @param {Words} words */
function sentence(at, line, steps, words) {
  if (at === LAST) return ending(steps, words);
  const { t, back, key } = place(at);
  const said = at === 0 ? [words.opening] : [];
  const number = BPTT.equations[key][1];
  const head = fill(words.line, { number, pass: words[back ? "backward" : "forward"], t });
  const result = { name: spoken(key, t, words), value: fixed(line.value) };
  if (key === "params") said.push(head + words.params);
  else if (!line.terms) said.push(head + fill(words.is, result));
  else {
    const named = line.terms.map(({ word, v }) => `${word} ${fixed(v)}`);
    const terms = named.slice(0, -1).join(", ") + words.and + named.at(-1);
    said.push(head + fill(words.sum, { ...result, terms }));
  }
  return said.join(" ");
}

/** What came back in the end. @param {Numbers[]} steps @param {Words} words */
function ending(steps, words) {
  return fill(words.ending, { last: fixed(steps[T].dh), start: fixed(steps[1].dh_prev) });
}

// ------------------------------------------------------------------------------------------------ the drawings

/** @type {(cls: string, points: Point[]) => string} */
const stroke = (cls, points) => path(cls, through(points));

/**
 * Three steps: states above, gradients below, the four terms of each step between them. Bars are drawn from a
 * midline, solid up to the right, hollow to the left; one unit is twice `half`.
 *
 * @param {Numbers[]} steps what run made
 * @param {number} at lines later than this one are not drawn
 * @param {Layout["strip"]} L
 * @param {Words} words
 */
function drawStrip(steps, at, L, words) {
  /** @type {string[]} */
  const out = [];
  const node = (/** @type {number} */ t) => L.first + t * L.gap;
  const { t: now, back } = place(at);
  const below = 36 + 4 * L.pitch; // the four terms
  for (let t = 0; t <= T; t++) {
    const reached = t === 0 || lineNumber("h", t) <= at;
    const dh = t > 0 ? steps[t].dh : steps[1].dh_prev;
    const returned = at >= (t > 0 ? lineNumber("dh", t) : lineNumber("dhprev", 1));
    out.push(label("ex-sym ex-h", node(t), 14, "middle", index("h", t)));
    if (reached) out.push(label("ex-num ex-h", node(t), 34, "middle", fixed(t > 0 ? steps[t].h : steps[1].h_prev)));
    if (at >= T * F) out.push(label("ex-sym ex-g", node(t), below + 16, "middle", index("δ", `h${t}`)));
    if (returned) out.push(label("ex-num ex-g", node(t), below + 36, "middle", fixed(dh)));
    if (t === 0) continue;
    const middle = node(t) - L.gap / 2 - L.shift;
    const [left, right] = [node(t - 1) + 26, node(t) - 26];
    out.push(
      stroke("ex-axis", [[left, 10], [right, 10]]),
      stroke("ex-axis", [[right - 5, 6], [right, 10], [right - 5, 14]]),
      label("ex-part ex-x", node(t) - L.gap / 2, 27, "middle", index("x", t) + (L.named ? ` ${fixed(steps[t].x)}` : "")),
    );
    if (at >= lineNumber("dh", t)) { // what goes back stands there once it has come so far
      out.push(
        stroke("ex-back", [[right, below + 12], [left, below + 12]]),
        stroke("ex-back-head", [[left + 5, below + 8], [left, below + 12], [left + 5, below + 16]]),
      );
    }
    const done = at >= lineNumber("dhprev", t);
    out.push(stroke("ex-axis", [[middle, 36], [middle, below]]));
    steps[t].terms.forEach((v, i) => {
      const y = 45 + L.pitch * i;
      const name = L.named ? `${i + 1} ${i ? fill(words.via, { name: WAYS[i - 1] }) : words.kept}` : String(i + 1);
      out.push(label("ex-small", middle - L.half - 5, y + 4.5, "end", name));
      if (!done) return;
      const size = Math.min(Math.abs(v), 1) * L.half;
      const x = v < 0 ? middle - size : middle;
      out.push(bar(`ex-bar ${v < 0 ? "ex-minus" : ""}`, x, y - 4, size, 8));
      out.push(label("ex-part ex-g", middle + L.half + 4, y + 4.5, "start", fixed(v)));
    });
  }
  if (!back) out.push(label("ex-small", L.W / 2, below + 22, "middle", words.comes));
  const inset = back ? L.inset : 26;
  const [top, high] = back ? [38, 4 * L.pitch + 1] : [0, 33];
  out.push(frame(node(now - 1) + inset, top, L.gap - 2 * inset, high));
  return out.join("");
}

const EDGES = [
  "h_prev>h", "h_prev>a_z", "h_prev>a_r", "h_prev>q", "a_z>z", "z>h", "q>a_n", "a_n>n", "n>h", "a_r>r", "r>q",
  "x>a_r", "x>a_z", "x>a_n",
];
/**
 * @type {{ [K in Node]: { role: Role | "ink", made?: Key, unmade: Key, of: (c: Numbers) => number, d: (c: Numbers) =>
 *   number } }}
 */
const NODES = {
  h_prev: { role: "h", unmade: "dhprev", of: (c) => c.h_prev, d: (c) => c.dh_prev },
  h: { role: "h", made: "h", unmade: "dh", of: (c) => c.h, d: (c) => c.dh },
  a_z: { role: "ink", made: "az", unmade: "daz", of: (c) => c.a_z, d: (c) => c.da_z },
  z: { role: "z", made: "z", unmade: "dz", of: (c) => c.z, d: (c) => c.dz },
  q: { role: "ink", made: "q", unmade: "dq", of: (c) => c.q, d: (c) => c.dq },
  a_n: { role: "ink", made: "an", unmade: "dan", of: (c) => c.a_n, d: (c) => c.da_n },
  n: { role: "n", made: "n", unmade: "dn", of: (c) => c.n, d: (c) => c.dn },
  a_r: { role: "ink", made: "ar", unmade: "dar", of: (c) => c.a_r, d: (c) => c.da_r },
  r: { role: "r", made: "r", unmade: "dr", of: (c) => c.r, d: (c) => c.dr },
};

/**
 * Where the way from the middle of a frame towards `to` leaves it.
 *
 * @type {(from: Point, to: Point, wide: number, high: number) => Point}
 */
function edgeOf([x, y], to, wide, high) {
  const [dx, dy] = [to[0] - x, to[1] - y];
  const share = Math.min(wide / 2 / Math.abs(dx || 1e-9), high / 2 / Math.abs(dy || 1e-9));
  return [x + dx * share, y + dy * share];
}

/** @param {string} cls @param {Point} from @param {Point} to */
function arrow(cls, from, to) {
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const size = Math.hypot(dx, dy);
  const [ux, uy] = [dx / size, dy / size];
  /** @type {(side: number) => Point} */
  const wing = (side) => [to[0] - 7 * ux + side * 4 * uy, to[1] - 7 * uy - side * 4 * ux];
  return stroke(cls, [from, to]) + stroke(`${cls} ex-head`, [wing(1), to, wing(-1)]);
}

/**
 * The graph of step t with what is known at line `at`; the arrows of that line are marked.
 *
 * @param {Numbers} c @param {number} at @param {Line} line @param {Layout} L @param {Words} words
 */
function drawGraph(c, at, line, L, words) {
  const { t, back, key } = place(at);
  const high = 40;
  const spots = /** @type {Record<string, Point>} */ (/** @type {object} */ (L.nodes)); // JSON knows no pairs
  const inputs = /** @type {Record<string, Point>} */ (/** @type {object} */ (L.x));
  const on = /** @type {Record<string, number>} */ (L.on);
  /** @type {string[]} */
  const marked = BPTT.edges[key];
  const parts = line.terms ?? [];
  /** @type {string[]} */
  const notes = [];
  const edges = EDGES.map((name) => {
    const [tail, head] = name.split(">");
    const from = tail === "x" ? inputs[head] : spots[tail];
    const to = spots[head];
    const a = tail === "x" ? edgeOf(from, to, 24, 22) : edgeOf(from, to, L.w, high);
    const b = edgeOf(to, from, L.w + 4, high + 4);
    const nth = marked.indexOf(name);
    if (nth < 0) return arrow("ex-edge", a, b);
    if (back && parts[nth]) {
      const along = on[name] ?? 0.5;
      const number = key === "dhprev" ? `<tspan class="ex-path">${nth + 1}:</tspan> ` : "";
      const [x, y] = [a[0] + (b[0] - a[0]) * along, a[1] + (b[1] - a[1]) * along];
      notes.push(label("ex-note-g ex-g", x, y + 4.5, "middle", `${number}${fixed(parts[nth].v)}`));
    }
    return back ? arrow("ex-edge ex-back", b, a) : arrow("ex-edge ex-now", a, b);
  });
  const nodes = /** @type {Node[]} */ (Object.keys(L.nodes)).map((name) => {
    const { role, made, unmade, of, d } = NODES[name];
    const [x, y] = spots[name];
    const known = !made || lineNumber(made, t) <= at;
    const returned = lineNumber(unmade, t) <= at;
    const [letter, i] = name === "h_prev" ? ["h", t - 1] : name[1] === "_" ? [name[0], name[2]] : [name, t];
    const left = x - L.w / 2;
    const lit = (back ? unmade : made) === key || (key === "params" && name[0] === "a");
    return (
      `<g class="ex-node ex-${role}${lit ? " ex-on" : ""}"><rect x="${num(left)}" y="${y - high / 2}" ` +
      `width="${L.w}" height="${high}" rx="3"/>` +
      label("ex-sym", left + 5, y - 3, "start", index(letter, i)) +
      (known ? label("ex-num", left + L.w - 4, y - 3, "end", fixed(of(c))) : "") +
      (returned ? label("ex-it ex-g", left + 6, y + 15, "start", "δ") +
        label("ex-num ex-g", left + L.w - 4, y + 15, "end", fixed(d(c))) : "") +
      "</g>"
    );
  });
  const named = /** @type {Node[]} */ (Object.keys(L.names)).map((name) => {
    const [x, y] = L.names[name];
    return label("ex-small", x, y, "start", words[name]);
  });
  const xs = Object.values(inputs).map(([x, y]) => label("ex-sym ex-x", x, y + 5, "middle", index("x", t)));
  return edges.join("") + named.join("") + nodes.join("") + xs.join("") + notes.join("");
}

// ------------------------------------------------------------------------------------------------ the page

/**
 * One row of the list: number, equation, numbers, result; a button that goes there.
 *
 * @param {Key} key @param {Line} line @param {boolean} known @param {boolean} now
 */
function rowHTML(key, line, known, now) {
  const [, number] = BPTT.equations[key];
  const result = key === "params" || !known ? "" : `= <b>${fixed(line.value)}</b>`;
  const numbers = key === "params" || !known ? "" : `= ${line.numbers}`;
  const formula = key === "params" ? line.formula : `${line.symbol} = ${line.formula}`;
  return (
    `<li${now ? ' class="ex-on" aria-current="step"' : ""}>` +
    `<button type="button" data-line="${key}" data-lm-suppress-shortcuts="true">` +
    `<span class="ex-eq">(${number})</span><span class="ex-formula">${formula}</span>` +
    `<span class="ex-numbers">${numbers}</span><span class="ex-result">${result}</span></button></li>`
  );
}

/**
 * The gradients of the parameters at step t, and their sums so far.
 *
 * @param {Numbers[]} steps @param {number} t @param {Words} words
 */
function gradientsHTML(steps, t, words) {
  const soFar = (/** @type {Parameter} */ name) => steps.slice(t).reduce((sum, step) => sum + step.grads[name], 0);
  const cell = (/** @type {Parameter} */ name) =>
    `<tr><th scope="row">${grad(`<i>${name[0].toLowerCase()}</i><sub><i>${name.slice(2)}</i></sub>`)}</th>` +
    `<td>${fixed(steps[t].grads[name])}</td><td>${fixed(soFar(name))}</td></tr>`;
  return (
    `<table><thead><tr><td></td><th scope="col">${words.here}</th><th scope="col">${words.total}</th></tr></thead>` +
    `<tbody>${PARAMETERS.map(cell).join("")}</tbody></table>`
  );
}

/** @param {string} id @param {Words} words */
function pageHTML(id, words) {
  /** @type {(key: keyof State, role: Role, symbol: string) => string} */
  const one = (key, role, symbol) => slider({ id, key, range: rangeOf(key), step: 0.01, symbol, name: "", role });
  const given = [...STEPS.map((t) => one(`x${t}`, "x", sub("x", t))), one("h0", "h", sub("h", 0))];
  const column = (/** @type {Gate} */ gate) =>
    fieldset(words[gate], ...PARAMETERS.filter((key) => key.endsWith(gate)).map((key) => one(key, gate, w(key))));
  const outs = STEPS.map((t) => one(`out${t}`, "g", `<i>δ</i><sub><i>h</i><sub>${t}</sub></sub>`));
  return (
    presetRow(PRESETS, words) +
    `<div class="ex-steps"><button type="button" class="ex-play" data-play>${words.play}</button>` +
    `<button type="button" data-move="-1">${words.back}</button>` +
    `<input type="range" id="${id}-at" data-key="at" min="0" max="${LAST}" step="1" aria-label="${words.position}">` +
    `<button type="button" data-move="1">${words.next}</button></div>` +
    `<svg class="ex-strip" role="img" aria-label="${words.strip}"></svg>` +
    picture(id, "ex-graph", words.graph) +
    saying(id) +
    note(words.hint) +
    `<details><summary>${words.equations}</summary><p class="ex-where"></p><ol class="ex-list"></ol>` +
    `<div class="ex-gradients"></div></details>` +
    `<details><summary>${words.more}</summary><div class="ex-columns">${fieldset(words.inputs, ...given)}` +
    `${fieldset(words.outputs, ...outs)}${GATES.map(column).join("")}</div></details>`
  );
}

/** @param {Stage} stage */
function render({ model, el }) {
  const { words } = BPTT;
  const voice = setUp("bptt", words, el, pageHTML);
  const [strip, graph] = [".ex-strip", ".ex-graph"].map((one) => query(el, one, SVGSVGElement));
  const [gradients, list, where, seen] = [".ex-gradients", ".ex-list", ".ex-where", ".ex-say"].map((one) =>
    query(el, one, HTMLElement));
  const [play, back, next] = ["[data-play]", "[data-move='-1']", "[data-move='1']"].map((one) =>
    query(el, one, HTMLButtonElement));
  const [calm, paper] = ["(prefers-reduced-motion: reduce)", "print"].map((asked) => matchMedia(asked));
  let playing = 0; // the timer; 0 while nothing plays

  /** @param {State} s @param {boolean} slim */
  function paint(s, slim) {
    const at = paper.matches && !s.at ? LAST : Math.round(clamp(s.at, 0, LAST)); // on paper nothing will play
    const { t, back: backward, key } = place(at);
    const steps = run(s);
    const L = BPTT.layout[slim ? "slim" : "wide"];
    const lines = linesOf(steps[t], t, s, words);
    show(strip, L.strip, drawStrip(steps, at, L.strip, words));
    show(graph, L, drawGraph(steps[t], at, lines[key], L, words));
    const [target, number] = BPTT.equations[key];
    const there = document.getElementById(`equation-${target}`); // in the chapter; not in a notebook
    where.innerHTML = `${words[backward ? "backward" : "forward"]} · ${fill(words.step, { t })} · ` +
      (there ? `<a href="#equation-${target}">(${number})</a>` : `(${number})`);
    gradients.innerHTML = lineNumber("params", t) <= at ? gradientsHTML(steps, t, words) : "";

    const keys = backward ? BACKWARD : FORWARD;
    const focus = document.activeElement;
    const focused = focus instanceof HTMLElement && list.contains(focus) && focus.dataset.line;
    list.setAttribute("aria-label", fill(words.lines, { t }));
    list.innerHTML = keys.map((k) => rowHTML(k, lines[k], lineNumber(k, t) <= at, k === key)).join("");
    for (const button of list.querySelectorAll("button")) if (button.dataset.line === focused) button.focus();

    play.textContent = playing ? words.pause : at === LAST ? words.replay : at ? words.goOn : words.play;
    next.textContent = at === LAST ? words.first : words.next; // at neither end is there a button that does nothing
    back.textContent = at === 0 ? words.last : words.back;
    const position = fill(words.position_at, { number, pass: words[backward ? "backward" : "forward"], t });
    showInputs(el, s, (v) => fixed(v), (v, input) => (input === "at" ? position : fixed(v)));
    const said = sentence(at, lines[key], steps, words);
    if (playing) seen.textContent = said; // heard is what it stops at
    else voice.say(said);
  }

  const preset = (/** @type {string} */ name) => PRESETS[name];
  const life = enliven({ model, el, start: BPTT.start, paint, voice, preset, hear: { click: onClick, input: onInput } });

  /** Stop playing; what is then drawn says so. */
  function pause() {
    clearTimeout(playing);
    playing = 0;
  }

  /** Go on to the next line, again and again, until the last. */
  function go() {
    const from = Math.round(life.state.at);
    const { at, wait } = playFrom(from >= LAST ? -1 : from, calm.matches);
    playing = at < LAST ? setTimeout(go, wait) : 0;
    life.commit({ at });
  }

  /** Any other control stops the playing. @param {Event} event */
  function onClick(event) {
    const button = pressed(event, "button");
    if (!button) return;
    const { move, line } = button.dataset;
    const { at } = life.state;
    const stopped = playing !== 0;
    pause();
    if ("play" in button.dataset) {
      if (stopped) life.commit({ at });
      else go();
    } else if (move) life.commit({ at: (at + Number(move) + LAST + 1) % (LAST + 1) });
    else if (line) life.commit({ at: lineNumber(/** @type {Key} */ (line), place(at).t) });
  }

  /** @param {Event} event */
  function onInput(event) {
    if (pressed(event, "[data-key=at]")) pause();
  }

  const again = () => life.commit({});
  paper.addEventListener("change", again);
  const letGo = life.wire();
  return () => {
    pause();
    paper.removeEventListener("change", again);
    letGo();
  };
}

/** The preview shows no line at hand, but all of them done, and says what came back in the end. @param {State} s */
function preview(s) {
  return { patch: { at: LAST }, hide: ".ex-frame", said: ending(run(s), BPTT.words) };
}

export default { render, fromLink, preview };
