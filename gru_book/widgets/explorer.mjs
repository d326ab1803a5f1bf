// @ts-check
// What every explorer shares: numbers in words, labelled controls, movement, and the link to the model.
import { num } from "./draw.mjs";
import { clamp } from "./gru-math.mjs";

/**
 * Where an explorer keeps its state: anywidget's model in a notebook, that of afm_host.js in a page.
 * @typedef {object} Model
 * @property {(key: string) => any} get
 * @property {(key: string, value: unknown) => void} set
 * @property {() => void} save_changes
 * @property {(event: string, listener: () => void) => void} on "change:KEY" is an event
 * @property {(event: string, listener: () => void) => void} off
 */
/** Where an explorer is drawn. @typedef {{ model: Model, el: HTMLElement }} Stage */
/** Sentences, by their names. @typedef {Record<string, string>} Words */
/** What a link asks for, keys and values. @typedef {Record<string, string>} Asked */
/** The least and the greatest value. JSON knows no pairs. @typedef {number[]} Range */
/** The colour of a quantity; "a" is that of everything else. @typedef {"r" | "z" | "n" | "h" | "x" | "g" | "a"} Role */
/**
 * What `enliven` returns.
 *
 * @template S
 * @typedef {{ state: S, commit: (patch: Partial<S>) => void, moveTo: (patch: Partial<S>) => void, halt: () => void,
 *   wire: () => (() => void) }} Life
 */
/** Speaks for an explorer. @typedef {ReturnType<typeof announcer>} Announcer */

/** v with a fixed number of decimals and a true minus sign; never "−0.000". @param {number} v */
export function fixed(v, digits = 3) {
  const text = v.toFixed(digits);
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "\u2212");
}

/** A share in per cent, exact near the ends: 99.9 %, never "100 %". @param {number} v */
export function percent(v) {
  if (v > 0.9995) return ">99.9\u00a0%";
  if (v < 0.0005) return "<0.1\u00a0%";
  return `${(100 * v).toFixed(v > 0.99 || v < 0.01 ? 1 : 0)}\u00a0%`;
}

/** `percent`, but 0 % and 100 % for what is closer to them than `tiny`. @param {number} v @param {number} tiny */
export function share(v, tiny) {
  if (v < tiny) return "0\u00a0%";
  if (v > 1 - tiny) return "100\u00a0%";
  return percent(v);
}

/** "{a} and {b}" with the values filled in. @param {string} template @param {Record<string, unknown>} values */
export function fill(template, values) {
  return template.replace(/\{(\w+)\}/g, (_, key) => String(values[key]));
}

/**
 * The list with another value in place t, counted from 1.
 *
 * @param {number[]} list @param {number} t @param {number} value
 */
export function withEntry(list, t, value) {
  return list.map((old, i) => (i + 1 === t ? value : old));
}

/**
 * The element that a selector finds in el, which must be there.
 *
 * @template {Element} E
 * @param {Element} el @param {string} selector @param {new () => E} kind
 */
export function query(el, selector, kind) {
  const found = el.querySelector(selector);
  if (!(found instanceof kind)) throw new Error(`No ${kind.name} at ${selector}.`);
  return found;
}

/**
 * The nearest element that a selector finds, from the one that an event happened to outwards.
 *
 * @param {Event} event @param {string} selector
 */
export function pressed({ target }, selector) {
  const found = target instanceof Element ? target.closest(selector) : null;
  return found instanceof HTMLElement ? found : null;
}

/**
 * Fill el: the named group that holds an explorer.
 *
 * @param {HTMLElement} el @param {string} module @param {string} title @param {string} content
 */
function furnish(el, module, title, content) {
  el.classList.add("gru-ex", `gru-${module}`);
  el.setAttribute("role", "group");
  el.setAttribute("aria-label", title);
  el.innerHTML = content;
  // Without this mark JupyterLab takes a control's arrow keys for its own. It must stand on the element
  // that has the focus.
  for (const control of el.querySelectorAll("input, button, summary, [tabindex]")) {
    control.setAttribute("data-lm-suppress-shortcuts", "true");
  }
}

/**
 * Build the page of an explorer in el; returns the voice that speaks in it.
 *
 * @template {Words & { title: string }} W
 * @param {string} module
 * @param {W} words
 * @param {HTMLElement} el
 * @param {(id: string, words: W) => string} pageHTML
 */
export function setUp(module, words, el, pageHTML) {
  furnish(el, module, words.title, pageHTML(uniqueId(module), words));
  const [seen, heard] = [".ex-say", ".ex-heard"].map((one) => query(el, one, HTMLElement));
  return announcer(seen, heard);
}

/**
 * The life of an explorer between its model and its controls: what is the same for all of them.
 *
 * Inputs with data-key set that key, radios with data-choice theirs, [data-preset] glides to a preset and
 * [data-again] to the state at the start. Everything is drawn by `paint`, which reads and never writes.
 *
 * @template {object} S the state
 * @param {object} o
 * @param {Model} o.model
 * @param {HTMLElement} o.el
 * @param {S} o.start its keys, and their values if the model has none
 * @param {(state: S, slim: boolean) => void} o.paint
 * @param {Announcer} o.voice
 * @param {(name: string, state: S) => Partial<S>} o.preset the patch of a preset
 * @param {(key: string, value: number, state: S) => object} [o.put] the patch of an input
 * @param {{ [E in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[E]) => void }} [o.hear] more listeners on
 *   el; those on its children need no clean-up
 * @returns {Life<S>} halt() stops a movement where it is; wire(), to be called once the page stands, paints and
 *   returns the clean-up
 */
export function enliven({ model, el, start, paint, voice, preset, put, hear = {} }) {
  const [SLIM, BROAD] = [560, 840]; // px; below this width of its own an explorer stacks; from this on it has two columns
  const keys = /** @type {(keyof S & string)[]} */ (Object.keys(start));
  const state = { ...start };
  for (const key of keys) state[key] = model.get(key) ?? start[key];
  const first = { ...state };
  /** @param {unknown} a @param {unknown} b */
  const same = (a, b) => Object.is(a, b) || (Array.isArray(a) && String(a) === String(b));
  let stopGlide = () => {};
  let slim = false;

  /** Take the layout that the width asks for. */
  function fit() {
    const width = el.clientWidth || 720;
    slim = width < SLIM;
    el.classList.toggle("ex-slim", slim);
    el.classList.toggle("ex-broad", width >= BROAD);
    if (slim) el.style.setProperty("--wide", `${width}px`);
  }

  function repaint() {
    fit();
    paint(state, slim);
    /** @type {NodeListOf<HTMLElement>} */
    const buttons = el.querySelectorAll("[data-preset]");
    for (const button of buttons) {
      const patch = preset(button.dataset.preset ?? "", state);
      const there = keys.every((key) => !(key in patch) || same(patch[key], state[key]));
      button.setAttribute("aria-pressed", String(there));
    }
  }

  /** Take over a change made here: tell the model, and draw. @param {Partial<S>} patch */
  function commit(patch) {
    stopGlide();
    Object.assign(state, patch);
    for (const [key, value] of Object.entries(patch)) model.set(key, value);
    model.save_changes();
    repaint();
  }

  /** Move to a patch in small steps; the model hears of it at the end. @param {Partial<S>} patch */
  function moveTo(patch) {
    stopGlide();
    stopGlide = glide(state, patch, (between, done) => {
      if (done) return commit(between);
      Object.assign(state, between);
      repaint();
    });
  }

  /** @param {Event} event */
  function onInput({ target }) {
    if (!(target instanceof HTMLInputElement) || !target.dataset.key) return;
    const { value, dataset: { key } } = target;
    commit(/** @type {Partial<S>} */ (put?.(key, Number(value), state) ?? { [key]: Number(value) }));
  }

  /** @param {Event} event */
  function onChange({ target }) {
    if (!(target instanceof HTMLInputElement) || !target.dataset.choice || !target.checked) return;
    commit(/** @type {Partial<S>} */ ({ [target.dataset.choice]: target.value }));
  }

  /** @param {Event} event */
  function onClick(event) {
    const dataset = pressed(event, "button")?.dataset ?? {};
    if (dataset.preset) moveTo(preset(dataset.preset, state));
    else if ("again" in dataset) moveTo(first);
  }

  function wire() {
    const own = { input: onInput, change: onChange, click: onClick };
    const listeners = /** @type {[string, EventListener][]} */ ([...Object.entries(hear), ...Object.entries(own)]);
    for (const [event, listener] of listeners) el.addEventListener(event, listener);
    const cleanUp = listen(model, keys, (key) => {
      if (same(model.get(key), state[key])) return;
      stopGlide();
      state[key] = model.get(key);
      repaint();
    });
    const watcher = new ResizeObserver(() => {
      const before = slim;
      fit();
      if (before !== slim) repaint(); // drawings stretch; only the layout changes
    });
    watcher.observe(el);
    repaint();
    return () => {
      stopGlide();
      voice.stop();
      cleanUp();
      watcher.disconnect();
      for (const [event, listener] of listeners) el.removeEventListener(event, listener);
      el.replaceChildren();
    };
  }

  return { state, commit, moveTo, halt: () => stopGlide(), wire };
}

/**
 * Where a pointer is in a drawing: x and y in the units of its view box, and how many of them a pixel is.
 *
 * @param {SVGSVGElement} drawing @param {MouseEvent} event
 */
export function pointIn(drawing, event) {
  const box = drawing.getBoundingClientRect();
  const pixel = drawing.viewBox.baseVal.width / box.width;
  return { x: (event.clientX - box.left) * pixel, y: (event.clientY - box.top) * pixel, pixel };
}

/**
 * The column that x is in, of `last` columns from `left` on: 1 … last, also beside them.
 *
 * @param {number} x @param {{ left: number, column: number }} L @param {number} last
 */
export function columnAt(x, { left, column }, last) {
  return clamp(Math.floor((x - left) / column) + 1, 1, last);
}

/**
 * Press, drag and release. From a press that takes hold of something, the pointer is followed until its release, also
 * outside the area.
 *
 * @template Held
 * @param {GlobalEventHandlers & Element} area
 * @param {object} o
 * @param {(event: PointerEvent) => Held | null} o.press returns what is held, or null, and itself prevents the
 *   browser's own answer: some presses that hold nothing must, and a button that is dragged must not
 * @param {(event: PointerEvent, held: Held) => void} o.drag
 * @param {() => void} [o.release]
 */
export function grip(area, { press, drag, release = () => {} }) {
  /** @type {Held | null} */
  let held = null;
  area.addEventListener("pointerdown", (event) => {
    held = press(event);
    if (held !== null) area.setPointerCapture(event.pointerId);
  });
  area.addEventListener("pointermove", (event) => {
    if (held === null) return;
    const passed = event.getCoalescedEvents(); // a quick pointer passes several places in a frame
    for (const one of passed.length ? passed : [event]) drag(one, held);
  });
  for (const end of ["pointerup", "pointercancel"]) {
    area.addEventListener(end, () => {
      held = null;
      release();
    });
  }
}

/**
 * Numbers, separated by commas, from the text of a link, each held in the range; undefined if they are not `length`.
 *
 * @param {string | undefined} text @param {Range} range @param {number} length
 */
export function numbersFrom(text, [lo, hi], length) {
  const parts = (text ?? "").split(",");
  const sound = parts.length === length && parts.every((part) => part.trim() && Number.isFinite(Number(part)));
  return sound ? parts.map((part) => clamp(Number(part), lo, hi)) : undefined;
}

/**
 * `numbersFrom`, or one number for all of them.
 *
 * @param {string | undefined} text @param {Range} range @param {number} length
 */
export function oneOrAllFrom(text, range, length) {
  const one = numbersFrom(text, range, 1);
  return one ? Array(length).fill(one[0]) : numbersFrom(text, range, length);
}

/**
 * What a link sets: first the preset it names, then single keys. Anything else is dropped.
 *
 * @template {object} S the state
 * @param {Asked} asked
 * @param {object} o
 * @param {Record<string, Partial<S>>} o.presets
 * @param {{ [K in keyof S]?: Range }} [o.ranges] of its numbers
 * @param {(keyof S)[]} [o.whole] those of them that are whole
 * @param {{ [K in keyof S]?: string[] }} [o.choices] what its words may be
 * @returns {Partial<S>}
 */
export function readLink(asked, { presets, ranges = {}, whole = [], choices = {} }) {
  /** @type {Record<string, unknown>} */
  const patch = Object.hasOwn(presets, asked.preset ?? "") ? { ...presets[asked.preset] } : {};
  for (const [key, range] of Object.entries(/** @type {Record<string, Range>} */ (ranges))) {
    const [value] = numbersFrom(asked[key], range, 1) ?? [];
    if (value !== undefined) patch[key] = whole.includes(/** @type {keyof S} */ (key)) ? Math.round(value) : value;
  }
  for (const [key, options] of Object.entries(/** @type {Record<string, string[]>} */ (choices))) {
    if (options.includes(asked[key])) patch[key] = asked[key];
  }
  return /** @type {Partial<S>} */ (patch);
}

/** The presets of an explorer and its way back, as a row of buttons. @param {object} presets @param {Words} words */
export function presetRow(presets, words) {
  const buttons = Object.keys(presets).map((name) =>
    `<button type="button" data-preset="${name}" aria-pressed="false">${words[name]}</button>`);
  return (
    `<div class="ex-presets" role="group" aria-label="${words.try}">` +
    `<span aria-hidden="true">${words.try}</span>${buttons.join("")}` +
    `<button type="button" class="ex-plain" data-again>${words.again}</button></div>`
  );
}

/**
 * The place of a drawing; what `voice` says describes it.
 *
 * @param {string} id @param {string} cls @param {string} name
 */
export function picture(id, cls, name) {
  return `<svg class="${cls}" role="img" aria-label="${name}" aria-describedby="${id}-say"></svg>`;
}

/** The place where `voice` speaks: once for those who see the drawing, once for screen readers. @param {string} id */
export function saying(id) {
  return `<p class="ex-say" aria-hidden="true"></p><p class="ex-heard" id="${id}-say" aria-live="polite"></p>`;
}

/** A note for those who see the drawing. @param {string} text */
export function note(text) {
  return `<p class="ex-note" aria-hidden="true">${text}</p>`;
}

/**
 * The drawing and what is said of it, to the left of what sets it where the explorer is broad, and above it where not.
 * On a phone the drawing stays on the screen while what sets it passes below.
 *
 * @param {string} shown @param {string} set
 */
export function sideBySide(shown, set) {
  return `<div class="ex-beside"><div class="ex-shown">${shown}</div><div class="ex-set">${set}</div></div>`;
}

/** The place beside a field for what `remark` says. @param {string} field its id */
export function remarkPlace(field) {
  return `<span class="ex-strange" id="${field}-strange"></span>`;
}

/**
 * Say beside a field what of its text cannot be used, and what holds instead; nothing if all of it can.
 *
 * @param {HTMLInputElement} field @param {(string | Node)[]} parts
 */
export function remark(field, ...parts) {
  const said = parts.filter((part) => part !== "");
  if (field.parentElement) query(field.parentElement, ".ex-strange", HTMLElement).replaceChildren(...said);
  if (said.length) field.setAttribute("aria-invalid", "true");
  else field.removeAttribute("aria-invalid");
}

/** Controls under a common name. @param {string} legend @param {string[]} controls */
export function fieldset(legend, ...controls) {
  return `<fieldset><legend>${legend}</legend>${controls.join("")}</fieldset>`;
}

let ids = 0;

/** A name that no other element of the page has. @param {string} prefix */
function uniqueId(prefix) {
  ids += 1;
  return `${prefix}-${ids}-${Math.random().toString(36).slice(2, 7)}`;
}

/** A symbol with a subscript, as HTML. @param {string} letter @param {string | number} i */
export function sub(letter, i) {
  return `<i>${letter}</i><sub><i>${i}</i></sub>`;
}

/**
 * A native range input with its label and its number.
 *
 * @param {object} o
 * @param {string} o.id of the explorer
 * @param {string} o.key of the state
 * @param {Range} o.range @param {number} o.step
 * @param {string} o.symbol as HTML
 * @param {string} o.name a word, may be empty
 * @param {Role} o.role
 */
export function slider({ id, key, range, step, symbol, name, role }) {
  const word = name ? `<span class="ex-name">${name}</span>` : "";
  return (
    `<div class="ex-slider ex-${role}">` +
    `<label for="${id}-${key}"><span class="ex-letter">${symbol}</span>${word}</label>` +
    `<input type="range" id="${id}-${key}" data-key="${key}" ` +
    `min="${range[0]}" max="${range[1]}" step="${step}">` +
    `<span class="ex-value" data-value="${key}" aria-hidden="true"></span></div>`
  );
}

/**
 * A group of radio buttons.
 *
 * @param {object} o
 * @param {string} o.id of the explorer @param {string} o.key of the state @param {string} o.legend
 * @param {string[][]} o.options pairs of a value and its HTML
 */
export function choice({ id, key, legend, options }) {
  const buttons = options.map(
    ([value, text]) =>
      `<label><input type="radio" name="${id}-${key}" data-choice="${key}" value="${value}">` +
      `<span>${text}</span></label>`,
  );
  return `<fieldset class="ex-choice"><legend>${legend}</legend>${buttons.join("")}</fieldset>`;
}

/**
 * Put values, by their keys, into the sliders, the numbers beside them, and the radio buttons.
 *
 * @param {HTMLElement} el @param {object} values
 * @param {(v: number, key: string) => string} textOf the number beside a slider (three decimals unless given)
 * @param {(v: number, key: string) => string} spokenOf what a screen reader says of it (the same unless given)
 */
export function showInputs(el, values, textOf = (v) => fixed(v), spokenOf = textOf) {
  const of = /** @type {Record<string, any>} */ (values);
  /** @type {NodeListOf<HTMLInputElement>} */
  const inputs = el.querySelectorAll("input");
  for (const input of inputs) {
    const { key, choice: chosen } = input.dataset;
    if (chosen) input.checked = input.value === of[chosen];
    if (!key) continue;
    input.setAttribute("aria-valuetext", spokenOf(of[key], key));
    setSlider(input, of[key]);
  }
  /** @type {NodeListOf<HTMLElement>} */
  const numbers = el.querySelectorAll("[data-value]");
  for (const number of numbers) {
    const { value: key = "" } = number.dataset;
    number.textContent = textOf(of[key], key);
  }
}

/**
 * Move a slider to v and fill its track from zero (or from its lower end) to the thumb.
 *
 * @param {HTMLInputElement} input @param {number} v
 */
function setSlider(input, v) {
  input.value = String(v);
  const [lo, hi] = [Number(input.min), Number(input.max)];
  const at = (/** @type {number} */ value) => (100 * (clamp(value, lo, hi) - lo)) / (hi - lo);
  const [zero, thumb] = [at(0), at(v)];
  input.style.setProperty("--from", `${num(Math.min(zero, thumb))}%`);
  input.style.setProperty("--to", `${num(Math.max(zero, thumb))}%`);
}

/**
 * Move numbers from where they are to `target` in 420 ms; at once when no number has a way to go, or the reader asked
 * for less motion.
 *
 * @template {object} S
 * @param {S} from the state; read, never written
 * @param {Partial<S>} target the keys to move and their goals; what is no number is set at once
 * @param {(patch: Partial<S>, done: boolean) => void} each called for every frame
 * @returns {() => void} stop where it is
 */
function glide(from, target, each) {
  const start = /** @type {Record<string, any>} */ ({ ...from });
  const moves = Object.entries(target).some(([key, goal]) => typeof goal === "number" && goal !== start[key]);
  if (!moves || matchMedia("(prefers-reduced-motion: reduce)").matches) {
    each(target, true);
    return () => {};
  }
  const begun = performance.now();
  let frame = requestAnimationFrame(function tick(now) {
    const t = clamp((now - begun) / 420, 0, 1);
    if (t === 1) return each(target, true);
    const eased = t * t * (3 - 2 * t);
    const between = Object.entries(target).map(([key, goal]) =>
      [key, typeof goal === "number" ? start[key] + (goal - start[key]) * eased : goal]);
    each(Object.fromEntries(between), false);
    frame = requestAnimationFrame(tick);
  });
  return () => cancelAnimationFrame(frame);
}

/**
 * Writes sentences: to be seen, with the drawing; to be heard, once they have stood still for 250 ms. The first is heard
 * at once.
 *
 * @param {HTMLElement} seen @param {HTMLElement} heard an aria-live element
 */
function announcer(seen, heard) {
  /** @type {number | undefined} */
  let timer;
  /** @param {HTMLElement} el @param {string} text */
  const write = (el, text) => { if (el.textContent !== text) el.textContent = text; };
  return {
    /** @param {string} text */
    say(text) {
      write(seen, text);
      clearTimeout(timer);
      if (heard.textContent) timer = setTimeout(() => write(heard, text), 250);
      else write(heard, text);
    },
    /** What changes nothing in the drawing is heard alone. @param {string} text */
    hear(text) {
      clearTimeout(timer);
      timer = setTimeout(() => write(heard, text), 250);
    },
    stop: () => clearTimeout(timer),
  };
}

/**
 * Call changed(key) whenever the model's key changes from outside. Returns the way to stop.
 *
 * @template {string} K
 * @param {Model} model @param {K[]} keys @param {(key: K) => void} changed
 */
function listen(model, keys, changed) {
  const listeners = keys.map((key) => ({ event: `change:${key}`, listener: () => changed(key) }));
  for (const { event, listener } of listeners) model.on(event, listener);
  return () => listeners.forEach(({ event, listener }) => model.off(event, listener));
}
