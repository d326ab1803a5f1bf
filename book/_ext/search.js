/* The results page: looks for the words of ?q= in the index that search_index.py wrote.
 *
 * A word is found where a word begins with it ("gate" in "gates"), a Chinese string anywhere. A page is a result if it
 * holds every word. It stands the higher, the more of them its titles hold, and the nearer they stand together in its
 * text; the chapter that the glossary names for the very term stands first, and the glossary after it.
 */
"use strict";

/**
 * @typedef {{ anchor: string, title: string, text: string, see?: string }} Section
 * @typedef {{ page: string, title: string, sections: Section[], score: number }} Result
 */

(() => {
  const SHOWN = 3; // sections of a page
  const AROUND = 90; // letters on either side of the first word found
  const EXPLAINED = 1000, NAMED = 500; // more than words can weigh
  /** @type {(text: string, found: RegExp) => number} */
  const count = (text, found) => (text.match(found) ?? []).length;

  /** The pattern of a word or a phrase, without its plural's s. @param {string} word */
  function pattern(word) {
    const stem = (word.length > 3 ? word.replace(/s$/, "") : word).replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const begins = /\p{Script=Han}/u.test(word) ? "" : "(?<![\\p{L}\\p{N}])";
    return new RegExp(begins + stem.replaceAll(" ", "[\\s-]+"), "giu");
  }

  /** @param {string} query */
  const patterns = (query) => (query.match(/\p{Script=Han}+|[^\s\p{Script=Han}]+/gu) ?? []).map(pattern);

  /**
   * The glossary's entries for a term, which may be given in English or in Chinese.
   * @param {Record<string, Section[]>} index @param {string} query
   */
  function explain(index, query) {
    /** @param {string} term */
    const one = (term) => term.toLowerCase().replace(/s$/, "");
    /** @param {Section} entry */
    const names = ({ title, text }) => [...title.split(", "), ...text.split(". ")[0].split(/, (?:also )?/)];
    return (index["book/glossary"] ?? []).filter((entry) => names(entry).some((name) => one(name) === one(query)));
  }

  /** The best page first. @param {Record<string, Section[]>} index @param {string} query */
  function search(index, query) {
    const words = patterns(query), whole = pattern(query), explained = explain(index, query);
    /** @type {(section: { title: string, text: string }, found: RegExp) => number} */
    const one = ({ title, text }, found) => 10 * Math.min(1, count(title, found)) + Math.log2(1 + count(text, found));
    /** @param {{ title: string, text: string }} section */
    const weigh = (section) => words.reduce((sum, word) => sum + one(section, word), 0)
      + (words.length > 1 ? 3 * one(section, whole) : 0);
    /** @type {Result[]} */
    const results = [];
    for (const [page, sections] of Object.entries(index)) {
      const all = sections.map(({ title, text }) => `${title}\n${text}`).join("\n");
      if (!words.every((word) => count(all, word))) continue;
      const best = sections.map((section) => ({ ...section, score: weigh(section) }))
        .filter(({ score }) => score).sort((a, b) => b.score - a.score).slice(0, SHOWN);
      const { title } = sections[0];
      const score = best.reduce((sum, section) => sum + section.score, weigh({ title, text: "" }))
        + (explained.some(({ see }) => see === `${page.split("/").pop()}.html`) ? EXPLAINED : 0)
        + (page === "book/glossary" && explained.length ? NAMED : 0);
      results.push({ page, title, sections: best, score });
    }
    return results.sort((a, b) => b.score - a.score);
  }

  /**
   * The text about the first place where the query, or else its first word, stands; what was looked for is marked.
   * @param {string} text @param {RegExp[]} words @param {RegExp} whole
   */
  function excerpt(text, words, whole) {
    const at = Math.max(0, [whole, ...words].map((w) => text.search(w)).find((i) => i >= 0) ?? 0);
    const start = at <= AROUND ? 0 : text.indexOf(" ", at - AROUND) + 1;
    const end = at + AROUND >= text.length ? text.length : Math.max(at, text.lastIndexOf(" ", at + AROUND));
    const line = document.createElement("p");
    const cut = text.slice(Math.min(start, at), end);
    const marks = new RegExp(words.map((w) => w.source).join("|"), "giu");
    let last = 0;
    line.append(start ? "… " : "");
    for (const hit of cut.matchAll(marks)) {
      const mark = document.createElement("mark");
      mark.textContent = hit[0];
      line.append(cut.slice(last, hit.index), mark);
      last = hit.index + hit[0].length;
    }
    line.append(cut.slice(last), end < text.length ? " …" : "");
    return line;
  }

  /** @param {string} page @param {string} anchor @param {string} text */
  function link(page, anchor, text) {
    const a = document.createElement("a");
    a.href = `${page}.html${anchor && `#${anchor}`}`;
    a.textContent = text;
    return a;
  }

  /** @param {Result[]} results @param {string} query @param {Element} into */
  function show(results, query, into) {
    const words = patterns(query), whole = pattern(query);
    const summary = document.createElement("p");
    summary.setAttribute("role", "status");
    summary.textContent = results.length
      ? `${results.length} ${results.length === 1 ? "page has" : "pages have"} “${query}”.`
      : `No page has “${query}”.`;
    const list = document.createElement("ol");
    for (const { page, title, sections } of results) {
      const item = document.createElement("li");
      const heading = document.createElement("h2");
      heading.append(link(page, "", title));
      item.append(heading);
      for (const section of sections) {
        if (section.anchor) {
          const where = document.createElement("h3");
          where.append(link(page, section.anchor, section.title));
          item.append(where);
        }
        if (section.text) item.append(excerpt(section.text, words, whole));
      }
      list.append(item);
    }
    into.replaceChildren(summary, ...(results.length ? [list] : []));
  }

  const query = (new URLSearchParams(location.search).get("q") ?? "").trim().replace(/\s+/g, " ");
  if (!query) return;
  const field = /** @type {HTMLInputElement} */ (document.querySelector("main input[name=q]"));
  field.value = query;
  const index = /** @type {Window & { gruSearchIndex: Record<string, Section[]> }} */ (/** @type {unknown} */ (window));
  const into = /** @type {HTMLElement} */ (document.getElementById("search-results"));
  show(search(index.gruSearchIndex, query), query, into);
})();
