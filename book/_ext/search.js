/* The results page: shows what MiniSearch finds in the index of search_index.py, as the reader types.
 *
 * A word is found where a word begins with it ("gate" in "gates"), a Chinese string anywhere. A page is a result if it
 * holds every word, and stands where its best section does. If no page does, words that differ in a letter will do, and
 * if these do not, pages that hold most of the words.
 * British and American spelling are one word, and the small words of a question are not looked for.
 */
"use strict";

/**
 * @typedef {{ anchor: string, title: string, text: string, code?: string, words?: string, see?: string }} Section
 * @typedef {Section & { page: string, terms: string[], queryTerms: string[] }} Found
 */

(() => {
  const SHOWN = 3; // sections of a page
  const AROUND = 90; // letters on either side of the first word found
  const PAUSE = 200; // milliseconds without a key: then results are shown, and told to who hears the page
  /** What counts how much: chapters, their companions, the glossary, the rest. @type {[RegExp, number][]} */
  const PAGES = [[/\/\d+-/, 1], [/\/\d|\/questions$/, 0.6], [/\/glossary$/, 0.5], [/./, 0.15]];
  const HAN = /\p{Script=Han}/u;
  const WORDS = /\p{Script=Han}+|(?:_*(?!\p{Script=Han})[\p{L}\p{N}])+/gu;
  /** @type {{ gruSearchIndex: Record<string, Section[]>, MiniSearch: any }} */
  const { gruSearchIndex: index, MiniSearch } = /** @type {any} */ (window);
  const field = /** @type {HTMLInputElement} */ (document.querySelector("main input[name=q]"));
  const status = document.createElement("p"), list = document.createElement("ol");

  const SMALL = new Set(("a an and are be can do does for from how i in is it my no not of on or should that the there to use "
    + "vs what when where which why with").split(" "));
  /** @param {string} text */
  const split = (text) => text.match(WORDS) ?? [];
  /** "GRU vs LSTM" asks for two words, "how do I pad" for one. @param {string} text */
  const asked = (text) => {
    const words = split(text), lower = words.map((word) => word.toLowerCase());
    const large = words.filter((_, i) => !SMALL.has(lower[i]) || `${lower[i]} ${lower[i + 1]}` === "vs code");
    return large.length ? large : words;
  };
  /** Without its plural's s, and as one word in Britain and America. @param {string} word */
  const stem = (word) => (word.length > 3 ? word.replace(/s$/, "") : word).toLowerCase().replace(/([iy])z/g, "$1s")
    .replace(/(?<=..)our(?=$|ed$|ing$|ful|ite|able|al|less)/, "or").replace(/centre/, "center")
    .replace(/(model|label|cancel)l(?=ed|ing|er)/, "$1");
  /** What a stem is in the text: `optimis` is also `optimiz`. @param {string} word */
  const spelled = (word) => word.replace(/([iy])s/g, "$1[sz]").replace(/(?<=..)or/, "ou?r").replace(/center/, "cent(?:er|re)")
    .replace(/(model|label|cancel)(?=ed|ing|er)/, "$1l?");
  /** Words as they are found: a Chinese string from each of its characters on, a name by its parts too. */
  const tokenize = (/** @type {string} */ text) => split(text).flatMap((word) =>
    HAN.test(word) ? [...word].map((_, i) => word.slice(i)) : word.includes("_") ? [word, ...word.split("_")] : [word]).filter(Boolean);

  const engine = new MiniSearch({
    fields: ["page title", "title", "terms", "words", "text", "code"],
    storeFields: ["page", "anchor", "title", "text"],
    tokenize,
    processTerm: stem,
    searchOptions: {
      tokenize: asked,
      boost: { "page title": 6, title: 3, terms: 6, words: 8, code: 0.3 },
      prefix: (/** @type {string} */ word) => word.length > 1 || HAN.test(word),
      weights: { prefix: 0.6, fuzzy: 0.3 },
    },
  });
  for (const [page, sections] of Object.entries(index)) {
    const terms = index["book/glossary"].filter(({ see }) => page.endsWith(`/${see?.replace(".html", "")}`));
    engine.addAll(sections.map((section, i) => ({
      ...section, id: `${page}#${i}`, page,
      ...(i === 0 && { "page title": section.title, terms: terms.map(({ title }) => title).join(". ") }),
    })));
  }

  /** The sections found, by their pages, the best first: of pages with all words, or `part` of them, as many as can be.
   * @param {string} query @param {object} options */
  function search(query, options, part = false) {
    /** @type {Map<string, Found[]>} */
    const pages = new Map();
    /** @type {(id: string, word: string, stored: Found) => number} */
    const boostDocument = (_id, _word, { page, title }) => title === query && title.includes("_") // a name of the API
      ? 2 : (PAGES.find(([names]) => names.test(page)) ?? PAGES[0])[1];
    for (const found of engine.search(query, { boostDocument, ...options })) {
      pages.set(found.page, [...(pages.get(found.page) ?? []), found]);
    }
    const held = new Map([...pages].map(([page, found]) => [page, new Set(found.flatMap(({ queryTerms }) => queryTerms)).size]));
    const words = new Set(asked(query).map(stem)).size, most = Math.max(0, ...held.values());
    const wanted = part && most > words / 2 ? most : words;
    return [...pages].filter(([page]) => held.get(page) === wanted);
  }

  /** The text about the first place where the words stand together, or else one does; they are marked.
   * @param {string} text @param {string[]} words */
  function excerpt(text, words) {
    const patterns = words.map((word) => (HAN.test(word) ? word : `(?<![\\p{L}\\p{N}])${spelled(word)}s*`));
    const at = Math.max(0, [patterns.join("[\\s-]+"), patterns.join("|")].map((one) => text.search(new RegExp(one, "iu")))
      .find((i) => i >= 0) ?? 0);
    const start = at <= AROUND ? 0 : text.indexOf(" ", at - AROUND) + 1;
    const end = at + AROUND >= text.length ? text.length : Math.max(at, text.lastIndexOf(" ", at + AROUND));
    const line = document.createElement("p");
    line.append(start ? "… " : "");
    text.slice(Math.min(start, at), end).split(new RegExp(`(${patterns.join("|")})`, "iu")).forEach((part, i) => {
      line.append(i % 2 ? Object.assign(document.createElement("mark"), { textContent: part }) : part);
    });
    line.append(end < text.length ? " …" : "");
    return line;
  }

  /** @param {"h2" | "h3"} level @param {string} href @param {string} textContent */
  function heading(level, href, textContent) {
    const title = document.createElement(level);
    title.append(Object.assign(document.createElement("a"), { href, textContent }));
    return title;
  }

  /** Show the results of what stands in the field, and put it into the address. */
  function show() {
    const query = field.value.trim().replace(/\s+/g, " ");
    const exact = search(query, {});
    const fuzzy = (/** @type {string} */ word) => word.length > 4 && !HAN.test(word) && 0.2;
    const alike = exact.length ? exact : search(query, { fuzzy });
    const results = alike.length ? alike : search(query, {}, true);
    const count = `${results.length} ${results.length === 1 ? "page has" : "pages have"}`;
    const less = alike.length ? "something like it" : "most of its words";
    const none = `No page has “${query}”.${results.length ? ` ${count} ${less}.` : ""}`;
    status.textContent = query && (exact.length ? `${count} “${query}”.` : none);
    list.replaceChildren(...results.map(([page, found]) => {
      const item = document.createElement("li");
      item.append(heading("h2", `${page}.html`, index[page][0].title));
      for (const { anchor, title, text, terms } of found.slice(0, SHOWN)) {
        if (anchor) item.append(heading("h3", `${page}.html#${anchor}`, title));
        if (text) item.append(excerpt(text, exact.length ? asked(query).map(stem) : terms));
      }
      return item;
    }));
    history.replaceState(null, "", query ? `?${new URLSearchParams({ q: query })}` : location.pathname);
  }

  status.setAttribute("role", "status");
  document.getElementById("search-results")?.append(status, list);
  field.value = new URLSearchParams(location.search).get("q") ?? "";
  show();
  let timer = 0;
  field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(show, PAUSE); });
  field.form?.addEventListener("submit", (event) => { event.preventDefault(); show(); }); // they are here already
  field.addEventListener("keydown", (event) => {
    const first = list.querySelector("a");
    if (event.key !== "ArrowDown" || !first) return;
    event.preventDefault();
    first.focus();
  });
})();
