// @ts-check
// The stack over time: twelve steps of a differentiable stack, pushed and popped by hand or by a trained net
// (chapter 13).
import STACK from "./stack.json";
import STACK_NET from "./stack-net.json";
import { across, bar, columnsOf, frame, label, rowName, show, tank } from "./draw.mjs";
import { clamp, matvec, stackRnnStep, stackStep } from "./gru-math.mjs";
import {
  columnAt, enliven, fieldset, fill, fixed, grip, note, oneOrAllFrom, picture, pointIn, presetRow, query, readLink,
  remark, remarkPlace, saying, setUp, showInputs, sideBySide, slider, withEntry,
} from "./explorer.mjs";
/** @import { Matrix, StackRnn, Vector } from "./gru-math.mjs" */
/** @import { Asked, Range, Stage } from "./explorer.mjs" */

/**
 * The word as typed; push and pop of each step, by hand; the framed step; who pushes: "hand" or "net".
 *
 * @typedef {typeof STACK.start} State
 */
/**
 * One step: strengths and weights of the entries, and the letter that most is read of.
 *
 * @typedef {{ push: number, pop: number, strengths: Vector, weights: Vector, says: string }} Step
 */
/** @typedef {ReturnType<typeof compute>} Computed */
/** @typedef {typeof STACK.layout.wide} Layout */
/** @typedef {typeof STACK.words} Words */

const T = STACK.start.push.length;
const RANGES = { at: [1, T], push: [0, 1], pop: [0, 1] };
const TYPED = 24; // characters that the model takes; those that are no letters of the net are passed over
const BLANK = "\u00b7";
/** @type {("push" | "pop")[]} */
const AMOUNTS = ["push", "pop"];
/** @type {Record<string, Partial<State>>} */
const PRESETS = STACK.presets;

/** The letters that count, of whatever was typed. @param {string} word */
function lettersOf(word) {
  return [...word.toLowerCase()].filter((c) => STACK.letters.includes(c)).slice(0, STACK.longest);
}

/**
 * What was typed, in pieces: letters that count, and others.
 *
 * @param {string} word
 */
function piecesOf(word) {
  /** @type {{ text: string, counts: boolean }[]} */
  const pieces = [];
  let count = 0;
  for (const c of word.toLowerCase()) {
    const counts = STACK.letters.includes(c) && count < STACK.longest;
    if (counts) count++;
    const last = pieces[pieces.length - 1];
    if (last?.counts === counts) last.text += c;
    else pieces.push({ text: c, counts });
  }
  return pieces;
}

/**
 * What a link sets: word=abba; who=net; at=5; push or pop as twelve numbers, or as one for all; preset=name.
 *
 * @param {unknown} _get @param {Asked} asked
 */
function fromLink(_get, asked) {
  const patch = readLink(asked, {
    presets: PRESETS, ranges: { at: RANGES.at }, whole: ["at"], choices: { who: ["hand", "net"] },
  });
  const [push, pop] = AMOUNTS.map((key) => oneOrAllFrom(asked[key], RANGES[key], T));
  const word = asked.word?.slice(0, TYPED);
  return { ...patch, ...(word !== undefined && { word }), ...(push && { push }), ...(pop && { pop }) };
}

// ------------------------------------------------------------------------------------------------ the stack

/**
 * The twelve steps: of each its input x, push, pop, strengths, weights, and the letter of most of the read.
 *
 * @param {State} s
 */
function compute(s) {
  const word = lettersOf(s.word);
  const inputs = Array.from({ length: T }, (_, t) => word[t] ?? BLANK);
  const steps = s.who === "net" ? byNet(inputs) : byHand(inputs, s);
  const asked = (/** @type {number} */ t) => s.who === "hand" || (t >= word.length && t < 2 * word.length);
  const says = steps.map((step, t) => (asked(t) ? step.says : ""));
  return { inputs, steps, says, answer: says.join(""), right: says.join("") === [...word].reverse().join("") };
}

/** @param {string[]} inputs @param {State} s */
function byHand(inputs, s) {
  /** @type {Matrix} */
  let values = [];
  /** @type {Vector} */
  let strengths = [];
  return inputs.map((_, t) => {
    const step = stackStep([], s.push[t], s.pop[t], values, strengths); // the letters are told by their places
    ({ values, strengths } = step);
    const says = shares(inputs, step.weights)[0]?.letter ?? "";
    return { push: s.push[t], pop: s.pop[t], strengths, weights: step.weights, says };
  });
}

/** @param {string[]} inputs @returns {Step[]} */
function byNet(inputs) {
  const { params, H, M } = STACK_NET;
  /** @type {StackRnn} */
  const p = { ...params, controller: { ...params.controller, convention: "keep", reset_after: false } };
  /** @type {{ h: Vector, read: Vector, values: Matrix, strengths: Vector }} */
  let state = { h: Array(H).fill(0), read: Array(M).fill(0), values: [], strengths: [] };
  const symbols = [...STACK.letters, BLANK];
  return inputs.map((input) => {
    const after = stackRnnStep(symbols.map((symbol) => Number(symbol === input)), state, p);
    state = after;
    const logits = matvec([...after.h, ...after.read], params.out_W).map((v, k) => v + params.out_b[k]);
    const says = STACK.letters[logits.indexOf(Math.max(...logits))];
    const { push, pop, strengths, weights } = after;
    return { push, pop, strengths, weights, says };
  });
}

/**
 * How much of each letter is read, the most first. Shares below 0.005 are left out.
 *
 * @param {string[]} inputs @param {Vector} weights
 */
function shares(inputs, weights) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  weights.forEach((w, i) => sums.set(inputs[i], (sums.get(inputs[i]) ?? 0) + w));
  const read = [...sums].map(([letter, w]) => ({ letter, w, key: Math.round(1e9 * w) })).filter(({ w }) => w >= 0.005);
  return read.sort((a, b) => b.key - a.key || (a.letter < b.letter ? -1 : 1));
}

// ------------------------------------------------------------------------------------------------ the drawing

/** The rows. @param {State} s @param {Computed} c @param {Layout} L @param {Words} words */
function drawRows(s, c, L, words) {
  const { edge, x, middle, right } = columnsOf(L, T);
  const name = (/** @type {number} */ y, /** @type {string} */ text) => rowName(L, { y, above: 8, beside: 16 }, text);
  const out = [
    name(L.x - 16, words.x),
    name(L.push.y, words.push),
    name(L.pop.y, words.pop),
    name(L.pile.y, words.pile),
    name(L.says - 16, s.who === "net" ? words.answer : words.reads),
  ];
  const floor = L.pile.y + L.pile.high;
  const deepest = Math.max(...c.steps.map((step) => total(step.strengths)));
  const unit = Math.min(L.pile.unit, L.pile.high / Math.max(deepest, 1));
  out.push(across(L.left, floor, right));
  c.steps.forEach((step, i) => {
    const t = i + 1;
    out.push(label("ex-letter-x", middle(t), L.x, "middle", c.inputs[i]));
    for (const key of AMOUNTS) out.push(tank("ex-amount", step[key], { x: x(t), y: L[key].y, width: L.bar, height: L[key].high }));
    let bottom = floor;
    step.strengths.forEach((strength, k) => {
      if (strength < 0.005) return;
      const [high, read] = [unit * strength, unit * step.weights[k]];
      out.push(bar("ex-entry", x(t), bottom - high, L.bar, high));
      out.push(bar("ex-read", x(t), bottom - high, L.bar, read)); // what is read of an entry is its upper part
      const filled = 2 * read >= high; // the letter stands in the larger part
      if (Math.max(read, high - read) >= 11) {
        const y = filled ? bottom - high + read / 2 : bottom - (high - read) / 2;
        out.push(label(filled ? "ex-on" : "ex-off", middle(t), y + 4.5, "middle", c.inputs[k]));
      }
      bottom -= high;
    });
    out.push(label("ex-letter-x", middle(t), L.says, "middle", c.says[i]));
    out.push(label("ex-small", middle(t), L.H - 2, "middle", String(t)));
  });
  const now = c.steps[s.at - 1];
  const part = (/** @type {"push" | "pop"} */ key) => `\u2003${words[key]} ${fixed(now[key], 2)}`;
  out.push(label("ex-now", L.left, 14, "start", `${words.step} ${s.at}${part("push")}${part("pop")}`));
  out.push(frame(edge(s.at), 22, L.column, L.H - 40));
  return out.join("");
}

/** @param {Vector} list */
const total = (list) => list.reduce((sum, v) => sum + v, 0);

/** @param {State} s @param {Computed} c @param {Words} words */
function sentence(s, c, words) {
  const now = c.steps[s.at - 1];
  const named = (/** @type {string} */ letter) => (letter === BLANK ? words.blank : letter);
  const read = shares(c.inputs, now.weights).map(({ w, letter }) => `${fixed(w, 2)} ${named(letter)}`).join(" + ");
  const deep = total(now.strengths);
  const word = lettersOf(s.word).join("");
  const verdict = fill(!word ? words.unasked : c.right ? words.right : words.wrong, { word, answer: c.answer });
  return fill(s.who === "net" ? words.sayNet : words.sayHand, {
    t: s.at,
    push: fixed(now.push, 2),
    pop: fixed(now.pop, 2),
    x: named(c.inputs[s.at - 1]),
    deep: fixed(deep, 2),
    part: deep > 1 ? words.top : words.all,
    read: read || words.none,
    verdict,
  });
}

// ------------------------------------------------------------------------------------------------ the page

/** @param {string} id @param {Words} words */
function pageHTML(id, words) {
  /** @type {(key: string, symbol: string, range: Range, step: number) => string} */
  const one = (key, symbol, range, step) => slider({ id, key, range, step, symbol, name: "", role: "a" });
  const framed = [
    one("at", words.step, RANGES.at, 1),
    one("push", words.push, RANGES.push, 0.01),
    one("pop", words.pop, RANGES.pop, 0.01),
  ];
  return (
    `<div class="ex-typed"><label for="${id}-word">${words.purpose} ${words.type}</label>` +
    `<input type="text" id="${id}-word" data-word maxlength="${TYPED}" autocomplete="off" autocapitalize="off" ` +
    `spellcheck="false" aria-describedby="${id}-word-strange">${remarkPlace(`${id}-word`)}</div>` +
    presetRow(PRESETS, words) +
    sideBySide(
      picture(id, "ex-rows", words.diagram) + note(words.hint) + saying(id),
      `<div class="ex-main">${fieldset(words.frame, ...framed)}</div>`,
    )
  );
}

/** The letters as typed; those that are passed over are struck out. @param {ReturnType<typeof piecesOf>} pieces */
function spelt(pieces) {
  const word = document.createElement("span");
  word.className = "ex-spelt";
  for (const { text, counts } of pieces) {
    const piece = document.createElement(counts ? "span" : "s");
    piece.textContent = text;
    word.append(piece);
  }
  return word;
}

/** @param {Stage} stage */
function render({ model, el }) {
  const { words } = STACK;
  const voice = setUp("stack", words, el, pageHTML);
  const rows = query(el, ".ex-rows", SVGSVGElement);
  const field = query(el, "[data-word]", HTMLInputElement);
  let layout = STACK.layout.wide;

  /** @param {State} s @param {boolean} slim */
  function paint(s, slim) {
    layout = STACK.layout[slim ? "slim" : "wide"];
    const shown = { ...s, at: Math.round(s.at) };
    const c = compute(shown);
    show(rows, layout, drawRows(shown, c, layout, words));
    if (field.value !== s.word) field.value = s.word;
    const pieces = piecesOf(s.word);
    if (pieces.every(({ counts }) => counts)) remark(field);
    else remark(field, spelt(pieces), words.skipped);
    const { push, pop } = c.steps[shown.at - 1];
    /** @type {(v: number, key: string) => string} */
    const textOf = (v, key) => (key === "at" ? String(v) : fixed(v, 2));
    showInputs(el, { at: shown.at, push, pop }, textOf, (v, key) => (key === "at" ? `${words.step} ${v}` : fixed(v)));
    voice.say(sentence(shown, c, words));
  }

  /**
   * Set a number of a step. What the net does is taken over by hand first, to two decimals.
   *
   * @param {"push" | "pop"} key @param {number} t @param {number} value @param {State} state
   */
  function setStep(key, t, value, state) {
    /** @type {Partial<State>} */
    const patch = { who: "hand" };
    if (state.who === "net") {
      const { steps } = compute(state);
      for (const each of AMOUNTS) patch[each] = steps.map((step) => Math.round(100 * step[each]) / 100);
    }
    return { ...patch, [key]: withEntry(patch[key] ?? state[key], t, value) };
  }

  /** @param {string} key @param {number} value @param {State} state */
  const put = (key, value, state) => (key === "push" || key === "pop"
    ? setStep(key, Math.round(state.at), value, state) : { at: value });
  const preset = (/** @type {string} */ name) => PRESETS[name];
  const life = enliven({ model, el, start: STACK.start, paint, voice, preset, put });
  const onType = () => life.commit({ word: field.value });

  /**
   * A pointer in the rows of push and pop sets what it passes over; elsewhere it moves the frame.
   *
   * @param {{ x: number, y: number }} pointer @param {"push" | "pop" | "at"} held
   */
  function set({ x, y }, held) {
    const t = columnAt(x, layout, T);
    if (held === "at") return life.commit({ at: t });
    const row = layout[held];
    const value = clamp(Math.round((1 - (y - row.y) / row.high) * 20) / 20, 0, 1); // the sliders are finer
    life.commit({ ...setStep(held, t, value, life.state), at: t });
  }

  grip(rows, {
    press(event) {
      const at = pointIn(rows, event);
      if (at.x < layout.left) return null;
      /** @param {{ y: number, high: number }} row */
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

/**
 * What the preview says: first what a stack is for. Where JavaScript runs, that stands above the field.
 *
 * @param {State} state
 */
function preview(state) {
  return { said: `${STACK.words.purpose} ${sentence(state, compute(state), STACK.words)}` };
}

export default { render, fromLink, preview };
