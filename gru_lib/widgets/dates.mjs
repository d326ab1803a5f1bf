// Translate a date: an encoder–decoder that runs in the page (chapter 17).
// Keys of the model: text (as typed), at (the framed character of the output), unit (of the encoder), and lang.
import DATES from "./dates.json";
import WEIGHTS from "./dates-weights.json";
import { clamp } from "./gru-math.mjs";
import { greedyDecode, seq2seqFrom, seq2seqStates, seq2seqStep } from "./search.mjs";
import {
  announcer, enliven, fill, fixed, fromText, furnish, num, percent, pointIn, presetRow, showInputs, slider,
  uniqueId, wordsFor,
} from "./explorer.mjs";

const { written, iso, E, H } = WEIGHTS;
const [END, START] = [iso.length, iso.length + 1];
const NET = seq2seqFrom(WEIGHTS.flat, { V_source: written.length + 2, V_target: iso.length + 2, E, H });

const preset = (name) => ({ text: DATES.presets[name] });

/** What a link sets: text (with a digit in it: nothing else is a date), at, unit, or preset=name. */
function fromLink(get, asked) {
  const patch = Object.hasOwn(DATES.presets, asked.preset ?? "") ? preset(asked.preset) : {};
  if (/\d/.test(asked.text ?? "")) patch.text = [...asked.text].slice(0, DATES.longest).join("");
  for (const [key, range] of Object.entries(DATES.limits)) {
    const value = fromText(asked[key] ?? "", range);
    if (value !== undefined) patch[key] = Math.round(value);
  }
  return patch;
}

/** What the net can read of a text; a space if that is nothing. */
function legible(text) {
  return [...text.normalize("NFC")].filter((c) => written.includes(c)).slice(0, DATES.longest).join("") || " ";
}

/** Everything the net does with a text: states (in the order of the text), what it writes, with probabilities. */
function translateText(text) {
  const read = [...legible(text)];
  const states = seq2seqStates(read.map((c) => written.indexOf(c)).reverse(), NET).reverse();
  const found = greedyDecode(seq2seqStep(NET), [states[0], states[0]], START, { end: END, maxSteps: DATES.limits.at[1] });
  return { ...found, read, states, last: states[0] };
}

/** The token as a character; the end as a word. */
const sign = (token, words) => (token === END ? words.end : iso[token] ?? "?");

// ------------------------------------------------------------------------------------------------ the drawing

const label = (cls, x, y, anchor, content) =>
  `<text class="${cls}" x="${num(x)}" y="${num(y)}" text-anchor="${anchor}">${content}</text>`;
const bar = (cls, x, y, width, height) =>
  `<rect class="${cls}" x="${num(x)}" y="${num(y)}" width="${num(width)}" height="${num(Math.max(height, 0))}"/>`;

/** A bar from a midline: solid up, hollow down. */
function signedBar(x, y, width, v, half) {
  const size = Math.abs(v) * half;
  return v < 0 ? bar("ex-down ex-h", x + 0.75, y, width - 1.5, size) : bar("ex-fill-h", x, y - size, width, size);
}

/** A tank filled from the bottom to the share p. */
const tank = (x, y, width, high, p) =>
  bar("ex-tank", x, y, width, high) + bar("ex-share-of", x, y + high * (1 - p), width, high * p);

/** The four rows, as SVG text; dates.py draws the same where there is no JavaScript. */
function drawRows(s, c, L, words) {
  const out = [];
  const name = (top, one, two, role) => out.push(L.slim
    ? label("ex-small", L.left, top - 8, "start", `${one}${two && `\u2002<tspan class="ex-${role}">${two}</tspan>`}`)
    : label("ex-small", 0, top + 14, "start", one) + (two && label(`ex-small ex-${role}`, 0, top + 32, "start", two)));
  const unit = `<tspan class="ex-it">h</tspan> ${fill(words.unit_k, { k: s.unit })}`;
  name(L.read.mid - L.read.half, words.read, unit, "h");
  name(L.hand.mid - L.hand.half, words.hand, '<tspan class="ex-it">h</tspan>', "h");
  name(L.write.text - (L.slim ? 18 : 16), words.write, "", "h");
  name(L.prob.tank, fill(words.prob, { at: s.at }), "", "h");

  let column = Math.min(24, L.span / c.read.length);
  out.push(`<path class="ex-axis" d="M${num(L.left)} ${num(L.read.mid)}h${num(column * c.read.length)}"/>`);
  c.read.forEach((sign, i) => {
    const x = L.left + i * column;
    out.push(signedBar(x + column * 0.17, L.read.mid, column * 0.66, c.states[i][s.unit - 1], L.read.half));
    out.push(label("ex-char", x + column / 2, L.read.text, "middle", sign === " " ? "\u00a0" : sign));
  });

  column = L.span / H;
  out.push(`<path class="ex-axis" d="M${num(L.left)} ${num(L.hand.mid)}h${num(L.span)}"/>`);
  c.last.forEach((v, i) => out.push(signedBar(L.left + column * (i + 0.17), L.hand.mid, column * 0.66, v, L.hand.half)));
  const edge = L.left + column * (s.unit - 1);
  out.push(`<rect class="ex-frame" x="${num(edge)}" y="${num(L.hand.mid - L.hand.half - 4)}" width="${num(column)}" ` +
    `height="${num(2 * L.hand.half + 8)}" rx="2"/>`);

  column = L.span / DATES.limits.at[1];
  c.tokens.forEach((token, t) => {
    const x = L.left + column * t;
    out.push(label(token === END ? "ex-small" : "ex-sign", x + column / 2, L.write.text, "middle", sign(token, words)));
    out.push(tank(x + column * 0.25, L.write.tank, column * 0.5, L.write.high, Math.exp(c.rows[t][token])));
  });
  const from = L.left + column * (s.at - 1);
  out.push(`<rect class="ex-frame" x="${num(from)}" y="${num(L.write.text - 20)}" width="${num(column)}" ` +
    `height="${num(L.write.tank + L.write.high + 26 - L.write.text)}" rx="2"/>`);

  for (let token = 0; token <= END; token++) {
    const x = L.left + column * token;
    out.push(tank(x + column * 0.25, L.prob.tank, column * 0.5, L.prob.high, Math.exp(c.rows[s.at - 1][token])));
    out.push(label(token === END ? "ex-small" : "ex-char", x + column / 2, L.prob.text, "middle", sign(token, words)));
  }
  return out.join("");
}

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

function pageHTML(id, words) {
  const one = (key, role) => slider({ id, key, range: DATES.limits[key], step: 1, symbol: words[key], name: "", role });
  return (
    presetRow(Object.keys(DATES.presets), words) +
    `<div class="ex-main ex-type"><label for="${id}-text">${words.type}</label>` +
    `<input type="text" id="${id}-text" maxlength="${DATES.longest}" autocomplete="off" spellcheck="false">` +
    `<p class="ex-note">${words.hint}</p></div>` +
    `<svg class="ex-rows" role="img" aria-label="${words.diagram}" aria-describedby="${id}-say"></svg>` +
    `<p class="ex-say" id="${id}-say" aria-live="polite"></p>` +
    `<fieldset class="ex-main"><legend>${words.look}</legend><div>${one("at", "a")}</div>` +
    `<div>${one("unit", "h")}</div></fieldset>`
  );
}

function render({ model, el }) {
  const words = wordsFor(DATES.words, model, el);
  furnish(el, "dates", words.title, pageHTML(uniqueId("dates"), words));
  const rows = el.querySelector(".ex-rows");
  const field = el.querySelector("input[type=text]");
  const voice = announcer(el.querySelector(".ex-say"));
  let layout = DATES.layout.wide;
  let computed = null; // of one text; the sliders need it again and again

  function paint(s, slim) {
    layout = DATES.layout[slim ? "slim" : "wide"];
    if (computed?.text !== s.text) computed = { text: s.text, ...translateText(s.text) };
    const shown = { ...s, at: clamp(Math.round(s.at), 1, computed.tokens.length), unit: Math.round(s.unit) };
    rows.setAttribute("viewBox", `0 0 ${layout.W} ${layout.H}`);
    rows.innerHTML = drawRows(shown, computed, layout, words);
    if (field.value !== s.text) field.value = s.text;
    showInputs(el, s, String, (v, key) => `${words[key]} ${v}`);
    voice.say(sentence(shown, computed, words));
  }

  const life = enliven({ model, el, start: DATES.start, paint, voice, preset });
  const onType = () => life.commit({ text: field.value });

  /** A click frames the unit or the character under it. */
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
