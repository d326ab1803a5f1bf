// The stack over time: twelve steps of a differentiable stack, pushed and popped by hand or by a trained net
// (chapter 13). Keys of the model: word, push, pop, at (the framed step), who ("hand" or "net"), and lang.
import STACK from "./stack.json";
import STACK_NET from "./stack-net.json";
import { clamp, matvec, stackRnnStep, stackStep } from "./gru-math.mjs";
import {
  announcer, columnAt, enliven, fill, fixed, fromText, furnish, grip, num, pointIn, presetRow, showInputs, slider,
  uniqueId, wordsFor,
} from "./explorer.mjs";

const T = STACK.start.push.length;
const RANGES = { at: [1, T], push: [0, 1], pop: [0, 1] };
const TYPED = 24; // characters that the model takes; those that are no letters of the net are passed over
const BLANK = "\u00b7";

/** The letters that count, of whatever was typed. */
function lettersOf(word) {
  return [...word.toLowerCase()].filter((c) => STACK.letters.includes(c)).slice(0, STACK.longest);
}

function preset(name) {
  return { ...STACK.presets[name] };
}

/** What a link sets: word=abba; who=net; at=5; push or pop as twelve numbers, or as one for all; preset=name. */
function fromLink(get, asked) {
  const patch = Object.hasOwn(STACK.presets, asked.preset ?? "") ? preset(asked.preset) : {};
  if (asked.word !== undefined) patch.word = asked.word.slice(0, TYPED);
  if (asked.who === "hand" || asked.who === "net") patch.who = asked.who;
  const at = fromText(asked.at ?? "", RANGES.at);
  if (at !== undefined) patch.at = Math.round(at);
  for (const key of ["push", "pop"]) {
    const one = fromText(asked[key] ?? "", RANGES[key]);
    const all = one === undefined ? fromText(asked[key] ?? "", RANGES[key], T) : Array(T).fill(one);
    if (all) patch[key] = all;
  }
  return patch;
}

// ------------------------------------------------------------------------------------------------ the stack

/** The twelve steps: of each its input x, push, pop, strengths, weights, and the letter of most of the read. */
function compute(s) {
  const word = lettersOf(s.word);
  const inputs = Array.from({ length: T }, (_, t) => word[t] ?? BLANK);
  const steps = s.who === "net" ? byNet(inputs) : byHand(inputs, s);
  const asked = (t) => s.who === "hand" || (t >= word.length && t < 2 * word.length);
  const says = steps.map((step, t) => (asked(t) ? step.says : ""));
  return { inputs, steps, says, answer: says.join(""), right: says.join("") === [...word].reverse().join("") };
}

function byHand(inputs, s) {
  let [values, strengths] = [[], []];
  return inputs.map((_, t) => {
    const step = stackStep([], s.push[t], s.pop[t], values, strengths); // the letters are told by their places
    ({ values, strengths } = step);
    const [, most] = shares(inputs, step.weights)[0] ?? [0, ""];
    return { push: s.push[t], pop: s.pop[t], strengths, weights: step.weights, says: most };
  });
}

function byNet(inputs) {
  const { params, H, M } = STACK_NET;
  const p = { ...params, controller: { ...params.controller, convention: "keep", reset_after: false } };
  let state = { h: Array(H).fill(0), read: Array(M).fill(0), values: [], strengths: [] };
  const symbols = [...STACK.letters, BLANK];
  return inputs.map((input) => {
    state = stackRnnStep(symbols.map((symbol) => Number(symbol === input)), state, p);
    const logits = matvec([...state.h, ...state.read], p.out_W).map((v, k) => v + p.out_b[k]);
    const says = STACK.letters[logits.indexOf(Math.max(...logits))];
    const { push, pop, strengths, weights } = state;
    return { push, pop, strengths, weights, says };
  });
}

/** How much of each letter is read, the most first: [share, letter] pairs. Shares below 0.005 are left out. */
function shares(inputs, weights) {
  const sums = new Map();
  weights.forEach((w, i) => sums.set(inputs[i], (sums.get(inputs[i]) ?? 0) + w));
  const pairs = [...sums].map(([letter, w]) => [w, letter]).filter(([w]) => w >= 0.005);
  const key = ([w]) => Math.round(1e9 * w);
  return pairs.sort((a, b) => key(b) - key(a) || (a[1] < b[1] ? -1 : 1));
}

// ------------------------------------------------------------------------------------------------ the drawing

const label = (cls, x, y, anchor, content) =>
  `<text class="${cls}" x="${num(x)}" y="${num(y)}" text-anchor="${anchor}">${content}</text>`;
const box = (cls, x, y, width, height) =>
  `<rect class="${cls}" x="${num(x)}" y="${num(y)}" width="${num(width)}" height="${num(Math.max(height, 0))}"/>`;

/** The rows, as SVG text; stack.py draws the same where there is no JavaScript. */
function drawRows(s, c, L, words) {
  const x = (t) => L.left + t * L.column + (L.column - L.bar) / 2;
  const middle = (t) => L.left + (t + 0.5) * L.column;
  const out = [];
  const name = (y, word) => out.push(L.slim
    ? label("ex-small", L.left, y - 8, "start", word)
    : label("ex-small", 0, y + 16, "start", word));
  name(L.x - 16, words.x);
  name(L.push.y, words.push);
  name(L.pop.y, words.pop);
  name(L.pile.y, words.pile);
  name(L.says - 16, s.who === "net" ? words.answer : words.reads);
  const floor = L.pile.y + L.pile.high;
  const deepest = Math.max(...c.steps.map((step) => total(step.strengths)));
  const unit = Math.min(L.pile.unit, L.pile.high / Math.max(deepest, 1));
  out.push(`<path class="ex-axis" d="M${L.left} ${floor}H${L.left + T * L.column}"/>`);
  c.steps.forEach((step, t) => {
    out.push(label("ex-letter-x", middle(t), L.x, "middle", c.inputs[t]));
    for (const key of ["push", "pop"]) {
      const { y, high } = L[key];
      out.push(box("ex-tank", x(t), y, L.bar, high));
      out.push(box("ex-amount", x(t), y + high * (1 - step[key]), L.bar, high * step[key]));
    }
    let bottom = floor;
    step.strengths.forEach((strength, i) => {
      if (strength < 0.005) return;
      const [high, read] = [unit * strength, unit * step.weights[i]];
      out.push(box("ex-entry", x(t), bottom - high, L.bar, high));
      out.push(box("ex-read", x(t), bottom - high, L.bar, read)); // what is read of an entry is its upper part
      const filled = 2 * read >= high; // the letter stands in the larger part
      if (Math.max(read, high - read) >= 11) {
        const y = filled ? bottom - high + read / 2 : bottom - (high - read) / 2;
        out.push(label(filled ? "ex-on" : "ex-off", middle(t), y + 4.5, "middle", c.inputs[i]));
      }
      bottom -= high;
    });
    out.push(label("ex-letter-x", middle(t), L.says, "middle", c.says[t]));
    out.push(label("ex-small", middle(t), L.H - 2, "middle", String(t + 1)));
  });
  const now = c.steps[s.at - 1];
  const part = (word, value) => `\u2003${word} ${fixed(value, 2)}`;
  out.push(label("ex-now", L.left, 14, "start",
    `${words.step} ${s.at}` + part(words.push, now.push) + part(words.pop, now.pop)));
  const left = L.left + (s.at - 1) * L.column;
  out.push(`<rect class="ex-frame" x="${num(left)}" y="22" width="${L.column}" height="${L.H - 40}" rx="2"/>`);
  return out.join("");
}

const total = (list) => list.reduce((sum, v) => sum + v, 0);

function sentence(s, c, words) {
  const now = c.steps[s.at - 1];
  const named = (letter) => (letter === BLANK ? words.blank : letter);
  const read = shares(c.inputs, now.weights).map(([w, letter]) => `${fixed(w, 2)} ${named(letter)}`).join(" + ");
  const deep = total(now.strengths);
  return fill(s.who === "net" ? words.sayNet : words.sayHand, {
    t: s.at,
    push: fixed(now.push, 2),
    pop: fixed(now.pop, 2),
    x: named(c.inputs[s.at - 1]),
    deep: fixed(deep, 2),
    part: deep > 1 ? words.top : words.all,
    read: read || words.none,
    answer: c.answer || words.none,
    verdict: c.right ? words.right : words.wrong,
  });
}

// ------------------------------------------------------------------------------------------------ the page

function pageHTML(id, words) {
  const one = (key, symbol, range, step) => slider({ id, key, range, step, symbol, name: "", role: "a" });
  return (
    presetRow(Object.keys(STACK.presets), words) +
    `<div class="ex-word"><label for="${id}-word">${words.word}</label>` +
    `<input type="text" id="${id}-word" data-word maxlength="${TYPED}" autocomplete="off" autocapitalize="off" ` +
    'spellcheck="false"></div>' +
    `<svg class="ex-rows" role="img" aria-label="${words.diagram}" aria-describedby="${id}-say"></svg>` +
    `<p class="ex-note" aria-hidden="true">${words.hint}</p>` +
    `<p class="ex-say" id="${id}-say" aria-live="polite"></p>` +
    `<div class="ex-main"><fieldset><legend>${words.frame}</legend>` +
    one("at", words.step, RANGES.at, 1) +
    one("push", words.push, RANGES.push, 0.01) +
    one("pop", words.pop, RANGES.pop, 0.01) +
    "</fieldset></div>"
  );
}

function render({ model, el }) {
  const words = wordsFor(STACK.words, model, el);
  furnish(el, "stack", words.title, pageHTML(uniqueId("stack"), words));
  const rows = el.querySelector(".ex-rows");
  const field = el.querySelector("[data-word]");
  const voice = announcer(el.querySelector(".ex-say"));
  let layout = STACK.layout.wide;

  function paint(s, slim) {
    layout = STACK.layout[slim ? "slim" : "wide"];
    const shown = { ...s, at: Math.round(s.at) };
    const c = compute(shown);
    rows.setAttribute("viewBox", `0 0 ${layout.W} ${layout.H}`);
    rows.innerHTML = drawRows(shown, c, layout, words);
    if (field.value !== s.word) field.value = s.word;
    const { push, pop } = c.steps[shown.at - 1];
    const textOf = (v, key) => (key === "at" ? String(v) : fixed(v, 2));
    const spokenOf = (v, key) => (key === "at" ? `${words.step} ${v}` : fixed(v));
    showInputs(el, { at: shown.at, push, pop }, textOf, spokenOf);
    voice.say(sentence(shown, c, words));
  }

  /** Set a number of a step. What the net does is taken over by hand first, to two decimals. */
  function withEntry(key, t, value, state) {
    const patch = { who: "hand" };
    if (state.who === "net") {
      const { steps } = compute(state);
      for (const each of ["push", "pop"]) patch[each] = steps.map((step) => Math.round(100 * step[each]) / 100);
    }
    patch[key] = (patch[key] ?? state[key]).map((old, i) => (i + 1 === t ? value : old));
    return patch;
  }

  const put = (key, value, state) =>
    (key === "at" ? { at: value } : withEntry(key, Math.round(state.at), value, state));
  const life = enliven({ model, el, start: STACK.start, paint, voice, preset, put });
  const onType = () => life.commit({ word: field.value });

  // A pointer in the rows of push and pop sets what it passes over; elsewhere it moves the frame.
  function set({ x, y }, held) {
    const t = columnAt(x, layout, T);
    if (held === "at") return life.commit({ at: t });
    const row = layout[held];
    const value = clamp(Math.round((1 - (y - row.y) / row.high) * 20) / 20, 0, 1); // the sliders are finer
    life.commit({ ...withEntry(held, t, value, life.state), at: t });
  }

  grip(rows, {
    press(event) {
      const at = pointIn(rows, event);
      if (at.x < layout.left) return null;
      const inside = (row) => at.y >= row.y - 5 && at.y <= row.y + row.high + 5;
      const held = inside(layout.push) ? "push" : inside(layout.pop) ? "pop" : "at";
      event.preventDefault();
      set(at, held);
      return held;
    },
    drag: (event, held) => set(pointIn(rows, event), held),
  });
  field.addEventListener("input", onType);
  return life.wire();
}

export default { render, fromLink };
