// @ts-check
// Curves over many powers of ten against a number of steps, and the explorers that show them.
import { across, index, label, num, path, show, through } from "./draw.mjs";
import { clamp } from "./gru-math.mjs";
import { enliven, fill, fixed, grip, pointIn, query, setUp, showInputs } from "./explorer.mjs";
/** @import { Stage, Words } from "./explorer.mjs" */

/**
 * A curve: its colour, its class, its name, its values for 0 … T steps.
 *
 * @typedef {{ role: string, cls: string, name: string, values: number[] }} Curve
 */
/** @typedef {{ W: number, H: number, left: number, right: number, top: number, bottom: number }} DecadesLayout */
/**
 * The JSON of an explorer of such curves: `decades` are the lowest and the highest power of ten, `inputs` one for each
 * step.
 *
 * @template S, W
 * @typedef {object} DecadesData
 * @property {S} start
 * @property {{ wide: DecadesLayout, slim: DecadesLayout }} layout
 * @property {number[]} decades
 * @property {number[][]} inputs
 * @property {{ en: W, zh: W }} words
 */

const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const raise = (/** @type {number} */ n) =>
  String(n).replace("-", "⁻").replace(/\d/g, (digit) => RAISED[Number(digit)]);

/**
 * A number, not negative, in words that survive a hundred powers of ten: 0.042, 31, 4.2 · 10², 2.3 · 10⁻⁹.
 *
 * @param {number} v
 */
export function size(v) {
  if (v === 0) return "0";
  if (v >= 0.01 && v < 99.5) return v.toPrecision(2);
  const [digits, power] = v.toExponential(1).split("e");
  return `${digits}\u00a0·\u00a010${raise(Number(power))}`;
}

/**
 * The inside of the drawing.
 *
 * @param {Curve[]} curves two
 * @param {number} length the number of steps at hand
 * @param {DecadesLayout} L @param {number[]} decades @param {Words} words
 */
function drawDecades(curves, length, L, [low, high], words) {
  const T = curves[0].values.length - 1;
  const x = (/** @type {number} */ t) => L.left + (t / T) * (L.right - L.left);
  const y = (/** @type {number} */ v) => L.bottom - ((Math.log10(v) - low) / (high - low)) * (L.bottom - L.top);
  const inside = (/** @type {number} */ v) => v > 0 && Math.log10(v) >= low && Math.log10(v) <= high;
  const out = [];
  for (let d = low; d <= high; d += 8) {
    const at = y(10 ** d);
    out.push(across(L.left, at, L.right, d === 0 ? "ex-one" : "ex-rule"));
    out.push(label("ex-small", L.left - 6, at + 4.5, "end", d === 0 ? "1" : `10${raise(d)}`));
  }
  for (const t of [0, 25, 50, 75, 100]) out.push(label("ex-small", x(t), L.bottom + 18, "middle", String(t)));
  out.push(label("ex-small", L.right, L.bottom + 36, "end", `<tspan class="ex-it">T</tspan>, ${words.steps}`));
  const ratio = `<tspan class="ex-it">∂${index("h", "T")}/∂${index("h", 0)}</tspan>`;
  out.push(label("ex-ratio", L.left, 16, "start", fill(words.norm, { d: ratio })));

  const ends = curves.map(({ role, cls, values }) => {
    const points = values.map((v, t) => ({ v, t })).filter(({ v, t }) => t <= length && inside(v));
    out.push(path(`ex-line ex-${role} ${cls}`, through(points.map(({ v, t }) => [x(t), y(v)]))));
    const { v, t } = points[points.length - 1];
    return { x: x(t), y: y(v), reached: t === length };
  });
  const [a, b] = ends;
  const near = Math.abs(a.y - b.y) < 16 && Math.abs(a.x - b.x) < 60;
  const up = a.y <= b.y ? 1 : -1;
  ends.forEach((end, i) => {
    const { role, name } = curves[i];
    const shift = near ? (i === 0 ? -up : up) * (16 - Math.abs(a.y - b.y)) / 2 : 0;
    out.push(`<circle class="ex-fill-${role}" cx="${num(end.x)}" cy="${num(end.y)}" r="${end.reached ? 4 : 0}"/>`);
    out.push(label(`ex-name-g ex-${role}`, end.x + 8, end.y + 4.5 + shift, "start", name));
  });
  const at = x(length);
  out.push(path("ex-cursor", `M${num(at)} ${L.top}V${L.bottom}`));
  return out.join("");
}

/**
 * The render of an explorer of such curves. Its drawing is .ex-growth; of its state, `length` is the number of steps.
 *
 * @template {{ length: number }} S the state
 * @template C what is computed from it
 * @template {Words & { title: string }} W
 * @param {string} name of the module
 * @param {DecadesData<S, W>} data
 * @param {object} o
 * @param {(id: string, words: W) => string} o.pageHTML
 * @param {(name: string) => Partial<S>} o.preset
 * @param {(state: S) => C} o.compute does not read the length
 * @param {(computed: C, words: W) => Curve[]} o.curvesOf
 * @param {(state: S, computed: C, words: W) => string} o.sentence
 * @param {number} o.digits of what is no length
 */
export function decadesRender(name, data, { pageHTML, preset, compute, curvesOf, sentence, digits }) {
  return (/** @type {Stage} */ stage) => {
    const { model, el } = stage;
    const { words, voice } = setUp(name, data.words, stage, pageHTML);
    const drawing = query(el, ".ex-growth", SVGSVGElement);
    let layout = data.layout.wide;
    /** @type {{ from: string, of: C } | undefined} */
    let computed; // what was computed last, and the state it was computed from

    /** @param {S} s @param {boolean} slim */
    function paint(s, slim) {
      layout = data.layout[slim ? "slim" : "wide"];
      const shown = { ...s, length: Math.round(s.length) };
      const from = JSON.stringify({ ...s, length: 0 });
      if (computed?.from !== from) computed = { from, of: compute(s) };
      show(drawing, layout, drawDecades(curvesOf(computed.of, words), shown.length, layout, data.decades, words));
      showInputs(el, shown, (v, key) => (key === "length" ? String(v) : fixed(v, digits)));
      voice.say(sentence(shown, computed.of, words));
    }

    const life = enliven({ model, el, start: data.start, paint, voice, preset });

    /** @param {MouseEvent} event */
    function follow(event) {
      const T = data.inputs.length;
      const along = (pointIn(drawing, event).x - layout.left) / (layout.right - layout.left);
      life.commit(/** @type {Partial<S>} */ ({ length: clamp(Math.round(along * T), 1, T) }));
    }
    /** @param {MouseEvent} event */
    function press(event) {
      event.preventDefault();
      follow(event);
      return "length";
    }
    grip(drawing, { press, drag: follow });
    return life.wire();
  };
}
