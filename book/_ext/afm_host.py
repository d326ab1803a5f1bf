"""Explorers in the built pages: previews, numbered figures, the host script, the modules a page uses, and links
that set a state.

Pictures
    A notebook stores an explorer's name and state. A page gets the preview too, which stands there until the host
    brings the explorer to life.

Figures
    A cell whose ``mystnb`` metadata give a figure's ``name`` and ``caption`` makes its explorer an "Explorer 4.1". The
    caption's first paragraph is the title, a question; the rest says what to try. Both stand above the explorer.

Assets
    A page that holds ``data-afm="name"`` loads ``_static/afm/afm_host.js``, ``name.js`` and ``name.css``, deferred;
    other pages load nothing. Modules become classic scripts, because ES modules do not load from ``file://``.

Links
    ``[z near 1](#gate?z=0.99)`` is left to the host script. Without JavaScript it leads nowhere and does no harm.
    A link that names an unknown key is reported when the book is built.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from docutils import nodes
from docutils.transforms import Transform
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

from gru_book.widgets import EXPLORERS, Explorer
from gru_book.widgets._modules import classic, styles

HERE = Path(__file__).parent
LOGGER = logging.getLogger(__name__)
USED = re.compile(r'data-afm="([\w-]+)"')
ANCHORED = re.compile(r'id="([^"]+)" data-afm="([\w-]+)"')
LINK = re.compile(r'href="#([^"?]+)\?([^"]+)"')


class explorer(nodes.General, nodes.Element):
    """A numbered explorer: its title, what to try, and what the cell shows."""


class explorer_title(nodes.caption):
    """The title of an explorer, a question."""


def visit_explorer(self: HTML5Translator, node: explorer) -> None:
    """Open the figure, whose name is its title, and its caption."""
    named = {"aria-labelledby": node.children[0]["ids"][0]}  # type: ignore[index]
    self.body.append(self.starttag(node, "figure", CLASS="gru-explorer", **named) + "<figcaption>\n")


def depart_explorer(self: HTML5Translator, _node: explorer) -> None:
    """Close it."""
    self.body.append("</figure>\n")


def visit_title(self: HTML5Translator, node: explorer_title) -> None:
    """Open the line and number it."""
    self.body.append(self.starttag(node, "p", ""))
    self.add_fignumber(node.parent)  # type: ignore[arg-type]


def depart_title(self: HTML5Translator, _node: explorer_title) -> None:
    """Close it."""
    self.body.append("</p>\n")


class ShowExplorers(Transform):
    """Put the previews into the outputs that hold an explorer, and make numbered figures of their figures."""

    default_priority = 400

    def apply(self, **_: Any) -> None:
        """Apply the transform."""
        for output in list(self.document.findall(nodes.raw)):
            found = Explorer.from_html(output.astext()) if "data-afm" in output.astext() else None
            if found is None:
                continue
            output[:] = [nodes.Text(found.to_html())]
            figure = output.parent
            while figure is not None and not isinstance(figure, nodes.figure):
                figure = figure.parent
            if figure is not None:
                self.number(figure)

    def number(self, figure: nodes.figure) -> None:
        """Replace a figure by a numbered explorer, its caption before what it shows."""
        of = {type(child): child for child in figure.children}
        if nodes.caption not in of:
            LOGGER.warning("an explorer's figure has no caption: a question, and what to try", location=figure)
            return
        caption, legend = of.pop(nodes.caption), of.pop(nodes.legend, [])
        title = explorer_title("", "", *caption.children, ids=[f"{figure['ids'][0]}-title"])
        numbered = explorer("", title, *legend, nodes.raw("", "</figcaption>", format="html"), *of.values())
        numbered.update_all_atts(figure)
        numbered.source, numbered.line = figure.source, figure.line
        figure.replace_self(numbered)
        self.document.ids.update(dict.fromkeys(figure["ids"], numbered))


class LinksToState(Transform):
    """Leave ``#anchor?key=value`` alone: MyST would look for a heading of that name."""

    default_priority = 870  # just before myst_parser's ResolveAnchorIds

    def apply(self, **_: Any) -> None:
        """Apply the transform."""
        for link in self.document.findall(nodes.reference):
            if link.get("id_link") and "?" in link["refuri"]:
                del link["id_link"]
                link["refid"] = link.attributes.pop("refuri")[1:]


def add_assets(app: Sphinx, pagename: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Give a page the host and the modules of the explorers it holds, and check its links to them."""
    body = context.get("body", "")
    _check_links(pagename, body)
    used = sorted(set(USED.findall(body)) & set(EXPLORERS))
    for name in ["afm_host", *used] if used else ():
        app.add_js_file(f"afm/{name}.js", loading_method="defer")
    for name in used:
        app.add_css_file(f"afm/{name}.css")


def _check_links(pagename: str, body: str) -> None:
    anchors = dict(ANCHORED.findall(body))
    for anchor, query in LINK.findall(body):
        if anchor not in anchors:
            LOGGER.warning("no explorer with the anchor %r in this page", anchor, location=pagename)
            continue
        known = {*EXPLORERS[anchors[anchor]]._names(), "preset"}
        for key in set(parse_qs(query.replace("&amp;", "&"))) - known:
            LOGGER.warning("link to #%s sets %r, which it does not have", anchor, key, location=pagename)


def write_assets(app: Sphinx) -> None:
    """Put the host and the modules where pages load them from."""
    folder = Path(app.outdir) / "_static" / "afm"
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(HERE / "afm_host.js", folder / "afm_host.js")
    for name in EXPLORERS:
        (folder / f"{name}.js").write_text(classic(name), "utf-8")
        (folder / f"{name}.css").write_text(styles(name, tokens=False), "utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_node(explorer_title, html=(visit_title, depart_title))
    app.add_enumerable_node(explorer, "explorer", html=(visit_explorer, depart_explorer))
    app.add_transform(ShowExplorers)
    app.add_transform(LinksToState)
    app.connect("builder-inited", write_assets)
    app.connect("html-page-context", add_assets)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
