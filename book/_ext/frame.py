"""The frame around a page's text: what ``book/_templates/layout.html`` shows, and which files a page loads.

Sphinx's own theme `basic` is underneath, but of its files, and those of the extensions, a page loads none: they have
rules that the book would have to undo.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from chapter_numbers import chapter_number
from page_repairs import repair
from sphinx.application import Sphinx
from sphinx.config import Config

HERE = Path(__file__).parent
FIRST = (HERE / "first.js").read_text("utf8")
STYLES = ("_static/gru-", "_static/afm/")
UNUSED = re.compile(r"_static/(documentation_options|doctools|sphinx_highlight)\.js")


class Entry(NamedTuple):
    """A page in the menu, with the pages below it."""

    name: str
    title: str
    below: list[Entry]

    @property
    def names(self) -> list[str]:
        """Its own name and theirs."""
        return [self.name, *(page.name for page in self.below)]


def entries(app: Sphinx, page: str) -> list[tuple[str, list[Entry]]]:
    """The parts of a page in the table of contents: each one's caption and pages."""

    def entry(name: str) -> Entry:
        number, title = chapter_number(name), app.env.titles[name].astext()
        below = [one for _, found in entries(app, name) for one in found]
        return Entry(name, title if number is None else f"{number}. {title}", below)

    if not hasattr(app.env, "external_site_map"):
        return []
    parts = app.env.external_site_map[page].subtrees
    return [(part.caption or "", [entry(str(name)) for name in part.items]) for part in parts]


def menu(app: Sphinx) -> list[tuple[str, list[Entry]]]:
    """The whole book, gathered once."""
    if "_gru_menu" not in app.__dict__:
        app.__dict__["_gru_menu"] = entries(app, app.config.root_doc)
    found: list[tuple[str, list[Entry]]] = app.__dict__["_gru_menu"]
    return found


def frame(app: Sphinx, pagename: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Give the template what it shows, when all that adds files to the page has done so."""
    pages_written(app).add(pagename)
    below = re.search(r"</a>\s*(<ul>.*</ul>)\s*</li>\s*</ul>", context.get("toc", ""), re.S)  # the page's own title
    scripts = [js for js in context["script_files"] if not UNUSED.match(js.filename or "")]
    context |= {
        "author": app.config.author,
        "css_files": [css for css in context["css_files"] if css.filename.startswith(STYLES)],
        "script_files": scripts,
        "body": repair(context.get("body", "")),
        "gru_first": FIRST,
        "gru_menu": menu(app),
        "gru_toc": below[1] if below else "",
    }


def pages_written(app: Sphinx) -> set[str]:
    """The pages that this build wrote. If there are none, what is made of all pages is as it was."""
    pages: set[str] = app.__dict__.setdefault("_gru_pages_written", set())
    return pages


def configure(_app: Sphinx, config: Config) -> None:
    """Put the script where pages load it from; and what Jupyter Book tells a theme, ours has in its template."""
    config.html_static_path.append(str(HERE / "frame.js"))
    config.html_theme_options = {}


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension. Pages are noted in the main process only, so writing is not parallel."""
    app.setup_extension("page_repairs")
    app.add_js_file("frame.js", loading_method="defer")
    app.connect("config-inited", configure, priority=900)
    app.connect("html-page-context", frame, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
