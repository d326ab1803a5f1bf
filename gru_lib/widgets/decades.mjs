// Curves over many powers of ten against a number of steps, and the explorers that show them.
import { clamp } from "./gru-math.mjs";
import {
  announcer, enliven, fill, fixed, furnish, grip, num, pointIn, showInputs, uniqueId, wordsFor,
} from "./explorer.mjs";

const RAISED = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
const raise = (n) => [...String(n)].map((c) => RAISED[c]).join("");

/** A number, not negative, in words that survive a hundred powers of ten: 0.042, 31, 4.2 · 10², 2.3 · 10⁻⁹. */
export function size(v) {
  if (v === 0) return "0";
  if (v >= 0.01 && v < 99.5) return v.toPrecision(2);
  const [digits, power] = v.toExponential(1).split("e");
  return `${digits}\u00a0·\u00a010${raise(Number(power))}`;
}

const label = (cls, x, y, anchor, content) =>
  `<text class="${cls}" x="${num(x)}" y="${num(y)}" text-anchor="${anchor}">${content}</text>`;

/**
 * The inside of the drawing; _decades.py draws the same where there is no JavaScript.
 *
 * @param {object[]} curves two of { role, cls, name, values }: values for 0 … T steps
 * @param {number} length the number of steps at hand
 * @param {object} L layout: left, right, top, bottom
 * @param {number[]} decades the lowest and highest power of ten
 * @param {object} words norm, steps
 */
function drawDecades(curves, length, L, [low, high], words) {
  const T = curves[0].values.length - 1;
  const x = (t) => L.left + (t / T) * (L.right - L.left);
  const y = (v) => L.bottom - ((Math.log10(v) - low) / (high - low)) * (L.bottom - L.top);
  const inside = (v) => v > 0 && Math.log10(v) >= low && Math.log10(v) <= high;
  const out = [];
  for (let d = low; d <= high; d += 8) {
    const at = y(10 ** d);
    out.push(`<path class="${d === 0 ? "ex-one" : "ex-rule"}" d="M${L.left} ${num(at)}H${L.right}"/>`);
    out.push(label("ex-small", L.left - 6, at + 4.5, "end", d === 0 ? "1" : `10${raise(d)}`));
  }
  for (const t of [0, 25, 50, 75, 100]) out.push(label("ex-small", x(t), L.bottom + 18, "middle", String(t)));
  out.push(label("ex-small", L.right, L.bottom + 36, "end", `<tspan class="ex-it">T</tspan>, ${words.steps}`));
  const index = (i) => `h<tspan class="ex-sub" dy="4">${i}</tspan><tspan dy="-4">\u200b</tspan>`;
  const ratio = `<tspan class="ex-it">∂${index("T")}/∂${index("0")}</tspan>`;
  out.push(label("ex-ratio", L.left, 16, "start", fill(words.norm, { d: ratio })));

  const ends = curves.map(({ role, cls, values }) => {
    const points = values.map((v, t) => [t, v]).filter(([t, v]) => t <= length && inside(v));
    const d = points.map(([t, v]) => `${num(x(t))} ${num(y(v))}`).join("L");
    out.push(`<path class="ex-line ex-${role} ${cls}" d="M${d}"/>`);
    const [t, v] = points.at(-1);
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
  out.push(`<path class="ex-cursor" d="M${num(at)} ${L.top}V${L.bottom}"/>`);
  return out.join("");
}

/**
 * The render of an explorer of such curves. Its drawing is .ex-growth; of its state, `length` is the number of steps.
 *
 * @param {string} name of the module
 * @param {object} data its JSON: words, start, layout, decades, inputs (one for each step)
 * @param {object} o pageHTML(id, words); preset(name); compute(state), which does not read the length;
 *   curvesOf(computed, words), as drawDecades takes them; sentence(state, computed, words); digits of what is no length
 */
export function decadesRender(name, data, { pageHTML, preset, compute, curvesOf, sentence, digits }) {
  return ({ model, el }) => {
    const words = wordsFor(data.words, model, el);
    furnish(el, name, words.title, pageHTML(uniqueId(name), words));
    const drawing = el.querySelector(".ex-growth");
    const voice = announcer(el.querySelector(".ex-say"));
    let layout = data.layout.wide;
    let [computed, from] = [null, ""]; // what was computed last, and the state it was computed from

    function paint({ length, ...rest }, slim) {
      layout = data.layout[slim ? "slim" : "wide"];
      const shown = { ...rest, length: Math.round(length) };
      const asked = JSON.stringify(rest);
      if (asked !== from) [computed, from] = [compute(rest), asked];
      drawing.setAttribute("viewBox", `0 0 ${layout.W} ${layout.H}`);
      drawing.innerHTML = drawDecades(curvesOf(computed, words), shown.length, layout, data.decades, words);
      showInputs(el, shown, (v, key) => (key === "length" ? String(v) : fixed(v, digits)));
      voice.say(sentence(shown, computed, words));
    }

    const life = enliven({ model, el, start: data.start, paint, voice, preset });

    function follow(event) {
      const T = data.inputs.length;
      const share = (pointIn(drawing, event).x - layout.left) / (layout.right - layout.left);
      life.commit({ length: clamp(Math.round(share * T), 1, T) });
    }
    function press(event) {
      event.preventDefault();
      follow(event);
      return "length";
    }
    grip(drawing, { press, drag: follow });
    return life.wire();
  };
}
