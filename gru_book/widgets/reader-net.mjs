// @ts-check
// What the reader's net makes of a word: after each letter gates, state and belief, as it is and with one letter kept out.
import NET from "./../results/words_net.json";
import READER from "./reader.json";
import { languageStep, readLanguageNet, tempered } from "./gru-math.mjs";
import { unitCell } from "./gate-cell.mjs";
import GATE from "./gate.json";
/** @import { LanguageNet, LanguageStep, Vector } from "./gru-math.mjs" */

/**
 * What the net did at one letter: `p` is what it believes then, `write` the mean of 1 - z.
 *
 * @typedef {Omit<LanguageStep, "a"> & { token: number, h_prev: Float64Array, p: Vector, write: number }} Step
 */
/** A word read as it is, `base`, and with one letter's writing withheld, `now`. */
/** @typedef {{ letters: string[], base: Step[], now: Step[] }} Reading */

const [K, H] = [NET.languages.length, 64];
export const TOKENS = new Map([...NET.letters].map((c, k) => [c, k]));
const [END, UNKNOWN] = [TOKENS.size, TOKENS.size + 1];

/** @type {LanguageNet | undefined} */
let stored;
const theNet = () => (stored ??= readerNet());

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
  return [...plain.replace(/[’‘ʼ]/g, "'").replace(/[–‑]/g, "-")].slice(0, READER.longest);
}

/** Mean of a list. @param {ArrayLike<number>} v */
const mean = (v) => Array.from(v).reduce((a, b) => a + b, 0) / v.length;

/**
 * Read a word and its end; at the letter `kept` every unit keeps its state.
 *
 * @param {string[]} letters @param {number} kept @returns {Step[]}
 */
function read(letters, kept) {
  const m = theNet();
  /** @type {{ h: Float64Array, p: Vector }} */
  let before = { h: new Float64Array(H), p: tempered(m["out.b"], 1) };
  return [...letters.map((c) => TOKENS.get(c) ?? UNKNOWN), END].map((token, i) => {
    const s = languageStep(token, before.h, m);
    const keeps = i + 1 === kept;
    const z = keeps ? s.z.map(() => 1) : s.z;
    const p = keeps ? before.p : tempered(s.a, 1);
    const step = { token, r: s.r, z, n: s.n, h_prev: before.h, h: keeps ? before.h : s.h, p, write: 1 - mean(z) };
    before = step;
    return step;
  });
}

/** @param {string} word @param {number} kept @returns {Reading} */
export function reading(word, kept) {
  const letters = lettersOf(word);
  const base = read(letters, 0);
  return { letters, base, now: kept && kept <= base.length ? read(letters, kept) : base };
}

/** How far two beliefs are apart. @param {Vector} p @param {Vector} q */
const apart = (p, q) => p.reduce((sum, v, k) => sum + Math.abs(v - q[k]), 0) / 2;

/** The letter without which the net would end elsewhere the most; 0 in an empty word. @param {string} word */
export function telling(word) {
  const letters = lettersOf(word);
  const end = read(letters, 0)[letters.length].p;
  const effects = letters.map((_, i) => apart(read(letters, i + 1)[letters.length].p, end));
  return effects.indexOf(Math.max(...effects)) + 1;
}

/** The languages, the likeliest first. @param {Vector} p */
export const ranked = (p) => p.map((_, k) => k).sort((a, b) => p[b] - p[a]);

/** The unit's step in plain numbers, as drawCell takes them. @param {Step} s @param {number} unit */
export function cellOf(s, unit) {
  return unitCell(theNet(), s, unit, GATE.start);
}
