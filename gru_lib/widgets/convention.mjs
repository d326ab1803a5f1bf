// The convention switch: one GRU in our layout and in seven others, one number marked in all of them (chapter 10).
// Keys of the model: gate, part, row, column (the marked number), reset (of the GRU), convention (of our layout), lang.
import CONVENTION from "./convention.json";
import { clamp } from "./gru-math.mjs";
import {
  announcer, choice, enliven, fill, fixed, fromText, furnish, num, pointIn, presetRow, showInputs, slider, uniqueId,
  wordsFor,
} from "./explorer.mjs";

const { weights: WEIGHTS, layouts: LAYOUTS, places: PLACES, cell: CELL, origin: ORIGIN } = CONVENTION;
const [D, H] = [WEIGHTS.W_xr.length, WEIGHTS.W_xr[0].length];
const CHOICES = {
  gate: ["r", "z", "n"], part: ["W_x", "W_h", "b"], reset: ["before", "after"], convention: ["keep", "write"],
};
const RANGES = { row: [0, D - 1], column: [0, H - 1] };

/** Every number of the GRU, by our name; a place of a layout counts them from 1, negative where it negates them. */
const ENTRIES = Object.entries(WEIGHTS).flatMap(([name, rows]) => rows.flatMap((numbers, row) =>
  numbers.map((v, column) => ({ name, gate: name.at(-1), row, column, v }))));

function picked(s) {
  let name = s.part === "b" ? `b_${s.gate}` : `${s.part}${s.gate}`;
  if (name === "b_n" && s.reset === "after" && s.row) name = "b_hn";
  const row = Math.min(s.row, WEIGHTS[name].length - 1);
  return ENTRIES.find((e) => e.name === name && e.row === row && e.column === s.column);
}

function numberAt(layout, place, s) {
  if (place === 0) return 0;
  const { gate, v } = ENTRIES[Math.abs(place) - 1];
  const turned = layout.id === "ours" && s.convention === "write" && gate === "z";
  return (place < 0) !== turned ? -v : v;
}

function addressOf(layout, name, rows, i, j) {
  const axes = layout.axes[name] ?? "ij";
  const flat = axes === "k" && (rows.length === 1 || rows[0].length === 1); // Keras: one axis for one bias, two for two
  if (flat) return `${name}[${rows.length > 1 ? i : j}]`;
  return `${name}[${axes === "0ij" ? "0, " : ""}${i}, ${j}]`;
}

/** Where the marked number stands in a layout, and what stands there; null if it has no place. */
function find(layout, s) {
  const marked = ENTRIES.indexOf(picked(s)) + 1;
  for (const [name, rows] of Object.entries(PLACES[layout.id][s.reset] ?? {})) {
    for (const [i, row] of rows.entries()) {
      const j = row.findIndex((place) => Math.abs(place) === marked);
      if (j >= 0) return { address: addressOf(layout, name, rows, i, j), v: numberAt(layout, row[j], s), name, i, j };
    }
  }
  return null;
}

const preset = (name) => CONVENTION.presets[name];

/** What a link sets: gate, part, row, column, reset, convention, or preset=name. Anything else is dropped. */
function fromLink(get, asked) {
  const patch = Object.hasOwn(CONVENTION.presets, asked.preset ?? "") ? { ...preset(asked.preset) } : {};
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
const nameOf = (layout, words) => words[layout.id] ?? layout.name;
const ours = LAYOUTS[0];

/** Our number's change on the way to a layout, after the number itself. */
function change(layout, v, s, words) {
  const value = fixed(v, 2);
  if (layout === ours) return value;
  const second = layout.second?.[s.reset];
  if (second && ["b_r", "b_z"].includes(picked(s).name)) return fill(words.plus, { v: value, second });
  const changes = [];
  if (layout.transposed && s.part !== "b") changes.push(words.transposed);
  if (find(ours, s).v !== v) changes.push(words.negated);
  return `${value}, ${changes.join(", ") || words.same}`;
}

/** One layout: its arrays, a square for every number; convention.py draws the same where there is no JavaScript. */
function drawMap(layout, s, words) {
  const [left, top] = ORIGIN;
  const own = s.reset in PLACES[layout.id];
  const reset = own ? s.reset : Object.keys(PLACES[layout.id])[0];
  const share = layout === ours ? s.convention : layout.convention;
  const out = [
    label("ex-net", 0, 14, "start", nameOf(layout, words)),
    label("ex-small", 0, 30, "start", fill(words.kind, { z: words[share], reset: words[reset] })),
  ];
  for (const [gate, x, y] of layout.letters) {
    const lit = own && gate === s.gate ? ` ex-${gate}` : "";
    out.push(label(`ex-it ex-letter-${gate}${lit}`, left + CELL * x, top + CELL * y + 4.5, "middle", gate));
  }
  const marks = {};
  for (const [name, rows] of Object.entries(PLACES[layout.id][reset])) {
    const [x0, y0] = [left + CELL * layout.at[name][0], top + CELL * layout.at[name][1]];
    out.push(`<rect class="${own ? "ex-array" : "ex-none"}" x="${num(x0)}" y="${num(y0)}" ` +
      `width="${CELL * rows[0].length}" height="${CELL * rows.length}"/>`);
    if (!own) continue;
    rows.forEach((row, i) => row.forEach((place, j) => {
      const v = numberAt(layout, place, s);
      if (!v) return;
      const lit = ENTRIES[Math.abs(place) - 1].gate === s.gate;
      const kind = `ex-${v < 0 ? "down" : "up"} ex-${lit ? s.gate : "dim"}`;
      const side = (CELL - 2) * Math.abs(v) ** 0.5 - (v < 0 ? 1.5 : 0);
      const corner = `${num(x0 + CELL * (j + 0.5) - side / 2)} ${num(y0 + CELL * (i + 0.5) - side / 2)}`;
      marks[kind] = `${marks[kind] ?? ""}M${corner}h${num(side)}v${num(side)}h${num(-side)}z`;
    }));
  }
  for (const kind of Object.keys(marks).sort()) out.push(`<path class="${kind}" d="${marks[kind]}"/>`);
  const found = find(layout, s);
  let lines = own ? [words.bare, words.zeros] : [fill(words.only, { reset: words[reset] }), words.never];
  if (found) {
    const [x0, y0] = [left + CELL * layout.at[found.name][0], top + CELL * layout.at[found.name][1]];
    out.push(`<rect class="ex-frame" x="${num(x0 + CELL * found.j)}" y="${num(y0 + CELL * found.i)}" ` +
      `width="${CELL}" height="${CELL}"/>`);
    lines = [found.address, change(layout, found.v, s, words)];
  }
  lines.forEach((line, k) => out.push(label("ex-part", 0, 188 + 17 * k, "start", line)));
  return out.join("");
}

const corner = (nth, L) => [(nth % L.columns) * L.slot[0], Math.floor(nth / L.columns) * L.slot[1]];

function drawMaps(s, L, words) {
  return LAYOUTS.map((layout, nth) =>
    `<g transform="translate(${corner(nth, L).join(" ")})">${drawMap(layout, s, words)}</g>`).join("");
}

function sentence(s, words) {
  const marked = picked(s);
  const value = find(ours, s).v;
  const index = s.part === "b" ? `[${marked.column}]` : `[${marked.row}, ${marked.column}]`;
  const meaning = fill(words[marked.name === "b_hn" ? "b_hn" : s.part], {
    i: marked.row, j: marked.column, gate: words[`gate_${s.gate}`],
  });
  const parts = [fill(words.say, { name: marked.name + index, v: fixed(value, 2), meaning })];
  const others = LAYOUTS.slice(1).map((layout) => ({ layout, found: find(layout, s) }));
  const has = ({ layout }) => s.reset in PLACES[layout.id];
  const groups = {
    say_transposed: others.filter(({ layout, found }) => found && layout.transposed && s.part !== "b"),
    say_negated: others.filter(({ found }) => found && found.v !== value),
    say_bare: others.filter((other) => !other.found && has(other)),
    say_never: others.filter((other) => !has(other)),
  };
  for (const [key, group] of Object.entries(groups)) {
    if (!group.length) continue;
    const names = group.map(({ layout }) => nameOf(layout, words));
    const list = names.length > 1 ? names.slice(0, -1).join(words.comma) + words.and + names.at(-1) : names[0];
    parts.push(fill(words[key], { list, reset: words[s.reset === "before" ? "after" : "before"] }));
  }
  return parts.join(words.space);
}

// ------------------------------------------------------------------------------------------------ the page

function pageHTML(id, words) {
  const it = (text) => `<i>${text}</i>`;
  const radios = (key, legend, options) => choice({ id, key, legend, options });
  const one = (key) =>
    slider({ id, key, range: RANGES[key], step: 1, symbol: it(key === "row" ? "i" : "j"), name: words[key], role: "a" });
  const names = { W_x: "<i>W</i><sub><i>x</i></sub>", W_h: "<i>W</i><sub><i>h</i></sub>", b: it("b") };
  return (
    presetRow(Object.keys(CONVENTION.presets), words) +
    `<svg class="ex-maps" role="img" aria-label="${words.diagram}" aria-describedby="${id}-say"></svg>` +
    `<p class="ex-note" aria-hidden="true">${words.hint}</p>` +
    `<p class="ex-say" id="${id}-say" aria-live="polite"></p>` +
    `<div class="ex-main"><div class="ex-switches">` +
    radios("gate", words.gate, CHOICES.gate.map((gate) => [gate, it(gate)])) +
    radios("part", words.part, CHOICES.part.map((part) => [part, names[part]])) +
    `</div><fieldset><legend>${words.which}</legend>${one("row")}${one("column")}</fieldset></div>` +
    `<div class="ex-switches">` +
    radios("reset", words.model, CHOICES.reset.map((reset) => [reset, words[reset]])) +
    radios("convention", fill(words.spelling, { z: '<i class="ex-z">z</i>' }),
      CHOICES.convention.map((name) => [name, words[name]])) +
    "</div>"
  );
}

function render({ model, el }) {
  const words = wordsFor(CONVENTION.words, model, el);
  furnish(el, "convention", words.title, pageHTML(uniqueId("convention"), words));
  const maps = el.querySelector(".ex-maps");
  const rowInput = el.querySelector("[data-key=row]");
  const voice = announcer(el.querySelector(".ex-say"));
  let layout = CONVENTION.layout.wide;
  const whole = (s) => ({ ...s, row: Math.round(s.row), column: Math.round(s.column) });

  function paint(state, slim) {
    layout = CONVENTION.layout[slim ? "slim" : "wide"];
    const s = whole(state);
    maps.setAttribute("viewBox", `0 0 ${layout.W} ${layout.H}`);
    maps.innerHTML = drawMaps(s, layout, words);
    const rows = { W_x: D, W_h: H, b: s.gate === "n" && s.reset === "after" ? 2 : 1 }[s.part];
    rowInput.max = rows - 1;
    rowInput.disabled = rows === 1;
    showInputs(el, { ...s, row: Math.min(s.row, rows - 1) }, String);
    voice.say(sentence(s, words));
  }

  const life = enliven({ model, el, start: CONVENTION.start, paint, voice, preset });

  /** The number under a pointer, in whichever layout. */
  function onDown(event) {
    const { x, y } = pointIn(maps, event);
    const s = whole(life.state);
    for (const [nth, one] of LAYOUTS.entries()) {
      const base = corner(nth, layout);
      for (const [name, rows] of Object.entries(PLACES[one.id][s.reset] ?? {})) {
        const [j, i] = [x, y].map((at, k) =>
          Math.floor((at - base[k] - ORIGIN[k]) / CELL - one.at[name][k]));
        const place = rows[i]?.[j];
        if (!place) continue;
        const { name: ourName, gate, row, column } = ENTRIES[Math.abs(place) - 1];
        const part = ourName[0] === "b" ? "b" : ourName.slice(0, 3);
        life.commit({ gate, part, row: ourName === "b_hn" ? 1 : row, column: clamp(column, 0, H - 1) });
        event.preventDefault();
        return;
      }
    }
  }

  maps.addEventListener("pointerdown", onDown);
  return life.wire();
}

export default { render, fromLink };
