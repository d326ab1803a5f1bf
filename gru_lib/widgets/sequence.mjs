// Build a sequence: pulses, noise and breaks, and the gates and states of a net that reads them (chapter 8).
// Keys of the model: tokens (0 noise, 1 pulse, 2 break), task, net, at (the framed step), unit, and lang.
import SEQUENCE from "./sequence.json";
import NETS from "./sequence-nets.json";
import { clamp, gruStep, matvec } from "./gru-math.mjs";
import {
  announcer, choice, columnAt, enliven, fill, fixed, fromText, furnish, grip, num, percent, pointIn, presetRow,
  showInputs, slider, uniqueId, wordsFor,
} from "./explorer.mjs";

const T = SEQUENCE.start.tokens.length;
const CHOICES = { task: Object.keys(NETS.nets), net: ["hand", "trained"] };
const RANGES = { at: [1, T], unit: [1, Math.max(...CHOICES.task.map((task) => NETS.nets[task].trained.b_r.length))] };

/** The tokens as the task reads them: for "skip" the breaks are brackets, "<" (2) and ">" (3) in turn. */
function readAs(task, tokens) {
  let open = false;
  return tokens.map((token) => {
    if (task !== "skip" || token < 2) return token;
    open = !open;
    return open ? 2 : 3;
  });
}

/** The right answers: the first token; the parity of the 1s outside brackets, or since the latest break. */
function answers(task, read) {
  let [inside, odd] = [false, 0];
  return read.map((token) => {
    if (task === "keep") return read[0];
    if (task === "skip" && token >= 2) inside = token === 2;
    if (task === "afresh" && token === 2) odd = 0;
    if (token === 1 && !inside) odd = 1 - odd;
    return odd;
  });
}

/** Gates and states of a net at every step, and its answers: the bits of the positive logits, the lowest first. */
function runReader(net, read) {
  const p = { ...net, convention: "keep", reset_after: false };
  let h = net.b_r.map(() => 0);
  const steps = read.map((token) => {
    const step = gruStep(net.W_xr.map((_, i) => Number(i === token)), h, p);
    h = step.h;
    const logits = matvec(h, net.out.W).map((v, k) => v + net.out.b[k]);
    return { r: step.r, z: step.z, h, says: logits.reduce((sum, v, k) => sum + (v > 0) * 2 ** k, 0) };
  });
  return steps;
}

function compute(s) {
  const read = readAs(s.task, s.tokens);
  const net = NETS.nets[s.task][s.net];
  const steps = runReader(net, read);
  const right = answers(s.task, read);
  const units = net.b_r.length;
  const wrong = right.flatMap((answer, t) => (answer === steps[t].says ? [] : [t + 1]));
  return { read, steps, right, units, wrong, unit: clamp(Math.round(s.unit), 1, units), at: Math.round(s.at) };
}

const preset = (name) => ({ tokens: SEQUENCE.presets[name] });
const withToken = (tokens, t, token) => tokens.map((old, i) => (i + 1 === t ? token : old));

/** What a link sets: tokens (24 of 0, 1, 2), task, net, at, unit, or preset=name. Anything else is dropped. */
function fromLink(get, asked) {
  const patch = Object.hasOwn(SEQUENCE.presets, asked.preset ?? "") ? preset(asked.preset) : {};
  const tokens = fromText(asked.tokens ?? "", [0, 2], T);
  if (tokens) patch.tokens = tokens.map(Math.round);
  for (const [key, options] of Object.entries(CHOICES)) if (options.includes(asked[key])) patch[key] = asked[key];
  for (const [key, range] of Object.entries(RANGES)) {
    const value = fromText(asked[key] ?? "", range);
    if (value !== undefined) patch[key] = Math.round(value);
  }
  return patch;
}

// ------------------------------------------------------------------------------------------------ the drawing

const label = (cls, x, y, anchor, content) =>
  `<text class="${cls}" x="${num(x)}" y="${num(y)}" text-anchor="${anchor}">${content}</text>`;
const box = (x, y, width, height) => `M${num(x)} ${num(y)}h${num(width)}v${num(height)}h${num(-width)}z`;
const drawn = (cls, boxes) => (boxes.length ? `<path class="${cls}" d="${boxes.join("")}"/>` : "");
const SAFE = { "<": "&lt;", ">": "&gt;" };
const symbol = (task, token) => {
  const plain = SEQUENCE.symbols[task][token] ?? "?";
  return SAFE[plain] ?? plain;
};
const [TANK, HALF] = [16, 19]; // a tank's height; half of the height for a state

const heightOf = (L, units) => L.units + L.pitch * units + L.gap + L.step + 34;

/** The rows, as SVG text; sequence.py draws the same where there is no JavaScript. */
function drawRows(s, c, L, words) {
  const steps = c.steps.map((_, t) => t + 1);
  const edge = (t) => L.left + (t - 1) * L.column;
  const x = (t) => edge(t) + (L.column - L.bar) / 2;
  const middle = (t) => edge(t) + L.column / 2;
  const out = [];
  for (const t of steps) {
    const token = c.read[t - 1];
    out.push(label(`ex-token ex-token-${Math.min(token, 2)}`, middle(t), L.x + 17, "middle", symbol(s.task, token)));
  }
  out.push(`<rect class="ex-strip" x="${num(L.left)}" y="${L.x}" width="${num(L.column * T)}" height="24"/>`);
  const roles = s.net === "hand" ? SEQUENCE.roles[s.task] : [];
  for (let k = 0; k < c.units; k++) {
    const y = L.units + L.pitch * k;
    const name = fill(words.unit, { i: k + 1 });
    const role = roles[k] ? words[roles[k]] : "";
    const cls = k + 1 === c.unit ? "ex-small ex-picked" : "ex-small";
    if (L.slim) out.push(label(cls, L.left, y - 6, "start", role ? `${name}: ${role}` : name));
    else {
      out.push(label(cls, 0, y + 13, "start", name));
      if (role) out.push(label("ex-small", 0, y + 31, "start", role));
    }
    for (const [gate, top] of [["r", y], ["z", y + 20]]) {
      out.push(label(`ex-it ex-${gate}`, L.left - 7, top + 12.5, "end", gate));
      out.push(drawn("ex-tank", steps.map((t) => box(x(t), top, L.bar, TANK))));
      out.push(drawn(`ex-fill-${gate}`, steps.map((t) => {
        const high = TANK * c.steps[t - 1][gate][k];
        return box(x(t), top + TANK - high, L.bar, high);
      })));
    }
    const zero = y + 40 + HALF;
    out.push(label("ex-it ex-h", L.left - 7, zero + 4.5, "end", "h"));
    out.push(`<path class="ex-axis" d="M${num(L.left)} ${num(zero)}H${num(L.left + L.column * T)}"/>`);
    const [up, down] = [[], []];
    for (const t of steps) {
      const v = c.steps[t - 1].h[k];
      const size = Math.abs(v) * HALF;
      if (v < 0) down.push(box(x(t) + 0.75, zero, L.bar - 1.5, size));
      else up.push(box(x(t), zero - size, L.bar, size));
    }
    out.push(drawn("ex-fill-h", up), drawn("ex-down ex-h", down));
  }
  const says = L.units + L.pitch * c.units + L.gap;
  const shown = (answer) => (s.task === "keep" ? symbol("keep", answer) : String(answer));
  for (const [y, word, row] of [[says, words.says, c.steps.map((step) => step.says)], [says + L.step, words.right, c.right]]) {
    out.push(L.slim ? label("ex-small", L.left, y - 5, "start", word) : label("ex-small", 0, y + 13, "start", word));
    for (const t of steps) out.push(label("ex-answer", middle(t), y + 13, "middle", shown(row[t - 1])));
  }
  out.push(drawn("ex-ink", c.wrong.map((t) => box(edge(t) + 1, says + 17, L.column - 2, 4))));
  const H = heightOf(L, c.units);
  for (const t of steps) if (t === 1 || t % 6 === 0) out.push(label("ex-small", middle(t), H - 2, "middle", String(t)));
  const step = c.steps[c.at - 1];
  const part = (role, value) =>
    `\u2002<tspan class="ex-it ex-${role}">${role}</tspan> <tspan class="ex-${role}">${fixed(value, 2)}</tspan>`;
  out.push(label("ex-now", L.left, 14, "start", `${words.step} ${c.at}, ${fill(words.unit, { i: c.unit })}` +
    part("r", step.r[c.unit - 1]) + part("z", step.z[c.unit - 1]) + part("h", step.h[c.unit - 1])));
  out.push(`<rect class="ex-frame" x="${num(edge(c.at))}" y="22" width="${num(L.column)}" height="${num(H - 39)}" rx="2"/>`);
  return out.join("");
}

/** percent, but exact at both ends: a hand-set gate is a switch. */
function share(v) {
  if (v < 1e-9) return "0\u00a0%";
  if (v > 1 - 1e-9) return "100\u00a0%";
  return percent(v);
}

function sentence(s, c, words) {
  const [step, before] = [c.steps[c.at - 1], c.steps[c.at - 2]];
  const [k, right] = [c.unit - 1, c.right[c.at - 1]];
  const named = (answer) => (s.task === "keep" ? symbol("keep", answer) : words[answer ? "odd" : "even"]);
  return [
    fill(words.say, {
      t: c.at, token: symbol(s.task, c.read[c.at - 1]), i: c.unit, z: share(step.z[k]), r: share(step.r[k]),
      before: fixed(before ? before.h[k] : 0, 2), after: fixed(step.h[k], 2),
    }),
    fill(step.says === right ? words.good : words.bad, { says: named(step.says), right: named(right) }),
    fill(words.score, { n: T - c.wrong.length, T }),
  ].join(words.space);
}

/** Where the net comes from, and how often it is right: measured, with the weights that run here. */
function provenance(s, c, words) {
  return fill(words[`note_${s.net}`], {
    units: c.units, seed: NETS.seed[s.task], n: NETS.tried[s.task].filter((row) => row.right === 1).length,
    longer: share(NETS.measured[s.task].longer),
  });
}

// ------------------------------------------------------------------------------------------------ the page

function pageHTML(id, words) {
  const one = (key, letter, name) =>
    slider({ id, key, range: RANGES[key], step: 1, symbol: `<i>${letter}</i>`, name, role: "a" });
  const radios = (key) =>
    choice({ id, key, legend: words[key], options: CHOICES[key].map((name) => [name, words[name]]) });
  const tokens = ["0", "1", "|"].map((text, token) => `<button type="button" data-token="${token}">${text}</button>`);
  return (
    presetRow(Object.keys(SEQUENCE.presets), words) +
    `<div class="ex-switches">${radios("task")}${radios("net")}</div>` +
    `<svg class="ex-rows" role="img" aria-label="${words.diagram}" aria-describedby="${id}-say"></svg>` +
    `<p class="ex-note" aria-hidden="true">${words.hint}</p>` +
    `<p class="ex-say" id="${id}-say" aria-live="polite"></p>` +
    `<div class="ex-main"><fieldset><legend>${words.frame}</legend>` +
    one("at", "t", words.step) + one("unit", "j", fill(words.unit, { i: "" }).trim()) + "</fieldset>" +
    `<div class="ex-tokens" role="group" aria-label="${words.token}"><span aria-hidden="true">${words.token}</span>` +
    `${tokens.join("")}</div></div><p class="ex-note ex-origin"></p>`
  );
}

function render({ model, el }) {
  const words = wordsFor(SEQUENCE.words, model, el);
  furnish(el, "sequence", words.title, pageHTML(uniqueId("sequence"), words));
  const rows = el.querySelector(".ex-rows");
  const palette = [...el.querySelectorAll("[data-token]")];
  const units = el.querySelector("[data-key=unit]");
  const origin = el.querySelector(".ex-origin");
  const voice = announcer(el.querySelector(".ex-say"));
  let [layout, shown] = [SEQUENCE.layout.wide, null];

  function paint(s, slim) {
    layout = SEQUENCE.layout[slim ? "slim" : "wide"];
    shown = compute(s);
    rows.setAttribute("viewBox", `0 0 ${layout.W} ${num(heightOf(layout, shown.units))}`);
    rows.innerHTML = drawRows(s, shown, layout, words);
    units.max = shown.units;
    units.disabled = shown.units === 1;
    showInputs(el, { ...s, at: shown.at, unit: shown.unit }, String,
      (v, key) => (key === "at" ? `${words.step} ${v}` : fill(words.unit, { i: v })));
    for (const button of palette) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.token) === s.tokens[shown.at - 1]));
    }
    origin.textContent = provenance(s, shown, words);
    voice.say(sentence(s, shown, words).replaceAll("&lt;", "<").replaceAll("&gt;", ">"));
  }

  const hear = { click: onPalette, keydown: onKey };
  const life = enliven({ model, el, start: SEQUENCE.start, paint, voice, preset, hear });
  const set = (t, token) => life.commit({ at: t, tokens: withToken(life.state.tokens, t, token) });
  const next = (t) => (life.state.tokens[t - 1] + 1) % 3;

  function onPalette({ target }) {
    const { token } = target.closest("[data-token]")?.dataset ?? {};
    if (token !== undefined) set(shown.at, Number(token));
  }

  /** At the slider of the step: Space changes the token, up and down pick the unit. */
  function onKey(event) {
    if (event.target.dataset.key !== "at") return;
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (event.key === " ") set(shown.at, next(shown.at));
    else if (step) life.commit({ unit: clamp(shown.unit + step, 1, shown.units) });
    else return;
    event.preventDefault();
  }

  // In the strip of tokens a press changes one, and a drag paints it on; below, they move the frame.
  grip(rows, {
    press(event) {
      const { x, y } = pointIn(rows, event);
      const t = columnAt(x, layout, T);
      if (x < layout.left || x > layout.left + layout.column * T) return null;
      event.preventDefault();
      if (y <= layout.units - 12) {
        const token = next(t);
        set(t, token);
        return token;
      }
      const unit = Math.floor((y - layout.units + (layout.slim ? 16 : 6)) / layout.pitch) + 1;
      life.commit({ at: t, ...(unit <= shown.units ? { unit: Math.max(unit, 1) } : {}) });
      return "at";
    },
    drag(event, held) {
      const t = columnAt(pointIn(rows, event).x, layout, T);
      if (held === "at") life.commit({ at: t });
      else if (life.state.tokens[t - 1] !== held) set(t, held);
    },
  });
  return life.wire();
}

export default { render, fromLink };
