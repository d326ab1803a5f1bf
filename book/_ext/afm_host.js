// @ts-check
// Brings the explorers of a page to life, where no kernel runs. An explorer is an element
// <div data-afm="name" data-state="{…}"> with a preview inside; its module (name.js) registers here.
// The model is anywidget's, without a kernel behind it: get, set, on, off, save_changes.
(function () {
  "use strict";

  /**
   * @typedef {Record<string, unknown>} State
   * @typedef {(...args: unknown[]) => void} Ear
   * @typedef {ReturnType<typeof createModel>} Model
   * @typedef {(get: Model["get"], asked: Record<string, string>) => State} FromLink what a link sets
   * @typedef {{ model: Model, start: State, fromLink?: FromLink }} Mounted
   */
  /**
   * What a module exports.
   *
   * @typedef {object} Explorer
   * @property {(o: { model: Model }) => unknown} [initialize]
   * @property {(o: { model: Model, el: HTMLElement }) => unknown} render
   * @property {FromLink} [fromLink]
   */

  /** @param {State} state */
  function createModel(state) {
    const values = { ...state };
    /** @type {Map<string, Ear[]>} */
    const ears = new Map(); // by their events
    /** @type {(event: string, ...args: unknown[]) => void} */
    const emit = (event, ...args) => [...(ears.get(event) ?? [])].forEach((ear) => ear(...args));
    return {
      get: (/** @type {string} */ key) => values[key],
      /** @param {string} key @param {unknown} value */
      set(key, value) {
        if (Object.is(values[key], value)) return;
        values[key] = value;
        emit(`change:${key}`, this, value);
        emit("change", this);
      },
      save_changes() {}, // nobody to tell
      /** @param {string} event @param {Ear} ear */
      on(event, ear) {
        ears.set(event, [...(ears.get(event) ?? []), ear]);
      },
      /** @param {string} event @param {Ear} [ear] */
      off(event, ear) {
        const rest = (ears.get(event) ?? []).filter((other) => ear && other !== ear);
        ears.set(event, rest);
      },
    };
  }

  /** @type {Map<Element, Mounted>} */
  const mounted = new Map();

  const WORDS = {
    link: "Link to this state", copied: "Copied; it is in the address bar too.", set: "It is in the address bar.",
  };

  /**
   * Numbers to seven digits, lists joined by commas: what follows the key in a link.
   *
   * @param {unknown} value
   * @returns {string}
   */
  function asText(value) {
    if (Array.isArray(value)) return value.map(asText).join(",");
    return typeof value === "number" ? String(Number(value.toPrecision(7))) : String(value);
  }

  /**
   * "#gate?x=0.3": the keys that differ from the page's own state, as a link sets them.
   *
   * @param {HTMLElement} el @param {Mounted} explorer
   */
  function hashOf(el, { model, start }) {
    const changed = Object.keys(start).filter((key) => asText(model.get(key)) !== asText(start[key]));
    const query = changed.map((key) => `${key}=${encodeURIComponent(asText(model.get(key)))}`).join("&");
    return `#${encodeURIComponent(el.id)}${query && `?${query.replaceAll("%2C", ",")}`}`;
  }

  /**
   * A button below an explorer that has an address: puts its state into the page's address, and copies that.
   *
   * @param {HTMLElement} el @param {Mounted} explorer
   */
  function offerLink(el, explorer) {
    const row = document.createElement("div");
    row.className = "gru-ex ex-share";
    row.innerHTML = `<button type="button" class="ex-plain">${WORDS.link}</button> <span role="status"></span>`;
    const [button, status] = row.children;
    button.addEventListener("click", async () => {
      history.replaceState(null, "", hashOf(el, explorer));
      let said = WORDS.set;
      try {
        await navigator.clipboard.writeText(location.href);
        said = WORDS.copied;
      } catch { /* no clipboard, or not allowed: the address bar has it */ }
      status.textContent = said;
    });
    el.append(row);
  }

  /** @type {Set<Element>} */
  const broad = new Set(); // explorers in view that may be wider than the text

  /** Tells the page's style sheet whether one of them is in view. */
  const eye = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) broad[isIntersecting ? "add" : "delete"](target);
    document.documentElement.toggleAttribute("data-explorer-in-view", broad.size > 0);
  });

  /**
   * Put an explorer in the place of its preview. If it fails, the picture stays.
   *
   * @param {HTMLElement} el @param {Explorer} explorer
   */
  async function mount(el, explorer) {
    const preview = [...el.childNodes];
    try {
      const start = JSON.parse(el.dataset.state ?? "");
      const model = createModel(start);
      const stage = document.createElement("div");
      el.replaceChildren(stage);
      await explorer.initialize?.({ model });
      await explorer.render({ model, el: stage });
      const live = { model, start, fromLink: explorer.fromLink };
      mounted.set(el, live);
      if (el.id) offerLink(el, live);
      if (el.querySelector(".ex-beside")) eye.observe(el);
      el.dataset.live = "";
    } catch (error) {
      el.replaceChildren(...preview);
      el.dataset.live = "failed";
      console.error(error);
    }
  }

  /**
   * "#gate?z=0.99&x=1" -> the explorer with id "gate" and { z: "0.99", x: "1" }; null for any other hash.
   *
   * @param {string} hash
   */
  function parse(hash) {
    const [id, query] = hash.slice(1).split("?");
    let el = null;
    try {
      el = query ? document.getElementById(decodeURIComponent(id)) : null;
    } catch { /* "#%?x=1" is no address that could be read */ }
    const live = el && mounted.get(el);
    return el && live ? { el, ...live, asked: Object.fromEntries(new URLSearchParams(query)) } : null;
  }

  /** @param {Model} model @param {State} state */
  function put(model, state) {
    for (const [key, value] of Object.entries(state)) model.set(key, value);
    model.save_changes();
  }

  /** Set what a link asks for, and bring the explorer into view. @param {string} hash */
  function follow(hash) {
    const found = parse(hash);
    if (!found) return;
    const { model, fromLink, asked } = found;
    put(model, fromLink ? fromLink(model.get, asked) : asked);
    const { top, height } = found.el.getBoundingClientRect();
    if (top < 0 || top + Math.min(height, 400) > innerHeight) {
      const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
      found.el.scrollIntoView({ block: "start", behavior: still ? "auto" : "smooth" });
    }
  }

  /** Note the states of the explorers that links reach in the present entry of the browser's history. */
  function note() {
    const states = [...mounted].filter(([el]) => el.id).map(([el, { model, start }]) =>
      [el.id, Object.fromEntries(Object.keys(start).map((key) => [key, model.get(key)]))]);
    history.replaceState({ explorers: Object.fromEntries(states) }, "");
  }

  /** Set the explorers as the present entry has them, if it has; the browser itself goes to the line. */
  function recall() {
    const states = history.state?.explorers;
    for (const [el, { model }] of mounted) put(model, states?.[el.id] ?? {});
    return Boolean(states);
  }

  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element && event.target.closest('a[href*="#"]');
    const modified = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey; // a new tab, perhaps
    if (!(link instanceof HTMLAnchorElement) || event.defaultPrevented || modified) return;
    if (link.pathname !== location.pathname || link.host !== location.host) return;
    if (!parse(link.hash)) return;
    event.preventDefault(); // the browser would look for an element called "gate?z=0.99"
    note();
    history.pushState(null, "", link.hash); // before the page scrolls: Back returns to this line
    follow(link.hash);
    note();
  });
  addEventListener("popstate", recall);
  addEventListener("hashchange", () => { if (!history.state?.explorers) follow(location.hash); });

  const afmHost = {
    /** Called once by each module, with its default export. @param {string} name @param {Explorer} explorer */
    async register(name, explorer) {
      /** @type {NodeListOf<HTMLElement>} */
      const waiting = document.querySelectorAll(`[data-afm="${CSS.escape(name)}"]:not([data-live])`);
      await Promise.all([...waiting].map((el) => mount(el, explorer)));
      performance.mark(`afm-ready:${name}`);
      if (!recall() && parse(location.hash)?.el.dataset.afm === name) follow(location.hash);
    },
    /** The model behind an element, for scripts and tests. */
    modelOf: (/** @type {Element} */ el) => mounted.get(el)?.model,
  };
  Object.assign(window, { afmHost });
})();
