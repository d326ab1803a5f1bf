// What every explorer shares: numbers in words, labelled controls, movement, and the link to the model.
import { clamp } from "./gru-math.mjs";

/** v with a fixed number of decimals and a true minus sign; never "−0.000". */
export function fixed(v, digits = 3) {
  const text = v.toFixed(digits);
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "\u2212");
}

/** A share in per cent, exact near the ends: 99.9 %, never "100 %". */
export function percent(v) {
  if (v > 0.9995) return ">99.9\u00a0%";
  if (v < 0.0005) return "<0.1\u00a0%";
  return `${(100 * v).toFixed(v > 0.99 || v < 0.01 ? 1 : 0)}\u00a0%`;
}

/** A coordinate for SVG: at most two decimals. */
export function num(v) {
  return String(Number(v.toFixed(2)) || 0);
}

/** "{a} and {b}" with the values filled in. */
export function fill(template, values) {
  return template.replace(/\{(\w+)\}/g, (_, key) => values[key]);
}

/** The words in the language of the model or, failing that, of the page around el; else English. */
export function wordsFor(table, model, el) {
  const asked = model.get("lang");
  if (asked) el.lang = asked;
  const lang = asked || el.closest("[lang]")?.lang || document.documentElement.lang || "en";
  return table[lang.slice(0, 2)] ?? table.en;
}

/** Fill el: the named group that holds an explorer. */
export function furnish(el, module, title, content) {
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
 * The life of an explorer between its model and its controls: what is the same for all of them.
 *
 * Inputs with data-key set that key, radios with data-choice theirs, [data-preset] glides to a preset and
 * [data-again] to the state at the start. Everything is drawn by `paint`, which reads and never writes.
 *
 * @param {object} o model, el; start (keys and their values if the model has none); paint(state, slim); voice, the
 *   announcer it speaks with; preset(name, state), the patch of a preset; put(key, value, state), the patch of an
 *   input (optional); hear, more listeners on el by their events (optional; those on its children need no clean-up)
 * @returns {object} state; commit(patch), moveTo(patch); halt(), which stops a movement where it is; wire(), to be
 *   called once the page stands, which paints and returns the clean-up
 */
export function enliven({ model, el, start, paint, voice, preset, put, hear = {} }) {
  const SLIM = 560; // px; below this width of its own an explorer stacks
  const keys = Object.keys(start);
  const state = Object.fromEntries(keys.map((key) => [key, model.get(key) ?? start[key]]));
  const first = { ...state };
  const same = (a, b) => Object.is(a, b) || (Array.isArray(a) && String(a) === String(b));
  let stopGlide = () => {};
  let slim = false;

  function repaint() {
    slim = (el.clientWidth || 720) < SLIM;
    el.classList.toggle("ex-slim", slim);
    paint(state, slim);
    for (const button of el.querySelectorAll("[data-preset]")) {
      const patch = Object.entries(preset(button.dataset.preset, state));
      button.setAttribute("aria-pressed", String(patch.every(([key, v]) => same(v, state[key]))));
    }
  }

  /** Take over a change made here: tell the model, and draw. */
  function commit(patch) {
    stopGlide();
    Object.assign(state, patch);
    for (const [key, value] of Object.entries(patch)) model.set(key, value);
    model.save_changes();
    repaint();
  }

  /** Move to a patch in small steps; the model hears of it at the end. */
  function moveTo(patch) {
    stopGlide();
    stopGlide = glide(state, patch, (between, done) => {
      if (done) return commit(between);
      Object.assign(state, between);
      repaint();
    });
  }

  function onInput({ target }) {
    const { key } = target.dataset;
    if (key) commit(put?.(key, Number(target.value), state) ?? { [key]: Number(target.value) });
  }

  function onChange({ target }) {
    if (target.dataset.choice && target.checked) commit({ [target.dataset.choice]: target.value });
  }

  function onClick({ target }) {
    const { dataset } = target.closest("button") ?? { dataset: {} };
    if (dataset.preset) moveTo(preset(dataset.preset, state));
    else if ("again" in dataset) moveTo(first);
  }

  function wire() {
    const heard = [...Object.entries(hear), ["input", onInput], ["change", onChange], ["click", onClick]];
    for (const [event, ear] of heard) el.addEventListener(event, ear);
    const deafen = listen(model, keys, (key) => {
      if (same(model.get(key), state[key])) return;
      stopGlide();
      state[key] = model.get(key);
      repaint();
    });
    const watcher = new ResizeObserver(() => {
      if ((el.clientWidth || 720) < SLIM !== slim) repaint(); // drawings stretch; only the layout changes
    });
    watcher.observe(el);
    repaint();
    return () => {
      stopGlide();
      voice.stop();
      deafen();
      watcher.disconnect();
      for (const [event, ear] of heard) el.removeEventListener(event, ear);
      el.replaceChildren();
    };
  }

  return { state, commit, moveTo, halt: () => stopGlide(), wire };
}

/** Where a pointer is in a drawing: x and y in the units of its view box, and how many of them a pixel is. */
export function pointIn(drawing, event) {
  const box = drawing.getBoundingClientRect();
  const pixel = drawing.viewBox.baseVal.width / box.width;
  return { x: (event.clientX - box.left) * pixel, y: (event.clientY - box.top) * pixel, pixel };
}

/** The column that x is in, of `last` columns from `left` on: 1 … last, also beside them. */
export function columnAt(x, { left, column }, last) {
  return clamp(Math.floor((x - left) / column) + 1, 1, last);
}

/**
 * Press, drag and release. From a press that takes hold of something, the pointer is followed until its release, also
 * outside the area.
 *
 * @param {Element} area
 * @param {object} o press(event), which returns what is held, or null, and itself prevents the browser's own answer:
 *   some presses that hold nothing must, and a button that is dragged must not; drag(event, held); release() (optional)
 */
export function grip(area, { press, drag, release = () => {} }) {
  let held = null;
  area.addEventListener("pointerdown", (event) => {
    held = press(event);
    if (held !== null) area.setPointerCapture(event.pointerId);
  });
  area.addEventListener("pointermove", (event) => { if (held !== null) drag(event, held); });
  for (const end of ["pointerup", "pointercancel"]) {
    area.addEventListener(end, () => {
      held = null;
      release();
    });
  }
}

/** A number or a list of numbers from the text of a link, each held between lo and hi; else undefined. */
export function fromText(text, [lo, hi], length) {
  const parts = text.split(",");
  if (parts.length !== (length ?? 1) || !parts.every((part) => part.trim() && Number.isFinite(Number(part)))) {
    return undefined;
  }
  const values = parts.map((part) => clamp(Number(part), lo, hi));
  return length ? values : values[0];
}

/** The presets of an explorer and its way back, as a row of buttons. */
export function presetRow(names, words) {
  const button = (name) =>
    `<button type="button" data-preset="${name}" aria-pressed="false">${words[name]}</button>`;
  return (
    `<div class="ex-presets" role="group" aria-label="${words.try}">` +
    `<span aria-hidden="true">${words.try}</span>${names.map(button).join("")}` +
    `<button type="button" class="ex-plain" data-again>${words.again}</button></div>`
  );
}

/** A name that no other element of the page has. */
export function uniqueId(prefix) {
  uniqueId.count = (uniqueId.count ?? 0) + 1;
  return `${prefix}-${uniqueId.count}-${Math.random().toString(36).slice(2, 7)}`;
}

/** A symbol with a subscript, as HTML. */
export function sub(letter, index) {
  return `<i>${letter}</i><sub><i>${index}</i></sub>`;
}

/**
 * A native range input with its label and its number.
 *
 * @param {object} o id, key (of the state), range [min, max], step, symbol (HTML), name (a word, may be
 *   empty), role (r, z, n, h or x: the colour)
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

/** A group of radio buttons. options: [value, HTML] pairs. */
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
 * @param {(v: number, key: string) => string} textOf the number beside a slider (three decimals unless given)
 * @param {(v: number, key: string) => string} spokenOf what a screen reader says of it (the same unless given)
 */
export function showInputs(el, values, textOf = (v) => fixed(v), spokenOf = textOf) {
  for (const input of el.querySelectorAll("[data-key]")) {
    const { key } = input.dataset;
    input.setAttribute("aria-valuetext", spokenOf(values[key], key));
    setSlider(input, values[key]);
  }
  for (const number of el.querySelectorAll("[data-value]")) {
    const key = number.dataset.value;
    number.textContent = textOf(values[key], key);
  }
  for (const radio of el.querySelectorAll("[data-choice]")) {
    radio.checked = radio.value === values[radio.dataset.choice];
  }
}

/** Move a slider to v and fill its track from zero (or from its lower end) to the thumb. */
function setSlider(input, v) {
  input.value = v;
  const [lo, hi] = [Number(input.min), Number(input.max)];
  const at = (value) => (100 * (clamp(value, lo, hi) - lo)) / (hi - lo);
  const [zero, thumb] = [at(0), at(v)];
  input.style.setProperty("--from", `${num(Math.min(zero, thumb))}%`);
  input.style.setProperty("--to", `${num(Math.max(zero, thumb))}%`);
}

/**
 * Move numbers from where they are to `target` in 420 ms; at once when the reader asked for less motion.
 *
 * @param {object} from the state; read, never written
 * @param {object} target the keys to move and their goals; what is no number is set at once
 * @param {(patch: object, done: boolean) => void} each called for every frame
 * @returns {() => void} stop where it is
 */
function glide(from, target, each) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
    each(target, true);
    return () => {};
  }
  const start = { ...from };
  const begun = performance.now();
  let frame = requestAnimationFrame(function tick(now) {
    const t = clamp((now - begun) / 420, 0, 1);
    if (t === 1) return each(target, true);
    const eased = t * t * (3 - 2 * t);
    const between = ([key, goal]) =>
      [key, typeof goal === "number" ? start[key] + (goal - start[key]) * eased : goal];
    each(Object.fromEntries(Object.entries(target).map(between)), false);
    frame = requestAnimationFrame(tick);
  });
  return () => cancelAnimationFrame(frame);
}

/** Writes sentences into an aria-live element once they have stood still for 250 ms; the first, at once. */
export function announcer(el) {
  let timer;
  const show = (text) => { if (el.textContent !== text) el.textContent = text; };
  return {
    say(text) {
      clearTimeout(timer);
      if (el.textContent) timer = setTimeout(() => show(text), 250);
      else show(text);
    },
    stop: () => clearTimeout(timer),
  };
}

/** Call changed(key) whenever the model's key changes from outside. Returns the way to stop. */
function listen(model, keys, changed) {
  const ears = keys.map((key) => [`change:${key}`, () => changed(key)]);
  ears.forEach(([event, ear]) => model.on(event, ear));
  return () => ears.forEach(([event, ear]) => model.off(event, ear));
}
