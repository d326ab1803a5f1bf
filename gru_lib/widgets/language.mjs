// @ts-check
// The language model: a trained GRU writes on from what the reader typed (chapter 16).
import LANGUAGE from "./language.json";
import NET from "./language-net.json";
import { across, box, dyed, escaped, frame, index, label, num, path, show, signedRow, unescaped } from "./draw.mjs";
import { clamp, languageStep, pick, readLanguageNet, tempered, uniform } from "./gru-math.mjs";
import {
  choice, enliven, fieldset, fill, fixed, note, percent, picture, pointIn, presetRow, query, readLink, saying, setUp,
  showInputs, slider,
} from "./explorer.mjs";
/** @import { LanguageNet, LanguageStep } from "./gru-math.mjs" */
/** @import { Asked, Stage } from "./explorer.mjs" */

/**
 * @typedef {object} State
 * @property {string} prefix what the reader typed
 * @property {number} temperature
 * @property {number} seed
 * @property {"r" | "z" | "h"} show
 * @property {number} unit
 * @property {number} at the framed character
 */
/**
 * A text that is being written: its tokens, and a step for each of them that was read; `given` were typed.
 *
 * @typedef {{ prefix: string, temperature: number, seed: number, given: number, tokens: number[], steps: LanguageStep[]
 *   }} Run
 */
/** @typedef {typeof LANGUAGE.layout.wide} Layout */
/** @typedef {typeof LANGUAGE.words.en} Words */

const LENGTH = LANGUAGE.limits.at[1]; // characters in all
const SLICE = 6; // ms of writing in a frame; the rest is for drawing
const START = /** @type {State} */ (LANGUAGE.start);
/** @type {State["show"][]} */
const SHOWS = ["r", "z", "h"];
const TOKENS = new Map([...NET.vocabulary].map((c, k) => [c, k]));
/** @type {("seed" | "unit" | "at")[]} */
const WHOLE = ["seed", "unit", "at"];
const PRESETS = /** @type {Record<string, Partial<State>>} */ (LANGUAGE.presets);

/** @type {LanguageNet | undefined} */
let net; // its numbers are read when the first character is

/** What a link sets: prefix, show, any number, or preset=name. @param {unknown} _get @param {Asked} asked */
function fromLink(_get, asked) {
  const patch = readLink(asked, { presets: PRESETS, ranges: LANGUAGE.limits, whole: WHOLE, choices: { show: SHOWS } });
  const prefix = asked.prefix?.slice(0, LANGUAGE.longest);
  return { ...patch, ...(prefix !== undefined && { prefix }) };
}

// ------------------------------------------------------------------------------------------------ the writing

/**
 * A text begun; what it begins with in common with the old one is not read again.
 *
 * @param {State} state @param {Run} [old]
 */
function begin({ prefix, temperature, seed }, old) {
  const given = [...(prefix || "\n")].map((c) => TOKENS.get(c) ?? 0);
  const before = old ?? { tokens: [], steps: [] };
  let same = 0;
  while (same < Math.min(given.length, before.steps.length) && before.tokens[same] === given[same]) same++;
  const steps = before.steps.slice(0, same);
  /** @type {Run} */
  const run = { prefix, temperature, seed, given: given.length, tokens: given, steps };
  if (same === given.length) drawNext(run);
  return run;
}

/** Draw the token after the last one that was read. @param {Run} run */
function drawNext(run) {
  const last = run.steps.length - 1;
  const p = tempered(run.steps[last].a, run.temperature, 0);
  run.tokens.push(pick(p, uniform(run.seed, run.steps.length - run.given)));
}

/**
 * Read, and beyond the prefix draw, until the text is full or the time (ms) is up; the prefix and one character at
 * least. Returns whether it is full.
 *
 * @param {Run} run @param {number} time
 */
function writeOn(run, time) {
  const end = performance.now() + time;
  while (run.steps.length < LENGTH) {
    if (run.steps.length > run.given && performance.now() > end) return false;
    net ??= readLanguageNet(NET);
    const t = run.steps.length;
    const step = languageStep(run.tokens[t], run.steps.at(-1)?.h ?? new Float64Array(net.H), net);
    run.steps.push(step);
    if (run.steps.length === run.tokens.length) drawNext(run);
  }
  return true;
}

// ------------------------------------------------------------------------------------------------ the drawing

/** A token as it is drawn. @param {number} token @param {string} space how a space is */
const shown = (token, space) => {
  const c = NET.vocabulary[token];
  return c === "\n" ? "↵" : c === " " ? space : escaped(c);
};

/**
 * The row and the column of each character, as many as there is room for.
 *
 * @param {number[]} tokens @param {Layout} L
 */
function places(tokens, L) {
  /** @type {[row: number, column: number][]} */
  const found = [];
  const line = TOKENS.get("\n");
  for (let i = 0, row = 0, column = 0; i < tokens.length && row < L.rows; i++) {
    found.push([row, column++]);
    if (column === L.columns || (tokens[i] === line && tokens[i + 1] !== line)) [row, column] = [row + 1, 0];
  }
  return found;
}

/**
 * The framed character: the one asked for, or the last that is there.
 *
 * @param {Run} run @param {number} at @param {Layout} L
 */
const framed = (run, at, L) => clamp(at, 1, Math.max(1, Math.min(run.steps.length, places(run.tokens, L).length)));

/**
 * The characters that are likeliest next, by the model's own order; what stands there is always among them.
 *
 * @param {Run} run @param {number} at
 */
function candidates(run, at) {
  const { a } = run.steps[at - 1];
  const [own, there] = [tempered(a, 1, 0), tempered(a, run.temperature, 0)];
  const order = own.map((_, k) => k).sort((i, j) => own[j] - own[i] || i - j).slice(0, LANGUAGE.candidates);
  const next = run.tokens[at];
  if (next && !order.includes(next)) order[order.length - 1] = next;
  return { order, own, there, next };
}

/** @param {State} s @param {Run} run @param {Layout} L @param {Words} words */
function draw(s, run, L, words) {
  const at = framed(run, s.at, L);
  const where = places(run.tokens, L);
  const x = (/** @type {number} */ column) => L.left + column * L.step;
  const y = (/** @type {number} */ row) => L.top + row * L.row;
  const out = [];
  const bar = L.step - 2.4;
  for (let row = 0; row < L.rows; row++) {
    const here = where.map(([r, column], i) => ({ i, r, left: x(column) })).filter(({ r }) => r === row);
    if (!here.length) break;
    for (const { cls, part } of [
      { cls: "ex-char ex-given", part: here.filter(({ i }) => i < run.given) },
      { cls: "ex-char", part: here.filter(({ i }) => i >= run.given) },
    ]) {
      if (!part.length) continue;
      const xs = part.map(({ left }) => num(left + L.step / 2)).join(" ");
      const text = part.map(({ i }) => shown(run.tokens[i], "\u00a0")).join("");
      out.push(`<text class="${cls}" x="${xs}" y="${num(y(row))}" text-anchor="middle">${text}</text>`);
    }
    /** @type {[x: number, v: number][]} */
    const bars = here.filter(({ i }) => i < run.steps.length)
      .map(({ i, left }) => [left + 1.2, run.steps[i][s.show][s.unit - 1]]);
    const [floor, middle] = [y(row) + 21, y(row) + 14];
    if (s.show === "h") {
      if (bars.length) out.push(across(x(0), middle, x(bars.length)));
      out.push(signedRow(bars, middle, bar, 8, 0.6));
    } else {
      out.push(path("ex-tank", bars.map(([left]) => box(left, floor - 14, bar, 14))));
      out.push(path(`ex-fill-${s.show}`, bars.map(([left, v]) => box(left, floor - 14 * v, bar, 14 * v))));
    }
  }
  if (at > run.steps.length) return out.join("");
  const [row, column] = where[at - 1];
  out.push(frame(x(column), y(row) - 14, L.step, 38));
  const v = fixed(run.steps[at - 1][s.show][s.unit - 1]);
  const value = `${dyed(s.show, index(s.show, s.unit))} <tspan class="ex-${s.show}">${v}</tspan>`;
  out.push(label("ex-now", L.left, 16, "start",
    `${words.step} ${at}\u2003${shown(run.tokens[at - 1], "␣")}\u2003${value}`));

  const { order, own, there, next } = candidates(run, at);
  const title = fill(L.slim ? words.nextSlim : words.next, { T: fixed(run.temperature, 2) });
  out.push(label("ex-small", L.left, L.bars - 8, "start", title));
  const wide = (L.W - 2 * L.left) / order.length;
  const ground = L.bars + 20 + L.high;
  out.push(across(L.left, ground, L.W - L.left));
  order.forEach((k, i) => {
    const middle = L.left + (i + 0.5) * wide;
    out.push(path("ex-chance", box(middle - 9, ground - L.high * there[k], 18, L.high * there[k])));
    out.push(path("ex-own", box(middle - 12, ground - L.high * own[k], 24, L.high * own[k])));
    const top = ground - L.high * Math.max(own[k], there[k]);
    out.push(label("ex-part", middle, top - 5, "middle", percent(there[k])));
    out.push(label(`ex-char${k === next ? " ex-chosen" : ""}`, middle, ground + 18, "middle", shown(k, "␣")));
    if (k === next) out.push(path("ex-axis ex-chosen", `M${num(middle - 12)} ${num(ground + 25)}h24`));
  });
  return out.join("");
}

/** @param {State} s @param {Run} run @param {Layout} L @param {Words} words */
function sentence(s, run, L, words) {
  const at = framed(run, s.at, L);
  const { order, own, there, next } = candidates(run, at);
  const quoted = (/** @type {number} */ k) => `“${unescaped(shown(k, "␣"))}”`;
  const tail = run.tokens.slice(Math.max(0, at - 12), at).map((k) => unescaped(shown(k, " "))).join("");
  return fill(words.say, {
    tail: `“…${tail}”`,
    best: quoted(order[0]), own: percent(own[order[0]]), there: percent(there[order[0]]), T: fixed(run.temperature, 2),
    next: next === undefined ? "…" : quoted(next), chance: next === undefined ? "…" : percent(there[next]),
    unit: s.unit, symbol: s.show, v: fixed(run.steps[at - 1][s.show][s.unit - 1]),
  });
}

// ------------------------------------------------------------------------------------------------ the page

/** @param {string} id @param {Words} words */
function pageHTML(id, words) {
  /** @type {(key: keyof typeof LANGUAGE.limits, symbol: string, name: string, step: number) => string} */
  const one = (key, symbol, name, step) =>
    slider({ id, key, range: LANGUAGE.limits[key], step, symbol, name, role: "a" });
  const options = SHOWS.map((name) => [name, `<i>${name}</i>\u2002${words[name]}`]);
  const writing = [one("temperature", "<i>τ</i>", words.temperature, 0.05), one("seed", "", words.seed, 1)];
  const looking = [one("at", "", words.at, 1), one("unit", "", words.unit, 1)];
  return (
    presetRow(PRESETS, words) +
    `<div class="ex-typed"><label for="${id}-prefix">${words.prefix}</label>` +
    `<input type="text" id="${id}-prefix" maxlength="${LANGUAGE.longest}" spellcheck="false" ` +
    'autocomplete="off"></div>' +
    picture(id, "ex-lines", words.diagram) +
    saying(id) +
    `<div class="ex-main">${fieldset(words.writing, ...writing)}${fieldset(words.looking, ...looking)}</div>` +
    `<div class="ex-switches">${choice({ id, key: "show", legend: words.show, options })}</div>` +
    note(`${words.newline} ${fill(words.rounded, { bits: fixed(NET.bits["8 bits"], 2) })}`)
  );
}

/** @param {Stage} stage */
function render(stage) {
  const { model, el } = stage;
  const { words, voice } = setUp("language", LANGUAGE.words, stage, pageHTML);
  const lines = query(el, ".ex-lines", SVGSVGElement);
  const typed = query(el, "input[type=text]", HTMLInputElement);
  let layout = LANGUAGE.layout.wide;
  /** @type {{ run: Run, state: State } | undefined} */
  let now; // the text, and the state that is drawn
  let asked = 0; // the frame asked for

  /** @param {Run} run @param {State} state @param {number} time */
  function drawing(run, state, time) {
    const full = writeOn(run, time);
    show(lines, layout, draw(state, run, layout, words));
    lines.dataset.written = String(run.steps.length);
    if (run.steps.length) voice.say(sentence(state, run, layout, words));
    asked = full ? 0 : requestAnimationFrame(() => drawing(run, state, SLICE));
  }

  /** @param {State} s @param {boolean} slim */
  function paint(s, slim) {
    layout = LANGUAGE.layout[slim ? "slim" : "wide"];
    const first = !now;
    const state = { ...s };
    for (const key of WHOLE) state[key] = Math.round(s[key]);
    const old = now?.run;
    const { prefix, temperature, seed } = state;
    const run = old && old.prefix === prefix && old.temperature === temperature && old.seed === seed
      ? old : begin(state, old);
    now = { run, state };
    showInputs(el, state, (v, key) => (key === "temperature" ? fixed(v, 2) : String(v)));
    const text = prefix.replaceAll("\n", "↵");
    if (typed.value !== text) typed.value = text;
    cancelAnimationFrame(asked);
    if (first) asked = requestAnimationFrame(() => drawing(run, state, SLICE)); // the page comes first
    else drawing(run, state, SLICE);
  }

  const life = enliven({ model, el, start: START, paint, voice, preset: (name) => PRESETS[name] });

  const onType = () => life.commit({ prefix: typed.value.replaceAll("↵", "\n").slice(0, LANGUAGE.longest) });
  /** @param {PointerEvent} event */
  function onDown(event) {
    if (!now) return;
    const { x, y } = pointIn(lines, event);
    const row = Math.floor((y - layout.top + 16) / layout.row);
    const column = Math.floor((x - layout.left) / layout.step);
    const at = places(now.run.tokens, layout).findIndex(([r, c]) => r === row && c === column) + 1;
    if (at) life.commit({ at });
  }
  typed.addEventListener("input", onType);
  lines.addEventListener("pointerdown", onDown);
  const stop = life.wire();
  return () => {
    cancelAnimationFrame(asked);
    stop();
  };
}

export default { render, fromLink };
