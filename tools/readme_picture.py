"""Draw the moving picture of the README: the front page's net guesses the language of a word, letter by letter.

``python tools/readme_picture.py`` writes ``.github/reader-light.svg`` and ``.github/reader-dark.svg``. It runs the
explorer itself in a browser whose clock it holds, starts the reading, then closes the plates of the letter on which
most turns, and takes each picture that the explorer draws and the sentence that it says. What pictures have in common
is stored once. Run it after a change of the explorer's drawing, its words or its net.
"""

from __future__ import annotations

import re
import sys
from difflib import SequenceMatcher
from html import escape
from itertools import accumulate
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

import browser as chromium
import stills
from playwright.sync_api import Browser, sync_playwright

from gru_lib.widgets import ReaderExplorer
from gru_lib.widgets._modules import styles

OUT = Path(__file__).resolve().parents[1] / ".github"
THEMES = ("light", "dark")
TICK = 40  # ms of the explorer's clock between two looks at it
SLOWER = 2.4  # than on the page, so that the sentences can be read
RESTS = (3000, 4000)  # ms for which the word read stays, and what it would be without the letter
TIMES = 2  # it plays so often, and rests at the word read

# The drawing is 720 wide. What lies below, three units, is left out; the sentence stands there.
WIDE, HIGH, MARGIN = 720, 304, 16
BELOW, SENTENCE, LINE, LETTERS = 252, 276, 22, 72

SHOW = """([state, theme]) => {
  document.documentElement.dataset.theme = theme;
  const el = document.body.appendChild(document.createElement("div"));
  el.className = "gru-ex gru-reader";
  el.style.width = "720px";
  const set = (key, value) => { state[key] = value; };
  explorers.reader.render({ model: { get: (key) => state[key], set, save_changes() {}, on() {}, off() {} }, el });
  window.looks = new Map();
}"""

# The elements of the drawing, each dressed in a look instead of the classes that only the page's style sheets know; the
# sentence; and its look.
TAKE = """(below) => {
  const [shape, font] = [
    ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "paint-order"],
    ["fill", "stroke", "stroke-width", "paint-order", "font-style", "font-weight", "font-size", "font-family"],
  ];
  const usual = /^stroke:none|:(butt|miter|normal|400)$|dasharray:none/;
  const lookOf = (one, names) => {
    const style = getComputedStyle(one);
    const unseen = style.stroke === "none" ? /^(stroke|paint)/ : usual;
    const rules = names.map((name) => `${name}:${style.getPropertyValue(name)}`)
      .filter((rule) => !usual.test(rule) && !unseen.test(rule)).join(";");
    if (!looks.has(rules)) looks.set(rules, `s${looks.size}`);
    return looks.get(rules);
  };
  const dress = (one) => {
    const copy = one.cloneNode();
    copy.setAttribute("class", lookOf(one, one instanceof SVGTextContentElement ? font : shape));
    for (const child of one.childNodes) copy.append(child instanceof Element ? dress(child) : child.cloneNode());
    return copy;
  };
  const drawn = [...document.querySelector("svg[role=img]").children].filter((one) => one.getBBox().y < below);
  const write = (one) => new XMLSerializer().serializeToString(one).replace(/ xmlns="[^"]*"/g, "");
  const say = document.querySelector(".ex-say");
  say.style.fill = getComputedStyle(say).color;
  return [drawn.map((one) => write(dress(one))), say.textContent, lookOf(say, font)];
}"""


class Film(NamedTuple):
    """Pictures as lists of elements, how long each stays, which is the word read and what is said of it; the looks."""

    pictures: list[list[str]]
    times: list[float]
    whole: int
    said: str
    looks: dict[str, str]
    paper: str


def film(browser: Browser, theme: str) -> Film:
    """Let the explorer play."""
    pictures: list[list[str]] = []
    times: list[float] = []
    ends = []
    with stills.studio(browser) as page:
        page.clock.install(time=0)
        page.clock.pause_at(1000)
        page.add_style_tag(content=styles("reader", tokens=True))
        page.evaluate(SHOW, [ReaderExplorer().state() | {"lang": "en"}, theme])
        for button, rest in zip(("[data-again]", "[data-keep]"), RESTS, strict=True):
            page.evaluate("one => document.querySelector(one).click()", button)
            quiet = 0
            while quiet < 600:
                drawn, said, look = page.evaluate(TAKE, BELOW)
                for i, line in enumerate(wrap(said, LETTERS)):
                    drawn.append(f'<text class="{look}" y="{SENTENCE + i * LINE}">{escape(line)}</text>')
                if pictures[-1:] != [drawn]:
                    pictures.append(drawn)
                    times.append(0)
                    quiet = 0
                page.clock.run_for(TICK)
                quiet += TICK
                times[-1] += TICK * SLOWER
            times[-1] = rest
            ends.append((len(pictures) - 1, said))
        looks = page.evaluate("Object.fromEntries(looks)")
        paper = page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--gru-paper')")
    return Film(pictures, times, *ends[0], looks, paper)


def merged(pictures: list[list[str]]) -> list[tuple[str, tuple[int, ...]]]:
    """Every element once, with the pictures that show it, in an order that each picture keeps."""
    found: list[tuple[str, tuple[int, ...]]] = []
    for number, picture in enumerate(pictures):
        matcher = SequenceMatcher(None, [element for element, _ in found], picture, autojunk=False)
        now = []
        for same, a, b, c, d in matcher.get_opcodes():
            if same == "equal":
                now += [(element, (*shown, number)) for element, shown in found[a:b]]
            else:
                now += found[a:b] + [(element, (number,)) for element in picture[c:d]]
        found = now
    return found


def plain(rules: str) -> str:
    """Colours in the form that every program reads, and no double quotes."""
    mixed = r"color\(srgb (\S+) (\S+) (\S+)\)"
    rules = re.sub(mixed, lambda m: f"rgb({', '.join(str(round(255 * float(part))) for part in m.groups())})", rules)
    return rules.replace('"', "'")


def svg(browser: Browser, theme: str) -> str:
    """The moving picture. Where nothing may move it is the word read."""
    played = film(browser, theme)
    *begins, end = accumulate([0.0, *played.times])
    names: dict[tuple[int, ...], str] = {}
    body = []
    for element, shown in merged(played.pictures):
        if len(shown) < len(begins):
            name = names.setdefault(shown, f"a{len(names)}")
            element = element.replace('class="', f'class="{name} ', 1)
        body.append(element)
    style = [f".{name}{{{plain(look)}}}" for look, name in played.looks.items()]
    for shown, name in names.items():
        seen = ["visible" if i in shown else "hidden" for i in range(len(begins))]
        turns = [i for i, now in enumerate(seen) if i == 0 or now != seen[i - 1]]
        keys = "".join(f"{100 * begins[i] / end:.4g}%{{visibility:{seen[i]}}}" for i in turns)
        style.append(f".{name}{{visibility:{seen[played.whole]};animation-name:{name}}}@keyframes {name}{{{keys}}}")
    box = f"{-MARGIN} {-MARGIN} {WIDE + 2 * MARGIN} {HIGH + 2 * MARGIN}"
    x, y, wide, high = box.split()
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" width="{wide}" height="{high}">',
            f"<title>{escape(played.said)}</title>",
            "<style>",
            f"[class^=a]{{animation:{end / 1000:.4g}s step-end {TIMES}}}",
            *style,
            "@media (prefers-reduced-motion:reduce){[class^=a]{animation:none}}",
            "</style>",
            f'<rect x="{x}" y="{y}" width="{wide}" height="{high}" rx="6" fill="{played.paper}"/>',
            *body,
            "</svg>",
            "",
        ]
    )


def main() -> None:
    """Draw and store both."""
    path = chromium.find()
    if path is None:
        sys.exit(chromium.ADVICE)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(chromium.ARGUMENTS))
        for theme in THEMES:
            file = OUT / f"reader-{theme}.svg"
            file.write_text(svg(started, theme), "utf8", newline="\n")
            print(f"{file.stat().st_size / 1000:.0f} KB  {file.name}")
        started.close()


if __name__ == "__main__":
    main()
