// Subtraction: a small net subtracts two numbers of up to 64 bits, bit by bit (chapter 7).
// Keys of the model: a and b (decimal digits), net ("four", "eight", "hand"), at (the framed place), and lang.
import SUBTRACTION from "./subtraction.json";
import NETS from "./subtraction-nets.json";
import { clamp, gruStep, matvec, sigmoid } from "./gru-math.mjs";
import {
  announcer, choice, columnAt, enliven, fill, fixed, fromText, furnish, grip, num, percent, pointIn, presetRow,
  showInputs, slider, uniqueId, wordsFor,
} from "./explorer.mjs";

const MOST = 64;
const RANGE = [1, MOST];
const KINDS = Object.keys(NETS.nets);

/** The digits of a whole number of at most 64 bits as the reader writes it (0x and 0b too), in decimal; else null. */
function digitsOf(text) {
  const plain = String(text).replace(/[\s_]/g, "");
  if (!/^(\d{1,30}|0x[0-9a-f]{1,30}|0b[01]{1,80})$/i.test(plain)) return null;
  const value = BigInt(plain);
  return value < 1n << BigInt(MOST) ? String(value) : null;
}

/** Bits of a number, the least significant first. */
function bitsOf(value, T) {
  return Array.from({ length: T }, (_, t) => Number((value >> BigInt(t)) & 1n));
}

/** The number of bits, least significant first. */
function valueOf(bits) {
  return bits.reduce((sum, bit, t) => sum + (BigInt(bit) << BigInt(t)), 0n);
}

/** States and probabilities of a net that reads pairs of bits: hs (T, H), ys (T,). */
function runNet(net, pairs) {
  const p = { ...net, convention: "keep", reset_after: false };
  let h = net.b_r.map(() => 0);
  const hs = pairs.map((pair) => (h = gruStep(pair, h, p).h));
  return { hs, ys: hs.map((state) => sigmoid(matvec(state, net.out.W)[0] + net.out.b[0])) };
}

/** Everything that is drawn and said: whole-number arithmetic is the judge of the net. */
function compute(s) {
  const [A, B] = [BigInt(s.a), BigInt(s.b)];
  const T = Math.max(4, A.toString(2).length, B.toString(2).length);
  const [a, b] = [bitsOf(A, T), bitsOf(B, T)];
  const { hs, ys } = runNet(NETS.nets[s.net], a.map((bit, t) => [bit, b[t]]));
  const says = ys.map((y) => Number(y > 0.5));
  const right = bitsOf(BigInt.asUintN(T, A - B), T);
  const c = []; // borrows after each place
  a.forEach((bit, t) => c.push(Number(bit - b[t] - (c[t - 1] ?? 0) < 0)));
  const wrong = says.flatMap((bit, t) => (bit === right[t] ? [] : [t + 1]));
  return { A, B, T, a, b, hs, ys, says, right, c, wrong, at: clamp(Math.round(s.at), 1, T), said: valueOf(says) };
}

const preset = (name) => SUBTRACTION.presets[name];

/** What a link sets: a, b, net, at, or preset=name. Anything else is dropped. */
function fromLink(get, asked) {
  const patch = Object.hasOwn(SUBTRACTION.presets, asked.preset ?? "") ? { ...preset(asked.preset) } : {};
  for (const key of ["a", "b"]) {
    const digits = digitsOf(asked[key] ?? "");
    if (digits !== null) patch[key] = digits;
  }
  if (KINDS.includes(asked.net)) patch.net = asked.net;
  const at = fromText(asked.at ?? "", RANGE);
  if (at !== undefined) patch.at = Math.round(at);
  return patch;
}

// ------------------------------------------------------------------------------------------------ the drawing

const label = (cls, x, y, anchor, content) =>
  `<text class="${cls}" x="${num(x)}" y="${num(y)}" text-anchor="${anchor}">${content}</text>`;
const box = (x, y, width, height) => `M${num(x)} ${num(y)}h${num(width)}v${num(height)}h${num(-width)}z`;
const drawn = (cls, boxes) => (boxes.length ? `<path class="${cls}" d="${boxes.join("")}"/>` : "");

/** Where things stand: columns for T places, a row for every unit. */
function place(L, T, units) {
  const column = Math.min(L.most, L.room / T);
  const bottom = L.units + L.pitch * units;
  const [says, right] = [bottom + L.gap, bottom + L.gap + L.step];
  return { column, bar: 0.72 * column, bottom, says, right, H: right + L.bit + 20 };
}

/** The rows, as SVG text; subtraction.py draws the same where there is no JavaScript. */
function drawRows(s, c, L, words) {
  const { borrow } = NETS.measured[s.net];
  const units = c.hs[0].length;
  const at = place(L, c.T, units);
  const x = (t) => L.left + (t - 1) * at.column + (at.column - at.bar) / 2;
  const places = c.a.map((_, t) => t + 1);
  const out = [];
  const name = (y, cls, text) => out.push(L.slim
    ? label(cls, L.left, y - 5, "start", text) : label(cls, 0, y + 11, "start", text));
  const borrowed = places.filter((t) => c.c[t - 1]);
  const edge = (t) => L.left + (t - 1) * at.column;
  out.push(drawn("ex-shade", borrowed.map((t) => box(edge(t), L.units, at.column, at.bottom - L.units))));
  const bits = (y, cls, row) => {
    out.push(drawn("ex-tank", places.map((t) => box(x(t), y, at.bar, L.bit))));
    out.push(drawn(cls, places.filter((t) => row[t - 1]).map((t) => box(x(t), y, at.bar, L.bit))));
  };
  name(L.a, "ex-it ex-x", "a");
  bits(L.a, "ex-fill-x", c.a);
  name(L.b, "ex-it ex-x", "b");
  bits(L.b, "ex-fill-x", c.b);
  for (let k = 0; k < units; k++) {
    const unit = (borrow.unit + k) % units; // the borrow first
    const text = fill(words.unit, { i: unit + 1 });
    const middle = L.units + L.pitch * (k + 1) - L.half - 3;
    name(L.slim ? middle - L.half - 1 : middle - 7, k ? "ex-small" : "ex-unit ex-h",
      k ? text : text + (borrow.sign > 0 ? words.is : words.opposite));
    out.push(`<path class="ex-axis" d="M${num(L.left)} ${num(middle)}H${num(L.left + c.T * at.column)}"/>`);
    const [up, down] = [[], []];
    for (const t of places) {
      const v = c.hs[t - 1][unit];
      const size = Math.abs(v) * L.half;
      if (v < 0) down.push(box(x(t) + 0.5, middle, at.bar - 1, size));
      else up.push(box(x(t), middle - size, at.bar, size));
    }
    out.push(drawn("ex-fill-h", up), drawn("ex-down ex-h", down));
  }
  name(at.says, "ex-small", words.says);
  bits(at.says, "ex-ink", c.says);
  name(at.right, "ex-small", words.right);
  bits(at.right, "ex-ink", c.right);
  out.push(drawn("ex-ink", c.wrong.map((t) => box(edge(t), at.says + L.bit + 2, at.column, 4))));
  for (const t of places) {
    if (t === 1 || (t % 8 === 0 && at.column * 8 > 20)) {
      out.push(label("ex-small", x(t) + at.bar / 2, at.H - 3, "middle", String(t)));
    }
  }
  const now = c.at;
  const part = (cls, symbol, value) => `\u2002<tspan class="ex-it ${cls}">${symbol}</tspan> ${value}`;
  out.push(label("ex-now", L.left, 14, "start", `${words.place} ${now}` + part("ex-x", "a", c.a[now - 1]) +
    part("ex-x", "b", c.b[now - 1]) + part("", "c", c.c[now - 2] ?? 0) + part("", "d", c.right[now - 1]) +
    part("", "y", fixed(c.ys[now - 1]))));
  out.push(`<rect class="ex-frame" x="${num(edge(now))}" y="22" width="${num(at.column)}" ` +
    `height="${num(at.H - 40)}" rx="2"/>`);
  return out.join("");
}

function sentence(s, c, words) {
  const { borrow } = NETS.measured[s.net];
  const held = c.c.filter((bit, t) => (borrow.sign * c.hs[t][borrow.unit] > 0) === Boolean(bit)).length;
  const difference = fill(c.A < c.B ? words.below_text : words.exact, {
    a: s.a, b: s.b, d: String(c.A - c.B).replace("-", "\u2212"), T: c.T, rest: valueOf(c.right),
  });
  const verdict = fill(c.wrong.length ? words.wrong : words.correct, {
    said: c.said, n: c.wrong.length, T: c.T, first: c.wrong[0],
  });
  const unit = fill(words.held, { i: borrow.unit + 1, n: held, T: c.T });
  const now = fill(words.now, { t: c.at, d: c.right[c.at - 1], y: percent(c.ys[c.at - 1]) });
  return [difference, verdict, unit, now].join(words.space);
}

/** Where the net comes from, and how often it is right: measured, with the weights that run here. */
function provenance(s, words) {
  const { four, random, hard } = NETS.measured[s.net];
  const proved = NETS.tried.eight.filter((row) => row.proved).length;
  return fill(words[`note_${s.net}`], {
    seed: NETS.seed[s.net], units: NETS.nets[s.net].b_r.length, proved, of: NETS.tried.eight.length,
    four: Math.round(136 * four), random: Math.round(1000 * random), hard: Math.round(1000 * hard),
  });
}

// ------------------------------------------------------------------------------------------------ the page

function pageHTML(id, words) {
  const entry = (key) =>
    `<div class="ex-entry"><label for="${id}-${key}"><span class="ex-letter ex-x">${key}</span></label>` +
    `<input type="text" inputmode="numeric" id="${id}-${key}" data-number="${key}" maxlength="90" ` +
    `autocomplete="off" spellcheck="false" aria-describedby="${id}-rule"></div>`;
  return (
    presetRow(Object.keys(SUBTRACTION.presets), words) +
    `<svg class="ex-rows" role="img" aria-label="${words.diagram}" aria-describedby="${id}-say"></svg>` +
    `<p class="ex-note" aria-hidden="true">${words.hint}</p>` +
    `<p class="ex-say" id="${id}-say" aria-live="polite"></p>` +
    `<div class="ex-main"><fieldset><legend id="${id}-rule">${words.rule}</legend>${entry("a")}${entry("b")}</fieldset>` +
    `<fieldset><legend>${words.frame}</legend>` +
    slider({ id, key: "at", range: RANGE, step: 1, symbol: "<i>t</i>", name: words.place, role: "a" }) +
    "</fieldset></div>" +
    `<div class="ex-switches">${choice({
      id, key: "net", legend: words.net, options: KINDS.map((kind) => [kind, words[`${kind}_net`]]),
    })}</div><p class="ex-note ex-origin"></p>`
  );
}

function render({ model, el }) {
  const words = wordsFor(SUBTRACTION.words, model, el);
  furnish(el, "subtraction", words.title, pageHTML(uniqueId("subtraction"), words));
  const rows = el.querySelector(".ex-rows");
  const entries = [...el.querySelectorAll("[data-number]")];
  const slide = el.querySelector("[data-key=at]");
  const origin = el.querySelector(".ex-origin");
  const voice = announcer(el.querySelector(".ex-say"));
  let [layout, shown] = [SUBTRACTION.layout.wide, null];

  function paint(s, slim) {
    layout = SUBTRACTION.layout[slim ? "slim" : "wide"];
    shown = compute(s);
    rows.setAttribute("viewBox", `0 0 ${layout.W} ${num(place(layout, shown.T, shown.hs[0].length).H)}`);
    rows.innerHTML = drawRows(s, shown, layout, words);
    for (const entry of entries) {
      const key = entry.dataset.number;
      if (digitsOf(entry.value) !== s[key]) entry.value = s[key]; // not while "0b1" is being typed for "1"
      entry.removeAttribute("aria-invalid");
    }
    slide.max = shown.T;
    showInputs(el, { net: s.net, at: shown.at }, String, (v) => `${words.place} ${v}`);
    origin.textContent = provenance(s, words);
    voice.say(sentence(s, shown, words));
  }

  const hear = { input: onType, focusout: onLeave };
  const life = enliven({ model, el, start: SUBTRACTION.start, paint, voice, preset, hear });

  function onType({ target }) {
    const key = target.dataset.number;
    if (!key) return;
    const digits = digitsOf(target.value);
    if (digits === null) return target.setAttribute("aria-invalid", "true");
    life.commit({ [key]: digits });
  }

  /** What is no number is put back when the reader leaves it. */
  function onLeave({ target }) {
    const key = target.dataset.number;
    if (!key) return;
    target.value = life.state[key];
    target.removeAttribute("aria-invalid");
  }

  function placeAt(x) {
    const { column } = place(layout, shown.T, shown.hs[0].length);
    return columnAt(x, { left: layout.left, column }, shown.T);
  }

  // A press on a bit flips it; elsewhere the pointer moves the frame.
  grip(rows, {
    press(event) {
      const { x, y } = pointIn(rows, event);
      const t = placeAt(x);
      if (x < layout.left || x > layout.left + layout.room) return null;
      event.preventDefault();
      const key = ["a", "b"].find((row) => y >= layout[row] - 4 && y <= layout[row] + layout.bit + 4);
      if (key) {
        const flipped = BigInt(life.state[key]) ^ (1n << BigInt(t - 1));
        life.commit({ [key]: String(flipped), at: t });
        return null;
      }
      life.commit({ at: t });
      return "frame";
    },
    drag: (event) => life.commit({ at: placeAt(pointIn(rows, event).x) }),
  });
  return life.wire();
}

export default { render, fromLink };
