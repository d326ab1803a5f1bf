// @ts-check
// The language model: a trained GRU writes on from what the reader typed. For any character it shows what made the net
// expect it; one press away, how it was drawn, which units follow what, and the cell of one unit (chapter 16).
import LANGUAGE from "./language.json";
import NET from "./language-net.json";
import { show } from "./draw.mjs";
import {
  choice, enliven, fill, fixed, grip, note, picture, pointIn, presetRow, pressed, query, readLink, remark, remarkPlace,
  saying, setUp, showInputs, sideBySide, slider,
} from "./explorer.mjs";
import { advance, asksWhy, begun, bestUnit, charactersOf, readTo, sceneOf, TOKENS } from "./language-run.mjs";
import {
  bestHTML, characterAt, draw, drawHeat, drawOpened, heightOf, paintHeat, sentence, short, unitAt,
} from "./language-drawing.mjs";
/** @import { Asked, Stage } from "./explorer.mjs" */
/** @import { Heat, Work } from "./language-run.mjs" */

/** @typedef {"why" | "draw" | "units" | "cell"} View */
/**
 * @typedef {object} State
 * @property {string} prefix what the reader typed
 * @property {number} at so many characters are read before the prediction that is looked at
 * @property {View} view
 * @property {"without" | "gradient"} measure of how much the prediction hangs on a character
 * @property {number} temperature
 * @property {number} seed
 * @property {string} pattern that units may follow; "find": every place of `find`
 * @property {string} find
 * @property {"r" | "z" | "h"} show what the bars below the text are
 * @property {number} unit of which unit
 */
/** @typedef {typeof LANGUAGE.layout.wide} Layout */
/** @typedef {typeof LANGUAGE.words} Words */

const SLICE = 6; // ms of writing in a frame; the rest is for drawing
const START = /** @type {State} */ (LANGUAGE.start);
/** @type {State["show"][]} */
const SHOWS = ["r", "z", "h"];
/** @type {View[]} */
const VIEWS = ["why", "draw", "units", "cell"];
/** @type {State["measure"][]} */
const MEASURES = ["without", "gradient"];
const KNOWN = ["name", "word", "space", "stop", "column"];
/** @type {("seed" | "unit" | "at")[]} */
const WHOLE = ["seed", "unit", "at"];
const PRESETS = /** @type {Record<string, Partial<State>>} */ (LANGUAGE.presets);

/** At most as many characters as may be typed. @param {string} text */
const cut = (text) => [...text].slice(0, LANGUAGE.longest).join("");

/** What a link sets: prefix, find, pattern, show, view, measure, any number, or preset=name. @param {unknown} _get @param {Asked} asked */
function fromLink(_get, asked) {
  const choices = { show: SHOWS, pattern: [...KNOWN, "find"], view: VIEWS, measure: MEASURES };
  const patch = readLink(asked, { presets: PRESETS, ranges: LANGUAGE.limits, whole: WHOLE, choices });
  if (asked.prefix !== undefined) patch.prefix = cut(asked.prefix);
  if (asked.find !== undefined) patch.find = cut(asked.find);
  return patch;
}

// ------------------------------------------------------------------------------------------------ the page

/** @param {string} id @param {Words} words */
function pageHTML(id, words) {
  /** @type {(key: keyof typeof LANGUAGE.limits, symbol: string, name: string, step: number, views: string) => string} */
  const one = (key, symbol, name, step, views) =>
    `<div data-only="${views}">${slider({ id, key, range: LANGUAGE.limits[key], step, symbol, name, role: "a" })}</div>`;
  /** @type {(key: string, text: string, hint: string) => string} */
  const field = (key, text, hint) =>
    `<label for="${id}-${key}">${text}</label><input type="text" id="${id}-${key}" data-text="${key}" ` +
    `maxlength="${LANGUAGE.longest}" spellcheck="false" autocomplete="off" autocapitalize="off" ${hint} ` +
    `aria-describedby="${id}-${key}-strange">${remarkPlace(`${id}-${key}`)}`;
  /** @type {(key: string, legend: string, options: string[][]) => string} */
  const switches = (key, legend, options) => choice({ id, key, legend, options });
  const patterns = KNOWN.map((name) =>
    `<button type="button" data-pattern="${name}" aria-pressed="false">${words[/** @type {"name"} */ (name)]}</button>`);
  return (
    `<div class="ex-typed">${field("prefix", `${words.prefix} <small>${words.newline}</small>`, "")}</div>` +
    presetRow(PRESETS, words) +
    sideBySide(
      picture(id, "ex-lines", words.diagram) +
      `<div class="ex-heat" data-only="units"><canvas aria-hidden="true"></canvas>` +
      `<svg class="ex-rows" role="img" aria-label="${words.heat}"></svg>` +
      `<div class="ex-best" role="group" aria-label="${words.units}"></div></div>` +
      `<div data-only="cell"><svg class="ex-cell" role="img" aria-label="${words.cell}"></svg></div>` + saying(id),
      `<div class="ex-switches">${switches("view", words.view, VIEWS.map((name) => [name, words[`view_${name}`]]))}</div>` +
      `<div class="ex-switches" data-only="why">` +
      `${switches("measure", words.measure, MEASURES.map((name) => [name, words[`by_${name}`]]))}</div>` +
      `<div class="ex-patterns" data-only="units" role="group" aria-label="${words.follow}">` +
      `<span aria-hidden="true">${words.follow}</span>${patterns.join("")}` +
      `<span class="ex-find">${field("find", words.find, `placeholder="${words.findHint}"`)}</span></div>` +
      `<div class="ex-main">${one("at", "", words.at, 1, VIEWS.join(" "))}` +
      `${one("temperature", "<i>τ</i>", words.temperature, 0.05, "draw")}${one("seed", "", words.seed, 1, "draw")}` +
      `${one("unit", "", words.unit, 1, "units cell")}</div>` +
      `<div class="ex-switches" data-only="units">` +
      `${switches("show", words.show, SHOWS.map((name) => [name, `<i>${name}</i>\u2002${words[name]}`]))}</div>`,
    ) +
    `<details><summary>${words.about}</summary>${note(fill(words.note, { bits: fixed(NET.bits["8 bits"], 2) }))}</details>`
  );
}

/** What is wrong with what was typed, in words. @param {string} text @param {Words} words */
function complaint(text, words) {
  const unknown = [...new Set([...text].filter((c) => !TOKENS.has(c)))].map((c) => `“${c}”`).join(", ");
  if (unknown) return fill(words.unknown, { letters: unknown });
  if (!text) return words.empty;
  return [...text].length >= LANGUAGE.longest ? fill(words.full, { longest: LANGUAGE.longest }) : "";
}

/**
 * Put a state into the controls: the fields, the patterns, and what belongs to the view.
 *
 * @param {HTMLElement} el @param {State} s @param {Words} words
 */
function showControls(el, s, words) {
  showInputs(el, s, (v, key) => (key === "temperature" ? fixed(v, 2) : String(v)));
  for (const key of /** @type {const} */ (["prefix", "find"])) {
    const input = fieldOf(el, key);
    const visible = s[key].replaceAll("\n", "↵");
    if (input.value !== visible) input.value = visible;
  }
  for (const button of el.querySelectorAll("[data-pattern]")) {
    button.setAttribute("aria-pressed", String(button instanceof HTMLElement && button.dataset.pattern === s.pattern));
  }
  for (const part of el.querySelectorAll("[data-only]")) {
    if (part instanceof HTMLElement) part.hidden = !part.dataset.only?.split(" ").includes(s.view);
  }
  remark(fieldOf(el, "prefix"), complaint(s.prefix, words));
}

/** @param {HTMLElement} el @param {"prefix" | "find"} key */
const fieldOf = (el, key) => query(el, `[data-text=${key}]`, HTMLInputElement);

/** @param {Stage} stage */
function render({ model, el }) {
  const { words } = LANGUAGE;
  const voice = setUp("language", words, el, pageHTML);
  const [lines, rows, cell] = [".ex-lines", ".ex-rows", ".ex-cell"].map((one) => query(el, one, SVGSVGElement));
  const [prefix, find] = [fieldOf(el, "prefix"), fieldOf(el, "find")];
  const best = query(el, ".ex-best", HTMLElement);
  const look = query(el, "[data-key=at]", HTMLInputElement);
  const canvas = query(el, "canvas", HTMLCanvasElement);
  /** @type {Work | undefined} */
  let work; // what is drawn, and what was computed for it
  let drawn = "";
  let over = 0; // what `at` would be if the character under the pointer were pressed
  let asked = 0; // the frame asked for

  /** The text, what the view shows of it, and the sentence. @param {Work} of */
  function scene(of) {
    const v = sceneOf(of, over);
    const content = draw(v, words);
    if (content !== drawn) show(lines, { W: v.L.W, H: heightOf(v) }, content);
    drawn = content;
    if (v.s.view === "cell") {
      const { L, content: opened } = drawOpened(v, words);
      show(cell, L, opened);
    } else if (v.s.view === "units" && v.heat) show(rows, v.L.heat, drawHeat(v.heat, v.s, v.L, words));
    const said = sentence(v, words);
    if (said !== undefined) voice.say(said);
  }

  /** Compute for a while, and draw what there is. @param {Work} of */
  function writing(of) {
    const old = of.heat;
    const full = advance(of, SLICE);
    if (full) bounded(of);
    if (of.heat && of.heat !== old) paintHeat(canvas, of.heat, of.L);
    if (of.heat && full && of.s.view === "units") ranked(of.heat, of);
    scene(of);
    lines.dataset.written = String(of.run.steps.length);
    asked = full ? 0 : requestAnimationFrame(() => writing(of));
  }

  /** The slider of places ends where the text does. @param {Work} of */
  function bounded({ run, s, L }) {
    look.max = String(readTo(run, { ...s, at: LANGUAGE.limits.at[1] }, L));
    showControls(el, { ...s, at: readTo(run, s, L) }, words);
  }

  /** The buttons of the best units, and whether there is anything to follow. @param {Heat} heat @param {Work} of */
  function ranked(heat, { s, L }) {
    best.innerHTML = bestHTML(heat, s, L, words);
    const lost = s.pattern === "find" && s.find && !heat.marks.includes(1);
    remark(find, lost ? fill(words.notThere, { find: short(s.find) }) : "");
  }

  /** @param {State} state @param {boolean} slim */
  function paint(state, slim) {
    const s = { ...state };
    for (const key of WHOLE) s[key] = Math.round(state[key]);
    const now = begun(s, LANGUAGE.layout[slim ? "slim" : "wide"], work);
    const atOnce = work !== undefined; // but at the start the page comes first
    work = now;
    showControls(el, s, words);
    cancelAnimationFrame(asked);
    if (atOnce) writing(now);
    else asked = requestAnimationFrame(() => writing(now));
  }

  /** A pattern, and the unit that agrees best with it. @param {Partial<State>} patch */
  function follow(patch) {
    if (!work) return;
    const unit = bestUnit({ ...work, s: { ...work.s, ...patch } });
    life.commit(unit === undefined ? patch : { ...patch, unit, show: "h" });
  }

  /** @param {MouseEvent} event */
  function onClick(event) {
    const { pattern, unit, preset, again } = pressed(event, "button")?.dataset ?? {};
    if (preset) life.commit(PRESETS[preset]); // at once: on its way a draw would be another text at every step
    if (again !== undefined) life.commit(first);
    if (pattern) follow({ pattern });
    if (unit) life.commit({ unit: Number(unit), show: "h" });
  }
  const life = enliven({
    model, el, start: START, paint, voice, preset: (name) => PRESETS[name], hear: { click: onClick },
  });

  const first = { ...life.state };
  const typedIn = (/** @type {HTMLInputElement} */ input) => cut(input.value.replaceAll("↵", "\n"));
  prefix.addEventListener("input", () => {
    over = 0;
    const text = typedIn(prefix);
    life.commit({ prefix: text, at: Math.max(1, [...text].length) });
  });
  find.addEventListener("input", () => follow({ pattern: "find", find: typedIn(find) }));

  /** The character at a place of the drawing, from 1; 0 if there is none. @param {PointerEvent} event */
  const placeOf = (event) => (work ? characterAt(work, pointIn(lines, event), event.type === "pointerdown") : 0);
  /** What `at` is for a character: it has been read, or it is the one that is asked about. @param {number} place */
  const atOf = (place) => (place && asksWhy(life.state) ? place - 1 : place);
  /** @param {number} at */
  function lookAt(at) {
    if (at === over || !work) return;
    over = at;
    scene(work);
  }
  grip(lines, {
    press(event) {
      const place = placeOf(event);
      const at = atOf(place);
      over = 0;
      if (!at) return null;
      life.commit({ at });
      return place;
    },
    drag(event, from) {
      const to = placeOf(event);
      if (!work || !to) return;
      if (work.s.view !== "units") {
        if (atOf(to)) life.commit({ at: atOf(to) });
      } else if (to !== from || life.state.pattern === "find") {
        const text = cut(charactersOf(work.run).slice(Math.min(from, to) - 1, Math.max(from, to)).join(""));
        if (text !== life.state.find || life.state.pattern !== "find") follow({ pattern: "find", find: text });
      }
    },
  });
  lines.addEventListener("pointermove", (event) => {
    if (event.pointerType === "mouse" && !event.buttons) lookAt(atOf(placeOf(event)));
  });
  lines.addEventListener("pointerleave", () => lookAt(0));

  /** @param {PointerEvent} event */
  function pressRow(event) {
    if (!work?.heat) return null;
    life.commit({ unit: unitAt(pointIn(rows, event).y, work.heat, work.L), show: "h" });
    return true;
  }
  grip(rows, { press: pressRow, drag: pressRow });

  const dye = new MutationObserver(() => { if (work?.heat) paintHeat(canvas, work.heat, work.L); });
  dye.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  dye.observe(document.body, { attributeFilter: ["data-jp-theme-light"] });
  const stop = life.wire();
  return () => {
    cancelAnimationFrame(asked);
    dye.disconnect();
    stop();
  };
}

export default { render, fromLink };
