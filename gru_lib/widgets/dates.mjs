// @ts-check
// Translate a date: an encoder–decoder that runs in the page (chapter 17).
import DATES from "./dates.json";
import WEIGHTS from "./dates-weights.json";
import { frame, label, num, path, rowName, show, signedBar, tank } from "./draw.mjs";
import { clamp } from "./gru-math.mjs";
import { greedyDecode, seq2seqFrom, seq2seqStates, seq2seqStep } from "./search.mjs";
import {
  enliven, fill, fixed, percent, picture, pointIn, presetRow, query, readLink, saying, setUp, showInputs, slider,
} from "./explorer.mjs";
/** @import { Asked, Stage } from "./explorer.mjs" */

/**
 * The text as typed, the framed character of the output, and the unit of the encoder.
 *
 * @typedef {typeof DATES.start} State
 */
/** @typedef {ReturnType<typeof translateText>} Translation */
/** @typedef {typeof DATES.layout.wide} Layout */
/** @typedef {typeof DATES.words.en} Words */

const { written, iso, E, H } = WEIGHTS;
const [END, START] = [iso.length, iso.length + 1];
const NET = seq2seqFrom(WEIGHTS.flat, { V_source: written.length + 2, V_target: iso.length + 2, E, H });

/** @type {Record<string, Partial<State>>} */
const PRESETS = Object.fromEntries(Object.entries(DATES.presets).map(([name, text]) => [name, { text }]));

/**
 * What a link sets: text (with a digit in it: nothing else is a date), at, unit, or preset=name.
 *
 * @param {unknown} _get @param {Asked} asked
 */
function fromLink(_get, asked) {
  const patch = readLink(asked, { presets: PRESETS, ranges: DATES.limits, whole: ["at", "unit"] });
  const isDate = /\d/.test(asked.text ?? "");
  return { ...patch, ...(isDate && { text: [...asked.text].slice(0, DATES.longest).join("") }) };
}

/** What the net can read of a text; a space if that is nothing. @param {string} text */
function legible(text) {
  return [...text.normalize("NFC")].filter((c) => written.includes(c)).slice(0, DATES.longest).join("") || " ";
}

/**
 * Everything the net does with a text: states (in the order of the text), what it writes, with probabilities.
 *
 * @param {string} text
 */
function translateText(text) {
  const read = [...legible(text)];
  const states = seq2seqStates(read.map((c) => written.indexOf(c)).reverse(), NET).reverse();
  const [last] = states;
  const found = greedyDecode(seq2seqStep(NET), [last, last], START, { end: END, maxSteps: DATES.limits.at[1] });
  return { ...found, text, read, states, last };
}

/** The token as a character; the end as a word. @param {number} token @param {Words} words */
const sign = (token, words) => (token === END ? words.end : iso[token] ?? "?");

// ------------------------------------------------------------------------------------------------ the drawing

/** The four rows. @param {State} s @param {Translation} c @param {Layout} L @param {Words} words */
function drawRows(s, c, L, words) {
  const h = '<tspan class="ex-it">h</tspan>';
  /**
   * The name of a row, and the symbol or number that belongs to it.
   *
   * @type {(top: number, one: string, two?: string) => string}
   */
  const name = (top, one, two = "") => (L.slim
    ? rowName(L, top, 8, 0, `${one}${two && `\u2002<tspan class="ex-h">${two}</tspan>`}`)
    : rowName(L, top, 0, 14, one) + (two && rowName(L, top, 0, 32, two, "ex-small ex-h")));
  const out = [
    name(L.read.mid - L.read.half, words.read, `${h} ${fill(words.unit_k, { k: s.unit })}`),
    name(L.hand.mid - L.hand.half, words.hand, h),
    name(L.write.text - (L.slim ? 18 : 16), words.write),
    name(L.prob.tank, fill(words.prob, { at: s.at })),
  ];
  /** How likely a token is. @type {(x: number, y: number, high: number, row: number, token: number) => string} */
  const chance = (x, y, high, row, token) =>
    tank("ex-share-of", x + column * 0.25, y, column * 0.5, high, Math.exp(c.rows[row][token]));

  let column = Math.min(24, L.span / c.read.length);
  out.push(path("ex-axis", `M${num(L.left)} ${num(L.read.mid)}h${num(column * c.read.length)}`));
  c.read.forEach((char, i) => {
    const x = L.left + i * column;
    out.push(signedBar("h", x + column * 0.17, L.read.mid, column * 0.66, c.states[i][s.unit - 1], L.read.half));
    out.push(label("ex-char", x + column / 2, L.read.text, "middle", char === " " ? "\u00a0" : char));
  });

  column = L.span / H;
  out.push(path("ex-axis", `M${num(L.left)} ${num(L.hand.mid)}h${num(L.span)}`));
  c.last.forEach((v, i) => {
    out.push(signedBar("h", L.left + column * (i + 0.17), L.hand.mid, column * 0.66, v, L.hand.half));
  });
  const edge = L.left + column * (s.unit - 1);
  out.push(frame(edge, L.hand.mid - L.hand.half - 4, column, 2 * L.hand.half + 8));

  column = L.span / DATES.limits.at[1];
  c.tokens.forEach((token, t) => {
    const x = L.left + column * t;
    out.push(label(token === END ? "ex-small" : "ex-sign", x + column / 2, L.write.text, "middle", sign(token, words)));
    out.push(chance(x, L.write.tank, L.write.high, t, token));
  });
  const from = L.left + column * (s.at - 1);
  out.push(frame(from, L.write.text - 20, column, L.write.tank + L.write.high + 26 - L.write.text));

  for (let token = 0; token <= END; token++) {
    const x = L.left + column * token;
    out.push(chance(x, L.prob.tank, L.prob.high, s.at - 1, token));
    out.push(label(token === END ? "ex-small" : "ex-char", x + column / 2, L.prob.text, "middle", sign(token, words)));
  }
  return out.join("");
}

/** @param {State} s @param {Translation} c @param {Words} words */
function sentence(s, c, words) {
  const p = c.rows[s.at - 1].slice(0, END + 1).map(Math.exp);
  const order = p.map((_, token) => token).sort((a, b) => p[b] - p[a]);
  return fill(words.say, {
    text: c.read.join(""), iso: c.tokens.filter((t) => t !== END).map((t) => sign(t, words)).join(""),
    all: percent(Math.exp(c.logProb)), at: s.at, first: sign(order[0], words), p: percent(p[order[0]]),
    second: sign(order[1], words), q: percent(p[order[1]]), k: s.unit, h: fixed(c.last[s.unit - 1], 2),
  });
}

// ------------------------------------------------------------------------------------------------ the page

/** @param {string} id @param {Words} words */
function pageHTML(id, words) {
  /** @type {(key: "at" | "unit", role: "a" | "h") => string} */
  const one = (key, role) => slider({ id, key, range: DATES.limits[key], step: 1, symbol: words[key], name: "", role });
  return (
    presetRow(PRESETS, words) +
    `<div class="ex-main ex-type"><label for="${id}-text">${words.type}</label>` +
    `<input type="text" id="${id}-text" maxlength="${DATES.longest}" autocomplete="off" spellcheck="false">` +
    `<p class="ex-note">${words.hint}</p></div>` +
    picture(id, "ex-rows", words.diagram) +
    saying(id) +
    `<fieldset class="ex-main"><legend>${words.look}</legend><div>${one("at", "a")}</div>` +
    `<div>${one("unit", "h")}</div></fieldset>`
  );
}

/** @param {Stage} stage */
function render(stage) {
  const { model, el } = stage;
  const { words, voice } = setUp("dates", DATES.words, stage, pageHTML);
  const rows = query(el, ".ex-rows", SVGSVGElement);
  const field = query(el, "input[type=text]", HTMLInputElement);
  let layout = DATES.layout.wide;
  /** @type {Translation | undefined} */
  let computed; // of one text; the sliders need it again and again

  /** @param {State} s @param {boolean} slim */
  function paint(s, slim) {
    layout = DATES.layout[slim ? "slim" : "wide"];
    if (computed?.text !== s.text) computed = translateText(s.text);
    const shown = { ...s, at: clamp(Math.round(s.at), 1, computed.tokens.length), unit: Math.round(s.unit) };
    show(rows, layout, drawRows(shown, computed, layout, words));
    if (field.value !== s.text) field.value = s.text;
    showInputs(el, s, String, (v, key) => `${words[/** @type {"at" | "unit"} */ (key)]} ${v}`);
    voice.say(sentence(shown, computed, words));
  }

  const life = enliven({ model, el, start: DATES.start, paint, voice, preset: (name) => PRESETS[name] });
  const onType = () => life.commit({ text: field.value });

  /** A click frames the unit or the character under it. @param {PointerEvent} event */
  function onDown(event) {
    const { x: from, y } = pointIn(rows, event);
    const x = from - layout.left;
    if (x < 0 || x >= layout.span) return;
    if (Math.abs(y - layout.hand.mid) < layout.hand.half + 6) {
      life.commit({ unit: 1 + Math.floor((x / layout.span) * H) });
    } else if (y > layout.write.text - 24 && y < layout.write.tank + layout.write.high + 8) {
      life.commit({ at: 1 + Math.floor((x / layout.span) * DATES.limits.at[1]) });
    }
  }

  field.addEventListener("input", onType);
  rows.addEventListener("pointerdown", onDown);
  return life.wire();
}

export default { render, fromLink };
