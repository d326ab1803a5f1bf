// Brings the explorers of a page to life, where no kernel runs. An explorer is an element
// <div data-afm="name" data-state="{…}"> with a still picture inside; its module (name.js) registers here.
// The model is anywidget's, without a kernel behind it: get, set, on, off, save_changes.
(function () {
  "use strict";

  function createModel(state) {
    const values = { ...state };
    const ears = new Map(); // event -> functions
    const emit = (event, ...args) => [...(ears.get(event) ?? [])].forEach((ear) => ear(...args));
    return {
      get: (key) => values[key],
      set(key, value) {
        if (Object.is(values[key], value)) return;
        values[key] = value;
        emit(`change:${key}`, this, value);
        emit("change", this);
      },
      save_changes() {}, // nobody to tell
      on(event, ear) {
        ears.set(event, [...(ears.get(event) ?? []), ear]);
      },
      off(event, ear) {
        const rest = (ears.get(event) ?? []).filter((other) => ear && other !== ear);
        ears.set(event, rest);
      },
    };
  }

  const mounted = new Map(); // element -> { model, fromLink }

  const WORDS = {
    en: { link: "Link to this state", copied: "Copied; it is in the address bar too.", set: "It is in the address bar." },
    zh: { link: "当前状态的链接", copied: "已复制，也在地址栏中。", set: "已写入地址栏。" },
  };

  /** Numbers to seven digits, lists joined by commas: what follows the key in a link. */
  function asText(value) {
    if (Array.isArray(value)) return value.map(asText).join(",");
    return typeof value === "number" ? String(Number(value.toPrecision(7))) : String(value);
  }

  /** "#gate?x=0.3": the keys that differ from the page's own state, as a link sets them. */
  function hashOf(el) {
    const { model, start } = mounted.get(el);
    const changed = Object.keys(start).filter((key) => asText(model.get(key)) !== asText(start[key]));
    const query = changed.map((key) => `${key}=${encodeURIComponent(asText(model.get(key)))}`).join("&");
    return `#${encodeURIComponent(el.id)}${query && `?${query.replaceAll("%2C", ",")}`}`;
  }

  /** A button below an explorer that has an address: puts its state into the page's address, and copies that. */
  function offerLink(el) {
    const words = WORDS[(el.closest("[lang]")?.lang ?? "en").slice(0, 2)] ?? WORDS.en;
    const row = document.createElement("div");
    row.className = "gru-ex ex-share";
    row.innerHTML = `<button type="button" class="ex-plain">${words.link}</button> <span role="status"></span>`;
    row.firstChild.addEventListener("click", async () => {
      history.replaceState(null, "", hashOf(el));
      let said = words.set;
      try {
        await navigator.clipboard.writeText(location.href);
        said = words.copied;
      } catch { /* no clipboard, or not allowed: the address bar has it */ }
      row.lastChild.textContent = said;
    });
    el.append(row);
  }

  /** Put an explorer in the place of its still picture. If it fails, the picture stays. */
  async function mount(el, explorer) {
    const still = [...el.childNodes];
    try {
      const start = JSON.parse(el.dataset.state);
      const model = createModel(start);
      const stage = document.createElement("div");
      el.replaceChildren(stage);
      await explorer.initialize?.({ model });
      await explorer.render({ model, el: stage });
      mounted.set(el, { model, start, fromLink: explorer.fromLink });
      if (el.id) offerLink(el);
      el.dataset.live = "";
    } catch (error) {
      el.replaceChildren(...still);
      el.dataset.live = "failed";
      console.error(error);
    }
  }

  /** "#gate?z=0.99&x=1" -> the element with id "gate" and { z: "0.99", x: "1" }; null for any other hash. */
  function parse(hash) {
    const [id, query] = hash.slice(1).split("?");
    const el = query && document.getElementById(decodeURIComponent(id));
    return el && mounted.has(el) ? { el, asked: Object.fromEntries(new URLSearchParams(query)) } : null;
  }

  /** Set what a link asks for, and bring the explorer into view. True if the hash was meant for one. */
  function follow(hash) {
    const found = parse(hash);
    if (!found) return false;
    const { model, fromLink } = mounted.get(found.el);
    const patch = fromLink ? fromLink(model.get, found.asked) : found.asked;
    for (const [key, value] of Object.entries(patch)) model.set(key, value);
    model.save_changes();
    const { top, height } = found.el.getBoundingClientRect();
    if (top < 0 || top + Math.min(height, 400) > innerHeight) {
      const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
      found.el.scrollIntoView({ block: "start", behavior: still ? "auto" : "smooth" });
    }
    return true;
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.('a[href*="#"]');
    const modified = event.ctrlKey || event.metaKey || event.shiftKey || event.altKey; // a new tab, perhaps
    if (!link || event.defaultPrevented || modified) return;
    if (link.pathname !== location.pathname || link.host !== location.host) return;
    if (!follow(link.hash)) return;
    event.preventDefault(); // the browser would look for an element called "gate?z=0.99"
    history.replaceState(null, "", link.hash);
  });
  addEventListener("hashchange", () => follow(location.hash));

  window.afmHost = {
    /** Called once by each module, with its default export. */
    async register(name, explorer) {
      const waiting = document.querySelectorAll(`[data-afm="${CSS.escape(name)}"]:not([data-live])`);
      await Promise.all([...waiting].map((el) => mount(el, explorer)));
      performance.mark(`afm-ready:${name}`);
      if (parse(location.hash)?.el.dataset.afm === name) follow(location.hash);
    },
    /** The model behind an element, for scripts and tests. */
    modelOf: (el) => mounted.get(el)?.model,
  };
})();
