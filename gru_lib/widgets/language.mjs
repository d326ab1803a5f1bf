// The language model: a trained GRU writes on from what the reader typed (chapter 16).
// Keys of the model: prefix, temperature, seed, show (r, z or h), unit, at (the framed character), and lang.
import LANGUAGE from "./language.json";
import NET from "./language-net.json";
import { clamp, languageStep, pick, readLanguageNet, tempered, uniform } from "./gru-math.mjs";
import {
  announcer, choice, enliven, fill, fixed, fromText, furnish, num, percent, pointIn, presetRow, showInputs, slider,
  sub, uniqueId, wordsFor,
} from "./explorer.mjs";

const LENGTH = LANGUAGE.limits.at[1]; // characters in all
const SLICE = 6; // ms of writing in a frame; the rest is for drawing
const SHOWS = ["r", "z", "h"];
const TOKENS = new Map([...NET.vocabulary].map((c, k) => [c, k]));
const WHOLE = ["seed", "unit", "at"];

let net; // its numbers are read when the first character is

/** What a link sets: prefix, show, any number, or preset=name. Anything else is dropped. */
function fromLink(get, asked) {
  const patch = Object.hasOwn(LANGUAGE.presets, asked.preset ?? "") ? { ...LANGUAGE.presets[asked.preset] } : {};
  for (const [key, range] of Object.entries(LANGUAGE.limits)) {
    const value = fromText(asked[key] ?? "", range);
    if (value !== undefined) patch[key] = WHOLE.includes(key) ? Math.round(value) : value;
  }
  if (SHOWS.includes(asked.show)) patch.show = asked.show;
  if (asked.prefix !== undefined) patch.prefix = asked.prefix.slice(0, LANGUAGE.longest);
  return patch;
}

// ------------------------------------------------------------------------------------------------ the writing

/** A text begun: its tokens, and for each of them that was read a step { token, r, z, h, a }. */
function begin({ prefix, temperature, seed }, old) {
  const given = [...(prefix || "\n")].map((c) => TOKENS.get(c) ?? 0);
  let same = 0; // characters that begin the old text too read the same
  while (same < given.length && same < (old?.steps.length ?? 0) && old.tokens[same] === given[same]) same++;
  const steps = old?.steps.slice(0, same) ?? [];
  const run = { prefix, temperature, seed, given: given.length, tokens: given, steps };
  if (same === given.length) drawNext(run);
  return run;
}

/** The token after the last one that was read. */
function drawNext(run) {
  const place = run.steps.length - run.given;
  run.tokens.push(pick(tempered(run.steps.at(-1).a, run.temperature, 0), uniform(run.seed, place)));
}

/**
 * Read, and beyond the prefix draw, until the text is full or the time (ms) is up; the prefix and one character at
 * least. Returns whether it is full.
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

const ESCAPED = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
const shown = (token, space) => {
  const c = NET.vocabulary[token];
  return c === "\n" ? "↵" : c === " " ? space : ESCAPED[c] ?? c;
};
const label = (cls, x, y, anchor, content) =>
  `<text class="${cls}" x="${num(x)}" y="${num(y)}" text-anchor="${anchor}">${content}</text>`;
const path = (cls, d) => (d ? `<path class="${cls}" d="${d}"/>` : "");
const box = (x, y, width, height) => `M${num(x)} ${num(y)}h${num(width)}v${num(height)}h${num(-width)}z`;

/** The row and the column of each character, as many as there is room for. */
function places(tokens, L) {
  const found = [];
  const line = TOKENS.get("\n");
  for (let i = 0, row = 0, column = 0; i < tokens.length && row < L.rows; i++) {
    found.push([row, column++]);
    if (column === L.columns || (tokens[i] === line && tokens[i + 1] !== line)) [row, column] = [row + 1, 0];
  }
  return found;
}

/** The framed character: the one asked for, or the last that is there. */
const framed = (run, at, L) => clamp(at, 1, Math.max(1, Math.min(run.steps.length, places(run.tokens, L).length)));

/** The characters that are likeliest next, by the model's own order; what stands there is always among them. */
function candidates(run, at) {
  const { a } = run.steps[at - 1];
  const [own, there] = [tempered(a, 1, 0), tempered(a, run.temperature, 0)];
  const order = own.map((p, k) => k).sort((i, j) => own[j] - own[i] || i - j).slice(0, LANGUAGE.candidates);
  const next = run.tokens[at];
  if (next && !order.includes(next)) order[order.length - 1] = next;
  return { order, own, there, next };
}

/** The inside of the drawing; language.py draws the same where there is no JavaScript. */
function draw(s, run, L, words) {
  const at = framed(run, s.at, L);
  const where = places(run.tokens, L);
  const x = (column) => L.left + column * L.step;
  const y = (row) => L.top + row * L.row;
  const out = [];
  const bar = L.step - 2.4;
  for (let row = 0; row < L.rows; row++) {
    const here = where.map(([r], i) => (r === row ? i : -1)).filter((i) => i >= 0);
    if (!here.length) break;
    for (const [cls, part] of [
      ["ex-char ex-given", here.filter((i) => i < run.given)], ["ex-char", here.filter((i) => i >= run.given)],
    ]) {
      if (!part.length) continue;
      const xs = part.map((i) => num(x(where[i][1]) + L.step / 2)).join(" ");
      const text = part.map((i) => shown(run.tokens[i], "\u00a0")).join("");
      out.push(`<text class="${cls}" x="${xs}" y="${num(y(row))}" text-anchor="middle">${text}</text>`);
    }
    const read = here.filter((i) => i < run.steps.length);
    const value = (i) => run.steps[i][s.show][s.unit - 1];
    const left = (i) => x(where[i][1]) + 1.2;
    const [floor, middle] = [y(row) + 21, y(row) + 14];
    if (s.show === "h") {
      if (read.length) out.push(path("ex-axis", `M${num(x(0))} ${num(middle)}H${num(x(read.length))}`));
      const up = (i) => box(left(i), middle - 8 * value(i), bar, 8 * value(i));
      const down = (i) => box(left(i) + 0.6, middle, bar - 1.2, -8 * value(i));
      out.push(path("ex-fill-h", read.filter((i) => value(i) >= 0).map(up).join("")));
      out.push(path("ex-down ex-h", read.filter((i) => value(i) < 0).map(down).join("")));
    } else {
      out.push(path("ex-tank", read.map((i) => box(left(i), floor - 14, bar, 14)).join("")));
      const tank = (i) => box(left(i), floor - 14 * value(i), bar, 14 * value(i));
      out.push(path(`ex-fill-${s.show}`, read.map(tank).join("")));
    }
  }
  if (at > run.steps.length) return out.join("");
  const [row, column] = where[at - 1];
  out.push(`<rect class="ex-frame" x="${num(x(column))}" y="${num(y(row) - 14)}" width="${L.step}" height="38" rx="2"/>`);
  const symbol = `<tspan class="ex-it ex-${s.show}">${s.show}<tspan class="ex-sub" dy="4">${s.unit}</tspan>` +
    '<tspan dy="-4">\u200b</tspan></tspan>';
  const v = fixed(run.steps[at - 1][s.show][s.unit - 1]);
  out.push(label("ex-now", L.left, 16, "start",
    `${words.step} ${at}\u2003${shown(run.tokens[at - 1], "␣")}\u2003${symbol} <tspan class="ex-${s.show}">${v}</tspan>`));

  const { order, own, there, next } = candidates(run, at);
  const title = fill(L.slim ? words.nextSlim : words.next, { T: fixed(run.temperature, 2) });
  out.push(label("ex-small", L.left, L.bars - 8, "start", title));
  const wide = (L.W - 2 * L.left) / order.length;
  const ground = L.bars + 20 + L.high;
  out.push(path("ex-axis", `M${L.left} ${num(ground)}H${num(L.W - L.left)}`));
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

function sentence(s, run, L, words) {
  const at = framed(run, s.at, L);
  const { order, own, there, next } = candidates(run, at);
  const quoted = (k) => `“${shown(k, "␣").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")}”`;
  const tail = run.tokens.slice(Math.max(0, at - 12), at).map((k) => shown(k, " ")).join("");
  return fill(words.say, {
    tail: `“…${tail.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&")}”`,
    best: quoted(order[0]), own: percent(own[order[0]]), there: percent(there[order[0]]), T: fixed(run.temperature, 2),
    next: next === undefined ? "…" : quoted(next), chance: next === undefined ? "…" : percent(there[next]),
    unit: s.unit, symbol: s.show, v: fixed(run.steps[at - 1][s.show][s.unit - 1]),
  });
}

// ------------------------------------------------------------------------------------------------ the page

function pageHTML(id, words) {
  const one = (key, symbol, name, role, step) =>
    slider({ id, key, range: LANGUAGE.limits[key], step, symbol, name, role });
  const show = choice({
    id, key: "show", legend: words.show,
    options: SHOWS.map((name) => [name, `<i>${name}</i>\u2002${words[name]}`]),
  });
  return (
    presetRow(Object.keys(LANGUAGE.presets), words) +
    `<div class="ex-typed"><label for="${id}-prefix">${words.prefix}</label>` +
    `<input type="text" id="${id}-prefix" maxlength="${LANGUAGE.longest}" spellcheck="false" autocomplete="off"></div>` +
    `<svg class="ex-lines" role="img" aria-label="${words.diagram}" aria-describedby="${id}-say"></svg>` +
    `<p class="ex-say" id="${id}-say" aria-live="polite"></p>` +
    `<div class="ex-main"><fieldset><legend>${words.writing}</legend>` +
    one("temperature", "<i>τ</i>", words.temperature, "a", 0.05) + one("seed", "", words.seed, "a", 1) +
    `</fieldset><fieldset><legend>${words.looking}</legend>` +
    one("at", "", words.at, "a", 1) + one("unit", "", words.unit, "a", 1) + "</fieldset></div>" +
    `<div class="ex-switches">${show}</div>` +
    `<p class="ex-note" aria-hidden="true">${words.newline} ${fill(words.rounded, { bits: fixed(NET.bits["8 bits"], 2) })}</p>`
  );
}

function render({ model, el }) {
  const words = wordsFor(LANGUAGE.words, model, el);
  furnish(el, "language", words.title, pageHTML(uniqueId("language"), words));
  const lines = el.querySelector(".ex-lines");
  const typed = el.querySelector("input[type=text]");
  const voice = announcer(el.querySelector(".ex-say"));
  let layout = LANGUAGE.layout.wide;
  let [run, now, frame] = [null, null, 0]; // the text, the state that is drawn, the frame asked for

  function drawing(time) {
    const full = writeOn(run, time);
    lines.setAttribute("viewBox", `0 0 ${layout.W} ${layout.H}`);
    lines.innerHTML = draw(now, run, layout, words);
    lines.dataset.written = run.steps.length;
    if (run.steps.length >= Math.min(now.at, LENGTH)) voice.say(sentence(now, run, layout, words));
    frame = full ? 0 : requestAnimationFrame(() => drawing(SLICE));
  }

  function paint(s, slim) {
    layout = LANGUAGE.layout[slim ? "slim" : "wide"];
    const first = !now;
    now = { ...s };
    for (const key of WHOLE) now[key] = Math.round(s[key]);
    if (!run || ["prefix", "temperature", "seed"].some((key) => run[key] !== now[key])) run = begin(now, run);
    showInputs(el, now, (v, key) => (key === "temperature" ? fixed(v, 2) : String(v)));
    const text = now.prefix.replaceAll("\n", "↵");
    if (typed.value !== text) typed.value = text;
    cancelAnimationFrame(frame);
    if (first) frame = requestAnimationFrame(() => drawing(SLICE)); // the page comes first
    else drawing(SLICE);
  }

  const preset = (name) => LANGUAGE.presets[name];
  const life = enliven({ model, el, start: LANGUAGE.start, paint, voice, preset });

  const onType = () => life.commit({ prefix: typed.value.replaceAll("↵", "\n").slice(0, LANGUAGE.longest) });
  function onDown(event) {
    const { x, y } = pointIn(lines, event);
    const row = Math.floor((y - layout.top + 16) / layout.row);
    const column = Math.floor((x - layout.left) / layout.step);
    const at = places(run.tokens, layout).findIndex(([r, c]) => r === row && c === column) + 1;
    if (at) life.commit({ at });
  }
  typed.addEventListener("input", onType);
  lines.addEventListener("pointerdown", onDown);
  const stop = life.wire();
  return () => {
    cancelAnimationFrame(frame);
    stop();
  };
}

export default { render, fromLink };
