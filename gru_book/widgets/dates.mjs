// @ts-check
// Translate a date: two encoder–decoders that run in the page, and which characters of the input each character of
// their answers used (chapters 17 and 18).
import ATTENTION from "./dates-looking-weights.json";
import DATES from "./dates.json";
import WEIGHTS from "./dates-weights.json";
import { across, bar, box, escaped, frame, label, num, path, show } from "./draw.mjs";
import { clamp } from "./gru-math.mjs";
import { greedyDecode, seq2seqFrom, seq2seqPulls, seq2seqRead, seq2seqStart, seq2seqStep } from "./search.mjs";
import {
  enliven, fieldset, fill, note, percent, picture, pointIn, presetRow, query, readLink, remark, remarkPlace, saying, setUp,
  showInputs, sideBySide, slider,
} from "./explorer.mjs";
/** @import { Vector } from "./gru-math.mjs" */
/** @import { Seq2seq } from "./search.mjs" */
/** @import { Asked, Stage } from "./explorer.mjs" */

/** The text as typed, and the framed character of the answers. @typedef {typeof DATES.start} State */
/**
 * What a net makes of a text: the tokens it writes, their log-probabilities and those of all that might stand there,
 * and how much each used each character that was read, in the order of the text: shares that sum to 1.
 *
 * @typedef {{ tokens: number[], logProb: number, rows: Vector[], used: Vector[] }} Answer
 */
/** The characters as typed, which of them the nets know, and both answers; none if there is nothing to read. */
/** @typedef {{ text: string, typed: string[], known: boolean[], answers: Answer[] }} Translation */
/** @typedef {typeof DATES.layout.wide} Layout */
/** @typedef {typeof DATES.words} Words */

const { written, iso } = WEIGHTS;
const [END, START] = [iso.length, iso.length + 1];
const [V_source, V_target] = [written.length + 2, iso.length + 2];
const FED = seq2seqFrom(WEIGHTS.flat, { V_source, V_target, E: WEIGHTS.E, H: WEIGHTS.H });
const LOOKING = seq2seqFrom(ATTENTION.flat, { V_source, V_target, E: ATTENTION.E, H: ATTENTION.H, attend: true });
const COUNT = 36000; // texts of test days; a test counts them

/** @type {Record<string, Partial<State>>} */
const PRESETS = Object.fromEntries(Object.entries(DATES.presets).map(([name, text]) => [name, { text }]));

/** The characters of a text, accents joined with their letters. @param {string} text */
const charactersOf = (text) => [...text.normalize("NFC")].slice(0, DATES.longest);

/** What a link sets: text, at, or preset=name. @param {unknown} _get @param {Asked} asked */
function fromLink(_get, asked) {
  const patch = readLink(asked, { presets: PRESETS, ranges: DATES.limits, whole: ["at"] });
  return { ...patch, ...(asked.text !== undefined && { text: charactersOf(asked.text).join("") }) };
}

// ------------------------------------------------------------------------------------------------ the nets

/** Each as a share of their sum. @param {Vector} v */
function shares(v) {
  const sum = v.reduce((a, b) => a + b, 0);
  return v.map((one) => one / sum);
}

/**
 * The answer of the net without attention, which reads from the end. What it used is by the length of the gradient.
 *
 * @param {number[]} tokens @returns {Answer}
 */
function answerFed(tokens) {
  const reading = seq2seqRead([...tokens].reverse(), FED);
  const found = decode(FED, reading);
  const used = found.tokens.map((token, t) => {
    const pulls = seq2seqPulls(reading, found.states.slice(0, t + 1), found.rows[t], token, FED);
    return shares(pulls.map((d) => Math.hypot(...d)).reverse());
  });
  return { ...found, used };
}

/** The answer of the net with attention. What it used is its weights. @param {number[]} tokens @returns {Answer} */
function answerLooking(tokens) {
  const found = decode(LOOKING, seq2seqRead(tokens, LOOKING));
  return { ...found, used: found.states.map(({ weights }) => weights ?? []) };
}

/** @param {Seq2seq} p @param {ReturnType<typeof seq2seqRead>} reading */
const decode = (p, reading) =>
  greedyDecode(seq2seqStep(p), seq2seqStart(reading), START, { end: END, maxSteps: DATES.limits.at[1] });

/** Everything the nets do with a text. @param {string} text @returns {Translation} */
function translateText(text) {
  const typed = charactersOf(text);
  const known = typed.map((c) => written.includes(c));
  const tokens = typed.filter((_, i) => known[i]).map((c) => written.indexOf(c));
  const legible = tokens.some((token) => written[token] !== " ");
  return { text, typed, known, answers: legible ? [answerFed(tokens), answerLooking(tokens)] : [] };
}

/** The token as a character; the end as a word. @param {number} token @param {Words} words */
const sign = (token, words) => (token === END ? words.end : iso[token] ?? "?");

/** The token in a sentence. @param {number} token @param {Words} words */
const named = (token, words) => (token === END ? words.end : fill(words.quoted, { c: sign(token, words) }));

/** The answer as text. @param {Answer} answer @param {Words} words */
const answered = ({ tokens }, words) => tokens.filter((t) => t !== END).map((t) => sign(t, words)).join("");

/** The tokens, the likeliest first. @param {Vector} row */
const ranked = (row) => row.map((_, k) => k).sort((a, b) => row[b] - row[a]);

/** The framed character of an answer: the one asked for or, in a shorter answer, the last. @param {Answer} answer @param {number} at */
const framed = ({ tokens }, at) => clamp(Math.round(at), 1, tokens.length);

// ------------------------------------------------------------------------------------------------ the drawing

/** @param {State} s @param {Translation} c @param {Layout} L @param {Words} words */
function drawBoth(s, c, L, words) {
  return [0, 1].map((k) => drawNet(k, s, c, L, words)).join("");
}

/**
 * One net: its answer down, the input across.
 *
 * @param {number} k 0 without attention, 1 with @param {State} s @param {Translation} c @param {Layout} L
 * @param {Words} words
 */
function drawNet(k, s, { typed, known, answers }, L, words) {
  const [X, Y] = L.panels[k];
  const role = k ? "h" : "g";
  const answer = answers[k];
  const left = X + L.left;
  const column = Math.min(L.widest, (L.panel - L.left) / Math.max(1, typed.length));
  const places = typed.map((_, i) => i).filter((i) => known[i]); // of the characters that were read
  const middle = (/** @type {number} */ i) => left + (i + 0.5) * column;
  const out = [
    label("ex-net", X, Y + L.title, "start", k ? words.with : words.without),
    label(`ex-small ex-${role}`, X, Y + L.share, "start", k ? words.weight : words.gradient),
    across(left, Y + L.floor + 0.5, left + column * typed.length),
  ];
  const xs = typed.map((_, i) => num(middle(i))).join(" ");
  const size = column < 12 ? "ex-char ex-tight" : "ex-char";
  const text = typed.map((c) => (c === " " ? "\u00a0" : escaped(c))).join("");
  if (text) out.push(`<text class="${size}" x="${xs}" y="${num(Y + L.text)}" text-anchor="middle">${text}</text>`);
  const struck = typed.map((_, i) => i).filter((i) => !known[i]);
  out.push(path("ex-strike", struck.map((i) => `M${num(middle(i) - column / 2)} ${num(Y + L.text - 5)}h${num(column)}`)));
  if (!answer) return out.join("");

  out.push(label("ex-part", X + 51, Y + L.text, "end", words.sure));
  const at = framed(answer, s.at);
  const here = answer.used[at - 1];
  const most = here.indexOf(Math.max(...here));
  out.push(path(`ex-fill-${role}`, here.map((v, j) =>
    box(middle(places[j]) - 0.36 * column, Y + L.floor - L.high * v, 0.72 * column, L.high * v))));
  const x = clamp(middle(places[most]), left + 14, X + L.panel - 16);
  out.push(label("ex-part", x, Y + L.floor - L.high * here[most] - 4, "middle", percent(here[most])));

  const squares = [];
  for (const [t, token] of answer.tokens.entries()) {
    const y = Y + L.top + (t + 0.5) * L.row;
    const differs = answers[1 - k].tokens[t] !== token;
    out.push(label(token === END ? "ex-small" : "ex-wrote", X + 12, y + 5, "middle", sign(token, words)));
    if (differs) out.push(path("ex-differs", `M${num(X + 6)} ${num(y + 7.5)}h12`));
    out.push(bar("ex-tank", X + 27, y - 4, 24, 8));
    out.push(bar("ex-share-of", X + 27, y - 4, 24 * Math.exp(answer.rows[t][token]), 8));
    squares.push(answer.used[t].map((v, j) => {
      const side = Math.round(10 * (L.row - 2) * Math.sqrt(v)) / 10;
      return side < 1 ? "" : box(Math.round(10 * (middle(places[j]) - side / 2)) / 10, y - side / 2, side, side);
    }).join(""));
  }
  out.push(path(`ex-fill-${role}`, squares));
  out.push(frame(X, Y + L.top + (at - 1) * L.row, L.panel, L.row));
  const [first, second] = ranked(answer.rows[at - 1]);
  const chance = (/** @type {number} */ token) => percent(Math.exp(answer.rows[at - 1][token]));
  const odds = { at, first: named(first, words), p: chance(first), second: named(second, words), q: chance(second) };
  out.push(label("ex-small", X, Y + L.place, "start", fill(words.place, odds)));
  return out.join("");
}

// ------------------------------------------------------------------------------------------------ the words

/** @param {State} s @param {Translation} c @param {Words} words */
function sentence(s, { typed, known, answers }, words) {
  if (!answers.length) return words.nothing;
  const read = typed.filter((_, i) => known[i]);
  const name = (/** @type {string} */ c) => (c === " " ? words.gap : fill(words.quoted, { c }));
  const [one, two] = answers.map((answer) => {
    const at = framed(answer, s.at);
    const used = answer.used[at - 1];
    const most = used.indexOf(Math.max(...used));
    const token = answer.tokens[at - 1];
    return {
      at, iso: answered(answer, words), c: named(token, words), on: name(read[most]),
      share: percent(used[most]),
    };
  });
  const same = one.iso === two.iso;
  return fill(same ? words.say : words.sayTwo, {
    text: read.join(""), iso: one.iso, iso2: two.iso, at: one.at, c: one.c, d: two.c, j: one.on, p: one.share, k: two.on,
    q: two.share,
  });
}

/** What of the text the nets cannot use, in words. @param {Translation} c @param {Words} words */
function complaint({ text, typed, known, answers }, words) {
  const unknown = [...new Set(typed.filter((_, i) => !known[i]))].map((c) => fill(words.quoted, { c })).join(", ");
  const [first, last] = DATES.years;
  const [year] = typed.filter((_, i) => known[i]).join("").match(/\d{4}/) ?? [];
  return [
    unknown && fill(words.unknown, { letters: unknown }),
    !answers.length ? words.empty : !year ? words.noYear
      : Number(year) < first || Number(year) > last ? fill(words.strangeYear, { first, last, year }) : "",
    [...text].length >= DATES.longest && fill(words.full, { longest: DATES.longest }),
  ].filter(Boolean).join(" ");
}

/** What the net's small print says. @param {Words} words */
function smallPrint(words) {
  const whole = (/** @type {number} */ v) => v.toLocaleString("en");
  const wrong = (/** @type {number} */ exact) => Math.round((1 - exact) * COUNT);
  return fill(words.measured, {
    count: whole(COUNT), without: whole(WEIGHTS.flat.length), with: whole(ATTENTION.flat.length),
    p: wrong(WEIGHTS.exact), q: wrong(ATTENTION.exact),
  });
}

// ------------------------------------------------------------------------------------------------ the page

/** @param {string} id @param {Words} words */
function pageHTML(id, words) {
  return (
    `<div class="ex-typed"><label for="${id}-text">${words.type}</label>` +
    `<input type="text" id="${id}-text" maxlength="${DATES.longest}" autocomplete="off" spellcheck="false" ` +
    `aria-describedby="${id}-text-strange">${remarkPlace(`${id}-text`)}</div>` +
    presetRow(PRESETS, words) +
    sideBySide(
      picture(id, "ex-rows", words.diagram) + saying(id),
      `<div class="ex-main">${fieldset(words.look, slider({
        id, key: "at", range: DATES.limits.at, step: 1, symbol: words.at, name: "", role: "a",
      }))}</div>${note(words.areas)}`,
    ) + `<details><summary>${words.how}</summary><p class="ex-note">${smallPrint(words)}</p></details>`
  );
}

/** @param {Stage} stage */
function render({ model, el }) {
  const { words } = DATES;
  const voice = setUp("dates", words, el, pageHTML);
  const rows = query(el, ".ex-rows", SVGSVGElement);
  const field = query(el, "input[type=text]", HTMLInputElement);
  const walk = query(el, "input[data-key=at]", HTMLInputElement);
  let layout = DATES.layout.wide;
  /** @type {Translation | undefined} */
  let computed; // of one text; the slider needs it again and again

  /** @param {State} s @param {boolean} slim */
  function paint(s, slim) {
    layout = DATES.layout[slim ? "slim" : "wide"];
    if (computed?.text !== s.text) computed = translateText(s.text);
    show(rows, layout, drawBoth(s, computed, layout, words));
    if (field.value !== s.text) field.value = s.text;
    const longest = Math.max(1, ...computed.answers.map(({ tokens }) => tokens.length));
    walk.max = String(longest);
    showInputs(el, { ...s, at: Math.min(s.at, longest) }, (v) => String(Math.round(v)), (v) => `${words.at} ${Math.round(v)}`);
    remark(field, complaint(computed, words));
    voice.say(sentence(s, computed, words));
  }

  const life = enliven({ model, el, start: DATES.start, paint, voice, preset: (name) => PRESETS[name] });

  /** A press frames the character of the answer in that row. @param {PointerEvent} event */
  function onDown(event) {
    const { x, y } = pointIn(rows, event);
    for (const [k, [X, Y]] of layout.panels.entries()) {
      const at = 1 + Math.floor((y - Y - layout.top) / layout.row);
      const inside = x >= X && x <= X + layout.panel && at >= 1;
      if (inside && at <= (computed?.answers[k]?.tokens.length ?? 0)) life.commit({ at });
    }
  }

  field.addEventListener("input", () => life.commit({ text: field.value }));
  rows.addEventListener("pointerdown", onDown);
  return life.wire();
}

export default { render, fromLink };
