// @ts-check
// What the language model computes: the text that it writes on, what made it expect a character, and how its units follow
// a pattern. Nothing here draws.
import LANGUAGE from "./language.json";
import NET from "./language-net.json";
import { clamp, languageBackward, languageStep, pick, readLanguageNet, tempered, uniform } from "./gru-math.mjs";
import { byChance, columnsFrom, correlations, patternOver } from "./text-units.mjs";
/** @import { LanguageNet, LanguageStep, Vector } from "./gru-math.mjs" */
/** @import { Layout, State } from "./language.mjs" */

/**
 * A text that is being written: its tokens, and a step for each of them that was read. The first were `typed`, as they
 * were typed.
 *
 * @typedef {{ prefix: string, temperature: number, seed: number, typed: string[], tokens: number[],
 *   steps: LanguageStep[] }} Run
 */
/** The probability without each of the last characters; and, where it is asked for, the gradient's length at each. */
/** @typedef {{ p: number, without: { i: number, p: number }[], lengths?: Vector }} Pulls */
/** How all units agree with a pattern: the best at the top. @typedef {{ r: Vector, order: number[], chance: number }} Ranking */
/** All units over a text, the marks of a pattern on it, and the units that agree best. */
/** @typedef {{ key: string, states: Float64Array[], marks: Vector, ranked: Ranking, best: number[] }} Heat */
/**
 * A state, the layout it is drawn in, and what was computed of it: the text, by measure and place what its predictions
 * hang on, and the units over the text.
 *
 * @typedef {{ s: State, L: Layout, run: Run, pulls: Map<string, Pulls>, heat?: Heat }} Work
 */
/**
 * What is drawn of it: so many characters are read, `s.at`; `where` those stand that have room; `of`, how tall the bar of
 * each is; `pulls`, if the view asks why.
 *
 * @typedef {Omit<Work, "pulls"> & { characters: string[], where: [row: number, column: number][], pulls?: Pulls,
 *   of: Vector }} Scene
 */

const LENGTH = LANGUAGE.limits.at[1]; // characters in all
export const TOKENS = new Map([...NET.vocabulary].map((c, k) => [c, k]));

/** @type {LanguageNet | undefined} */
let net; // its numbers are read when the first character is
export const theNet = () => (net ??= readLanguageNet(NET));

// ------------------------------------------------------------------------------------------------ the writing

/**
 * A text begun; what it begins with in common with the old one is not read again.
 *
 * @param {State} state @param {Run} [old]
 */
function begin({ prefix, temperature, seed }, old) {
  const typed = [...(prefix || "\n")];
  const tokens = typed.map((c) => TOKENS.get(c) ?? 0);
  const before = old ?? { tokens: [], steps: [] };
  let same = 0;
  while (same < Math.min(tokens.length, before.steps.length) && before.tokens[same] === tokens[same]) same++;
  /** @type {Run} */
  const run = { prefix, temperature, seed, typed, tokens, steps: before.steps.slice(0, same) };
  if (same === typed.length) drawNext(run);
  return run;
}

/** Draw the token after the last one that was read. @param {Run} run */
function drawNext(run) {
  const last = run.steps.length - 1;
  const p = tempered(run.steps[last].a, run.temperature, 0);
  run.tokens.push(pick(p, uniform(run.seed, run.steps.length - run.typed.length)));
}

/**
 * Read, and beyond the prefix draw, until the text is full or the time (ms) is up; the prefix and one character at
 * least. Returns whether it is full.
 *
 * @param {Run} run @param {number} time
 */
function writeOn(run, time) {
  const end = performance.now() + time;
  while (run.steps.length < LENGTH) {
    if (run.steps.length > run.typed.length && performance.now() > end) return false;
    const t = run.steps.length;
    const step = languageStep(run.tokens[t], run.steps.at(-1)?.h ?? new Float64Array(theNet().H), theNet());
    run.steps.push(step);
    if (run.steps.length === run.tokens.length) drawNext(run);
  }
  return true;
}

// ------------------------------------------------------------------------------------------------ what made it so

/**
 * What the model's own probability of the character after the first `at` hangs on: the length of the gradient of its
 * logarithm with respect to each of these characters.
 *
 * @param {Run} run @param {number} at
 */
function gradientLengths({ tokens, steps }, at) {
  const m = theNet();
  const p = tempered(steps[at - 1].a, 1, 0);
  const dh = new Float64Array(m.H);
  for (let i = 0; i < m.H; i++) {
    for (let k = 0; k < m.V; k++) dh[i] += (Number(k === tokens[at]) - p[k]) * m["out.W"][i * m.V + k];
  }
  return languageBackward(steps.slice(0, at), dh, m).map((dx) => Math.hypot(...dx));
}

/**
 * The same probability once one character is not read, for each of the last `count`.
 *
 * @param {Run} run @param {number} at @param {number} count
 */
function withoutEach({ tokens, steps }, at, count) {
  const m = theNet();
  return Array.from({ length: Math.min(at, count) }, (_, k) => {
    const i = Math.max(0, at - count) + k;
    /** @type {{ h: ArrayLike<number>, a: ArrayLike<number> }} */
    let step = i ? steps[i - 1] : { h: new Float64Array(m.H), a: m["out.b"] };
    for (let t = i + 1; t < at; t++) step = languageStep(tokens[t], step.h, m);
    return { i, p: tempered(step.a, 1, 0)[tokens[at]] };
  });
}

/** How much one left out changes the probability p with all. @param {{ p: number }} left @param {number} p */
export const change = (left, p) => Math.abs(left.p - p);

/** The one whose leaving out changes most. @param {{ i: number, p: number }[]} without @param {number} p with all */
export const decisive = (without, p) => without.reduce((a, b) => (change(b, p) > change(a, p) ? b : a));

/** The units in the order in which they agree with a pattern. @param {ArrayLike<number>[]} states @param {Vector} pattern */
function ranking(states, pattern) {
  const columns = columnsFrom(states);
  const r = correlations(columns, pattern);
  const order = r.map((_, j) => j).sort((i, j) => r[j] - r[i] || i - j);
  return { r, order, chance: byChance(columns, pattern) };
}

/** Those that agree best, or do the opposite best. @param {Ranking} ranking */
const bestOf = ({ r, order }) =>
  [...order].sort((i, j) => Math.abs(r[j]) - Math.abs(r[i])).slice(0, LANGUAGE.best);

// ------------------------------------------------------------------------------------------------ what is drawn of it

/** The characters of the text. @param {Run} run */
export const charactersOf = ({ tokens, typed }) => tokens.map((k, i) => typed[i] ?? NET.vocabulary[k]);

/**
 * The row and the column of each character, as many as there is room for.
 *
 * @param {number[]} tokens @param {Layout} L
 */
export function places(tokens, L) {
  /** @type {[row: number, column: number][]} */
  const found = [];
  const line = TOKENS.get("\n");
  for (let i = 0, row = 0, column = 0; i < tokens.length && row < L.rows; i++) {
    found.push([row, column++]);
    if (column === L.columns || (tokens[i] === line && tokens[i + 1] !== line)) [row, column] = [row + 1, 0];
  }
  return found;
}

/** How many characters are read and have room. @param {Run} run @param {Layout} L */
const roomFor = (run, L) => Math.min(run.steps.length, places(run.tokens, L).length);

/** Whether a view asks of a character why it came; the others show the step that read it. @param {State} s */
export const asksWhy = ({ view }) => view === "why" || view === "draw";

/** So many characters are read: as many as asked for, or as there is room for. @param {Run} run @param {State} s @param {Layout} L */
export function readTo(run, s, L) {
  const last = asksWhy(s) ? Math.min(run.steps.length, places(run.tokens, L).length - 1) : roomFor(run, L);
  return clamp(s.at, 1, Math.max(1, last));
}

/**
 * The tokens that are likeliest next, by the model's own order; what stands there is always among them.
 *
 * @param {Run} run @param {number} at @param {number} count
 */
export function candidates(run, at, count) {
  const { a } = run.steps[at - 1];
  const [own, there] = [tempered(a, 1, 0), tempered(a, run.temperature, 0)];
  const order = own.map((_, k) => k).sort((i, j) => own[j] - own[i] || i - j).slice(0, count);
  const next = run.tokens[at];
  if (!order.includes(next)) order[order.length - 1] = next;
  return { order, own, there, next };
}

/**
 * How much the prediction hangs on each character, by the measure that is asked for; 1 is the tallest bar.
 *
 * @param {Pulls} pulls @param {State} s @param {number} at
 */
function weights({ p, without, lengths }, { measure }, at) {
  if (measure === "gradient" && lengths) {
    const top = Math.max(...lengths) || 1;
    return lengths.map((v) => v / top);
  }
  const top = Math.max(p, ...without.map((left) => change(left, p)));
  const all = new Float64Array(at);
  for (const left of without) all[left.i] = change(left, p) / top;
  return [...all];
}

/** A state in a layout; what holds of the old work is kept. @param {State} s @param {Layout} L @param {Work} [old] @returns {Work} */
export function begun(s, L, old) {
  const known = old?.run;
  const same = known && known.prefix === s.prefix && known.temperature === s.temperature && known.seed === s.seed;
  const run = same ? known : begin(s, known);
  return { s, L, run, pulls: same && old?.L === L ? old.pulls : new Map(), heat: old?.heat };
}

/** Write on, ms long; once the text is full, rank the units if they are shown. Returns whether it is full. */
/** @param {Work} work @param {number} time */
export function advance(work, time) {
  const full = writeOn(work.run, time);
  if (full && work.s.view === "units") work.heat = heatOf(work);
  return full;
}

/** What the text says of a pattern: of the characters that have room. @param {Work} work */
function seen({ run, s, L }) {
  const read = roomFor(run, L);
  const states = run.steps.slice(0, read).map(({ h }) => h);
  const marks = patternOver(s.pattern, charactersOf(run), s.find).slice(0, read);
  return { read, states, marks, even: marks.every((v) => v === marks[0]) };
}

/** All units over the text. @param {Work} work @returns {Heat} */
function heatOf(work) {
  const { run, s, L, heat } = work;
  const key = JSON.stringify([run.tokens, roomFor(run, L), s.pattern, s.find, L.slim]);
  if (heat?.key === key) return heat;
  const { states, marks, even } = seen(work);
  const ranked = ranking(states, marks);
  return { key, states, marks, ranked, best: even ? [] : bestOf(ranked) };
}

/** The unit that agrees best with the pattern; none if that marks all or nothing. @param {Work} work */
export function bestUnit(work) {
  const { states, marks, even } = seen(work);
  const [unit] = bestOf(ranking(states, marks));
  return even ? undefined : unit;
}

/** What the prediction that is looked at hangs on. @param {Work} work @param {State} s */
function pullsOf({ run, L, pulls }, { at, measure }) {
  const key = `${measure} ${at}`;
  const known = pulls.get(key) ?? {
    p: tempered(run.steps[at - 1].a, 1, 0)[run.tokens[at]],
    without: withoutEach(run, at, L.lens.count),
    ...(measure === "gradient" && { lengths: gradientLengths(run, at) }),
  };
  pulls.set(key, known);
  return known;
}

/** What is drawn; with another `at`, if one is given. @param {Work} work @param {number} over @returns {Scene} */
export function sceneOf(work, over) {
  const { run, L } = work;
  const s = { ...work.s, at: readTo(run, { ...work.s, at: over || work.s.at }, L) };
  const pulls = asksWhy(s) ? pullsOf(work, s) : undefined;
  const of = pulls ? weights(pulls, s, s.at) : [];
  return { s, L, run, heat: work.heat, characters: charactersOf(run), where: places(run.tokens, L), pulls, of };
}
