// @ts-check
// The beam as a tree: what is followed, what is cut, what wins (chapter 19).
import BEAM from "./beam.json";
import { label, num, path, show, through } from "./draw.mjs";
import { beamSearch, greedyDecode } from "./search.mjs";
import {
  choice, enliven, fieldset, fill, fixed, note, picture, presetRow, query, readLink, saying, setUp, showInputs,
  slider,
} from "./explorer.mjs";
/** @import { Step } from "./search.mjs" */
/** @import { Asked, Stage } from "./explorer.mjs" */

/**
 * The tree, the width of the beam, and the power of the length that a score is divided by.
 *
 * @typedef {typeof BEAM.start} State
 */
/**
 * A tree of sequences: for each beginning, the probabilities of the next token.
 *
 * @typedef {{ tokens: string[], end: number | null, next: Record<string, number[]> }} Tree
 */
/**
 * A beginning: its text and log-probability; the row it is drawn in, for others than leaves a mean.
 *
 * @typedef {{ text: string, level: number, logProb: number, leaf: boolean, row: number }} TreeNode
 */
/** @typedef {ReturnType<typeof search>} Computed */
/** @typedef {typeof BEAM.layout.wide} Layout */
/** @typedef {typeof BEAM.words.en} Words */

/** @type {Record<string, Tree>} */
const TREES = BEAM.trees;
const NAMES = /** @type {(keyof typeof BEAM.trees)[]} */ (Object.keys(TREES));
const DEPTH = BEAM.depth;
/** @type {Record<string, Partial<State>>} */
const PRESETS = BEAM.presets;

/** What a link sets: tree, width, alpha, or preset=name. @param {unknown} _get @param {Asked} asked */
function fromLink(_get, asked) {
  return readLink(asked, {
    presets: PRESETS, ranges: BEAM.limits, whole: ["width"], choices: { tree: NAMES },
  });
}

/** All nodes below a prefix, parents first. @param {Tree} tree */
function nodesOf(tree) {
  /** @type {TreeNode[]} */
  const nodes = [];
  let row = 0;
  /** @type {(text: string, level: number, logProb: number) => number} */
  const visit = (text, level, logProb) => {
    const over = level > 0 && tree.end !== null && tree.tokens[tree.end] === text.at(-1);
    const node = { text, level, logProb, leaf: over || level === DEPTH, row };
    nodes.push(node);
    if (node.leaf) return row++;
    const rows = tree.tokens.map((token, k) => visit(text + token, level + 1, logProb + Math.log(tree.next[text][k])));
    return (node.row = (rows[0] + rows[rows.length - 1]) / 2);
  };
  visit("", 0, 0);
  return nodes;
}

/**
 * What a beam finds in a tree, what greedy finds, what there is, and which beginnings the beam followed.
 *
 * @param {State} s
 */
function search(s) {
  const tree = TREES[s.tree];
  const text = (/** @type {number[]} */ tokens) => tokens.map((k) => tree.tokens[k]).join("");
  /** @type {Set<string>} */
  const followed = new Set();
  /** @type {Step<string | null>} */
  const step = (before, token) => {
    const prefix = before === null ? "" : before + tree.tokens[token];
    return [tree.next[prefix].map(Math.log), prefix];
  };
  /** @type {Step<string | null>} */
  const noting = (before, token) => {
    const [logProbs, after] = step(before, token);
    followed.add(after ?? "");
    return [logProbs, after];
  };
  const options = { end: tree.end, maxSteps: DEPTH };
  const found = beamSearch(noting, null, 0, { ...options, width: s.width, alpha: s.alpha });
  const greedy = greedyDecode(step, null, -1, options);
  const nodes = nodesOf(tree);
  const scored = nodes.filter((n) => n.leaf).map((n) => ({ ...n, score: n.logProb / n.level ** s.alpha }));
  const exact = scored.reduce((best, n) => (n.score > best.score ? n : best));
  const scores = new Map(found.map((f) => [text(f.tokens), f.score]));
  return {
    nodes, followed, scores, exact, best: { ...found[0], text: text(found[0].tokens) },
    greedy: { text: text(greedy.tokens), logProb: greedy.logProb },
  };
}

/** @param {TreeNode} node @param {Computed} c */
function fate(node, c) {
  if (!node.level || c.followed.has(node.text) || c.scores.has(node.text)) return "kept";
  return c.followed.has(node.text.slice(0, -1)) ? "cut" : "never";
}

/** @param {Computed} c @param {Layout} L @param {Words} words */
function drawTree(c, L, words) {
  const y = (/** @type {number} */ row) => L.top + 8 + row * L.row;
  const rows = new Map(c.nodes.map((node) => [node.text, node.row]));
  const out = [1, 2, 3].map((t) => label("ex-small", L.x[t] - 4, 14, "start", `${words.step} ${t}`));
  const marks = [];
  for (const node of c.nodes) {
    const [x, at, how] = [L.x[node.level], y(node.row), fate(node, c)];
    const scored = c.scores.get(node.text);
    if (node.level) {
      const left = L.x[node.level - 1] + (node.level === 1 ? 6 : 58);
      out.push(path(`ex-branch ex-${how}`, through([[left, y(rows.get(node.text.slice(0, -1)) ?? 0)], [x - 7, at]])));
      const token = node.text.at(-1);
      const score = L.score && scored !== undefined ? ` (${fixed(scored, 2)})` : "";
      const said = how === "never" ? `${token}` : `${token} ${fixed(node.logProb, 2)}${score}`;
      marks.push(label(`ex-node ex-${how}`, x + 8, at + 4, "start", said));
    }
    marks.push(node.text && node.text === c.best.text
      ? `<rect class="ex-won" x="${num(x - 4)}" y="${num(at - 4)}" width="8" height="8"/>`
      : `<circle class="ex-dot ex-${how}" cx="${num(x)}" cy="${num(at)}" r="2"/>`);
    if (c.greedy.text.startsWith(node.text)) {
      marks.push(`<circle class="ex-greedy" cx="${num(x)}" cy="${num(at)}" r="6"/>`);
    }
  }
  return out.join("") + marks.join("");
}

/** @param {State} s @param {Computed} c @param {Words} words */
function sentence(s, c, words) {
  const seen = c.nodes.filter((n) => n.level && c.followed.has(n.text.slice(0, -1))).length;
  const verdict = c.best.text === c.greedy.text ? "same" : c.best.logProb > c.greedy.logProb ? "higher" : "lower";
  return fill(words.say, {
    width: s.width, seen, all: c.nodes.length - 1, best: c.best.text, log_prob: fixed(c.best.logProb),
    score: fixed(c.best.score), greedy: c.greedy.text, greedy_log: fixed(c.greedy.logProb), verdict: words[verdict],
    exact: c.exact.text, exact_score: fixed(c.exact.score),
  });
}

/** @param {string} id @param {Words} words */
function pageHTML(id, words) {
  /** @type {(key: "width" | "alpha", symbol: string, name: string, step: number) => string} */
  const one = (key, symbol, name, step) =>
    slider({ id, key, range: BEAM.limits[key], step, symbol, name, role: "a" });
  const options = NAMES.map((name) => [name, words[name]]);
  return (
    presetRow(PRESETS, words) +
    picture(id, "ex-tree", words.diagram) +
    note(words.key) +
    saying(id) +
    `<div class="ex-main">${fieldset(words.beam, one("width", "<i>k</i>", words.width, 1))}` +
    `${fieldset(`${words.norm} α`, one("alpha", "<i>α</i>", words.alpha, 0.05))}</div>` +
    `<div class="ex-switches">${choice({ id, key: "tree", legend: words.tree, options })}</div>`
  );
}

/** @param {Stage} stage */
function render(stage) {
  const { model, el } = stage;
  const { words, voice } = setUp("beam", BEAM.words, stage, pageHTML);
  const drawing = query(el, ".ex-tree", SVGSVGElement);

  /** @param {State} s @param {boolean} slim */
  function paint(s, slim) {
    const L = BEAM.layout[slim ? "slim" : "wide"];
    const shown = { ...s, width: Math.round(s.width) };
    const c = search(shown);
    show(drawing, L, drawTree(c, L, words));
    showInputs(el, shown, (v, key) => (key === "width" ? String(v) : fixed(v, 2)));
    voice.say(sentence(shown, c, words));
  }

  return enliven({ model, el, start: BEAM.start, paint, voice, preset: (name) => PRESETS[name] }).wire();
}

export default { render, fromLink };
