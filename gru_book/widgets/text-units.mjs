// @ts-check
// What the units of a model follow in a text: patterns over its characters, and how well each unit agrees with one.
/** @import { Vector } from "./gru-math.mjs" */

/** What holds of each character, and what is shifted by chance. @typedef {Float64Array[]} Columns */

/**
 * A number for each character: 1 where the pattern holds of it and 0 elsewhere; or how far it stands in its line, or
 * after a stop.
 *
 * @param {string} name @param {string[]} text characters @param {string} find what "find" looks for
 * @returns {Vector}
 */
export function patternOver(name, text, find) {
  let [named, stop, column] = [false, 0, 0];
  const wanted = [...find];
  const found = text.map(() => 0);
  text.forEach((c, i) => {
    column = c === "\n" ? 0 : column + 1;
    stop = ".:;?!".includes(c) ? 0 : stop + 1;
    named = /\p{Lu}/u.test(c) || (named && /\p{L}/u.test(c));
    /** @type {Record<string, number>} */
    const holds = {
      name: Number(named), stop, word: Number(/[\p{L}\p{N}_]/u.test(c)),
      space: Number(/\s/u.test(text[i - 1] ?? "x") && !/\s/u.test(c)), column,
    };
    if (name in holds) found[i] = holds[name];
    else if (wanted.length && wanted.every((one, k) => text[i + k] === one)) found.fill(1, i, i + wanted.length);
  });
  return found;
}

/** Mean 0 and length 1; all 0 if nothing varies. @param {ArrayLike<number>} v */
function standard(v) {
  const list = Float64Array.from(v);
  const mean = list.reduce((a, b) => a + b, 0) / list.length;
  const long = Math.sqrt(list.reduce((sum, one) => sum + (one - mean) ** 2, 0));
  return list.map((one) => (long > 1e-9 ? (one - mean) / long : 0));
}

/** Each unit's states over a text, made comparable. @param {ArrayLike<number>[]} states of each character, (H,) */
export const columnsFrom = (states) =>
  Array.from({ length: states[0]?.length ?? 0 }, (_, j) => standard(states.map((h) => h[j])));

/** The correlation of each unit with a pattern. @param {Columns} columns @param {ArrayLike<number>} pattern */
export function correlations(columns, pattern) {
  const p = standard(pattern);
  return columns.map((column) => {
    let sum = 0;
    for (let i = 0; i < p.length; i++) sum += column[i] * p[i];
    return sum;
  });
}

/**
 * What chance reaches: the largest |correlation| of any unit with the pattern, moved round the text by 1/12, … 11/12 of
 * its length; the median of the eleven.
 *
 * @param {Columns} columns @param {Vector} pattern
 */
export function byChance(columns, pattern) {
  const best = Array.from({ length: 11 }, (_, k) => {
    const by = Math.round(((k + 1) * pattern.length) / 12);
    return Math.max(...correlations(columns, [...pattern.slice(by), ...pattern.slice(0, by)]).map(Math.abs));
  });
  return best.sort((a, b) => a - b)[5];
}
