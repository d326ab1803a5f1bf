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

/** Move a slider to v and fill its track from zero (or from its lower end) to the thumb. */
export function setSlider(input, v) {
  input.value = v;
  input.setAttribute("aria-valuetext", fixed(v));
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
export function glide(from, target, each) {
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
export function listen(model, keys, changed) {
  const ears = keys.map((key) => [`change:${key}`, () => changed(key)]);
  ears.forEach(([event, ear]) => model.on(event, ear));
  return () => ears.forEach(([event, ear]) => model.off(event, ear));
}
