// The two number lines under the cell: what the candidate sees of the old state,
// and where the new state lands.
import { clamp } from "./gru-math.mjs";
import { fixed, num } from "./explorer.mjs";
import { svgSub } from "./gate-cell.mjs";

export const LINES_HEIGHT = 166;
export const ROW_R = 52;
export const ROW_Z = 134;

const label = (cls, x, y, anchor, content) =>
  `<text class="${cls}" x="${num(x)}" y="${num(y)}" text-anchor="${anchor}">${content}</text>`;

/** Where v in [-1, 1] stands on lines drawn `width` wide. */
export function scale(width) {
  const left = width < 400 ? 26 : 62;
  const right = width - left;
  return { left, right, at: (v) => left + ((v + 1) / 2) * (right - left) };
}

function axis({ left, right }, y) {
  return (
    `<path class="ex-axis" d="M${left} ${y}H${right}M${left} ${y - 4}v8M${right} ${y - 4}v8"/>` +
    label("ex-small", left - 8, y + 4.5, "end", "−1") +
    label("ex-small", right + 8, y + 4.5, "start", "1")
  );
}

const span = (cls, from, to, y) => `<path class="ex-span ${cls}" d="M${num(from)} ${y}H${num(to)}"/>`;
const zero = (x, y) => `<path class="ex-axis" d="M${num(x)} ${y - 8}v16"/>`;
const circle = (x, y) => `<circle class="ex-fill-h" cx="${num(x)}" cy="${y}" r="5"/>`;
const diamond = (x, y) => `<path class="ex-fill-n" d="M${num(x)} ${y - 7}l7 7l-7 7l-7 -7z"/>`;
const title = (y, role, content) =>
  label("ex-small", 0, y - 38, "start", `<tspan class="ex-it ex-${role}">${role}</tspan>\u2002${content}`);
const handle = (role, x, y) =>
  `<rect class="ex-grab ex-fill-${role}" data-row="${role}" x="${num(x - 4)}" y="${y - 9}" ` +
  'width="8" height="18" rx="2"/>';

/** The inside of the lines' <svg>. Arguments as in drawCell; width is that of the cell. */
export function drawLines(s, c, width, words) {
  const axes = scale(width);
  const { at } = axes;
  const seen = c.r * s.h_prev;
  const hp = svgSub("h", "t−1");

  /** A symbol above its mark, moved aside when the neighbour's symbol is close. */
  const symbol = (v, y, content, role, other) => {
    const near = Math.abs(at(v) - at(other)) < 34;
    const anchor = near ? (v <= other ? "end" : "start") : "middle";
    const nudge = { end: 2, start: -2, middle: 0 }[anchor];
    return label(`ex-sym ex-${role}`, clamp(at(v), 10, width - 10) + nudge, y - 14, anchor, content);
  };
  /** Name and value below a handle. */
  const reading = (v, y, name, value, cls) =>
    label(`ex-num ex-h ${cls}`, clamp(at(v), 44, width - 44), y + 26, "middle",
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
    reading(c.h, ROW_Z, svgSub("h", "t"), c.h, "ex-out")
  );
}
