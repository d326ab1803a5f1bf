// The beam as a tree: what is followed, what is cut, what wins (chapter 18).
// Keys of the model: tree, width, alpha, and lang.
import BEAM from "./beam.json";
import { beamSearch, greedyDecode } from "./search.mjs";
import {
  announcer, choice, enliven, fill, fixed, fromText, furnish, num, presetRow, showInputs, slider, uniqueId,
  wordsFor,
} from "./explorer.mjs";

const TREES = Object.keys(BEAM.trees);
const DEPTH = BEAM.depth;

const preset = (name) => BEAM.presets[name];

/** What a link sets: tree, width, alpha, or preset=name. Anything else is dropped. */
function fromLink(get, asked) {
  const patch = Object.hasOwn(BEAM.presets, asked.preset ?? "") ? { ...preset(asked.preset) } : {};
  if (TREES.includes(asked.tree)) patch.tree = asked.tree;
  for (const [key, range] of Object.entries(BEAM.limits)) {
    const value = fromText(asked[key] ?? "", range);
    if (value !== undefined) patch[key] = key === "width" ? Math.round(value) : value;
  }
  return patch;
}

/** All nodes below a prefix, parents first: { text, level, logProb, over }. Leaves carry their row, others a mean. */
function nodesOf(tree) {
  const nodes = [];
  let row = 0;
  const visit = (text, level, logProb) => {
    const over = level > 0 && tree.tokens[tree.end] === text.at(-1);
    const node = { text, level, logProb, leaf: over || level === DEPTH };
    nodes.push(node);
    if (node.leaf) return (node.row = row++);
    const rows = tree.tokens.map((token, k) => visit(text + token, level + 1, logProb + Math.log(tree.next[text][k])));
    return (node.row = (rows[0] + rows.at(-1)) / 2);
  };
  visit("", 0, 0);
  return nodes;
}

/** What a beam finds in a tree, what greedy finds, what there is, and which beginnings the beam followed. */
function search(s) {
  const tree = BEAM.trees[s.tree];
  const text = (tokens) => tokens.map((k) => tree.tokens[k]).join("");
  const followed = new Set();
  const step = (before, token) => {
    const prefix = before === null ? "" : before + tree.tokens[token];
    return [tree.next[prefix].map(Math.log), prefix];
  };
  const noting = (before, token) => {
    const result = step(before, token);
    followed.add(result[1]);
    return result;
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

function fate(node, c) {
  if (!node.level || c.followed.has(node.text) || c.scores.has(node.text)) return "kept";
  return c.followed.has(node.text.slice(0, -1)) ? "cut" : "never";
}

/** The tree, as SVG text; beam.py draws the same where there is no JavaScript. */
function drawTree(c, L, words) {
  const y = (node) => L.top + 8 + node.row * L.row;
  const byText = new Map(c.nodes.map((node) => [node.text, node]));
  const label = (cls, x, at, content) => `<text class="${cls}" x="${num(x)}" y="${num(at)}" text-anchor="start">${content}</text>`;
  const out = [1, 2, 3].map((t) => label("ex-small", L.x[t] - 4, 14, `${words.step} ${t}`));
  const marks = [];
  for (const node of c.nodes) {
    const [x, at, how] = [L.x[node.level], y(node), fate(node, c)];
    if (node.level) {
      const from = byText.get(node.text.slice(0, -1));
      const left = L.x[node.level - 1] + (node.level === 1 ? 6 : 58);
      out.push(`<path class="ex-branch ex-${how}" d="M${num(left)} ${num(y(from))}L${num(x - 7)} ${num(at)}"/>`);
      const token = node.text.at(-1);
      const score = L.score && c.scores.has(node.text) ? ` (${fixed(c.scores.get(node.text), 2)})` : "";
      const said = how === "never" ? token : `${token} ${fixed(node.logProb, 2)}${score}`;
      marks.push(label(`ex-node ex-${how}`, x + 8, at + 4, said));
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

function sentence(s, c, words) {
  const seen = c.nodes.filter((n) => n.level && c.followed.has(n.text.slice(0, -1))).length;
  const verdict = c.best.text === c.greedy.text ? "same" : c.best.logProb > c.greedy.logProb ? "higher" : "lower";
  return fill(words.say, {
    width: s.width, seen, all: c.nodes.length - 1, best: c.best.text, log_prob: fixed(c.best.logProb),
    score: fixed(c.best.score), greedy: c.greedy.text, greedy_log: fixed(c.greedy.logProb), verdict: words[verdict],
    exact: c.exact.text, exact_score: fixed(c.exact.score),
  });
}

function pageHTML(id, words) {
  const one = (key, name, step) =>
    slider({ id, key, range: BEAM.limits[key], step, symbol: key === "alpha" ? "<i>α</i>" : "<i>k</i>", name, role: "a" });
  const trees = choice({ id, key: "tree", legend: words.tree, options: TREES.map((name) => [name, words[name]]) });
  return (
    presetRow(Object.keys(BEAM.presets), words) +
    `<svg class="ex-tree" role="img" aria-label="${words.diagram}" aria-describedby="${id}-say"></svg>` +
    `<p class="ex-note" aria-hidden="true">${words.key}</p>` +
    `<p class="ex-say" id="${id}-say" aria-live="polite"></p>` +
    `<div class="ex-main"><fieldset><legend>${words.beam}</legend>${one("width", words.width, 1)}</fieldset>` +
    `<fieldset><legend>${words.norm} α</legend>${one("alpha", words.alpha, 0.05)}</fieldset></div>` +
    `<div class="ex-switches">${trees}</div>`
  );
}

function render({ model, el }) {
  const words = wordsFor(BEAM.words, model, el);
  furnish(el, "beam", words.title, pageHTML(uniqueId("beam"), words));
  const drawing = el.querySelector(".ex-tree");
  const voice = announcer(el.querySelector(".ex-say"));

  function paint(s, slim) {
    const L = BEAM.layout[slim ? "slim" : "wide"];
    const shown = { ...s, width: Math.round(s.width) };
    const c = search(shown);
    drawing.setAttribute("viewBox", `0 0 ${L.W} ${L.H}`);
    drawing.innerHTML = drawTree(c, L, words);
    showInputs(el, shown, (v, key) => (key === "width" ? String(v) : fixed(v, 2)));
    voice.say(sentence(shown, c, words));
  }

  return enliven({ model, el, start: BEAM.start, paint, voice, preset }).wire();
}

export default { render, fromLink };
