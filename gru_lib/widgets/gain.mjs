// Gain and length: the norm of dh_T/dh_0 of an Elman net, at rest and driven, against T (chapter 2).
// Keys of the model: radius, strength, length, and lang.
import GAIN from "./gain.json";
import { clamp, elmanJacobian, elmanStep, spectralNorm } from "./gru-math.mjs";
import {
  announcer, enliven, fill, fixed, fromText, furnish, num, presetRow, setSlider, slider, uniqueId, wordsFor,
} from "./explorer.mjs";

const H = GAIN.W_h.length;
const T = GAIN.inputs.length;
const UNIT = GAIN.W_h.map((_, i) => GAIN.W_h.map((_, j) => Number(i === j)));
const BASE = GAIN.W_h.map((row) => row.map((w) => w / GAIN.net_radius)); // spectral radius 1

/** Norms of the powers of BASE: with radius ρ, at rest, they are ρ^T times these. */
let powers = null;

function normsOfPowers() {
  if (powers) return powers;
  powers = [1];
  for (let t = 1, J = UNIT; t <= T; t++) {
    J = elmanJacobian(J, Array(H).fill(0), BASE);
    powers.push(spectralNorm(J));
  }
  return powers;
}

/** For T = 0 … 100: norms at rest and driven, and the root mean square of the slopes so far. */
function growth(radius, strength) {
  const W_h = BASE.map((row) => row.map((w) => radius * w));
  const p = { W_x: UNIT, W_h, b: Array(H).fill(0) };
  const [rest, driven, slope] = [[1], [1], [1]];
  let [h, J, logs] = [Array(H).fill(0), UNIT, 0];
  for (let t = 1; t <= T; t++) {
    h = elmanStep(GAIN.inputs[t - 1].map((u) => strength * u), h, p);
    J = elmanJacobian(J, h, W_h);
    logs += Math.log(h.reduce((sum, v) => sum + (1 - v * v) ** 2, 0) / H);
    rest.push(radius ** t * normsOfPowers()[t]);
    driven.push(spectralNorm(J));
    slope.push(Math.exp(logs / (2 * t)));
  }
  return { rest, driven, slope };
}

const preset = (name) => GAIN.presets[name];

/** What a link sets: radius, strength, length, or preset=name. Anything else is dropped. */
function fromLink(get, asked) {
  const patch = Object.hasOwn(GAIN.presets, asked.preset ?? "") ? { ...preset(asked.preset) } : {};
  for (const [key, range] of Object.entries(GAIN.limits)) {
    const value = fromText(asked[key] ?? "", range);
    if (value !== undefined) patch[key] = key === "length" ? Math.round(value) : value;
  }
  return patch;
}

// ------------------------------------------------------------------------------------------------ the drawing

const RAISED = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
const raise = (n) => [...String(n)].map((c) => RAISED[c]).join("");

/** A positive number in words that survive a hundred powers of ten: 0.042, 31, 4.2 · 10², 2.3 · 10⁻⁹. */
function size(v) {
  if (v >= 0.01 && v < 99.5) return v.toPrecision(2);
  const [digits, power] = v.toExponential(1).split("e");
  return `${digits}\u00a0·\u00a010${raise(Number(power))}`;
}

const label = (cls, x, y, anchor, content) =>
  `<text class="${cls}" x="${num(x)}" y="${num(y)}" text-anchor="${anchor}">${content}</text>`;

/** The inside of the drawing; gain.py draws the same where there is no JavaScript. */
function drawGrowth(s, c, L, words) {
  const [low, high] = GAIN.decades;
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
  out.push(label("ex-small", L.left, 16, "start", fill(words.norm, { d: ratio })));

  const curves = [["rest", "ex-line ex-line-rest"], ["driven", "ex-line"]].map(([name, cls]) => {
    const points = c[name].map((v, t) => [t, v]).filter(([t, v]) => t <= s.length && inside(v));
    out.push(`<path class="${cls}" d="M${points.map(([t, v]) => `${num(x(t))} ${num(y(v))}`).join("L")}"/>`);
    const [t, v] = points.at(-1);
    return { name, x: x(t), y: y(v), ends: t === s.length };
  });
  const [a, b] = curves;
  const near = Math.abs(a.y - b.y) < 16 && Math.abs(a.x - b.x) < 60;
  const up = a.y <= b.y ? 1 : -1;
  curves.forEach((curve, i) => {
    const shift = near ? (i === 0 ? -up : up) * (16 - Math.abs(a.y - b.y)) / 2 : 0;
    out.push(`<circle class="ex-end" cx="${num(curve.x)}" cy="${num(curve.y)}" r="${curve.ends ? 4 : 0}"/>`);
    out.push(label("ex-name-g", curve.x + 8, curve.y + 4.5 + shift, "start", words[curve.name]));
  });
  const at = x(s.length);
  out.push(`<path class="ex-cursor" d="M${num(at)} ${L.top}V${L.bottom}"/>`);
  return out.join("");
}

function sentence(s, c, words) {
  const slope = c.slope[s.length];
  return fill(words.say, {
    T: s.length, radius: fixed(s.radius, 2), rest: size(c.rest[s.length]), driven: size(c.driven[s.length]),
    slope: fixed(slope, 2), rate: fixed(s.radius * slope, 2), measured: fixed(c.driven[s.length] ** (1 / s.length), 2),
  });
}

// ------------------------------------------------------------------------------------------------ the page

function pageHTML(id, words) {
  const one = (key, symbol, role, step) =>
    slider({ id, key, range: GAIN.limits[key], step, symbol, name: words[key], role });
  return (
    presetRow(Object.keys(GAIN.presets), words) +
    `<svg class="ex-growth" role="img" aria-label="${words.diagram}" aria-describedby="${id}-say"></svg>` +
    `<p class="ex-say" id="${id}-say" aria-live="polite"></p>` +
    `<div class="ex-main"><fieldset><legend>${words.net}</legend>${one("radius", "<i>ρ</i>", "a", 0.01)}` +
    `${one("strength", "<i>x</i>", "x", 0.05)}</fieldset>` +
    `<fieldset><legend>${words.far}</legend>${one("length", "<i>T</i>", "a", 1)}</fieldset></div>` +
    `<p class="ex-note" aria-hidden="true">${words.note}</p>`
  );
}

function render({ model, el }) {
  const words = wordsFor(GAIN.words, model, el);
  furnish(el, "gain", words.title, pageHTML(uniqueId("gain"), words));
  const drawing = el.querySelector(".ex-growth");
  const sliders = [...el.querySelectorAll("input[type=range]")];
  const voice = announcer(el.querySelector(".ex-say"));
  let layout = GAIN.layout.wide;
  let computed = {}; // growth of the radius and strength it was made for

  function paint(s, slim) {
    layout = GAIN.layout[slim ? "slim" : "wide"];
    const shown = { ...s, length: Math.round(s.length) };
    if (computed.radius !== s.radius || computed.strength !== s.strength) {
      computed = { radius: s.radius, strength: s.strength, ...growth(s.radius, s.strength) };
    }
    drawing.setAttribute("viewBox", `0 0 ${layout.W} ${layout.H}`);
    drawing.innerHTML = drawGrowth(shown, computed, layout, words);
    for (const input of sliders) {
      const { key } = input.dataset;
      setSlider(input, shown[key]);
      const text = key === "length" ? String(shown.length) : fixed(shown[key], 2);
      input.setAttribute("aria-valuetext", text);
      el.querySelector(`[data-value=${key}]`).textContent = text;
    }
    voice.say(sentence(shown, computed, words));
  }

  const life = enliven({ model, el, start: GAIN.start, paint, preset });

  let held = false;
  function follow(event) {
    const box = drawing.getBoundingClientRect();
    const at = ((event.clientX - box.left) * layout.W) / box.width;
    const share = (at - layout.left) / (layout.right - layout.left);
    life.commit({ length: clamp(Math.round(share * T), ...GAIN.limits.length) });
  }
  drawing.addEventListener("pointerdown", (event) => {
    held = true;
    drawing.setPointerCapture(event.pointerId);
    event.preventDefault();
    follow(event);
  });
  drawing.addEventListener("pointermove", (event) => { if (held) follow(event); });
  for (const end of ["pointerup", "pointercancel"]) drawing.addEventListener(end, () => { held = false; });

  const stop = life.wire();
  return () => {
    voice.stop();
    stop();
  };
}

export default { render, fromLink };
