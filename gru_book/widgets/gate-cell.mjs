// @ts-check
// The cell drawn as a sluice, as SVG text.
import { index, label, num, path, through } from "./draw.mjs";
import { clamp } from "./gru-math.mjs";
import { fixed } from "./explorer.mjs";
/** @import { Point } from "./draw.mjs" */
/** @import { Cell, Layout, State, Words } from "./gate.mjs" */
/** @import { LanguageNet, LanguageStep } from "./gru-math.mjs" */

/** A line of a width of its own. @type {(cls: string, points: Point[], width: number) => string} */
const stroke = (cls, points, width) => `<path class="${cls}" d="${through(points)}" stroke-width="${num(width)}"/>`;

/**
 * A channel (width 1) and what flows in it (width |value|): solid if positive, hollow if negative.
 *
 * @param {Point[]} points @param {number} value @param {number} full @param {string} role
 */
function wire(points, value, full, role) {
  const size = clamp(Math.abs(value), 0, 1) * full;
  const negative = value < -0.005;
  const outer = negative ? Math.max(size, 4) : Math.max(size, 1); // at 4 the hollow still shows
  const hollow = outer - (outer > 7 ? 3.2 : 2.2);
  return {
    track: stroke("ex-track", points, full),
    flow: stroke(`ex-wire ex-${role}`, points, outer) + (negative ? stroke("ex-hollow", points, hollow) : ""),
  };
}

/**
 * A gate: two plates, and the gap between them is its value.
 *
 * @param {number} x @param {number} y @param {number} value @param {number} full @param {string} role
 */
function tap(x, y, value, full, role) {
  const plate = full / 2 + 8;
  const gap = (clamp(value, 0, 1) * full) / 2;
  const rect = (/** @type {number} */ top) =>
    `<rect x="${num(x - 5)}" y="${num(top)}" width="10" height="${num(plate)}"/>`;
  return `<g class="ex-tap ex-fill-${role}">${rect(y - gap - plate)}${rect(y + gap)}</g>`;
}

/** Half of the width of the candidate's frame. @param {Layout} L */
const halfOfFrame = (L) => (L.slim ? 45 : 47);

/**
 * Symbol and value in a frame: round for a gate, square for a state.
 *
 * @param {"r" | "z" | "n"} symbol @param {number} value
 * @param {{ x: number, y: number, width: number, height: number, radius: number }} at
 */
function plaque(symbol, value, { x, y, width, height, radius }) {
  const [left, right] = [x - width / 2, x + width / 2];
  return (
    `<g class="ex-plaque ex-${symbol}"><rect x="${num(left)}" y="${num(y - height / 2)}" ` +
    `width="${num(width)}" height="${num(height)}" rx="${radius}"/>` +
    `${label("ex-sym", left + 11, y + 5, "start", symbol)}` +
    `${label("ex-num", right - 8, y + 4.5, "end", fixed(value))}</g>`
  );
}

/**
 * A multiplication by a weight (and a bias): one line of text, or two on a narrow screen.
 *
 * @param {number} x @param {number} y @param {number} width @param {string[]} lines
 */
function operation(x, y, width, lines) {
  const height = lines.length > 1 ? 38 : 24;
  const middle = (lines.length - 1) / 2;
  const rows = lines.map((line, i) => label("", x, y + 4.5 + 15 * (i - middle), "middle", line));
  return (
    `<g class="ex-op"><rect x="${num(x - width / 2)}" y="${num(y - height / 2)}" width="${num(width)}" ` +
    `height="${height}" rx="2"/>${rows.join("")}</g>`
  );
}

/** @param {number} x @param {number} y */
function plus(x, y) {
  const cross = `<path d="M${num(x - 5)} ${num(y)}h10M${num(x)} ${num(y - 5)}v10"/>`;
  return `<g class="ex-op"><circle cx="${num(x)}" cy="${num(y)}" r="12"/>${cross}</g>`;
}

/**
 * Dotted hairlines: each gate reads x and the old state, if that is to be shown; and each gate's value reaches its taps.
 *
 * @param {Layout} L @param {number} rx @param {boolean} reads
 */
function controls(L, rx, reads) {
  const line = (/** @type {Point[]} */ ...points) => path("ex-ctl", through(points));
  const reach = line([L.v, L.top], [L.v, L.mid]) + line([rx, L.mid], [rx, L.ry]);
  if (!reads) return reach;
  return (
    line([L.branch, L.mid], [L.branch, L.ry], [rx - 37, L.ry]) +
    line([rx, L.bot], [rx, L.ry + 13]) +
    line([L.ctl, L.top], [L.ctl, L.zy], [L.v - 37, L.zy]) +
    line([L.n, L.bot], [L.ctl, L.bot], [L.ctl, L.zy]) +
    reach
  );
}

/**
 * Every wire of the cell, from the inputs to the new state.
 *
 * @param {State} s @param {Cell} c @param {Layout} L
 * @param {{ rx: number, wx: number, half: number }} at where r acts, where W_hn does, half of a multiplication's width
 */
function wires(s, c, L, { rx, wx, half }) {
  const left = L.n - halfOfFrame(L);
  /** @type {(points: Point[], value: number, role: string) => ReturnType<typeof wire>} */
  const w = (points, value, role) => wire(points, value, L.full, role);
  /** @type {Point[]} */
  const down = [[L.branch, L.top], [L.branch, L.mid]];
  const past = s.reset === "after"
    ? [
        w([...down, [wx - half, L.mid]], s.h_prev, "h"),
        w([[wx + half, L.mid], [rx, L.mid]], s.h_prev * s.W_hn + s.b_hn, "a"),
        w([[rx, L.mid], [left, L.mid]], c.past, "a"),
      ]
    : [
        w([...down, [rx, L.mid]], s.h_prev, "h"),
        w([[rx, L.mid], [wx - half, L.mid]], c.r * s.h_prev, "h"),
        w([[wx + half, L.mid], [left, L.mid]], c.past, "a"),
      ];
  return [
    ...past,
    w([[L.start, L.bot], [L.n, L.bot], [L.n, L.wy]], s.x, "x"),
    w([[L.n, L.wy], [L.n, L.mid]], s.x * s.W_xn + s.b_n, "a"),
    w([[L.n + halfOfFrame(L), L.mid], [L.v, L.mid]], c.n, "n"),
    w([[L.v, L.mid], [L.s, L.mid], [L.s, L.top]], c.write * c.n, "n"),
    w([[L.start, L.top], [L.v, L.top]], s.h_prev, "h"),
    w([[L.v, L.top], [L.s, L.top]], c.keep * s.h_prev, "h"),
    w([[L.s, L.top], [L.out, L.top]], c.h, "h"),
  ];
}

/**
 * "keep z" and "write 1 − z 0.411" at the two taps of the update gate; they swap with the convention.
 *
 * @param {State} s @param {Cell} c @param {Layout} L @param {Words} words
 */
function tags(s, c, L, words) {
  /** @type {(at: Point, word: string, part: string, value: number) => string} */
  const tag = ([x, y], word, part, value) => {
    const rest = part === "z" ? "" : ` <tspan class="ex-small-num">${fixed(value)}</tspan>`;
    const symbol = part.replace("z", '<tspan class="ex-it">z</tspan>'); // the 1 stands upright
    return label("ex-tag", x, y, "end", `${word} <tspan class="ex-share">${symbol}</tspan>${rest}`);
  };
  const [kept, written] = s.convention === "keep" ? ["z", "1 − z"] : ["1 − z", "z"];
  /** @type {Point} */
  const above = [L.v + (L.slim ? 10 : kept === "z" ? 24 : 60), L.top - L.full / 2 - 24];
  /** @type {Point} */
  const below = [L.v + (written === "z" ? 24 : L.slim ? 64 : 80), L.mid + L.full / 2 + 33];
  return tag(above, words.keep, kept, c.keep) + tag(below, words.write, written, c.write);
}

/**
 * The names and values where the wires enter and leave.
 *
 * @param {State} s @param {Cell} c @param {Layout} L @param {{ rx: number, words: Words, x: string }} of
 */
function ends(s, c, L, { rx, words, x }) {
  /** @type {(at: { left: number, y: number, anchor: "start" | "end" }, role: string, lines: string[]) => string} */
  const end = ({ left, y, anchor }, role, [symbol, value, name]) =>
    `<g class="ex-${role}">${label("ex-sym", left, y - 4, anchor, symbol)}` +
    `${label("ex-num", left, y + 15, anchor, value)}` +
    `${name ? label("ex-small", left, y + 33, anchor, name) : ""}</g>`;
  const [hp, ht] = [index("h", "t−1"), index("h", "t")];
  if (L.slim) {
    const y = L.bot - 14;
    const xs = label("ex-sym", 4, y, "start", "x") + label("ex-num", 16, y, "start", x);
    return (
      end({ left: 4, y: L.top - 32, anchor: "start" }, "h", [hp, fixed(s.h_prev)]) +
      end({ left: 346, y: L.top - 32, anchor: "end" }, "h ex-out", [ht, fixed(c.h)]) +
      `<g class="ex-x">${xs}</g>`
    );
  }
  return ( // from the edges inwards: whatever the font, nothing is cut
    end({ left: 2, y: L.top, anchor: "start" }, "h", [hp, fixed(s.h_prev), words.h_prev]) +
    end({ left: 2, y: L.bot - 6, anchor: "start" }, "x", ["x", x, words.x]) +
    end({ left: L.W - 2, y: L.top, anchor: "end" }, "h ex-out", [ht, fixed(c.h), words.h]) +
    label("ex-small", L.v + 43, L.zy + 4.5, "start", words.z) +
    label("ex-small", rx, L.ry + 27, "middle", words.r) +
    label("ex-part ex-h", (L.v + L.s) / 2 + 14, L.top - 16, "middle", fixed(c.keep * s.h_prev)) +
    label("ex-part ex-n", L.s + 16, (L.top + L.mid) / 2 + 20, "start", fixed(c.write * c.n))
  );
}

/**
 * The inside of the cell's <svg>.
 *
 * @param {State} s @param {Cell} c what gateStep made of it @param {Layout} L @param {Words} words
 * @param {{ x?: string, past?: string, reads?: boolean }} marks what stands for the number of x, and for the weight of
 *   the old state; and whether it shows what the gates read
 */
export function drawCell(s, c, L, words, { x = fixed(s.x), past, reads = true } = {}) {
  const after = s.reset === "after";
  const [rx, wx] = after ? [L.b, L.a] : [L.a, L.b];
  const weight = past ?? `× ${index("w", "hn")}`;
  const inner = after ? [weight, `+ ${index("b", "hn")}`] : [weight];
  const outer = [`× ${index("w", "xn")}`, `+ ${index("b", "n")}`];
  const rows = (/** @type {string[]} */ lines) => (L.slim ? lines : [lines.join(" ")]);
  const width = L.slim || after ? L.box : 60;

  const all = wires(s, c, L, { rx, wx, half: width / 2 });
  return (
    all.map((one) => one.track).join("") +
    controls(L, rx, reads) +
    all.map((one) => one.flow).join("") +
    plus(L.s, L.top) +
    operation(wx, L.mid, width, rows(inner)) +
    operation(L.n, L.wy, L.box, rows(outer)) +
    tap(rx, L.mid, c.r, L.full, "r") +
    tap(L.v, L.top, c.keep, L.full, "z") +
    tap(L.v, L.mid, c.write, L.full, "z") +
    plaque("r", c.r, { x: rx, y: L.ry, width: 74, height: 26, radius: 13 }) +
    plaque("z", c.z, { x: L.v, y: L.zy, width: 74, height: 26, radius: 13 }) +
    plaque("n", c.n, { x: L.n, y: L.mid, width: 2 * halfOfFrame(L), height: 32, radius: 3 }) +
    label("ex-small", L.n, L.mid - 23, "middle", words.n) +
    tags(s, c, L, words) +
    ends(s, c, L, { rx, words, x })
  );
}

/**
 * One unit's step of a trained net in plain numbers, as drawCell takes them: x is 1 and its weight what the token adds to
 * the candidate; `past` is what the old states of all units add.
 *
 * @param {LanguageNet} m @param {Omit<LanguageStep, "a"> & { token: number, h_prev: ArrayLike<number> }} s
 * @param {number} unit from 0 @param {State} start of the gate explorer
 */
export function unitCell(m, s, unit, start) {
  const { D, H, "embed.E": E, "rnn.W_x": W_x, "rnn.W_h": W_h, "rnn.b": b } = m;
  const column = 2 * H + unit;
  let [letter, past] = [0, 0];
  for (let d = 0; d < D; d++) letter += E[s.token * D + d] * W_x[d * 3 * H + column];
  for (let i = 0; i < H; i++) past += s.r[i] * s.h_prev[i] * W_h[i * 3 * H + column];
  const [r, z, n, h] = [s.r[unit], s.z[unit], s.n[unit], s.h[unit]];
  return {
    state: { ...start, x: 1, h_prev: s.h_prev[unit], W_xn: letter, b_n: b[column] },
    cell: { a_r: 0, a_z: 0, a_n: letter + b[column] + past, r, z, n, keep: z, write: 1 - z, h, past },
  };
}
