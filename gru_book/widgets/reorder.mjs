// @ts-check
// Reorder the tokens: the last state of a sum, of a linear net and of Elman's net, for two orders (chapter 1).
import REORDER from "./reorder.json";
import { bar, label, path, show } from "./draw.mjs";
import { clamp, elmanStep } from "./gru-math.mjs";
import {
  enliven, fieldset, fill, fixed, grip, numbersFrom, picture, presetRow, pressed, query, readLink, saying, setUp,
  showInputs, slider,
} from "./explorer.mjs";
/** @import { Vector } from "./gru-math.mjs" */
/** @import { Asked, Stage } from "./explorer.mjs" */

/** The order of the tokens, and the factor f of W_h = f I. @typedef {typeof REORDER.start} State */
/** @typedef {"sum" | "linear" | "elman"} Net */
/**
 * The last states for the original order and for this one, and their largest difference.
 *
 * @typedef {{ original: Vector, yours: Vector, difference: number }} Pair
 */
/** @typedef {Record<Net, Pair>} Found */
/** @typedef {typeof REORDER.layout.wide} Layout */
/** @typedef {typeof REORDER.words} Words */

const TOKENS = REORDER.tokens;
const H = REORDER.embeddings[0].length;
const UNIT = Array.from({ length: H }, (_, i) => Array.from({ length: H }, (__, j) => Number(i === j)));
const ORIGINAL = TOKENS.map((_, i) => i);
/** @type {Net[]} */
const NETS = ["sum", "linear", "elman"];
/** @type {Record<string, Partial<State>>} */
const PRESETS = Object.fromEntries(Object.entries(REORDER.presets).map(([name, order]) => [name, { order }]));

/**
 * The last state after the tokens in this order: h = g(embedding + factor h), from zero.
 *
 * @param {Net} net @param {number[]} order @param {number} factor
 */
function lastState(net, order, factor) {
  const W_h = UNIT.map((row) => row.map((v) => v * (net === "sum" ? 1 : factor)));
  const p = { W_x: UNIT, W_h, b: Array(H).fill(0), activation: net === "elman" ? "tanh" : "linear" };
  /** @type {Vector} */
  const zero = Array(H).fill(0);
  return order.reduce((h, token) => elmanStep(REORDER.embeddings[token], h, p), zero);
}

/** @param {Net} net @param {State} s @returns {Pair} */
function pairOf(net, s) {
  const [original, yours] = [ORIGINAL, s.order].map((order) => lastState(net, order, s.factor));
  return { original, yours, difference: Math.max(...original.map((v, i) => Math.abs(v - yours[i]))) };
}

/** @param {State} s @returns {Found} */
function compare(s) {
  return { sum: pairOf("sum", s), linear: pairOf("linear", s), elman: pairOf("elman", s) };
}

/** @param {number[]} list */
const isOrder = (list) => [...list].sort().every((token, i) => token === i);

/** What a link sets: order=4,3,2,1,0; factor; preset=name. @param {unknown} _get @param {Asked} asked */
function fromLink(_get, asked) {
  const patch = readLink(asked, { presets: PRESETS, ranges: REORDER.limits });
  const order = numbersFrom(asked.order, [0, TOKENS.length - 1], TOKENS.length);
  return { ...patch, ...(order && isOrder(order) && { order }) };
}

/**
 * The order with the token at one place taken out and put in at another.
 *
 * @param {number[]} order @param {number} from @param {number} to
 */
function moved(order, from, to) {
  const rest = order.filter((_, i) => i !== from);
  return [...rest.slice(0, to), order[from], ...rest.slice(to)];
}

// ------------------------------------------------------------------------------------------------ the drawing

const [BAR, STEP, HALF, UNITS] = [16, 23, 38, 1.5]; // widths; half the height; the value that fills it

/**
 * "the same", or by how much; a difference that the three decimals would hide is not called zero.
 *
 * @param {number} difference @param {Words} words @param {string} [equal]
 */
function verdict(difference, words, equal = words.equal) {
  return difference === 0 ? equal
    : fill(words.differ, { d: difference < 0.0005 ? "≈ 0" : fixed(difference) });
}

/** Three nets, each with its states for two orders. @param {Found} found @param {Layout} L @param {Words} words */
function drawNets(found, L, words) {
  return NETS.map((net, nth) => {
    const [left, top] = [L.x[nth], L.y[nth]];
    const middle = top + 66;
    const out = [label("ex-net", left + 110, top + 16, "middle", words[net])];
    for (const { which, start } of [{ which: "original", start: left }, { which: "yours", start: left + 120 }]) {
      const key = /** @type {"original" | "yours"} */ (which);
      out.push(path("ex-axis", `M${start} ${middle}h${4 * STEP + 8}`));
      out.push(label("ex-small", start + 2 * STEP + 4, top + 116, "middle", words[key]));
      found[net][key].forEach((v, unit) => {
        const size = (Math.min(Math.abs(v), UNITS) / UNITS) * HALF;
        const x = start + 8 + unit * STEP;
        out.push(v < 0
          ? bar("ex-down", x + 0.75, middle, BAR - 1.5, size)
          : bar("ex-fill-h", x, middle - size, BAR, size));
      });
    }
    out.push(label("ex-num", left + 110, top + 138, "middle", verdict(found[net].difference, words)));
    return out.join("");
  }).join("");
}

/** @param {State} s @param {Found} found @param {Words} words */
function sentence(s, found, words) {
  const verdicts = Object.fromEntries(NETS.map((net) => [net, verdict(found[net].difference, words, words.are)]));
  const text = s.order.map((token) => TOKENS[token]).join(" ");
  return fill(words.say, { sentence: text, factor: fixed(s.factor, 2), ...verdicts });
}

// ------------------------------------------------------------------------------------------------ the page

/** @param {string} id @param {Words} words */
function pageHTML(id, words) {
  const chips = TOKENS.map(() => '<button type="button" class="ex-chip"></button>').join("");
  const factor = slider({
    id, key: "factor", range: REORDER.limits.factor, step: 0.01, symbol: "<i>f</i>", name: words.factor, role: "a",
  });
  return (
    presetRow(PRESETS, words) +
    `<p class="ex-was">${fill(words.was, { words: `<b>${TOKENS.join(" ")}</b>` })}</p>` +
    `<div class="ex-tokens" role="group" aria-label="${words.tokens}">${chips}</div>` +
    `<p class="ex-note">${words.hint}</p>` +
    picture(id, "ex-nets", words.diagram) +
    saying(id) +
    `<div class="ex-main">${fieldset(words.matrix, factor)}</div>`
  );
}

/** @param {Stage} stage */
function render({ model, el }) {
  const { words } = REORDER;
  const voice = setUp("reorder", words, el, pageHTML);
  const nets = query(el, ".ex-nets", SVGSVGElement);
  const row = query(el, ".ex-tokens", HTMLElement);
  const chips = /** @type {HTMLElement[]} */ ([...row.children]);

  /** @param {State} s @param {boolean} slim */
  function paint(s, slim) {
    const found = compare(s);
    const L = REORDER.layout[slim ? "slim" : "wide"];
    show(nets, L, drawNets(found, L, words));
    chips.forEach((chip, i) => {
      const token = TOKENS[s.order[i]];
      chip.textContent = token;
      chip.setAttribute("aria-label", fill(words.place, { token, i: i + 1, n: TOKENS.length }));
    });
    showInputs(el, s);
    voice.say(sentence(s, found, words));
  }

  const life = enliven({ model, el, start: REORDER.start, paint, voice, preset: (name) => PRESETS[name] });

  /** @param {number} from @param {number} to */
  function move(from, to) {
    if (from === to || to < 0 || to >= TOKENS.length) return;
    life.commit({ order: moved(life.state.order, from, to) });
  }

  /** @param {KeyboardEvent} event */
  function onKey(event) {
    const from = chips.findIndex((chip) => chip === event.target);
    const step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
    if (from < 0 || !step) return;
    event.preventDefault();
    const to = clamp(from + step, 0, TOKENS.length - 1);
    move(from, to);
    chips[to].focus();
  }

  const mark = (/** @type {number} */ held) => chips.forEach((chip, i) => chip.classList.toggle("ex-held", i === held));
  /** @param {PointerEvent} event */
  const under = ({ clientX, clientY }) => chips.findIndex((chip) => {
    const { left, right, top, bottom } = chip.getBoundingClientRect();
    return clientX >= left && clientX <= right && clientY >= top - 12 && clientY <= bottom + 12;
  });

  row.addEventListener("keydown", onKey);
  grip(row, {
    press(event) {
      const held = pressed(event, ".ex-chip");
      const place = chips.findIndex((chip) => chip === held);
      mark(place);
      return place < 0 ? null : { place }; // the word that is held moves with the pointer
    },
    drag(event, held) {
      const over = under(event);
      if (over < 0 || over === held.place) return;
      move(held.place, over);
      held.place = over;
      mark(over);
      chips[over].focus({ preventScroll: true }); // it follows the word
    },
    release: () => mark(-1),
  });
  return life.wire();
}

export default { render, fromLink };
