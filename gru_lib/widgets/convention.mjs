// @ts-check
// The convention switch: one GRU in our layout and in seven others, one number marked in all of them (chapter 10).
import CONVENTION from "./convention.json";
import { box, label, num, path, show } from "./draw.mjs";
import { clamp } from "./gru-math.mjs";
import {
  choice, enliven, fieldset, fill, fixed, note, picture, pointIn, presetRow, query, readLink, saying, setUp, showInputs,
  slider,
} from "./explorer.mjs";
/** @import { Matrix } from "./gru-math.mjs" */
/** @import { Asked, Stage } from "./explorer.mjs" */

/**
 * @typedef {object} State
 * @property {"r" | "z" | "n"} gate of the marked number
 * @property {"W_x" | "W_h" | "b"} part its kind of parameter
 * @property {number} row its row there
 * @property {number} column its column
 * @property {"before" | "after"} reset where r acts in the GRU
 * @property {"keep" | "write"} convention of our layout: the share that z is
 */
/**
 * A number of the GRU: its value, and where it stands with us.
 *
 * @typedef {{ name: string, gate: string, row: number, column: number, v: number }} Entry
 */
/**
 * How a framework lays the numbers out.
 *
 * @typedef {object} Scheme
 * @property {string} id
 * @property {string} name
 * @property {"keep" | "write"} convention
 * @property {boolean} transposed
 * @property {Record<string, string>} axes of the arrays whose address is not [i, j]
 * @property {Record<string, string>} [second] what b_r and b_z are shared with
 * @property {[letter: string, x: number, y: number][]} letters
 * @property {Record<string, [x: number, y: number]>} at where its arrays are drawn
 */
/**
 * The arrays of a layout: in each place the number of an entry, counted from 1, negative where it is negated; 0 for
 * none.
 *
 * @typedef {Record<string, Matrix>} Places
 */
/**
 * Where the marked number stands in a layout.
 *
 * @typedef {{ address: string, v: number, name: string, i: number, j: number }} Spot
 */
/** @typedef {typeof CONVENTION.layout.wide} Layout */
/** @typedef {typeof CONVENTION.words.en} Words */

const { weights: WEIGHTS, cell: CELL, origin: ORIGIN } = CONVENTION;
const LAYOUTS = /** @type {Scheme[]} */ (/** @type {unknown} */ (CONVENTION.layouts)); // JSON knows no pairs
const PLACES = /** @type {Record<string, { before?: Places, after?: Places }>} */ (CONVENTION.places);
const START = /** @type {State} */ (CONVENTION.start);
const PRESETS = /** @type {Record<string, Partial<State>>} */ (CONVENTION.presets);
const [D, H] = [WEIGHTS.W_xr.length, WEIGHTS.W_xr[0].length];
/** @type {{ [K in "gate" | "part" | "reset" | "convention"]: State[K][] }} */
const CHOICES = {
  gate: ["r", "z", "n"], part: ["W_x", "W_h", "b"], reset: ["before", "after"], convention: ["keep", "write"],
};
const RANGES = { row: [0, D - 1], column: [0, H - 1] };

/** Every number of the GRU. @type {Entry[]} */
const ENTRIES = Object.entries(WEIGHTS).flatMap(([name, rows]) => rows.flatMap((numbers, row) =>
  numbers.map((v, column) => ({ name, gate: name.slice(-1), row, column, v }))));

/** The number of the marked entry, counted from 1. @param {State} s */
function marked(s) {
  let name = s.part === "b" ? `b_${s.gate}` : `${s.part}${s.gate}`;
  if (name === "b_n" && s.reset === "after" && s.row) name = "b_hn";
  const row = Math.min(s.row, WEIGHTS[/** @type {keyof typeof WEIGHTS} */ (name)].length - 1);
  return 1 + ENTRIES.findIndex((e) => e.name === name && e.row === row && e.column === s.column);
}

/** @param {State} s */
const picked = (s) => ENTRIES[marked(s) - 1];

/** What stands in a place of a layout. @param {Scheme} layout @param {number} place @param {State} s */
function numberAt(layout, place, s) {
  if (place === 0) return 0;
  const { gate, v } = ENTRIES[Math.abs(place) - 1];
  const turned = layout.id === "ours" && s.convention === "write" && gate === "z";
  return (place < 0) !== turned ? -v : v;
}

/** @param {Scheme} layout @param {string} name @param {Matrix} rows @param {number} i @param {number} j */
function addressOf(layout, name, rows, i, j) {
  const axes = layout.axes[name] ?? "ij";
  const flat = axes === "k" && (rows.length === 1 || rows[0].length === 1); // Keras: one axis for one bias, two for two
  if (flat) return `${name}[${rows.length > 1 ? i : j}]`;
  return `${name}[${axes === "0ij" ? "0, " : ""}${i}, ${j}]`;
}

/**
 * The arrays of a layout for a GRU as it is; undefined if the layout is never of such a one.
 *
 * @param {Scheme} layout @param {State} s
 */
const placesOf = (layout, s) => PLACES[layout.id][s.reset];

/**
 * Where the marked number stands in a layout, and what stands there; null if it has no place.
 *
 * @param {Scheme} layout @param {State} s
 * @returns {Spot | null}
 */
function find(layout, s) {
  const wanted = marked(s);
  for (const [name, rows] of Object.entries(placesOf(layout, s) ?? {})) {
    for (const [i, row] of rows.entries()) {
      const j = row.findIndex((place) => Math.abs(place) === wanted);
      if (j >= 0) return { address: addressOf(layout, name, rows, i, j), v: numberAt(layout, row[j], s), name, i, j };
    }
  }
  return null;
}

/**
 * What a link sets: gate, part, row, column, reset, convention, or preset=name.
 *
 * @param {unknown} _get @param {Asked} asked
 */
function fromLink(_get, asked) {
  return readLink(asked, { presets: PRESETS, ranges: RANGES, whole: ["row", "column"], choices: CHOICES });
}

// ------------------------------------------------------------------------------------------------ the drawing

/** @param {Scheme} layout @param {Words} words */
const nameOf = (layout, words) => (layout.id === "ours" || layout.id === "ng" ? words[layout.id] : layout.name);
const ours = LAYOUTS[0];
const ourValue = (/** @type {State} */ s) => find(ours, s)?.v ?? NaN; // with us, every number has a place

/**
 * Our number's change on the way to a layout, after the number itself.
 *
 * @param {Scheme} layout @param {number} v @param {State} s @param {Words} words
 */
function change(layout, v, s, words) {
  const value = fixed(v, 2);
  if (layout === ours) return value;
  const second = layout.second?.[s.reset];
  if (second && ["b_r", "b_z"].includes(picked(s).name)) return fill(words.plus, { v: value, second });
  const changes = [];
  if (layout.transposed && s.part !== "b") changes.push(words.transposed);
  if (ourValue(s) !== v) changes.push(words.negated);
  return `${value}, ${changes.join(", ") || words.same}`;
}

/** One layout: its arrays, a square for every number. @param {Scheme} layout @param {State} s @param {Words} words */
function drawMap(layout, s, words) {
  const [left, top] = ORIGIN;
  const all = PLACES[layout.id];
  const own = s.reset in all;
  const reset = own ? s.reset : all.before ? "before" : "after";
  const share = layout === ours ? s.convention : layout.convention;
  const out = [
    label("ex-net", 0, 14, "start", nameOf(layout, words)),
    label("ex-small", 0, 30, "start", fill(words.kind, { z: words[share], reset: words[reset] })),
  ];
  for (const [gate, x, y] of layout.letters) {
    const lit = own && gate === s.gate ? ` ex-${gate}` : "";
    out.push(label(`ex-it ex-letter-${gate}${lit}`, left + CELL * x, top + CELL * y + 4.5, "middle", gate));
  }
  /** @type {Record<string, string>} */
  const marks = {};
  for (const [name, rows] of Object.entries(all[reset] ?? {})) {
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
      const square = box(x0 + CELL * (j + 0.5) - side / 2, y0 + CELL * (i + 0.5) - side / 2, side, side);
      marks[kind] = (marks[kind] ?? "") + square;
    }));
  }
  for (const kind of Object.keys(marks).sort()) out.push(path(kind, marks[kind]));
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

/** Where a layout is drawn. @param {number} nth @param {Layout} L */
const corner = (nth, L) => [(nth % L.columns) * L.slot[0], Math.floor(nth / L.columns) * L.slot[1]];

/** @param {State} s @param {Layout} L @param {Words} words */
function drawMaps(s, L, words) {
  return LAYOUTS.map((layout, nth) =>
    `<g transform="translate(${corner(nth, L).join(" ")})">${drawMap(layout, s, words)}</g>`).join("");
}

/** @param {State} s @param {Words} words */
function sentence(s, words) {
  const { name, row, column } = picked(s);
  const value = ourValue(s);
  const index = s.part === "b" ? `[${column}]` : `[${row}, ${column}]`;
  const meaning = fill(words[name === "b_hn" ? "b_hn" : s.part], { i: row, j: column, gate: words[`gate_${s.gate}`] });
  const parts = [fill(words.say, { name: name + index, v: fixed(value, 2), meaning })];
  const others = LAYOUTS.slice(1).map((layout) => ({ layout, found: find(layout, s) }));
  const has = (/** @type {{ layout: Scheme }} */ { layout }) => Boolean(placesOf(layout, s));
  /** @type {[key: keyof Words, group: typeof others][]} */
  const groups = [
    ["say_transposed", others.filter(({ layout, found }) => found && layout.transposed && s.part !== "b")],
    ["say_negated", others.filter(({ found }) => found && found.v !== value)],
    ["say_bare", others.filter((other) => !other.found && has(other))],
    ["say_never", others.filter((other) => !has(other))],
  ];
  for (const [key, group] of groups) {
    if (!group.length) continue;
    const names = group.map(({ layout }) => nameOf(layout, words));
    const list = names.length > 1 ? names.slice(0, -1).join(words.comma) + words.and + names.at(-1) : names[0];
    parts.push(fill(words[key], { list, reset: words[s.reset === "before" ? "after" : "before"] }));
  }
  return parts.join(words.space);
}

// ------------------------------------------------------------------------------------------------ the page

/** @param {string} id @param {Words} words */
function pageHTML(id, words) {
  const it = (/** @type {string} */ text) => `<i>${text}</i>`;
  /** @type {(key: string, legend: string, options: string[][]) => string} */
  const radios = (key, legend, options) => choice({ id, key, legend, options });
  /** @type {(key: "row" | "column", symbol: string) => string} */
  const one = (key, symbol) =>
    slider({ id, key, range: RANGES[key], step: 1, symbol: it(symbol), name: words[key], role: "a" });
  const names = { W_x: "<i>W</i><sub><i>x</i></sub>", W_h: "<i>W</i><sub><i>h</i></sub>", b: it("b") };
  return (
    presetRow(PRESETS, words) +
    picture(id, "ex-maps", words.diagram) +
    note(words.hint) +
    saying(id) +
    `<div class="ex-main"><div class="ex-switches">` +
    radios("gate", words.gate, CHOICES.gate.map((gate) => [gate, it(gate)])) +
    radios("part", words.part, CHOICES.part.map((part) => [part, names[part]])) +
    `</div>${fieldset(words.which, one("row", "i"), one("column", "j"))}</div>` +
    `<div class="ex-switches">` +
    radios("reset", words.model, CHOICES.reset.map((reset) => [reset, words[reset]])) +
    radios("convention", fill(words.spelling, { z: '<i class="ex-z">z</i>' }),
      CHOICES.convention.map((name) => [name, words[name]])) +
    "</div>"
  );
}

/** @param {Stage} stage */
function render(stage) {
  const { model, el } = stage;
  const { words, voice } = setUp("convention", CONVENTION.words, stage, pageHTML);
  const maps = query(el, ".ex-maps", SVGSVGElement);
  const rowInput = query(el, "[data-key=row]", HTMLInputElement);
  let layout = CONVENTION.layout.wide;
  const whole = (/** @type {State} */ s) => ({ ...s, row: Math.round(s.row), column: Math.round(s.column) });

  /** @param {State} state @param {boolean} slim */
  function paint(state, slim) {
    layout = CONVENTION.layout[slim ? "slim" : "wide"];
    const s = whole(state);
    show(maps, layout, drawMaps(s, layout, words));
    const rows = { W_x: D, W_h: H, b: s.gate === "n" && s.reset === "after" ? 2 : 1 }[s.part];
    rowInput.max = String(rows - 1);
    rowInput.disabled = rows === 1;
    showInputs(el, { ...s, row: Math.min(s.row, rows - 1) }, String);
    voice.say(sentence(s, words));
  }

  const life = enliven({ model, el, start: START, paint, voice, preset: (name) => PRESETS[name] });

  /** Mark the number under a pointer, in whichever layout. @param {PointerEvent} event */
  function onDown(event) {
    const { x, y } = pointIn(maps, event);
    const s = whole(life.state);
    for (const [nth, one] of LAYOUTS.entries()) {
      const [left, top] = corner(nth, layout);
      for (const [array, rows] of Object.entries(placesOf(one, s) ?? {})) {
        const j = Math.floor((x - left - ORIGIN[0]) / CELL - one.at[array][0]);
        const i = Math.floor((y - top - ORIGIN[1]) / CELL - one.at[array][1]);
        const place = rows[i]?.[j];
        if (!place) continue;
        const { name, gate, row, column } = ENTRIES[Math.abs(place) - 1];
        const part = name[0] === "b" ? "b" : name.slice(0, 3);
        life.commit(/** @type {Partial<State>} */ (
          { gate, part, row: name === "b_hn" ? 1 : row, column: clamp(column, 0, H - 1) }));
        event.preventDefault();
        return;
      }
    }
  }

  maps.addEventListener("pointerdown", onDown);
  return life.wire();
}

export default { render, fromLink };
