// @ts-check
// The pieces that every drawing is made of, as SVG text.

/** @typedef {[x: number, y: number]} Point */

/** A coordinate: at most two decimals. @param {number} v */
export function num(v) {
  return String(Number(v.toFixed(2)) || 0);
}

/**
 * A line of text at (x, y); content may hold <tspan>s.
 *
 * @param {string} cls @param {number} x @param {number} y @param {"start" | "middle" | "end"} anchor
 * @param {string} content
 */
export function label(cls, x, y, anchor, content) {
  return `<text class="${cls}" x="${num(x)}" y="${num(y)}" text-anchor="${anchor}">${content}</text>`;
}

/** A symbol in a line of text, in the colour of its role. @param {string} role @param {string} symbol */
export function dyed(role, symbol) {
  return `<tspan class="ex-it ex-${role}">${symbol}</tspan>`;
}

/**
 * A letter with a subscript. The empty last span brings the baseline back up.
 *
 * @param {string} letter @param {string | number} i
 */
export function index(letter, i) {
  return `${letter}<tspan class="ex-sub" dy="4">${i}</tspan><tspan dy="-4">\u200b</tspan>`;
}

const ESCAPED = new Map([["&", "&amp;"], ["<", "&lt;"], [">", "&gt;"]]);

/** A character as it stands in SVG text. @param {string} c */
export function escaped(c) {
  return ESCAPED.get(c) ?? c;
}

/** Text from SVG text: what `escaped` did is undone. @param {string} text */
export function unescaped(text) {
  return [...ESCAPED].reduceRight((out, [c, code]) => out.replaceAll(code, c), text);
}

/** A bar. @param {string} cls @param {number} x @param {number} y @param {number} width @param {number} height */
export function bar(cls, x, y, width, height) {
  const [wide, high] = [num(width), num(Math.max(height, 0))];
  return `<rect class="${cls}" x="${num(x)}" y="${num(y)}" width="${wide}" height="${high}"/>`;
}

/**
 * A bar from the midline y: solid up for a positive v, hollow down for a negative one.
 *
 * @param {string} role @param {number} v @param {{ x: number, y: number, width: number, half: number }} at `half`: the
 *   height of 1
 */
export function signedBar(role, v, { x, y, width, half }) {
  const size = Math.abs(v) * half;
  return v < 0
    ? bar(`ex-down ex-${role}`, x + 0.75, y, width - 1.5, size)
    : bar(`ex-fill-${role}`, x, y - size, width, size);
}

/**
 * A tank filled from the bottom to the share p.
 *
 * @param {string} cls @param {number} p @param {{ x: number, y: number, width: number, height: number }} at
 */
export function tank(cls, p, { x, y, width, height }) {
  return bar("ex-tank", x, y, width, height) + bar(cls, x, y + height * (1 - p), width, height * p);
}

/** A path; nothing if it has no pieces. @param {string} cls @param {string | string[]} pieces */
export function path(cls, pieces) {
  const d = [pieces].flat().join("");
  return d && `<path class="${cls}" d="${d}"/>`;
}

/** A line through points, as a piece of a path. @param {Point[]} points */
export function through(points) {
  return `M${points.map(([x, y]) => `${num(x)} ${num(y)}`).join("L")}`;
}

/**
 * A rectangle, as a piece of a path.
 *
 * @param {number} x @param {number} y @param {number} width @param {number} height
 */
export function box(x, y, width, height) {
  return `M${num(x)} ${num(y)}h${num(width)}v${num(height)}h${num(-width)}z`;
}

/**
 * Hatching of a rectangle and its outline, as pieces of a path: the mark of an error, which no quantity has.
 *
 * @param {number} x @param {number} y @param {number} width @param {number} height
 */
export function hatch(x, y, width, height) {
  const pieces = [box(x, y, width, height)];
  for (let d = 5; d < width + height; d += 5) {
    const from = [x + Math.max(0, d - height), y + Math.min(d, height)];
    const to = [x + Math.min(d, width), y + Math.max(0, d - width)];
    pieces.push(through([[from[0], from[1]], [to[0], to[1]]]));
  }
  return pieces.join("");
}

/** Runs of places that follow each other, each by its ends. @param {number[]} places */
export function runsOf(places) {
  /** @type {{ from: number, to: number }[]} */
  const runs = [];
  for (const t of places) {
    const last = runs[runs.length - 1];
    if (last?.to === t - 1) last.to = t;
    else runs.push({ from: t, to: t });
  }
  return runs;
}

/** A cross around a point, as a piece of a path. @param {number} x @param {number} y @param {number} half */
export function cross(x, y, half) {
  return `${through([[x - half, y - half], [x + half, y + half]])}${through([[x - half, y + half], [x + half, y - half]])}`;
}

/**
 * Signed bars of one row: two paths, whatever their number.
 *
 * @param {Point[]} bars left edge and value of each
 * @param {number} y the midline @param {number} width @param {number} half the height of 1
 * @param {number} inset by how much a hollow bar is narrower, on either side
 */
export function signedRow(bars, y, width, half, inset) {
  const size = (/** @type {number} */ v) => Math.abs(v) * half;
  const up = bars.filter(([, v]) => v >= 0).map(([x, v]) => box(x, y - size(v), width, size(v)));
  const down = bars.filter(([, v]) => v < 0).map(([x, v]) => box(x + inset, y, width - 2 * inset, size(v)));
  return path("ex-fill-h", up) + path("ex-down ex-h", down);
}

/** A horizontal hairline. @param {number} x @param {number} y @param {number} to its other end @param {string} [cls] */
export function across(x, y, to, cls = "ex-axis") {
  return path(cls, `M${num(x)} ${num(y)}H${num(to)}`);
}

/** The frame around what is told. @param {number} x @param {number} y @param {number} width @param {number} height */
export function frame(x, y, width, height) {
  return `<rect class="ex-frame" x="${num(x)}" y="${num(y)}" width="${num(width)}" height="${num(height)}" rx="2"/>`;
}

/**
 * Where the steps 1 … T of a drawing stand: `edge` of the column of a step, the left edge `x` of its bar, its
 * `middle`; `right`, the end of all columns.
 *
 * @param {{ left: number, column: number, bar: number }} L @param {number} T
 */
export function columnsOf({ left, column, bar: wide }, T) {
  const edge = (/** @type {number} */ t) => left + (t - 1) * column;
  return {
    edge, right: left + T * column,
    x: (/** @type {number} */ t) => edge(t) + (column - wide) / 2,
    middle: (/** @type {number} */ t) => edge(t) + column / 2,
  };
}

/**
 * The number of a step below a drawing: of the first, and of every so many; else nothing.
 *
 * @param {number} t @param {number} each @param {number} x @param {number} y
 */
export function tick(t, each, x, y) {
  return t === 1 || t % each === 0 ? label("ex-small", x, y, "middle", String(t)) : "";
}

/**
 * The name of a row whose top is at y: in the margin of a wide drawing, above the row of a slim one.
 *
 * @param {{ slim: boolean, left: number }} L @param {{ y: number, above: number, beside: number }} at
 * @param {string} content @param {string} [cls]
 */
export function rowName(L, { y, above, beside }, content, cls = "ex-small") {
  return L.slim ? label(cls, L.left, y - above, "start", content) : label(cls, 0, y + beside, "start", content);
}

/**
 * Put a drawing into its <svg>.
 *
 * @param {SVGSVGElement} svg @param {{ W: number, H: number }} size @param {string} content
 */
export function show(svg, { W, H }, content) {
  svg.setAttribute("viewBox", `0 0 ${num(W)} ${num(H)}`);
  svg.style.setProperty("--shape", num(H / W));
  svg.innerHTML = content;
}
