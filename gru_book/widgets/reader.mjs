// @ts-check
// The reader: a trained GRU reads what the visitor types and says after each letter which language it is (front page).
import GATE from "./gate.json";
import READER from "./reader.json";
import { index, num, show } from "./draw.mjs";
import {
  enliven, fill, fixed, percent, picture, presetRow, pressed, query, readLink, remark, remarkPlace, saying,
  setUp, showInputs, slider,
} from "./explorer.mjs";
import { clamp } from "./gru-math.mjs";
import { drawCell } from "./gate-cell.mjs";
import { columnsFor, draw, escapedAll, instruction, languageName, nameOf, scores, sentence, smallPrint } from "./reader-drawing.mjs";
import { cellOf, ranked, reading, telling, TOKENS } from "./reader-net.mjs";
/** @import { Vector } from "./gru-math.mjs" */
/** @import { Asked, Stage } from "./explorer.mjs" */
/** @import { Reading, Step } from "./reader-net.mjs" */

/**
 * @typedef {object} State
 * @property {string} word what the reader typed
 * @property {number} kept the letter, from 1, at which everything is kept; 0: none
 * @property {number} at the letter that is looked at; beyond the letters is the end of the word
 * @property {number} unit whose cell is drawn
 */
/** @typedef {typeof READER.layout.wide} Layout */
/** @typedef {typeof READER.words} Words */

const LONGEST = READER.longest;
const START = /** @type {State} */ (READER.start);
const PRESETS = /** @type {Record<string, Partial<State>>} */ (READER.presets);
const [PER_LETTER, BETWEEN] = [220, 700]; // ms: of the playing, for each letter and before it begins
const CALM = matchMedia("(prefers-reduced-motion: reduce)");
/** @type {("kept" | "at" | "unit")[]} */
const WHOLE = ["kept", "at", "unit"];

/** What a link sets: word, any number, or preset=word. @param {unknown} _get @param {Asked} asked */
function fromLink(_get, asked) {
  const patch = readLink(asked, { presets: PRESETS, ranges: READER.limits, whole: WHOLE });
  return { ...patch, ...(asked.word !== undefined && { word: [...asked.word].slice(0, LONGEST).join("") }) };
}

/** @param {State} s @returns {State} */
const rounded = (s) => ({ ...s, kept: Math.round(s.kept), at: Math.round(s.at), unit: Math.round(s.unit) });

// ------------------------------------------------------------------------------------------------ the page

/** @param {string} id @param {Words} words */
function pageHTML(id, words) {
  const right = Object.entries(READER.right).map(([word, language]) =>
    [word, `${word}<small>${words[/** @type {"de"} */ (language)]}${READER.missed.includes(word) ? `, ${words.missed}` : ""}</small>`]);
  const look = slider({ id, key: "at", range: READER.limits.at, step: 1, symbol: "", name: words.at, role: "a" });
  const unit = slider({ id, key: "unit", range: READER.limits.unit, step: 1, symbol: "", name: words.unit, role: "a" });
  return (
    `<div class="ex-typed"><label for="${id}-word">${words.word}</label>` +
    `<input type="text" id="${id}-word" maxlength="${LONGEST}" spellcheck="false" autocomplete="off" ` +
    `autocapitalize="off" aria-describedby="${id}-word-strange">${remarkPlace(`${id}-word`)}</div>` +
    presetRow(PRESETS, { ...Object.fromEntries(right), try: words.try, again: words.again }) +
    `<p class="ex-press-this"></p><div class="ex-stage">${picture(id, "ex-read", words.diagram)}` +
    `<div class="ex-keys" role="group" aria-label="${words.keys}"></div></div>` +
    saying(id) +
    `<div class="ex-main">${look}<button type="button" data-keep aria-pressed="false"></button></div>` +
    `<details><summary></summary>${unit}` +
    `<svg class="ex-cell" role="img" aria-label="${words.cell}"></svg><p class="ex-unit"></p></details>` +
    `<details><summary>${words.how}</summary><p class="ex-note">${smallPrint(words)}</p>${scores(words)}</details>`
  );
}

/** A button over each column; one of them can be reached by Tab. @param {HTMLElement} keys @param {number} T */
function buildKeys(keys, T) {
  if (keys.childElementCount === T) return;
  keys.innerHTML = Array.from({ length: T }, (_, i) =>
    `<button type="button" data-t="${i + 1}" tabindex="${i ? -1 : 0}" data-lm-suppress-shortcuts="true"></button>`).join("");
}

/** @param {HTMLElement} keys @param {Reading} o @param {State} s @param {Layout} layout @param {Words} words */
function nameKeys(keys, { letters, now: steps }, s, layout, words) {
  const { x, column } = columnsFor(layout, steps.length);
  for (const key of keys.children) {
    if (!(key instanceof HTMLElement)) continue;
    const t = Number(key.dataset.t);
    const { p, write } = steps[t - 1];
    const [first] = ranked(p);
    key.setAttribute("aria-pressed", String(t === s.kept));
    const name = `${nameOf(letters, t, words)}: ${words.writes} ${percent(write)}, ${languageName(first, words)} ${percent(p[first])}`;
    key.setAttribute("aria-label", name);
    key.style.left = `${num((100 * x(t)) / layout.W)}%`;
    key.style.width = `${num((100 * column) / layout.W)}%`;
    key.style.height = `${num(layout.slim ? (100 * (layout.belief + layout.high)) / layout.H : 100)}%`;
  }
}

/** From one of the buttons to another, by a key. @param {HTMLElement} keys @param {KeyboardEvent} event */
function walk(keys, event) {
  const [t, T] = [letterOf(event), keys.childElementCount];
  /** @type {Record<string, number>} */
  const goals = { ArrowRight: t + 1, ArrowLeft: t - 1, Home: 1, End: T };
  if (!(event.key in goals)) return;
  event.preventDefault();
  const [from, to] = [t, clamp(goals[event.key], 1, T)].map((one) => /** @type {HTMLElement} */ (keys.children[one - 1]));
  from.tabIndex = -1;
  to.tabIndex = 0;
  to.focus();
}

/** The letter, from 1, whose button an event is on; 0: none. @param {Event} event */
const letterOf = (event) => Number(pressed(event, "[data-t]")?.dataset.t ?? 0);

/**
 * One unit at one letter: its cell in the drawing, its numbers in a sentence.
 *
 * @param {HTMLElement} el
 * @param {{ step: Step, unit: number, letter: string, words: Words, slim: boolean }} one
 */
function openUnit(el, { step, unit, letter, words, slim }) {
  const { state, cell: c } = cellOf(step, unit);
  const x = escapedAll(letter === words.theEnd ? words.end : letter); // there is little room
  const drawing = drawCell(
    state, c, GATE.layout[slim ? "slim" : "wide"], GATE.words,
    { x, past: `× ${index("W", "hn")}` },
  );
  show(query(el, ".ex-cell", SVGSVGElement), GATE.layout[slim ? "slim" : "wide"], drawing);
  const bracketed = (/** @type {number} */ v) => (v < 0 ? `(${fixed(v)})` : fixed(v));
  query(el, ".ex-unit", HTMLElement).textContent = fill(words.sayUnit, {
    unit, letter, x: fixed(state.W_xn), b: bracketed(state.b_n), past: bracketed(c.past), n: fixed(c.n),
    keep: percent(c.keep), h_prev: fixed(state.h_prev), write: percent(c.write), h: fixed(c.h),
  });
}

// ------------------------------------------------------------------------------------------------ what moves

/**
 * Reading letter by letter: at each beat one letter more is shown, until all are. `begin` does it once, unasked, and
 * only for a visitor who has touched nothing.
 *
 * @param {() => number} count how many letters there are
 * @param {() => void} redraw
 */
function beats(count, redraw) {
  let [shown, timer, touched] = [Infinity, 0, false];
  function halt() {
    clearTimeout(timer);
    [shown, touched] = [Infinity, true];
  }
  function next() {
    shown++;
    if (shown < count()) timer = setTimeout(next, PER_LETTER);
    else shown = Infinity;
    redraw();
  }
  function play() {
    halt();
    if (CALM.matches) return;
    shown = 0;
    timer = setTimeout(next, PER_LETTER);
    redraw();
  }
  function begin() {
    if (touched || CALM.matches) return;
    timer = setTimeout(() => { if (!touched) play(); }, BETWEEN);
  }
  return { shown: () => shown, play, begin, halt, stop: () => clearTimeout(timer) };
}

/**
 * Beliefs on their way from what they were: a letter was pressed, and the bands glide. No glide: they are there.
 *
 * @param {Reading} o @param {{ from: Vector[], begun: number } | undefined} glide
 * @returns {{ beliefs: Vector[], there: boolean }}
 */
function onTheWay({ now: steps }, glide) {
  const u = glide ? clamp((performance.now() - glide.begun) / 420, 0, 1) : 1;
  const eased = u * u * (3 - 2 * u);
  const from = glide?.from ?? [];
  const at = (/** @type {Vector} */ p, /** @type {number} */ t) => p.map((v, k) => from[t][k] + (v - from[t][k]) * eased);
  return { beliefs: steps.map(({ p }, t) => (u === 1 ? p : at(p, t))), there: u === 1 };
}

// ------------------------------------------------------------------------------------------------ the explorer

/** @param {Stage} stage */
function render({ model, el }) {
  const { words } = READER;
  const voice = setUp("reader", words, el, pageHTML);
  const drawing = query(el, ".ex-read", SVGSVGElement);
  const [keys, summary, press] = [".ex-keys", "summary", ".ex-press-this"].map((one) => query(el, one, HTMLElement));
  const [typed, look] = ["input[type=text]", "[data-key=at]"].map((one) => query(el, one, HTMLInputElement));
  const keep = query(el, "[data-keep]", HTMLButtonElement);
  let slim = false;
  /** @type {{ word: string, kept: number, at: number, o: Reading } | undefined} */
  let now; // what was read
  /** @type {{ from: Vector[], begun: number } | undefined} */
  let glide;
  let over = 0; // the letter under the pointer or with the focus
  let released = 0; // the letter that was just pressed: not framed until the pointer has left it
  let hint = 0; // the letter that most turns on
  let [resting, moving] = [0, 0]; // a timer, and a frame
  const playing = beats(() => now?.o.base.length ?? 0, () => redraw());

  /** @param {State} s */
  function scene(s) {
    if (!now) return;
    const [{ o }, T] = [now, now.o.now.length];
    const { beliefs, there } = onTheWay(o, glide);
    if (there) glide = undefined;
    const shown = Math.min(playing.shown(), T);
    const focus = shown < T ? 0 : Math.min(over, T) || (s.at < T ? s.at : 0);
    const L = READER.layout[slim ? "slim" : "wide"];
    const it = { o, s, view: { shown, focus, beliefs, hint: now.kept ? 0 : hint }, L, words };
    show(drawing, L, draw(it));
    voice.say(sentence(it));
    cancelAnimationFrame(moving);
    if (glide) moving = requestAnimationFrame(() => scene(rounded(life.state)));
  }

  /** Look for the letter that most turns; it is dear, so not while somebody types. @param {State} s @param {Reading} o */
  function seekHint({ word }, { letters }) {
    clearTimeout(resting);
    hint = 0;
    const seek = () => { hint = letters.length ? telling(word) : 0; };
    if (!typed.matches(":focus")) return seek();
    resting = setTimeout(() => {
      seek();
      redraw();
    }, 400);
  }

  /** @param {State} s @param {Reading} o */
  function showWord(s, o) {
    seekHint(s, o);
    if (typed.value !== s.word) typed.value = s.word;
    const unknown = [...new Set(o.letters.filter((c) => !TOKENS.has(c)))].join(" ");
    const full = o.letters.length >= LONGEST && fill(words.full, { longest: LONGEST });
    remark(typed, (unknown && fill(words.unknown, { letters: unknown })) || full || "");
    buildKeys(keys, o.now.length);
  }

  /** @param {State} given @param {boolean} narrow */
  function paint(given, narrow) {
    slim = narrow;
    const s = rounded(given);
    const old = now;
    const [otherWord, otherKept] = [old?.word !== s.word, old?.kept !== s.kept];
    if (old && (otherWord || otherKept || old.at !== s.at)) playing.halt();
    const o = old && !otherWord && !otherKept ? old.o : reading(s.word, s.kept);
    now = { word: s.word, kept: s.kept, at: s.at, o };
    if (otherWord || CALM.matches) glide = undefined;
    else if (old && otherKept) glide = { from: old.o.now.map(({ p }) => p), begun: performance.now() };
    if (otherWord) showWord(s, o);
    const T = o.now.length;
    look.max = String(T);
    const read = playing.shown(); // while it plays, the slider and the cell are at the letter just read
    const at = read < T ? Math.max(read, 1) : Math.min(s.at, T);
    showInputs(el, { ...s, at }, (v, key) => (key === "at" ? (v < T ? o.letters[v - 1] : words.end) : String(v)));
    scene(s);
    nameKeys(keys, o, s, READER.layout[slim ? "slim" : "wide"], words);
    // The letter that the button is about.
    const t = s.kept && s.kept <= T ? s.kept : s.at < T ? s.at : hint || T;
    const letter = nameOf(o.letters, t, words);
    keep.textContent = fill(s.kept === t ? words.write : words.keep, { letter });
    keep.dataset.keep = String(t);
    keep.setAttribute("aria-pressed", String(s.kept === t));
    const without = hint ? reading(s.word, hint).now[T - 1].p : [];
    press.textContent = hint ? instruction(o, { t: hint, without, kept: s.kept <= T ? s.kept : 0 }, words) : "\u00a0";
    const opened = read < T ? at : t;
    const name = nameOf(o.letters, opened, words);
    summary.textContent = fill(words.open, { letter: name });
    openUnit(el, { step: o.now[opened - 1], unit: s.unit, letter: name, words, slim });
  }

  /** @param {string} key @param {number} value */
  const put = (key, value) => (key === "at" && now && value >= now.o.now.length ? { at: START.at } : { [key]: value });
  /** @type {(name: string) => Partial<State>} */
  const preset = (name) => PRESETS[name];
  /** @param {MouseEvent} event */
  function onClick(event) {
    const { t, keep: kept, preset: name, again } = pressed(event, "button")?.dataset ?? {};
    if (t ?? kept) {
      const letter = Number(t ?? kept);
      over = 0;
      released = t ? letter : 0;
      life.commit({ kept: life.state.kept === letter ? 0 : letter });
    } else if (name !== undefined || again !== undefined) {
      life.commit({ kept: 0, at: START.at, ...(name && preset(name)) });
      playing.play();
    }
  }
  const life = enliven({ model, el, start: START, paint, voice, preset, put, hear: { click: onClick } });
  const redraw = () => paint(life.state, slim);

  /** @param {number} t */
  function lookAt(t) {
    if (t === over) return;
    over = t;
    scene(rounded(life.state));
  }
  typed.addEventListener("input", () => life.commit({ word: typed.value, kept: 0, at: START.at }));
  keys.addEventListener("pointermove", (event) => {
    const t = letterOf(event);
    if (event.pointerType === "touch" || t === released) return;
    released = 0;
    lookAt(t);
  });
  keys.addEventListener("pointerleave", () => {
    released = 0;
    lookAt(0);
  });
  keys.addEventListener("focusin", (event) => {
    if (event.target instanceof Element && event.target.matches(":focus-visible")) lookAt(letterOf(event));
  });
  keys.addEventListener("focusout", () => lookAt(0));
  keys.addEventListener("keydown", (event) => walk(keys, event));

  const stop = life.wire();
  const watcher = new IntersectionObserver(([entry]) => { if (entry.isIntersecting) playing.begin(); }, { threshold: 0.5 });
  watcher.observe(drawing);
  return () => {
    watcher.disconnect();
    playing.stop();
    clearTimeout(resting);
    cancelAnimationFrame(moving);
    stop();
  };
}

export default { render, fromLink };
