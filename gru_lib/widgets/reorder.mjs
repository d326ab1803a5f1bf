// Reorder the tokens: the last state of a sum, of a linear net and of Elman's net, for two orders (chapter 1).
// Keys of the model: order (of the tokens), factor (W_h = factor times I), and lang.
import REORDER from "./reorder.json";
import { clamp, elmanStep } from "./gru-math.mjs";
import {
  announcer, enliven, fill, fixed, fromText, furnish, grip, num, presetRow, showInputs, slider, uniqueId, wordsFor,
} from "./explorer.mjs";

const TOKENS = REORDER.tokens;
const H = REORDER.embeddings[0].length;
const UNIT = Array.from({ length: H }, (_, i) => Array.from({ length: H }, (_, j) => Number(i === j)));
const ORIGINAL = TOKENS.map((_, i) => i);
const NETS = ["sum", "linear", "elman"];

/** The last state after the tokens in this order: h = g(embedding + factor h), from zero. */
function lastState(net, order, factor) {
  const W_h = UNIT.map((row) => row.map((v) => v * (net === "sum" ? 1 : factor)));
  const p = { W_x: UNIT, W_h, b: Array(H).fill(0), activation: net === "elman" ? "tanh" : "linear" };
  return order.reduce((h, token) => elmanStep(REORDER.embeddings[token], h, p), Array(H).fill(0));
}

/** For each net: the last states for the original order and for this one, and their largest difference. */
function compare(s) {
  return Object.fromEntries(NETS.map((net) => {
    const [original, yours] = [ORIGINAL, s.order].map((order) => lastState(net, order, s.factor));
    const difference = Math.max(...original.map((v, i) => Math.abs(v - yours[i])));
    return [net, { original, yours, difference }];
  }));
}

const preset = (name) => ({ order: REORDER.presets[name] });
const isOrder = (list) => [...list].sort().every((token, i) => token === i);

/** What a link sets: order=4,3,2,1,0; factor; preset=name. Anything else is dropped. */
function fromLink(get, asked) {
  const patch = Object.hasOwn(REORDER.presets, asked.preset ?? "") ? preset(asked.preset) : {};
  const order = fromText(asked.order ?? "", [0, TOKENS.length - 1], TOKENS.length);
  if (order && isOrder(order)) patch.order = order;
  const factor = fromText(asked.factor ?? "", REORDER.limits.factor);
  if (factor !== undefined) patch.factor = factor;
  return patch;
}

/** The order with the token at one place taken out and put in at another. */
function moved(order, from, to) {
  const rest = order.filter((_, i) => i !== from);
  return [...rest.slice(0, to), order[from], ...rest.slice(to)];
}

// ------------------------------------------------------------------------------------------------ the drawing

const label = (cls, x, y, anchor, content) =>
  `<text class="${cls}" x="${num(x)}" y="${num(y)}" text-anchor="${anchor}">${content}</text>`;
const [BAR, STEP, HALF, UNITS] = [16, 23, 38, 1.5]; // widths; half the height; the value that fills it

/** "the same", or by how much; a difference that the three decimals would hide is not called zero. */
function verdict(difference, words) {
  return difference === 0 ? words.equal
    : fill(words.differ, { d: difference < 0.0005 ? "≈ 0" : fixed(difference) });
}

/** Three nets, each with its states for two orders; reorder.py draws the same where there is no JavaScript. */
function drawNets(found, L, words) {
  return NETS.map((net, nth) => {
    const [left, top] = [L.x[nth], L.y[nth]];
    const middle = top + 66;
    const out = [label("ex-net", left + 110, top + 16, "middle", words[net])];
    ["original", "yours"].forEach((which, i) => {
      const start = left + i * 120;
      out.push(`<path class="ex-axis" d="M${start} ${middle}h${4 * STEP + 8}"/>`);
      out.push(label("ex-small", start + 2 * STEP + 4, top + 116, "middle", words[which]));
      found[net][which].forEach((v, unit) => {
        const size = (Math.min(Math.abs(v), UNITS) / UNITS) * HALF;
        const x = start + 8 + unit * STEP;
        out.push(v < 0
          ? `<rect class="ex-down" x="${num(x + 0.75)}" y="${num(middle)}" width="${num(BAR - 1.5)}" height="${num(size)}"/>`
          : `<rect class="ex-fill-h" x="${num(x)}" y="${num(middle - size)}" width="${BAR}" height="${num(size)}"/>`);
      });
    });
    out.push(label("ex-num", left + 110, top + 138, "middle", verdict(found[net].difference, words)));
    return out.join("");
  }).join("");
}

function sentence(s, found, words) {
  const verdicts = Object.fromEntries(NETS.map((net) => [net, verdict(found[net].difference, words)]));
  const text = s.order.map((token) => TOKENS[token]).join(" ");
  return fill(words.say, { sentence: text, factor: fixed(s.factor, 2), ...verdicts });
}

// ------------------------------------------------------------------------------------------------ the page

function pageHTML(id, words) {
  const chips = TOKENS.map(() => '<button type="button" class="ex-chip"></button>').join("");
  return (
    presetRow(Object.keys(REORDER.presets), words) +
    `<div class="ex-tokens" role="group" aria-label="${words.tokens}">${chips}</div>` +
    `<p class="ex-note">${words.hint}</p>` +
    `<svg class="ex-nets" role="img" aria-label="${words.diagram}" aria-describedby="${id}-say"></svg>` +
    `<p class="ex-say" id="${id}-say" aria-live="polite"></p>` +
    `<div class="ex-main"><fieldset><legend>${words.matrix}</legend>` +
    slider({
      id, key: "factor", range: REORDER.limits.factor, step: 0.01, symbol: "<i>f</i>", name: words.factor, role: "a",
    }) + "</fieldset></div>"
  );
}

function render({ model, el }) {
  const words = wordsFor(REORDER.words, model, el);
  furnish(el, "reorder", words.title, pageHTML(uniqueId("reorder"), words));
  const [nets, row] = [el.querySelector(".ex-nets"), el.querySelector(".ex-tokens")];
  const chips = [...row.children];
  const voice = announcer(el.querySelector(".ex-say"));

  function paint(s, slim) {
    const found = compare(s);
    const L = REORDER.layout[slim ? "slim" : "wide"];
    nets.setAttribute("viewBox", `0 0 ${L.W} ${L.H}`);
    nets.innerHTML = drawNets(found, L, words);
    chips.forEach((chip, i) => {
      const token = TOKENS[s.order[i]];
      chip.textContent = token;
      chip.setAttribute("aria-label", fill(words.place, { token, i: i + 1, n: TOKENS.length }));
    });
    showInputs(el, s);
    voice.say(sentence(s, found, words));
  }

  const life = enliven({ model, el, start: REORDER.start, paint, voice, preset });

  function move(from, to) {
    if (from === to || to < 0 || to >= TOKENS.length) return;
    life.commit({ order: moved(life.state.order, from, to) });
  }

  function onKey(event) {
    const from = chips.indexOf(event.target);
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (from < 0 || !step) return;
    event.preventDefault();
    const to = clamp(from + step, 0, TOKENS.length - 1);
    move(from, to);
    chips[to].focus();
  }

  const mark = (held) => chips.forEach((chip, i) => chip.classList.toggle("ex-held", i === held));
  const under = ({ clientX, clientY }) => chips.findIndex((chip) => {
    const box = chip.getBoundingClientRect();
    return clientX >= box.left && clientX <= box.right && clientY >= box.top - 12 && clientY <= box.bottom + 12;
  });

  row.addEventListener("keydown", onKey);
  grip(row, {
    press(event) {
      const place = chips.indexOf(event.target.closest(".ex-chip"));
      mark(place);
      return place < 0 ? null : { place }; // the word that is held moves with the pointer
    },
    drag(event, held) {
      const over = under(event);
      if (over < 0 || over === held.place) return;
      move(held.place, over);
      held.place = over;
      mark(over);
    },
    release: () => mark(-1),
  });
  return life.wire();
}

export default { render, fromLink };
