"""What is asked of every page of the book. Each check returns what is wrong, so that its tests can plant a fault."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from axe_playwright_python.base import AXE_SCRIPT
from bs4 import BeautifulSoup
from playwright.sync_api import Page

# In a browser


def maths_not_set(page: Page) -> list[str]:
    """Formulas that MathJax did not set, set as an error, or gave no form for assistive technology."""
    return page.evaluate("""() => {
      const bad = [...document.querySelectorAll(".bd-article .math")].filter(
        (formula) => !formula.querySelector("mjx-container > mjx-assistive-mml > math"));
      const wrong = [...document.querySelectorAll("mjx-merror, [data-mjx-error]")];
      const raw = document.querySelector(".bd-article").innerText.match(/\\\\\\(.{0,40}/g) ?? [];
      return [...bad, ...wrong].map((e) => e.textContent.slice(0, 80)).concat(raw);
    }""")


def too_wide(page: Page) -> list[str]:
    """The page's width against the screen's, if it is wider, and the elements that stick out.

    As it is, and with the letters of a font about 6 % wider: not every reader has this machine's fonts. Those of the
    formulas come with the book.
    """
    return page.evaluate("""() => {
      const screen = innerWidth;
      const measure = () => {
        const page = document.documentElement.scrollWidth;
        if (page <= screen) return [];
        const out = [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > screen);
        return [`${page} > ${screen}`, ...out.slice(0, 5).map((e) => e.outerHTML.slice(0, 80))];
      };
      const found = measure();
      const wider = document.head.appendChild(document.createElement("style"));
      wider.textContent = `body *:not(mjx-container, mjx-container *) { letter-spacing: 0.035em }
        mjx-container { letter-spacing: normal }`;
      found.push(...measure());
      wider.remove();
      return found;
    }""")


def faint_figure_text(page: Page) -> list[tuple[str, float]]:
    """Words in figures whose contrast with the page is below 4.5 : 1. Thins the page: run it after the other checks."""
    page.evaluate(LIGHTEN)
    read = page.evaluate("""() => {
      const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
      const rgb = (colour) => {
        probe.fillStyle = colour;
        probe.fillRect(0, 0, 1, 1);
        return [...probe.getImageData(0, 0, 1, 1).data].slice(0, 3);
      };
      const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
      const light = (colour) => {
        const [r, g, b] = rgb(colour).map((v) => linear(v / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const paper = light(getComputedStyle(document.body).backgroundColor);
      const contrast = (colour) => {
        const [a, b] = [light(colour), paper].sort((p, q) => q - p);
        return (a + 0.05) / (b + 0.05);
      };
      return [...document.querySelectorAll("svg.gru-fig text")]
        .filter((text) => text.textContent.trim())
        .map((text) => [text.textContent.trim(), contrast(getComputedStyle(text).fill)]);
    }""")
    return [(text, contrast) for text, contrast in read if contrast < 4.5]


# A chapter's drawn maths and coloured code are 20,000 nodes, which axe reads for ten seconds. What it reads instead:
# the MathML that MathJax adds for assistive technology, one formula whole and of the others the frame and the words;
# figures without their lines; and two code blocks. Their colours are roles, ink and muted, whose contrast
# tests/test_viz.py computes.
LIGHTEN = """
document.querySelectorAll("mjx-container > mjx-math").forEach((drawn) => drawn.remove());
[...document.querySelectorAll("math")].slice(1).forEach((formula) => (formula.textContent = formula.textContent));
document.querySelectorAll("svg.gru-fig :is(path, use, defs)").forEach((line) => line.remove());
[...document.querySelectorAll(".highlight pre")].slice(2).forEach((pre) => (pre.textContent = pre.textContent));
"""

# What axe has read at one width and would read alike at another: the article without its explorers and headings.
WITHOUT_PROSE = """
[...document.querySelectorAll(".bd-article :is(p, ul, ol, dl, table, figure, div.math, .highlight)")]
  .filter((e) => !e.closest("[data-afm], summary") && !e.querySelector("[data-afm], summary"))
  .forEach((e) => e.remove());
"""


# The rules that look at colours take axe longer than all others together, and in a chapter a thousand paragraphs look
# alike. How text stands out that is in the flow of the page follows from its colour, size, weight and underline, from
# its parent's colour, and from what its ancestors paint behind it. So a paragraph, a row or a piece of code that has no
# text with a new look, in light or in dark, does not stay for axe. What is positioned stays, and so do headings,
# summaries and explorers. Maths and figures go: of the one axe sees the frame, and the other has a check of its own.
ONE_OF_EACH_LOOK = """
(() => {
  document.querySelectorAll("mjx-container, svg.gru-fig").forEach((drawn) => drawn.remove());
  document.head.appendChild(document.createElement("style")).textContent = "* { transition: none !important }";
  const BLOCK = ".bd-article :is(p, li, dt, dd, tr, pre, pre span)";
  const blocks = [...document.querySelectorAll(BLOCK)]
    .filter((e) => !e.closest("[data-afm], summary") && !e.querySelector("[data-afm], summary"));
  const looks = new Map(blocks.map((block) => [block, new Set()])), kept = new Set();
  const now = document.documentElement.dataset.theme;
  for (const theme of ["light", "dark"]) {
    document.documentElement.dataset.theme = theme;
    const known = new Map([[null, ""]]);
    const behind = (e) => {
      if (!known.has(e)) {
        const { backgroundColor, backgroundImage, opacity, filter, mixBlendMode } = getComputedStyle(e);
        const own = [backgroundColor, backgroundImage, opacity, filter, mixBlendMode].join();
        known.set(e, behind(e.parentElement) + (own === "rgba(0, 0, 0, 0),none,1,none,normal" ? "" : `${own}; `));
      }
      return known.get(e);
    };
    for (const e of new Set(blocks.flatMap((block) => [block, ...block.querySelectorAll("*")]))) {
      const block = e.closest(BLOCK), style = getComputedStyle(e);
      if (/absolute|fixed|sticky/.test(style.position)) kept.add(block);
      if ([...e.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
        looks.get(block).add([theme, style.color, style.fontSize, style.fontWeight, style.textShadow,
          style.textDecorationLine, style.borderBottom, getComputedStyle(e.parentElement).color, behind(e)].join());
    }
  }
  document.documentElement.dataset.theme = now;

  const seen = new Set();
  for (const [block, its] of looks) {
    if ([...its].some((one) => !seen.has(one))) kept.add(block);
    if (kept.has(block)) its.forEach((one) => seen.add(one));
  }
  for (const block of blocks) if (![...kept].some((one) => block.contains(one))) block.remove();
  document.querySelectorAll(".highlight:not(:has(pre))").forEach((empty) => empty.remove());  // a button to copy it
})();
"""

COLOURS = ["color-contrast", "link-in-text-block"]


def violations(page: Page) -> list[tuple[str, list[str]]]:
    """What axe finds: of colours last, in one of each look. Thins the page: run it after the other checks."""
    page.evaluate(LIGHTEN)
    found = _axe(page, rules={rule: {"enabled": False} for rule in COLOURS})
    return found + faint_text(page)


def faint_text(page: Page) -> list[tuple[str, list[str]]]:
    """What axe finds of colours alone: all that can differ between light and dark."""
    page.evaluate(LIGHTEN)
    page.evaluate(ONE_OF_EACH_LOOK)
    return _axe(page, runOnly=COLOURS)


def _axe(page: Page, **options: object) -> list[tuple[str, list[str]]]:
    # From disk a page cannot read its style sheets by script; over http the rule that needs them (orientation) runs.
    return axe(page, preload=not page.url.startswith("file:"), **options)


def axe(page: Page, without: str = "", **options: object) -> list[tuple[str, list[str]]]:
    """The rules that a page breaks, and where; ``without`` is a selector of what is left out.

    axe is brought to a page once, and of its answer only the violations are fetched: the list of what is in order is
    long.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    return page.evaluate(
        """([without, options]) => axe.run(without ? { exclude: [[without]] } : document, options).then(
      ({ violations }) => violations.map((v) => [v.id, v.nodes.map((n) => n.html.slice(0, 200))]))""",
        [without, {"resultTypes": ["violations"], **options}],
    )


# In the files


@cache
def parse(path: Path) -> BeautifulSoup:
    """The page in a file."""
    return BeautifulSoup(path.read_text("utf8"), "html.parser")


@cache
def ids(path: Path) -> Counter[str]:
    """How often each id stands in a file."""
    return Counter(str(e["id"]) for e in parse(path).select("[id]"))


def repeated_ids(path: Path) -> list[str]:
    """Ids that stand in a file more than once."""
    return [name for name, count in ids(path).items() if count > 1]


def broken_links(path: Path) -> list[str]:
    """Links to files that are not there, or to ids that the file does not have."""
    broken = []
    for link in parse(path).select("a[href]"):
        url = urlsplit(str(link["href"]))
        if url.scheme or url.netloc:
            continue
        target = (path.parent / unquote(url.path)).resolve() if url.path else path
        anchor = url.fragment.partition("?")[0]  # `#gate?z=0.9` sets an explorer's state
        if not target.is_file() or (anchor and target.suffix == ".html" and unquote(anchor) not in ids(target)):
            broken.append(str(link["href"]))
    return broken


def wordless_figures(path: Path) -> list[str]:
    """Alternative texts too short to say anything, or made of file names."""
    article = parse(path).select_one("article")
    if article is None:
        return ["the page has no article"]
    texts = [str(img.get("alt", "")) for img in article.select("img")]
    texts += [str(svg.get("aria-label", "")) for svg in article.select("svg.gru-fig")]
    return [t for t in texts if len(t) < 20 or re.search(r"[0-9a-f]{16}|_images", t)]


def fixed_colours(path: Path) -> list[str]:
    """Colours in figures that do not follow the page, and figures that stayed pictures of their own."""
    soup = parse(path)
    found = [str(img["src"]) for img in soup.select('article img[src$=".svg"]')]
    for figure in soup.select("svg.gru-fig"):
        found += re.findall(r"#[0-9a-fA-F]{6}\b", re.sub(r"var\(--gru-[a-z]+, #[0-9A-F]{6}\)", "", str(figure)))
    return found


def built_pages(folder: Path) -> set[str]:
    """The pages in a built book, such as ``book/intro``, without those that every book has."""
    pages = {str(p.relative_to(folder).with_suffix("")) for p in folder.rglob("*.html")}
    return {p for p in pages - {"index", "search", "404"} if not p.startswith("_static/")}
