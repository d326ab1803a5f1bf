// @ts-check
// Build a sequence: tokens 0, 1 and a break, and two nets that read them, one set by hand, one trained (chapter 8).
import SEQUENCE from "./sequence.json";
import NETS from "./sequence-nets.json";
import {
  across, box, columnsOf, cross, escaped, frame, hatch, label, num, path, runsOf, show, signedRow,
  tick, unescaped,
} from "./draw.mjs";
import { clamp, gruStep, matvec } from "./gru-math.mjs";
import {
  choice, columnAt, enliven, fieldset, fill, fixed, grip, note, numbersFrom, picture, pointIn, presetRow, pressed,
  query, readLink, saying, setUp, share, showInputs, sideBySide, slider, withEntry,
} from "./explorer.mjs";
/** @import { Gru, GruBiases, GruMatrices, Matrix, Vector } from "./gru-math.mjs" */
/** @import { Asked, Stage } from "./explorer.mjs" */

/** @typedef {"keep" | "skip" | "afresh"} Task */
/**
 * @typedef {object} State
 * @property {number} at the framed step
 * @property {number} unit the unit that is told of
 * @property {Task} task
 * @property {"hand" | "trained"} net the net that is told of; the only one drawn where there is no room for two
 * @property {number[]} tokens 0, 1, and 2 for a break
 */
/**
 * A GRU that reads tokens, and its linear layer.
 *
 * @typedef {GruMatrices & GruBiases & { out: { W: Matrix, b: Vector } }} Reader
 */
/**
 * Gates and state after a step, and the net's answer.
 *
 * @typedef {{ r: Vector, z: Vector, h: Vector, says: number }} ReaderStep
 */
/** @typedef {ReturnType<typeof compute>} Computed */
/** Where the parts of a net's drawing stand. */
const L = SEQUENCE.layout;
/** @typedef {typeof SEQUENCE.words} Words */

const START = /** @type {State} */ (SEQUENCE.start);
const READERS = /** @type {Record<Task, Record<"hand" | "trained", Reader>>} */ (NETS.nets);
const ROLES = /** @type {Record<Task, ("low" | "high" | "come" | "parity" | "inside")[]>} */ (SEQUENCE.roles);
const TASKS = /** @type {Task[]} */ (Object.keys(READERS));
const T = START.tokens.length;
/** @type {{ task: Task[], net: State["net"][] }} */
const CHOICES = { task: TASKS, net: ["hand", "trained"] };
const RANGES = { at: [1, T], unit: [1, Math.max(...TASKS.map((task) => READERS[task].trained.b_r.length))] };
const TINY = 1e-9; // a hand-set gate is a switch
/** @type {Record<string, Partial<State>>} */
const PRESETS = Object.fromEntries(Object.entries(SEQUENCE.presets).map(([name, tokens]) => [name, { tokens }]));

/**
 * The tokens as the task reads them: for "skip" the breaks are brackets, "<" (2) and ">" (3) in turn.
 *
 * @param {Task} task @param {number[]} tokens
 */
function readAs(task, tokens) {
  let open = false;
  return tokens.map((token) => {
    if (task !== "skip" || token < 2) return token;
    open = !open;
    return open ? 2 : 3;
  });
}

/**
 * The right answers: the first token; the parity of the 1s outside brackets, or since the latest break.
 *
 * @param {Task} task @param {number[]} read
 */
function answers(task, read) {
  let inside = false;
  let odd = 0;
  return read.map((token) => {
    if (task === "keep") return read[0];
    if (task === "skip" && token >= 2) inside = token === 2;
    if (task === "afresh" && token === 2) odd = 0;
    if (token === 1 && !inside) odd = 1 - odd;
    return odd;
  });
}

/**
 * Gates and states of a net at every step, and its answers: the bits of the positive logits, the lowest first.
 *
 * @param {Reader} net @param {number[]} read
 */
function runReader(net, read) {
  /** @type {Gru} */
  const p = { ...net, convention: "keep", reset_after: false };
  let h = net.b_r.map(() => 0);
  return read.map((token) => {
    const step = gruStep(net.W_xr.map((_, i) => Number(i === token)), h, p);
    h = step.h;
    const logits = matvec(h, net.out.W).map((v, k) => v + net.out.b[k]);
    return { r: step.r, z: step.z, h, says: logits.reduce((sum, v, k) => sum + Number(v > 0) * 2 ** k, 0) };
  });
}

/** @param {State} s */
function compute(s) {
  const read = readAs(s.task, s.tokens);
  const net = READERS[s.task][s.net];
  const steps = runReader(net, read);
  const right = answers(s.task, read);
  const units = net.b_r.length;
  const wrong = right.flatMap((answer, t) => (answer === steps[t].says ? [] : [t + 1]));
  return { read, steps, right, units, wrong, unit: clamp(Math.round(s.unit), 1, units), at: Math.round(s.at) };
}

/**
 * What a link sets: tokens (24 of 0, 1, 2), task, net, at, unit, or preset=name.
 *
 * @param {unknown} _get @param {Asked} asked
 */
function fromLink(_get, asked) {
  const patch = readLink(asked, { presets: PRESETS, ranges: RANGES, whole: ["at", "unit"], choices: CHOICES });
  const tokens = numbersFrom(asked.tokens, [0, 2], T)?.map(Math.round);
  return { ...patch, ...(tokens && { tokens }) };
}

// ------------------------------------------------------------------------------------------------ the drawing

/** A token as it is drawn. @param {Task} task @param {number} token */
const symbol = (task, token) => escaped(SEQUENCE.symbols[task][token] ?? "?");
const [TANK, HALF] = [10, 12]; // a tank's height; half of the height for a state

/** @param {number} units */
const heightOf = (units) => L.units + L.pitch * units + 18;

/**
 * The nets that are drawn, each with where it begins: both, side by side; or the one that is told of.
 *
 * @param {State} s @param {boolean} slim
 */
function netsOf(s, slim) {
  return slim ? [{ net: s.net, left: 0 }] : CHOICES.net.map((net, i) => ({ net, left: i * (L.W + L.apart) }));
}

/**
 * One net: the tokens, its answers and the right ones, and its units.
 *
 * @param {State} s whose net is drawn @param {Computed} c @param {number} picked the unit that is told of, or 0
 * @param {Words} words
 */
function drawNet(s, c, picked, words) {
  const { edge, x, middle, right } = columnsOf(L, T);
  const steps = c.steps.map((_, i) => ({ ...c.steps[i], t: i + 1 }));
  const out = [label("ex-net", L.left, 14, "start", fill(words[`title_${s.net}`], { n: T - c.wrong.length, T }))];
  for (const { t } of steps) {
    const token = c.read[t - 1];
    out.push(label(`ex-token ex-token-${Math.min(token, 2)}`, middle(t), L.x + 17, "middle", symbol(s.task, token)));
  }
  out.push(`<rect class="ex-strip" x="${num(L.left)}" y="${L.x}" width="${num(L.column * T)}" height="24"/>`);
  out.push(path("ex-hatch", runsOf(c.wrong).map(({ from, to }) =>
    hatch(edge(from), L.says + 4, L.column * (to - from + 1), L.step + 18))));
  out.push(path("ex-cross", c.wrong.map((t) => cross(middle(t), L.says + L.step + 29, 4))));
  const shown = (/** @type {number} */ answer) => (s.task === "keep" ? symbol("keep", answer) : String(answer));
  const answered = [
    { y: L.says, word: words.says, row: steps.map((step) => step.says) },
    { y: L.says + L.step, word: words.right, row: c.right },
  ];
  for (const { y, word, row } of answered) {
    out.push(label("ex-small", L.left, y, "start", word));
    for (const { t } of steps) out.push(label("ex-answer", middle(t), y + 17, "middle", shown(row[t - 1])));
  }
  const roles = s.net === "hand" ? ROLES[s.task] : [];
  for (let k = 0; k < c.units; k++) {
    const y = L.units + L.pitch * k;
    const name = fill(words.unit, { i: k + 1 });
    const role = roles[k] ? words[roles[k]] : "";
    out.push(label(k + 1 === picked ? "ex-small ex-picked" : "ex-small", L.left, y - 6, "start",
      role ? `${name}: ${role}` : name));
    for (const gate of /** @type {("r" | "z")[]} */ (["r", "z"])) {
      const top = gate === "r" ? y : y + TANK + 3;
      out.push(label(`ex-it ex-${gate}`, L.left - 7, top + 10, "end", gate));
      out.push(path("ex-tank", steps.map(({ t }) => box(x(t), top, L.bar, TANK))));
      out.push(path(`ex-fill-${gate}`, steps.map((step) => {
        const high = TANK * step[gate][k];
        return box(x(step.t), top + TANK - high, L.bar, high);
      })));
    }
    const zero = y + 2 * TANK + 6 + HALF;
    out.push(label("ex-it ex-h", L.left - 7, zero + 4.5, "end", "h"));
    out.push(across(L.left, zero, right));
    out.push(signedRow(steps.map(({ t, h }) => [x(t), h[k]]), zero, L.bar, HALF, 0.75));
  }
  const H = heightOf(c.units);
  for (const { t } of steps) out.push(tick(t, 6, middle(t), H - 2));
  out.push(frame(edge(c.at), L.x - 2, L.column, H - L.x - 15));
  return out.join("");
}

/** @param {State} s @param {boolean} slim @param {Words} words */
function drawNets(s, slim, words) {
  return netsOf(s, slim).map(({ net, left }) => {
    const one = { ...s, net };
    const c = compute(one);
    return `<g transform="translate(${num(left)} 0)">${drawNet(one, c, net === s.net ? c.unit : 0, words)}</g>`;
  }).join("");
}

/** What is asked. @param {State} s @param {Words} words */
const taskOf = (s, words) => unescaped(words[`task_${s.task}`]);

/** How often the two nets are right. @param {State} s @param {Words} words */
function scores(s, words) {
  const [hand, trained] = CHOICES.net.map((net) => T - compute({ ...s, net }).wrong.length);
  return fill(words.score, { hand, trained, T });
}

/** @param {State} s @param {Computed} c what its net does @param {Words} words */
function sentence(s, c, words) {
  const step = c.steps[c.at - 1];
  const [k, right] = [c.unit - 1, c.right[c.at - 1]];
  const named = (/** @type {number} */ answer) =>
    (s.task === "keep" ? symbol("keep", answer) : words[answer ? "odd" : "even"]);
  return unescaped([
    scores(s, words),
    fill(words.say, {
      t: c.at, token: symbol(s.task, c.read[c.at - 1]), i: c.unit, z: share(step.z[k], TINY), r: share(step.r[k], TINY),
      before: fixed(c.at > 1 ? c.steps[c.at - 2].h[k] : 0, 2), after: fixed(step.h[k], 2), net: words[`the_${s.net}`],
    }),
    fill(step.says === right ? words.good : words.bad, { says: named(step.says), right: named(right) }),
  ].join(" "));
}

/**
 * Where the nets come from, and how often the trained one is right: measured, with the weights that run here.
 *
 * @param {State} s @param {Words} words
 */
function provenance(s, words) {
  return CHOICES.net.map((net) => fill(words[`note_${net}`], {
    units: READERS[s.task][net].b_r.length, seed: NETS.seed[s.task],
    n: NETS.tried[s.task].filter((row) => row.right === 1).length, longer: share(NETS.measured[s.task].longer, TINY),
  })).join(" ");
}

// ------------------------------------------------------------------------------------------------ the page

/** @param {string} id @param {Words} words */
function pageHTML(id, words) {
  /** @type {(key: "at" | "unit", letter: string, name: string) => string} */
  const one = (key, letter, name) =>
    slider({ id, key, range: RANGES[key], step: 1, symbol: `<i>${letter}</i>`, name, role: "a" });
  const radios = (/** @type {"task" | "net"} */ key) =>
    choice({ id, key, legend: words[key], options: CHOICES[key].map((name) => [name, words[name]]) });
  const tokens = [0, 1, 2].map((token) => `<button type="button" data-token="${token}"></button>`);
  const framed = [one("at", "t", words.step), one("unit", "j", fill(words.unit, { i: "" }).trim())];
  return (
    presetRow(PRESETS, words) +
    `<p class="ex-task"></p>` +
    sideBySide(
      picture(id, "ex-rows", words.diagram) + note("") + saying(id),
      `<div class="ex-switches">${radios("task")}${radios("net")}</div>` +
      `<div class="ex-main">${fieldset(words.frame, ...framed)}` +
      `<div class="ex-tokens" role="group" aria-label="${words.token}"><span aria-hidden="true">${words.token}</span>` +
      `${tokens.join("")}</div></div>`,
    ) +
    `<details><summary>${words.origin}</summary><p class="ex-note ex-origin"></p></details>`
  );
}

/**
 * The unit i of a net; after its last one, and before its first, those of the other net.
 *
 * @param {Task} task @param {State["net"]} net @param {number} i
 */
function beside(task, net, i) {
  const units = (/** @type {State["net"]} */ one) => READERS[task][one].b_r.length;
  if (i < 1) return { net: CHOICES.net[0], unit: net === "hand" ? 1 : units("hand") };
  if (i > units(net)) return { net: CHOICES.net[1], unit: net === "hand" ? 1 : units("trained") };
  return { net, unit: i };
}

/** @param {Stage} stage */
function render({ model, el }) {
  const { words } = SEQUENCE;
  const voice = setUp("sequence", words, el, pageHTML);
  const rows = query(el, ".ex-rows", SVGSVGElement);
  /** @type {HTMLElement[]} */
  const palette = [...el.querySelectorAll("button")].filter((button) => button.dataset.token);
  const unit = query(el, "[data-key=unit]", HTMLInputElement);
  const [task, hint, origin, switched] = [".ex-task", ".ex-shown .ex-note", ".ex-origin", ".ex-choice:has([data-choice=net])"]
    .map((one) => query(el, one, HTMLElement));
  let narrow = false;
  /** @type {Computed} */
  let shown;

  /** @param {State} s @param {boolean} slim */
  function paint(s, slim) {
    narrow = slim;
    shown = compute(s);
    const nets = netsOf(s, slim);
    const units = nets.map(({ net }) => READERS[s.task][net].b_r.length);
    show(rows, { W: nets[nets.length - 1].left + L.W, H: heightOf(Math.max(...units)) }, drawNets(s, slim, words));
    unit.max = String(shown.units);
    unit.disabled = shown.units === 1;
    showInputs(el, { ...s, at: shown.at, unit: shown.unit }, String,
      (v, key) => (key === "at" ? `${words.step} ${v}` : fill(words.unit, { i: v })));
    for (const button of palette) {
      const token = Number(button.dataset.token);
      button.setAttribute("aria-pressed", String(token === s.tokens[shown.at - 1]));
      const read = readAs(s.task, withEntry(s.tokens, shown.at, token)); // a bracket opens or closes there
      button.textContent = SEQUENCE.symbols[s.task][read[shown.at - 1]];
    }
    switched.hidden = !slim; // else both are drawn
    task.textContent = taskOf(s, words);
    hint.textContent = unescaped(fill(words.hint, { third: words[s.task === "skip" ? "brackets" : "break"] }));
    origin.textContent = provenance(s, words);
    voice.say(sentence(s, shown, words));
  }

  const hear = { click: onPalette, keydown: onKey };
  const life = enliven({ model, el, start: START, paint, voice, preset: (name) => PRESETS[name], hear });
  /** @param {number} t @param {number} token */
  const set = (t, token) => life.commit({ at: t, tokens: withEntry(life.state.tokens, t, token) });
  const next = (/** @type {number} */ t) => (life.state.tokens[t - 1] + 1) % 3;

  /** @param {Event} event */
  function onPalette(event) {
    const { token } = pressed(event, "[data-token]")?.dataset ?? {};
    if (token !== undefined) set(shown.at, Number(token));
  }

  /** At the slider of the step: Space changes the token; up and down pick the unit, from one net into the other. */
  /** @param {KeyboardEvent} event */
  function onKey(event) {
    if (!pressed(event, "[data-key=at]")) return;
    const step = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : 0;
    if (event.key === " ") set(shown.at, next(shown.at));
    else if (step) life.commit(beside(life.state.task, life.state.net, shown.unit + step));
    else return;
    event.preventDefault();
  }

  /** The net under the pointer, and the step. @param {PointerEvent} event */
  function under(event) {
    const { x, y } = pointIn(rows, event);
    const nets = netsOf(life.state, narrow);
    const { net, left } = nets[x < L.W + L.apart / 2 ? 0 : nets.length - 1];
    return { net, x: x - left, y, t: columnAt(x - left, L, T) };
  }

  // In the strip of tokens a press changes one, and a drag paints it on; below, they move the frame.
  grip(rows, {
    press(event) {
      const { net, x, y, t } = under(event);
      if (x < L.left || x > L.left + L.column * T) return null;
      event.preventDefault();
      if (y <= L.says - 11) {
        const token = next(t);
        set(t, token);
        return token;
      }
      const k = Math.floor((y - L.units + 16) / L.pitch) + 1;
      const picked = k >= 1 && k <= READERS[life.state.task][net].b_r.length;
      life.commit({ at: t, ...(picked ? { net, unit: k } : {}) });
      return "at";
    },
    drag(event, held) {
      const { t } = under(event);
      if (held === "at") life.commit({ at: t });
      else if (life.state.tokens[t - 1] !== held) set(t, held);
    },
  });
  return life.wire();
}

/** Beside the preview stand the task and the scores. @param {State} s */
function preview(s) {
  return { said: `${taskOf(s, SEQUENCE.words)} ${scores(s, SEQUENCE.words)}` };
}

export default { render, fromLink, preview };
