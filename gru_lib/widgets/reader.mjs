// @ts-check
// The reader: a trained GRU reads what the visitor types and says after each letter which language it is (front page).
import GATE from "./gate.json";
import READER from "./reader.json";
import NET from "./../results/words_net.json";
import { across, bar, box, dyed, escaped, frame, index, label, num, path, show, signedBar } from "./draw.mjs";
import { clamp, languageStep, readLanguageNet, tempered } from "./gru-math.mjs";
import {
  enliven, fill, fixed, note, percent, picture, presetRow, pressed, query, readLink, remark, remarkPlace, saying,
  setUp, showInputs, slider,
} from "./explorer.mjs";
import { drawCell, unitCell } from "./gate-cell.mjs";
/** @import { LanguageNet, LanguageStep, Vector } from "./gru-math.mjs" */
/** @import { Asked, Stage } from "./explorer.mjs" */

/**
 * @typedef {object} State
 * @property {string} word what the reader typed
 * @property {number} kept the letter, from 1, at which everything is kept; 0: none
 * @property {number} at the letter that is looked at; beyond the letters is the end of the word
 * @property {number} unit whose cell is drawn
 */
/**
 * What the net did at one letter: `p` is what it believes then, `write` the mean of 1 - z, `among` the number of equally
 * likely languages that would leave one as unsure.
 *
 * @typedef {Omit<LanguageStep, "a"> & { token: number, h_prev: Float64Array, p: Vector, write: number, among: number }}
 *   Step
 */
/** A word read as it is, `base`, and with one letter's writing withheld, `now`. */
/** @typedef {{ letters: string[], base: Step[], now: Step[] }} Reading */
/** How it is shown: so many letters, the one looked at (0: none), beliefs on their way, the letter that most turns on (0: none). */
/** @typedef {{ shown: number, focus: number, beliefs: Vector[], hint: number }} View */
/** @typedef {typeof READER.layout.wide} Layout */
/** @typedef {typeof READER.words.en} Words */
/** @typedef {{ run: string, unit: number, sign: number, auc: number }} Note a unit, and the letters that it tells of */

const LONGEST = READER.longest;
const START = /** @type {State} */ (READER.start);
const PRESETS = /** @type {Record<string, Partial<State>>} */ (READER.presets);
const [PER_LETTER, BETWEEN] = [220, 700]; // ms: of the playing, for each letter and before it begins
const [K, H] = [NET.languages.length, 64];
const TOKENS = new Map([...NET.letters].map((c, k) => [c, k]));
const [END, UNKNOWN] = [TOKENS.size, TOKENS.size + 1];
/** @type {("kept" | "at" | "unit")[]} */
const WHOLE = ["kept", "at", "unit"];

/** @type {LanguageNet | undefined} */
let net;

/** What a link sets: word, any number, or preset=word. @param {unknown} _get @param {Asked} asked */
function fromLink(_get, asked) {
  const patch = readLink(asked, { presets: PRESETS, ranges: READER.limits, whole: WHOLE });
  return { ...patch, ...(asked.word !== undefined && { word: [...asked.word].slice(0, LONGEST).join("") }) };
}

// ------------------------------------------------------------------------------------------------ the net

/** The numbers of the stored net. @returns {LanguageNet} */
function readerNet() {
  const arrays = Object.entries(NET.arrays).map(([name, { shape, scale, data }]) => {
    const columns = shape[shape.length - 1];
    return [name, { shape: [1, columns], scale: Array(columns).fill(scale), data }];
  });
  return readLanguageNet({ V: K, D: NET.arrays["embed.E"].shape[1], H, arrays: Object.fromEntries(arrays) });
}

/** The letters that the net is given. @param {string} word */
function lettersOf(word) {
  const plain = word.trim().normalize("NFC").toLowerCase().normalize("NFC");
  return [...plain.replace(/[’‘ʼ]/g, "'").replace(/[–‑]/g, "-")].slice(0, LONGEST);
}

/** Mean of a list. @param {ArrayLike<number>} v */
const mean = (v) => Array.from(v).reduce((a, b) => a + b, 0) / v.length;

/**
 * Read a word and its end; at the letter `kept` every unit keeps its state.
 *
 * @param {string[]} letters @param {number} kept @returns {Step[]}
 */
function read(letters, kept) {
  net ??= readerNet();
  const m = net;
  /** @type {{ h: Float64Array, p: Vector }} */
  let before = { h: new Float64Array(H), p: tempered(m["out.b"], 1) };
  return [...letters.map((c) => TOKENS.get(c) ?? UNKNOWN), END].map((token, i) => {
    const s = languageStep(token, before.h, m);
    const keeps = i + 1 === kept;
    const z = keeps ? s.z.map(() => 1) : s.z;
    const p = keeps ? before.p : tempered(s.a, 1);
    const among = Math.exp(-p.reduce((sum, v) => sum + (v && v * Math.log(v)), 0));
    const step = {
      token, r: s.r, z, n: s.n, h_prev: before.h, h: keeps ? before.h : s.h, p, write: 1 - mean(z), among,
    };
    before = step;
    return step;
  });
}

/** @param {string} word @param {number} kept @returns {Reading} */
function reading(word, kept) {
  const letters = lettersOf(word);
  const base = read(letters, 0);
  return { letters, base, now: kept && kept <= base.length ? read(letters, kept) : base };
}

/** How far two beliefs are apart. @param {Vector} p @param {Vector} q */
const apart = (p, q) => p.reduce((sum, v, k) => sum + Math.abs(v - q[k]), 0) / 2;

/** The letter without which the net would end elsewhere the most; 0 in an empty word. @param {string} word */
function telling(word) {
  const letters = lettersOf(word);
  const end = read(letters, 0)[letters.length].p;
  const effects = letters.map((_, i) => apart(read(letters, i + 1)[letters.length].p, end));
  return effects.indexOf(Math.max(...effects)) + 1;
}

/** The languages, the likeliest first. @param {Vector} p */
const ranked = (p) => p.map((_, k) => k).sort((a, b) => p[b] - p[a]);

/**
 * Three units, each of other letters: those whose letters the word has, in its order; then those that tell best.
 *
 * @param {string[]} letters @returns {Note[]}
 */
function notes(letters) {
  const word = letters.join("");
  const first = (/** @type {Note} */ { run }) =>
    Math.min(...run.split("|").map((one) => (word.includes(one) ? word.indexOf(one) + one.length : 99)));
  /** @type {Note[]} */
  const chosen = [];
  for (const one of [...NET.groups].sort((a, b) => Number(first(a) === 99) - Number(first(b) === 99))) {
    const known = chosen.flatMap(({ run }) => run.split("|"));
    if (chosen.length < 3 && !one.run.split("|").some((run) => known.includes(run))) chosen.push(one);
  }
  return chosen.sort((a, b) => first(a) - first(b));
}

/** The unit's step in plain numbers, as drawCell takes them. @param {Step} s @param {number} unit */
function cellOf(s, unit) {
  net ??= readerNet();
  return unitCell(net, s, unit, GATE.start);
}

// ------------------------------------------------------------------------------------------------ the drawing

/** Where the columns stand. @param {Layout} L @param {number} T */
function columnsFor(L, T) {
  const column = Math.min(L.widest, (L.right - L.left) / T);
  return { column, x: (/** @type {number} */ t) => L.left + (t - 1) * column, end: L.left + T * column };
}

/** The languages that get a band, the likeliest at the end of the word as it is at the bottom. @param {Reading} o */
function bandsOf({ base, now }) {
  const late = [...base.slice(1), ...now.slice(1), base[base.length - 1]];
  const peak = (/** @type {number} */ k) => Math.max(...late.map(({ p }) => p[k]));
  const end = base[base.length - 1].p;
  return end.map((_, k) => k).sort((a, b) => peak(b) - peak(a)).slice(0, READER.bands).sort((a, b) => end[b] - end[a]);
}

/** The lower edges of the bands after each letter, and 1: heights from the floor. @param {Vector[]} ps @param {Vector} bands */
const edgesOf = (ps, bands) => ps.map((p) => {
  let sum = 0;
  return [0, ...bands.map((k) => (sum += p[k])), 1];
});

/** What a letter is called in a sentence. @param {string[]} letters @param {number} t @param {Words} words */
const nameOf = (letters, t, words) =>
  t > letters.length ? words.theEnd : fill(words.letter, { letter: letters[t - 1] });

/** The letters up to t without the kept one. @param {string[]} letters @param {number} t @param {number} kept */
const readUpTo = (letters, t, kept) => letters.slice(0, t).filter((_, i) => i + 1 !== kept).join("");

/** @param {Reading} o @param {State} s @param {View} view @param {Layout} L @param {Words} words */
function draw(o, s, view, L, words) {
  const { letters, base, now } = o;
  const { shown, focus } = view;
  const T = now.length;
  const { column, x, end } = columnsFor(L, T);
  const middle = (/** @type {number} */ t) => x(t) + column / 2;
  const at = focus || shown; // whose numbers stand at the right
  const here = at ? now[at - 1] : undefined;
  const out = [];
  const side = end + 12;

  const full = Math.min(36, column - 8);
  const gateY = L.plates + 16 + L.flow / 2;
  if (L.slim) out.push(label("", 0, L.plates - 6, "start", `${words.writes} <tspan class="ex-aside" dx="4">${words.mean}</tspan>`));
  else out.push(label("", 0, gateY, "start", words.writes), label("ex-aside", 0, gateY + 16, "start", words.mean));
  now.forEach(({ write }, i) => {
    const c = middle(i + 1);
    out.push(bar("ex-tank", c - full / 2, L.plates + 16, full, L.flow));
    if (i >= shown) return;
    const gap = full * write;
    const plate = (full - gap) / 2 + 2;
    out.push(bar("ex-fill-n", c - gap / 2, L.plates + 16, gap, L.flow));
    out.push(path("ex-fill-z ex-plates", box(c - full / 2 - 2, gateY - 5, plate, 10) + box(c + gap / 2, gateY - 5, plate, 10)));
    if (i + 1 === s.kept) out.push(label("ex-part ex-z", c, L.plates + 11, "middle", `${dyed("z", "z")} = 1`));
    else if (column >= 21) out.push(label("ex-part ex-z", c, L.plates + 11, "middle", (100 * write).toFixed(0)));
  });

  if (!L.slim) out.push(label("", 0, L.letters - 4, "start", words.read));
  letters.forEach((c, i) => {
    const strange = !TOKENS.has(c);
    const cls = strange || i + 1 === s.kept ? "ex-word ex-off" : "ex-word";
    out.push(label(cls, middle(i + 1), L.letters, "middle", escaped(c)));
    if (strange) out.push(path("ex-strike", `M${num(middle(i + 1) - 10)} ${num(L.letters - 8)}h20`));
  });
  if (column >= 21) out.push(label("ex-aside", middle(T), L.letters - 3, "middle", words.end));
  else out.push(label("ex-aside", middle(T), L.letters - 3, "middle", "|"));

  out.push(drawBelief(o, s, view, L, words, columnsFor(L, T)));
  if (view.hint && !focus) {
    const c = middle(view.hint);
    const under = L.slim ? (onTheLeft(view, L, T) ? 60 : L.right - 60) : clamp(c, L.left + 66, end - 66);
    out.push(path("ex-ctl", `M${num(c)} ${num(L.belief + L.high + 23)}v4H${num(L.slim ? under : c)}v4`));
    const text = fill(words.turns, { letter: escaped(letters[view.hint - 1]) });
    out.push(label(L.slim ? "ex-aside ex-tight" : "ex-aside", under, L.belief + L.high + 43, "middle", text));
  }

  if (here) {
    const before = base[at - 1];
    const title = focus && focus <= letters.length
      ? fill(words.afterRead, { read: escapedAll(readUpTo(letters, focus, s.kept)) }) : words.atEnd;
    const playing = shown < T && !focus ? fill(words.afterRead, { read: escapedAll(readUpTo(letters, shown, 0)) }) : title;
    out.push(label("ex-aside", L.slim ? 0 : side, L.list - 6, "start", playing));
    ranked(here.p).slice(0, L.slim ? 3 : 4).forEach((k, j) => {
      const y = L.list + 12 + j * (L.slim ? 20 : 30);
      const cls = j ? "" : "ex-lead";
      const was = now !== base && Math.abs(here.p[k] - before.p[k]) >= 0.01 ? fill(words.was, { p: percent(before.p[k]) }) : "";
      const name = languageName(k, words);
      if (L.slim) {
        out.push(label(cls, 0, y, "start", name), label(cls, 140, y, "end", percent(here.p[k])));
        out.push(bar("ex-bar", 150, y - 9, 110 * here.p[k], 9));
        if (was) out.push(label("ex-aside", L.right, y, "end", was));
      } else {
        out.push(label(cls, side, y, "start", `${name} ${percent(here.p[k])}`));
        if (was) out.push(label("ex-aside", side, y + 14, "start", was));
      }
    });
  }
  out.push(drawUnits(o, view, L, words, columnsFor(L, T)));
  if (focus) {
    out.push(frame(x(focus), L.plates, column, L.belief + L.high + 24 - L.plates));
    out.push(frame(x(focus), L.units - 2, column, L.H - L.units + 1));
  }
  return out.join("");
}

/**
 * The three units: the state h, hollow where it is negative, and under it what is written.
 *
 * @param {Reading} o @param {View} view @param {Layout} L @param {Words} words
 * @param {ReturnType<typeof columnsFor>} columns
 */
function drawUnits({ letters, now }, { shown, focus }, L, words, { column, x, end }) {
  const here = now[(focus || shown) - 1];
  const legend = fill(words.legend, { h: dyed("h", "h") });
  const out = L.slim
    ? [label("ex-aside", 0, L.units - 41, "start", words.units), label("ex-aside", 0, L.units - 25, "start", legend)]
    : [label("ex-aside", 0, L.units - 10, "start", words.units), label("ex-aside", L.left, L.units - 10, "start", legend)];
  notes(letters).forEach(({ run, unit, sign }, i) => {
    const [top, wide] = [L.units + i * L.unit, column - 2];
    const [mid, floor] = [top + 14, top + 34];
    const row = fill(words.unitRow, { unit });
    const told = fill(sign < 0 ? words.low : words.high, { letters: run.replaceAll("|", " ") });
    const value = here && `${dyed("h", "h")} <tspan class="ex-h">${fixed(here.h[unit], 2)}</tspan>`;
    const wrote = here && `<tspan class="ex-z">${fill(words.wrote, { p: percent(1 - here.z[unit]) })}</tspan>`;
    if (L.slim) {
      out.push(label("", 0, top - 4, "start", `${row} <tspan class="ex-aside" dx="4">${told}</tspan>`));
      if (value) out.push(label("ex-part", L.right, top - 4, "end", `${value}\u2002${wrote}`));
    } else {
      out.push(label("", 0, mid + 2, "start", row), label("ex-aside", 0, mid + 18, "start", told));
      if (value && wrote) {
        out.push(label("ex-part", end + 12, mid + 4, "start", value), label("ex-part", end + 12, floor + 2, "start", wrote));
      }
    }
    out.push(across(L.left, mid, end));
    now.slice(0, shown).forEach(({ h, z }, t) => {
      out.push(signedBar("h", x(t + 1) + 1, mid, wide, h[unit], 12));
      out.push(bar("ex-fill-z", x(t + 1) + 1, floor - 7 * (1 - z[unit]), wide, 7 * (1 - z[unit])));
    });
    out.push(across(L.left, floor + 0.5, end, "ex-rule"));
  });
  return out.join("");
}

/** Whether the letter that most turns is in the left half. @param {View} view @param {Layout} L @param {number} T */
const onTheLeft = ({ hint }, L, T) => 2 * columnsFor(L, T).x(hint) < L.right;

/** @param {string} text */
const escapedAll = (text) => [...text].map(escaped).join("");

/** @param {number} k @param {Words} words */
const languageName = (k, words) => words[/** @type {"en"} */ (NET.languages[k])];

/** About how wide a small text is, in a wide font. @param {string} text */
const widthOf = (text) => [...text].reduce((sum, c) => sum + (c.charCodeAt(0) > 999 ? 13 : 7.4), 8);

/** A flat piece of an edge: from x, to x, at y. @typedef {[from: number, to: number, y: number]} Run */

/** Flat pieces, and curves between them. @param {Run[]} runs @param {number} reach */
const traced = (runs, reach) => runs.map(([from, to, y], i) => {
  const [, x, level] = runs[i - 1] ?? [];
  const bend = i ? `C${num(x + reach)} ${num(level)} ${num(from - reach)} ${num(y)} ` : "";
  return `${bend}${num(from)} ${num(y)}L${num(to)} ${num(y)}`;
}).join("");

/**
 * The bands of belief, their names, and, where a letter was kept, what it was before.
 *
 * @param {Reading} o @param {State} s @param {View} view @param {Layout} L @param {Words} words
 * @param {ReturnType<typeof columnsFor>} columns
 */
function drawBelief(o, s, view, L, words, { column, x, end }) {
  const { base, now } = o;
  const { shown } = view;
  const out = [bar("ex-tank", L.left, L.belief, end - L.left, L.high)];
  const bands = bandsOf(o);
  const edges = edgesOf(view.beliefs, bands);
  const flat = 0.58 * column;
  const reach = (column - flat) / 2;
  /** An edge up to letter b, flat at each: from x, to x, y. @type {(e: Vector[], i: number, a: number, b: number) => Run[]} */
  const edge = (e, i, a, b) => Array.from({ length: b - a + 1 }, (_, j) => {
    const t = a + j;
    const [left, right] = [t === a ? 0 : reach, t === b ? 0 : reach];
    return [x(t) + left, x(t + 1) - right, L.belief + L.high * (1 - e[t - 1][i])];
  });
  const count = shown ? bands.length + 1 : 0; // of the bands, with that of the others
  const level = (/** @type {number} */ share) => L.belief + L.high * (1 - share);
  /** The name of the line that shows what was believed before: its left end and its height. @type {[number, number] | undefined} */
  let named;
  const ghost = [];
  if (now !== base && shown === now.length) {
    const before = edgesOf(base.map(({ p }) => p), bands);
    const d = `M${traced(edge(before, 1, s.kept, base.length), reach)}`;
    ghost.push(path("ex-ghost ex-halo", d), path("ex-ghost", d));
    const text = fill(words.ghost, { language: languageName(bands[0], words) });
    const y = level(before[base.length - 1][1]) + 15;
    if (before[base.length - 1][1] - edges[now.length - 1][1] > 0.2) {
      named = [end - 4 - widthOf(text), y];
      ghost.push(label("ex-small ex-part", end - 4, y, "end", text));
    }
  }
  for (let i = 0; i < count; i++) {
    const upper = edge(edges, i + 1, 1, shown).map(([from, to, y]) => /** @type {Run} */ ([to, from, y])).reverse();
    out.push(path(`ex-band ex-band-${i}`, `M${traced(edge(edges, i, 1, shown), reach)}L${traced(upper, -reach)}z`));
  }
  for (let i = 0; i < count; i++) {
    const name = i < bands.length ? languageName(bands[i], words) : words.others;
    const wide = widthOf(name);
    const span = Math.ceil(wide / column);
    let best = { thick: 18 / L.high, c: 0, y: 0 };
    for (let t = 1; t + span - 1 <= shown; t++) {
      const some = edges.slice(t - 1, t - 1 + span);
      const [low, high] = [Math.max(...some.map((e) => e[i])), Math.min(...some.map((e) => e[i + 1]))];
      const [c, y] = [x(t) + (span * column) / 2, level((low + high) / 2) + 4];
      const free = !named || c + wide / 2 < named[0] || Math.abs(y - named[1]) > 14;
      if (free && high - low > best.thick) best = { thick: high - low, c, y };
    }
    if (best.c) out.push(label("ex-part", best.c, best.y, "middle", name));
  }
  out.push(...ghost);
  const y = L.belief + L.high + 17;
  if (!L.slim) {
    out.push(label("", 0, L.belief + 14, "start", words.belief), label("ex-aside", 0, L.belief + 30, "start", words.each));
    out.push(label("", 0, y, "start", words.among), label("ex-aside", 0, y + 16, "start", words.many));
  } else {
    const right = view.hint && onTheLeft(view, L, now.length);
    const text = words.among + words.space + words.many;
    out.push(label("ex-aside ex-tight", right ? L.right : 0, y + 26, right ? "end" : "start", text));
  }
  now.slice(0, shown).forEach(({ among }, i) => {
    const text = column < 22 ? among.toFixed(0) : among.toFixed(1);
    out.push(label("ex-part", x(i + 1) + column / 2, y, "middle", text));
  });
  return out.join("");
}

// ------------------------------------------------------------------------------------------------ the words

/** One sentence that is true of what is drawn. @param {Reading} o @param {State} s @param {View} view @param {Words} words */
function sentence({ letters, base, now }, s, { shown, focus }, words) {
  const T = now.length;
  if (!letters.length) return words.empty;
  const name = (/** @type {number} */ k) => languageName(k, words);
  const t = focus || (shown < T ? shown : 0);
  if (!shown) return words.empty;
  const { p } = now[(t || T) - 1];
  const [first, second] = ranked(p);
  const values = { first: name(first), p: percent(p[first]), second: name(second), q: percent(p[second]) };
  if (t) {
    const head = t > letters.length ? words.sayEnd : fill(words.sayAfter, { read: readUpTo(letters, t, s.kept), ...values });
    if (!focus) return head;
    const { write } = now[t - 1];
    const letter = nameOf(letters, t, words);
    const shares = { letter, keep: percent(1 - write), write: percent(write) };
    return fill(head, values) + words.space + fill(t === s.kept ? words.sayKept : words.sayWrite, shares);
  }
  const end = base[T - 1].p;
  const [old] = ranked(end);
  if (now !== base) {
    const rest = readUpTo(letters, letters.length, s.kept);
    const left = rest ? fill(words.quoted, { read: rest }) : words.nothing;
    const more = { letter: nameOf(letters, s.kept, words), read: left, old: name(old), q: percent(end[old]) };
    return fill(old === first ? words.saySame : words.sayTurned, { ...values, ...more });
  }
  if (end[old] < 0.5) return fill(words.sayUnsure, values);
  let turn = T; // where the leader took the lead for good
  while (turn > 1 && ranked(base[turn - 2].p)[0] === first) turn--;
  if (turn === 1) return fill(words.sayFrom, { ...values, q: values.p });
  const earlier = base[turn - 2].p;
  const [leader] = ranked(earlier);
  return fill(words.sayStory, {
    read: readUpTo(letters, turn - 1, 0), before: name(leader), b: percent(earlier[leader]), first: name(first),
    letter: nameOf(letters, turn, words), p: percent(base[turn - 1].p[first]), q: percent(p[first]),
  });
}

/** What the small print says of the net. @param {Words} words */
function smallPrint(words) {
  const { "8 bits": own, counts } = NET.measured;
  const per = (/** @type {number[]} */ v) => v.map((one) => (100 * one).toFixed(1)).join(", ") + "\u00a0%";
  const count = Object.values(NET.arrays).reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0);
  const held = NET.groups.map(({ without }) => without);
  const told = NET.groups.map(({ auc }) => auc);
  return fill(words.note, {
    count: count.toLocaleString("en"), words: own.words[0].toLocaleString("en"), net: per(own.after),
    aucLeast: fixed(Math.min(...told)), aucMost: fixed(Math.max(...told)),
    netEnd: per([own.test]), least: per([Math.min(...held)]), most: per([Math.max(...held)]), counts: per(counts["words, test"]), countsEnd: per([counts.end]),
  });
}

// ------------------------------------------------------------------------------------------------ the page

/** @param {string} id @param {Words} words */
function pageHTML(id, words) {
  const names = Object.fromEntries(Object.keys(PRESETS).map((word) => [word, word]));
  const look = slider({ id, key: "at", range: READER.limits.at, step: 1, symbol: "", name: words.at, role: "a" });
  const unit = slider({ id, key: "unit", range: READER.limits.unit, step: 1, symbol: "", name: words.unit, role: "a" });
  return (
    `<div class="ex-typed"><label for="${id}-word">${words.word}</label>` +
    `<input type="text" id="${id}-word" maxlength="${LONGEST}" spellcheck="false" autocomplete="off" ` +
    `autocapitalize="off" aria-describedby="${id}-word-strange">${remarkPlace(`${id}-word`)}</div>` +
    presetRow(PRESETS, { ...names, try: words.try, again: words.again }) +
    `<div class="ex-stage">${picture(id, "ex-read", words.diagram)}` +
    `<div class="ex-keys" role="group" aria-label="${words.keys}"></div></div>` +
    saying(id) +
    `<div class="ex-main">${look}<button type="button" data-keep aria-pressed="false"></button></div>` +
    `<details><summary></summary>${unit}` +
    `<svg class="ex-cell" role="img" aria-label="${words.cell}"></svg><p class="ex-unit"></p></details>` +
    note(smallPrint(words))
  );
}

/** @param {Stage} stage */
function render(stage) {
  const { model, el } = stage;
  const { words, voice } = setUp("reader", READER.words, stage, pageHTML);
  const [drawing, cell] = [".ex-read", ".ex-cell"].map((one) => query(el, one, SVGSVGElement));
  const [keys, summary, told] = [".ex-keys", "summary", ".ex-unit"].map((one) => query(el, one, HTMLElement));
  const [typed, look] = ["input[type=text]", "[data-key=at]"].map((one) => query(el, one, HTMLInputElement));
  const keep = query(el, "[data-keep]", HTMLButtonElement);
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let layout = READER.layout.wide;
  /** @type {{ word: string, kept: number, at: number, o: Reading } | undefined} */
  let now; // what was read
  /** @type {{ from: Vector[], begun: number } | undefined} */
  let flow; // of the belief, from what it was
  let over = 0; // the letter under the pointer or with the focus
  let released = 0; // the letter that was just pressed: not framed until the pointer has left it
  let shown = Infinity; // letters, while it plays
  let fresh = true; // nothing was played yet, and nobody touched it
  let hint = 0;
  let [playing, resting, moving] = [0, 0, 0]; // timers, and a frame

  const halt = () => {
    clearTimeout(playing);
    [shown, fresh] = [Infinity, false];
  };

  /** Read the word letter by letter, once. */
  function play() {
    halt();
    if (calm.matches) return;
    shown = 0;
    const next = () => {
      shown++;
      if (now && shown < now.o.base.length) playing = setTimeout(next, PER_LETTER);
      else shown = Infinity;
      redraw();
    };
    playing = setTimeout(next, PER_LETTER);
    redraw();
  }

  /** The letter that the buttons are about. @param {State} s @param {number} T */
  const target = (s, T) => (s.kept && s.kept <= T ? s.kept : s.at < T ? s.at : hint || T);

  /** The beliefs, on their way from what they were if a letter was just pressed. @param {Reading} o */
  function beliefsOf({ now: steps }) {
    const u = flow ? clamp((performance.now() - flow.begun) / 420, 0, 1) : 1;
    const eased = u * u * (3 - 2 * u);
    const from = flow?.from ?? [];
    if (u === 1) flow = undefined;
    return steps.map(({ p }, t) => (u === 1 ? p : p.map((v, k) => from[t][k] + (v - from[t][k]) * eased)));
  }

  /** @param {State} s */
  function scene(s) {
    if (!now) return;
    const { o } = now;
    const T = o.now.length;
    const view = {
      shown: Math.min(shown, T), focus: shown < T ? 0 : Math.min(over, T) || (s.at < T ? s.at : 0),
      beliefs: beliefsOf(o), hint: now.kept || shown < T ? 0 : hint,
    };
    show(drawing, layout, draw(o, s, view, layout, words));
    voice.say(sentence(o, s, view, words));
    cancelAnimationFrame(moving);
    if (flow) moving = requestAnimationFrame(() => scene(rounded(life.state)));
  }

  /** @param {State} s @returns {State} */
  const rounded = (s) => ({ ...s, kept: Math.round(s.kept), at: Math.round(s.at), unit: Math.round(s.unit) });

  /** @param {State} given @param {boolean} slim */
  function paint(given, slim) {
    layout = READER.layout[slim ? "slim" : "wide"];
    const s = rounded(given);
    const old = now;
    const [otherWord, otherKept] = [old?.word !== s.word, old?.kept !== s.kept];
    if (old && (otherWord || otherKept || old.at !== s.at)) halt();
    const o = old && !otherWord && !otherKept ? old.o : reading(s.word, s.kept);
    now = { word: s.word, kept: s.kept, at: s.at, o };
    if (otherWord || calm.matches) flow = undefined;
    else if (old && otherKept) flow = { from: old.o.now.map(({ p }) => p), begun: performance.now() };
    const T = o.now.length;
    if (otherWord) {
      clearTimeout(resting);
      hint = 0;
      const seek = () => { hint = o.letters.length ? telling(s.word) : 0; };
      if (typed.matches(":focus")) {
        resting = setTimeout(() => { // dear, so not while somebody types
          seek();
          redraw();
        }, 400);
      } else seek();
      if (typed.value !== s.word) typed.value = s.word;
      const unknown = [...new Set(o.letters.filter((c) => !TOKENS.has(c)))].join(" ");
      remark(typed, unknown && fill(words.unknown, { letters: unknown }));
      buildKeys(T);
    }
    look.max = String(T);
    showInputs(el, { ...s, at: Math.min(s.at, T) }, (v, key) => (key === "at" ? (v < T ? o.letters[v - 1] : words.end) : String(v)));
    scene(s);
    nameKeys(s, o);
    const t = target(s, T);
    const letter = nameOf(o.letters, t, words);
    keep.textContent = fill(s.kept === t ? words.write : words.keep, { letter });
    keep.dataset.keep = String(t);
    keep.setAttribute("aria-pressed", String(s.kept === t));
    summary.textContent = fill(words.open, { letter });
    opened(o.now[t - 1], s, letter, slim);
  }

  /** @param {Step} step @param {State} s @param {string} letter @param {boolean} slim */
  function opened(step, s, letter, slim) {
    const L = GATE.layout[slim ? "slim" : "wide"];
    const { state, cell: c } = cellOf(step, s.unit);
    const text = GATE.words[words === READER.words.zh ? "zh" : "en"];
    const x = escapedAll(letter === words.theEnd ? words.end : letter); // there is little room
    show(cell, L, drawCell(state, c, L, text, { x, past: `× ${index("W", "hn")}` }));
    told.textContent = fill(words.sayUnit, {
      unit: s.unit, letter, x: fixed(state.W_xn), b: state.b_n < 0 ? `(${fixed(state.b_n)})` : fixed(state.b_n), past: c.past < 0 ? `(${fixed(c.past)})` : fixed(c.past), n: fixed(c.n),
      keep: percent(c.keep), h_prev: fixed(state.h_prev), write: percent(c.write), h: fixed(c.h),
    });
  }

  /** A button over each column; one of them can be reached by Tab. @param {number} T */
  function buildKeys(T) {
    if (keys.childElementCount === T) return;
    keys.innerHTML = Array.from({ length: T }, (_, i) =>
      `<button type="button" data-t="${i + 1}" tabindex="${i ? -1 : 0}" data-lm-suppress-shortcuts="true"></button>`).join("");
  }

  /** @param {State} s @param {Reading} o */
  function nameKeys(s, { letters, now: steps }) {
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
      key.style.height = `${num(layout.slim ? (100 * (layout.belief + layout.high + 24)) / layout.H : 100)}%`;
    }
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
      play();
    }
  }
  const life = enliven({ model, el, start: START, paint, voice, preset, put, hear: { click: onClick } });
  const redraw = () => paint(life.state, layout.slim);

  /** @param {number} t */
  function lookAt(t) {
    if (t === over) return;
    over = t;
    scene(rounded(life.state));
  }
  const of = (/** @type {Event} */ event) => Number(pressed(event, "[data-t]")?.dataset.t ?? 0);
  typed.addEventListener("input", () => life.commit({ word: typed.value, kept: 0, at: START.at }));
  keys.addEventListener("pointermove", (event) => {
    const t = of(event);
    if (event.pointerType === "touch" || t === released) return;
    released = 0;
    lookAt(t);
  });
  keys.addEventListener("pointerleave", () => {
    released = 0;
    lookAt(0);
  });
  keys.addEventListener("focusin", (event) => {
    if (event.target instanceof Element && event.target.matches(":focus-visible")) lookAt(of(event));
  });
  keys.addEventListener("focusout", () => lookAt(0));
  keys.addEventListener("keydown", (event) => {
    const [t, T] = [of(event), keys.childElementCount];
    /** @type {Record<string, number>} */
    const goals = { ArrowRight: t + 1, ArrowLeft: t - 1, Home: 1, End: T };
    if (!(event.key in goals)) return;
    event.preventDefault();
    const [from, to] = [t, clamp(goals[event.key], 1, T)].map((one) => /** @type {HTMLElement} */ (keys.children[one - 1]));
    from.tabIndex = -1;
    to.tabIndex = 0;
    to.focus();
  });

  const stop = life.wire();
  const watcher = new IntersectionObserver(([entry]) => {
    if (!entry.isIntersecting || !fresh || calm.matches) return;
    playing = setTimeout(() => { if (fresh) play(); }, BETWEEN);
  }, { threshold: 0.5 });
  watcher.observe(drawing);
  return () => {
    watcher.disconnect();
    for (const timer of [playing, resting]) clearTimeout(timer);
    cancelAnimationFrame(moving);
    stop();
  };
}

export default { render, fromLink };
