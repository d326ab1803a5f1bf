"""What is asked of every page of the book. Each check returns what is wrong, so that its tests can plant a fault."""

from __future__ import annotations

import gzip
import re
from collections import Counter
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page
from selectolax.lexbor import LexborHTMLParser, LexborNode

# In a browser. What a closed solution holds is asked as if it were open, and nothing moves. Sheets stay for the next
# question: to take one away, or to bring it again, would style the page once more.

OPEN = """
const sheet = (id, text) => {
  const style = document.getElementById(id) ?? document.head.appendChild(document.createElement("style"));
  style.id = id;
  if (style.textContent !== text) style.textContent = text;
};
document.querySelectorAll("details.dropdown").forEach((fold) => { fold.open = true; });
const still = "*, ::before, ::after { transition: none !important }";
"""


def maths_not_set(page: Page) -> list[str]:
    """Formulas without a drawn form or without their TeX, errors inside them, and TeX that stands in the text."""
    return page.evaluate(
        f"""() => {{ {OPEN}"""
        + """
      const article = document.querySelector(".gru-text");
      const formulas = [...article.querySelectorAll("math")];
      const unset = [...article.querySelectorAll(".math")].filter((e) => !e.querySelector("math"));
      const empty = formulas.filter((e) => {
        const drawn = e.querySelector(":scope > semantics > :first-child"), box = e.getBoundingClientRect();
        const tex = e.querySelector(":scope > semantics > annotation[encoding='application/x-tex']");
        const seen = !e.parentElement.checkVisibility() || (box.width && box.height);
        return !drawn?.textContent.trim() || !tex?.textContent.trim() || !seen;
      });
      const wrong = [...article.querySelectorAll("merror")];
      const walk = document.createTreeWalker(article, NodeFilter.SHOW_TEXT), raw = [];
      while (walk.nextNode()) {
        const { data, parentElement } = walk.currentNode;
        const typed = parentElement.closest("annotation, pre, code, script, style");
        if (!typed && /\\\\[a-zA-Z([]|\\$.*\\$/.test(data)) raw.push(data);
      }
      const said = [...unset, ...empty, ...wrong].map((e) => e.textContent).concat(raw);
      return said.map((text) => text.trim().slice(0, 80));
    }"""
    )


def too_wide(page: Page) -> list[str]:
    """The page's width against the screen's, if it is wider, and the elements that stick out.

    With letters about 6 % wider, formulas included: not every reader has this machine's fonts, and not every browser
    spaces formulas alike. A formula grows as a whole. What fits so fits as it is.
    """
    return page.evaluate(
        f"""() => {{ {OPEN}"""
        + """
      const screen = innerWidth;
      sheet("all", `${still} body *:not(math, math *) { letter-spacing: 0.035em } math { zoom: 1.06 }`);
      const page = document.documentElement.scrollWidth, found = [];
      if (page > screen) {
        const whole = (e) => getComputedStyle(e).overflowX === "visible";
        const free = (e) => e === document.body || (whole(e) && free(e.parentElement));
        const sticks = (e) => e.getBoundingClientRect().right > screen && free(e.parentElement);
        const out = [...document.querySelectorAll("body *")].filter(sticks);
        found.push(`${page} > ${screen}`, ...out.slice(0, 5).map((e) => e.outerHTML.slice(0, 80)));
      }
      return found;
    }"""
    )


def below_the_footer(page: Page) -> int:
    """How far the page goes on below its footer."""
    return page.evaluate("""() => {
      document.querySelectorAll("details.dropdown").forEach((fold) => { fold.open = false; });
      const end = document.querySelector(".gru-colophon").getBoundingClientRect().bottom + scrollY;
      return Math.round(document.documentElement.scrollHeight - Math.max(end, innerHeight));
    }""")


def covered(page: Page) -> list[str]:
    """What an explorer lies on while it is in view: a sidebar; and what is not back when it has gone."""
    return page.evaluate("""async () => {
      const shown = (e) => e.checkVisibility({ visibilityProperty: true });
      const sides = [...document.querySelectorAll(".gru-menu, .gru-toc")].filter(shown);
      const settle = async () => { for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame); };
      const found = [], before = scrollY;
      for (const explorer of document.querySelectorAll("[data-afm]")) {
        explorer.scrollIntoView({ block: "center", behavior: "instant" });
        await settle();
        const a = explorer.getBoundingClientRect();
        if (a.right + scrollX > innerWidth) found.push(`${explorer.id} runs off the screen`);
        for (const side of sides.filter(shown)) {
          const b = side.getBoundingClientRect();
          if (a.left < b.right && b.left < a.right) found.push(`${explorer.id} on ${side.className.slice(0, 20)}`);
        }
      }
      for (const e of document.querySelectorAll("[data-afm]")) e.style.display = "none";
      await settle();
      found.push(...sides.filter((side) => !shown(side)).map((side) => `${side.className.slice(0, 20)} is gone`));
      for (const e of document.querySelectorAll("[data-afm]")) e.style.display = "";
      scrollTo({ top: before, behavior: "instant" });
      return found;
    }""")


def shift(page: Page) -> float:
    """How much of the screen has moved, and how far, since the page began to load: its cumulative layout shift."""
    return page.evaluate("""() => new Promise((done) => {
      new PerformanceObserver((list) => done(list.getEntries().reduce((sum, entry) => sum + entry.value, 0)))
        .observe({ type: "layout-shift", buffered: true });
      setTimeout(() => done(0), 30);  // nothing moved
    })""")


def weight(urls: list[str]) -> int:
    """The bytes that files weigh, gzipped one by one as a server would; what a page holds as data is in it already."""
    files = {Path(unquote(urlsplit(url).path)) for url in urls if url.startswith("file:")}
    return sum(len(gzip.compress(file.read_bytes(), 6)) for file in files)


# Colours are read where they stand, of all text in the page: what is folded or drawn, and the glyphs of formulas. How a
# piece of text stands out follows from its colour, size and weight, and from what its ancestors paint behind it, in a
# drawing also the rectangles before it. Where that is not all, the answer is a fault too. Left out is what nobody sees:
# what the book's style removes for good, drawings of another width, and the TeX of formulas.
FAINT = (
    f"""(themes) => {{ {OPEN}"""
    + """
  sheet("all", still);
  const probe = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const remember = (made, known = new Map()) => (key) => {
    if (!known.has(key)) known.set(key, made(key));
    return known.get(key);
  };
  const rgba = remember((colour) => {
    probe.clearRect(0, 0, 1, 1);
    probe.fillStyle = colour;
    probe.fillRect(0, 0, 1, 1);
    return CSS.supports("color", colour) ? [...probe.getImageData(0, 0, 1, 1).data] : null;
  });
  const over = ([r, g, b, a], ground) => [r, g, b].map((v, i) => (a * v + (255 - a) * ground[i]) / 255);
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = (rgb) => [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) => sum + weight * linear(rgb[i] / 255), 0);
  const contrast = (a, b) => {
    const [dark, bright] = [light(a), light(b)].sort((p, q) => p - q);
    return (bright + 0.05) / (dark + 0.05);
  };

  const nobody = "script, style, noscript, title, desc, annotation, :disabled";
  const texts = new Set(document.querySelectorAll("textarea, [type=text], [type=search]"));
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) if (walk.currentNode.data.trim()) texts.add(walk.currentNode.parentElement);
  const seen = [...texts].filter((e) => !e.closest(nobody)), found = [];

  for (const theme of themes) {
    document.documentElement.dataset.mode = document.documentElement.dataset.theme = theme;
    const ground = remember((e) => {  // what an element has behind its text, or null
      if (!e) return [255, 255, 255];
      const style = getComputedStyle(e), own = rgba(style.backgroundColor);
      const lifted = /absolute|fixed/.test(style.position) && own[3] < 255
        && e.checkVisibility({ visibilityProperty: true });
      const cue = style.backgroundAttachment.startsWith("local");  // at the edge of what scrolls; it leaves the ground
      const plain = (cue || style.backgroundImage === "none") && /^[01]$/.test(style.opacity) && style.filter === "none"
        && style.mixBlendMode === "normal" && !lifted;
      const under = own[3] === 255 ? [0, 0, 0] : ground(e.parentElement);
      return plain && under ? over(own, under) : null;
    });
    const rects = remember((svg) =>
      [...svg.querySelectorAll("rect")].map((e) => [e, e.getBoundingClientRect(), getComputedStyle(e)]));
    const panel = (text, svg) => {  // in a drawing: of the rectangles painted before, the last one under the text
      const { left, right, top, bottom } = text.getBoundingClientRect(), x = (left + right) / 2, y = (top + bottom) / 2;
      return rects(svg).reduce((under, [e, box, { fill, fillOpacity, opacity }]) => {
        if (!under || fill === "none" || !(e.compareDocumentPosition(text) & 4)) return under;  // 4: text comes later
        if (x < box.left || x > box.right || y < box.top || y > box.bottom) return under;
        const ink = rgba(fill);
        return ink && over([...ink.slice(0, 3), ink[3] * fillOpacity * opacity], under);
      }, ground(svg));
    };
    const note = (what, e) => found.push([`${theme}: ${what}`, e.outerHTML.slice(0, 200)]);
    const judge = (e, behind, colour, { fontSize, fontWeight }) => {
      const least = parseFloat(fontSize) >= (fontWeight >= 700 ? 18.66 : 24) ? 3 : 4.5;
      const ink = rgba(colour), ratio = ink && behind ? contrast(over(ink, behind), behind) : 0;
      if (ratio < least) note(ratio ? `contrast ${ratio.toFixed(2)} < ${least}` : "contrast unknown", e);
    };

    for (const e of seen) {
      const style = getComputedStyle(e), svg = e.closest("svg");
      if (!svg) judge(e, ground(e), style.color, style);
      else if (svg.getClientRects().length) judge(e, panel(e, svg), style.fill, style);
      if (e.placeholder) judge(e, ground(e), getComputedStyle(e, "::placeholder").color, style);
    }
    for (const link of document.querySelectorAll(":is(a[href], [role=link]):not(.headerlink)")) {
      const style = getComputedStyle(link), around = getComputedStyle(link.parentElement);
      if (style.display !== "inline" || !link.textContent.trim()) continue;
      const marked = style.textDecorationLine.includes("underline") || parseFloat(style.borderBottomWidth) > 0
        || style.fontWeight !== around.fontWeight || rgba(style.backgroundColor)[3] > 0;
      const beside = [...link.parentElement.childNodes].some((node) => node.nodeType === 3 && /\\w/.test(node.data));
      if (!marked && beside && contrast(rgba(style.color), rgba(around.color)) < 3)
        note("link like the words around", link);
    }
  }
  return found;
}"""
)


def faint_text(page: Page, *themes: str) -> list[tuple[str, str]]:
    """Text whose contrast is below 4.5 : 1, if large below 3 : 1, or unknown; links that look like the words around.

    In each of the themes, the last of which stays.
    """
    return [(what, html) for what, html in page.evaluate(FAINT, themes)]


# A chapter's maths and coloured code are 10,000 nodes, which axe reads for seconds. What it reads instead: one formula
# whole, of the others the frame and the words, and in lines, after twenty, the words alone; one block of code, ten
# signatures, and twenty links and names, for in these every word is a node; figures without what only paints.
# Explorers stay whole: other tests look at their drawings.
LIGHTEN = """
document.querySelectorAll("details.dropdown").forEach((fold) => { fold.open = false; });
const words = (what, whole) =>
  [...document.querySelectorAll(what)].slice(whole).forEach((e) => (e.textContent = e.textContent));
words("math", 1);
words("span.math:not(table *)", 20); // in a table they would make it scroll
words(".highlight pre", 1);
words("dt.sig", 10);
const plain = ":not(:empty, :has(:not(span, em, i, b, sub), [role], [tabindex], [aria-label], [title]))";
words(`.gru-text :is(a, code, em):not([data-afm] *)${plain}`, 20);
const reached = "title, desc, [role], [tabindex], :has([role], [tabindex])";
document.querySelectorAll(`svg[role=img]:not([data-afm] *) :not(${reached})`).forEach((paint) => paint.remove());
"""

COLOURS = ("color-contrast", "link-in-text-block")  # for axe the slowest of its rules; faint_text asks what they ask


def violations(page: Page) -> list[tuple[str, list[str]]]:
    """What axe finds, but of colours. Thins the page: run it after the others."""
    page.evaluate(LIGHTEN)
    return axe(page, rules={rule: {"enabled": False} for rule in COLOURS})


def axe(page: Page, **options: object) -> list[tuple[str, list[str]]]:
    """The rules that a page breaks, and where.

    axe is brought to a page once, and of its answer only the violations are fetched: the list of what is in order is
    long.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    return page.evaluate(
        """(options) => axe.run(document, options).then(
      ({ violations }) => violations.map((v) => [v.id, v.nodes.map((n) => n.html.slice(0, 200))]))""",
        {"resultTypes": ["violations"], "preload": False, **options},
    )


# In the files

FOREIGN = re.compile(
    r'<(?!a\b)(?![^<>]*\brel="canonical")[a-z][^<>]*?\s(?:src|href|srcset|poster|data|action)="(?:https?:)?//[^<>]*>'
    r"|@import|url\(['\"]?(?:https?:)?//[^)]*"
)


def foreign(text: str) -> list[str]:
    """What a page or a style sheet loads from another host, or sends there. A link that is followed is not meant."""
    return FOREIGN.findall(text)


@cache
def parse(path: Path) -> LexborHTMLParser:
    """The page in a file."""
    return LexborHTMLParser(path.read_text("utf8"))


def value(node: LexborNode, attribute: str) -> str:
    """An attribute that a node has, or an empty text."""
    return node.attributes.get(attribute) or ""


def after(node: LexborNode, *tags: str) -> LexborNode | None:
    """The next of an element's siblings with one of these tags."""
    following = node.next
    while following is not None and following.tag not in tags:
        following = following.next
    return following


@cache
def ids(path: Path) -> Counter[str]:
    """How often each id stands in a file."""
    return Counter(value(e, "id") for e in parse(path).css("[id]"))


def repeated_ids(path: Path) -> list[str]:
    """Ids that stand in a file more than once."""
    return [name for name, count in ids(path).items() if count > 1]


def broken_links(path: Path) -> list[str]:
    """Links to files that are not there, or to ids that the file does not have."""
    broken = []
    for href in dict.fromkeys(value(link, "href") for link in parse(path).css("a[href]")):
        url = urlsplit(href)
        if url.scheme or url.netloc:
            continue
        target = (path.parent / unquote(url.path)).resolve() if url.path else path
        anchor = url.fragment.partition("?")[0]  # `#gate?z=0.9` sets an explorer's state
        if not target.is_file() or (anchor and target.suffix == ".html" and unquote(anchor) not in ids(target)):
            broken.append(href)
    return broken


def wordless_figures(path: Path) -> list[str]:
    """Alternative texts too short to say anything, or made of file names."""
    article = parse(path).css_first("article")
    if article is None:
        return ["the page has no article"]
    texts = [value(img, "alt") for img in article.css("img")]
    texts += [value(svg, "aria-label") for svg in article.css("svg.gru-fig")]
    return [t for t in texts if len(t) < 20 or re.search(r"[0-9a-f]{16}|_images", t)]


def fixed_colours(path: Path) -> list[str]:
    """Colours in figures that do not follow the page, and figures that stayed pictures of their own."""
    page = parse(path)
    found = [value(img, "src") for img in page.css('article img[src$=".svg"]')]
    for figure in page.css("svg.gru-fig"):
        found += re.findall(r"#[0-9a-fA-F]{6}\b", re.sub(r"var\(--gru-[a-z-]+, #[0-9A-F]{6}\)", "", figure.html or ""))
    return found


def built_pages(folder: Path) -> set[str]:
    """The pages in a built book, such as ``book/intro``: no sources, old addresses, and those that every book has."""
    pages = {str(p.relative_to(folder).with_suffix("")) for p in folder.rglob("*.html")}
    pages -= {p for p in pages if 'http-equiv="refresh"' in (folder / f"{p}.html").read_text("utf8")[:500]}
    return {p for p in pages - {"index", "search", "404"} if not p.startswith(("_static/", "_modules/"))}
