"""Draw the explorers' previews, which stand in their place on a page without JavaScript and in a notebook.

``python tools/previews.py [NAME …]`` draws every explorer, or those named, with its own module in a browser, and writes
``gru_book/widgets/previews/``: for the state in which it starts and for every state that a notebook of the book shows.
Run it after a change of a drawing or of its words.
"""

from __future__ import annotations

import html
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import browser as chromium
from playwright.sync_api import Browser, Page, sync_playwright

from gru_book.widgets import EXPLORERS, Explorer
from gru_book.widgets._modules import PREVIEWS, classic

ROOT = Path(__file__).resolve().parents[1]

# Render an explorer, as a page would, at the widths of its two layouts. No style sheet is loaded and no text measured:
# the picture does not depend on the fonts of this machine.
DRAW = """async ([name, state]) => {
  const { render, preview } = explorers[name];
  const { patch, hide, said } = preview?.(state) ?? {}; // what the picture sets, leaves out and says of its own
  const values = { ...state, ...patch };
  const model = { get: (key) => values[key], set() {}, save_changes() {}, on() {}, off() {} };
  const drawn = {};
  for (const [layout, width] of [["wide", 720], ["slim", 350]]) {
    const el = document.body.appendChild(document.createElement("div"));
    el.style.width = `${width}px`;
    const stop = render({ model, el });
    const [svg, say] = ["svg[role=img]", ".ex-say"].map((one) => el.querySelector(one));
    let before;
    do { // the language model takes many frames, and speaks when it has written what it speaks of
      before = svg.innerHTML;
      await new Promise(requestAnimationFrame);
    } while (!say.textContent || svg.innerHTML !== before);
    if (hide) svg.querySelector(hide).remove();
    drawn[layout] = {
      cls: svg.getAttribute("class"), box: svg.getAttribute("viewBox"), label: svg.getAttribute("aria-label"),
      inside: svg.innerHTML, said: said ?? say.textContent,
    };
    stop();
    el.remove();
  }
  return drawn;
}"""


@contextmanager
def studio(browser: Browser) -> Iterator[Page]:
    """A page that knows every explorer and shows none."""
    page = browser.new_page()
    page.evaluate("window.explorers = {}; window.afmHost = { register: (name, one) => { explorers[name] = one; } };")
    for name in EXPLORERS:
        page.add_script_tag(content=classic(name))
    yield page
    page.close()


def draw(page: Page, explorer: Explorer) -> str:
    """Return the preview of an explorer in its state: one element a line."""
    drawn: dict[str, dict[str, str]] = page.evaluate(DRAW, [explorer.module, explorer.state()])
    said = html.escape(drawn["wide"]["said"])
    lines = ['<div class="ex-preview">']
    for layout, one in drawn.items():
        lines.append(
            f'<svg class="{one["cls"]} ex-only-{layout}" viewBox="{one["box"]}" role="img" '
            f'aria-label="{html.escape(one["label"])} {said}">'
        )
        inside = re.sub("></(?:path|rect|circle)>", "/>", one["inside"]).replace("&nbsp;", "\u00a0")
        lines += [re.sub("(?<=>)(?=<(?:path|rect|circle|text|g)[ >])", "\n", inside), "</svg>"]
    return "\n".join([*lines, f'<p class="ex-say">{said}</p>', "</div>", ""])


def wanted() -> list[Explorer]:
    """Every explorer as it starts, and in the other states that the book's notebooks show."""
    found = [cls() for cls in EXPLORERS.values()]
    for path in sorted((ROOT / "book").glob("*.ipynb")):
        text = path.read_text("utf-8")
        found += shown(json.loads(text)) if "data-afm" in text else ()
    return found


def shown(notebook: dict[str, Any]) -> Iterator[Explorer]:
    """The explorers in the stored outputs of a notebook, in the states they have there."""
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            explorer = Explorer.from_html("".join(output.get("data", {}).get("text/html", "")))
            if explorer is not None:
                yield explorer


def main(names: list[str]) -> None:
    """Draw and store the explorers named, or all; drop the pictures that nothing shows any more."""
    unknown = set(names) - set(EXPLORERS)
    if unknown:
        sys.exit(f"no explorer {', '.join(sorted(unknown))}; there are {', '.join(EXPLORERS)}")
    asked = {explorer.preview(): explorer for explorer in wanted()}
    path = chromium.find()
    if path is None:
        sys.exit(chromium.ADVICE)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(chromium.ARGUMENTS))
        with studio(started) as page:
            for file, explorer in asked.items():
                if not names or explorer.module in names:
                    PREVIEWS.mkdir(exist_ok=True)
                    (PREVIEWS / file).write_text(draw(page, explorer), "utf-8", newline="\n")
                    print(file, flush=True)
        started.close()
    for old in PREVIEWS.glob("*.html"):
        if old.name not in asked:
            old.unlink()
            print(old.name, "is shown nowhere: removed")


if __name__ == "__main__":
    main(sys.argv[1:])
