// @ts-check
// The two number lines under the cell: what the candidate sees of the old state,
// and where the new state lands.
import { dyed, index, label, num, path } from "./draw.mjs";
import { clamp } from "./gru-math.mjs";
import { fixed } from "./explorer.mjs";
/** @import { Cell, State, Words } from "./gate.mjs" */

export const LINES_HEIGHT = 166;
export const ROW_R = 52;
export const ROW_Z = 134;

/** Where v in [-1, 1] stands on lines drawn `width` wide. @param {number} width */
export function scale(width) {
  const left = width < 400 ? 26 : 62;
  const right = width - left;
  return { left, right, at: (/** @type {number} */ v) => left + ((v + 1) / 2) * (right - left) };
}

/** @param {{ left: number, right: number }} axes @param {number} y */
function axis({ left, right }, y) {
  return (
    path("ex-axis", `M${left} ${y}H${right}M${left} ${y - 4}v8M${right} ${y - 4}v8`) +
    label("ex-small", left - 8, y + 4.5, "end", "−1") +
    label("ex-small", right + 8, y + 4.5, "start", "1")
  );
}

/** @type {(cls: string, from: number, to: number, y: number) => string} */
const span = (cls, from, to, y) => path(`ex-span ${cls}`, `M${num(from)} ${y}H${num(to)}`);
/** @type {(x: number, y: number) => string} */
const zero = (x, y) => path("ex-axis", `M${num(x)} ${y - 8}v16`);
/** @type {(x: number, y: number) => string} */
const circle = (x, y) => `<circle class="ex-fill-h" cx="${num(x)}" cy="${y}" r="5"/>`;
/** @type {(x: number, y: number) => string} */
const diamond = (x, y) => path("ex-fill-n", `M${num(x)} ${y - 7}l7 7l-7 7l-7 -7z`);
/** @type {(y: number, role: string, content: string) => string} */
const title = (y, role, content) => label("ex-small", 2, y - 38, "start", `${dyed(role, role)}\u2002${content}`);
/** @type {(role: string, x: number, y: number) => string} */
const handle = (role, x, y) =>
  `<rect class="ex-grab ex-fill-${role}" data-row="${role}" x="${num(x - 4)}" y="${y - 9}" ` +
  'width="8" height="18" rx="2"/>';

/**
 * The inside of the lines' <svg>, as wide as the cell.
 *
 * @param {State} s @param {Cell} c @param {number} width @param {Words} words
 */
export function drawLines(s, c, width, words) {
  const axes = scale(width);
  const { at } = axes;
  const seen = c.r * s.h_prev;
  const hp = index("h", "t−1");

  /**
   * A symbol above its mark, moved aside when the neighbour's symbol is close.
   *
   * @type {(v: number, y: number, content: string, role: string, other: number) => string}
   */
  const symbol = (v, y, content, role, other) => {
    const near = Math.abs(at(v) - at(other)) < 34;
    const anchor = near ? (v <= other ? "end" : "start") : "middle";
    const nudge = { end: 2, start: -2, middle: 0 }[anchor];
    return label(`ex-sym ex-${role}`, clamp(at(v), 10, width - 10) + nudge, y - 14, anchor, content);
  };
  /**
   * Name and value below a handle.
   *
   * @type {(v: number, y: number, name: string, value: number, cls: string) => string}
   */
  const reading = (v, y, name, value, cls) =>
    label(`ex-num ex-h ${cls}`, clamp(at(v), 52, width - 52), y + 26, "middle",
      `<tspan class="ex-it">${name}</tspan>\u2002${fixed(value)}`);

  return (
    title(ROW_R, "r", words.line_r) +
    axis(axes, ROW_R) +
    span("ex-rest", at(seen), at(s.h_prev), ROW_R) +
    span("ex-h", at(0), at(seen), ROW_R) +
    zero(at(0), ROW_R) +
    circle(at(s.h_prev), ROW_R) +
    symbol(s.h_prev, ROW_R, hp, "h", Infinity) +
    handle("r", at(seen), ROW_R) +
    reading(seen, ROW_R, `r ${hp}`, seen, "") +
    title(ROW_Z, "z", words.line_z) +
    axis(axes, ROW_Z) +
    span("ex-rest", at(c.h), at(c.n), ROW_Z) +
    span("ex-n", at(s.h_prev), at(c.h), ROW_Z) +
    zero(at(0), ROW_Z) +
    circle(at(s.h_prev), ROW_Z) +
    diamond(at(c.n), ROW_Z) +
    symbol(s.h_prev, ROW_Z, hp, "h", c.n) +
    symbol(c.n, ROW_Z, "n", "n", s.h_prev) +
    handle("z", at(c.h), ROW_Z) +
    reading(c.h, ROW_Z, index("h", "t"), c.h, "ex-out")
  );
}
