"""Explorers in the built pages: the host script, the modules a page uses, and links that set a state.

Assets
    A page that holds ``data-afm="name"`` loads ``_static/afm/afm_host.js``, ``name.js`` and ``name.css``, deferred;
    other pages load nothing. Modules become classic scripts, because ES modules do not load from ``file://``.

Links
    ``[z near 1](#gate?z=0.99)`` is left to the host script. Without JavaScript it leads nowhere and does no harm.
    A link that names an unknown key is reported when the book is built.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from docutils import nodes
from docutils.transforms import Transform
from sphinx.application import Sphinx
from sphinx.util import logging

from gru_lib.widgets import EXPLORERS
from gru_lib.widgets._modules import classic, styles

HERE = Path(__file__).parent
LOGGER = logging.getLogger(__name__)
USED = re.compile(r'data-afm="([\w-]+)"')
ANCHORED = re.compile(r'id="([^"]+)" data-afm="([\w-]+)"')
LINK = re.compile(r'href="#([^"?]+)\?([^"]+)"')


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
    if not used:
        return
    _write_assets(app, used)
    app.add_js_file("afm/afm_host.js", loading_method="defer")
    for name in used:
        app.add_js_file(f"afm/{name}.js", loading_method="defer")
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


def refresh_assets(app: Sphinx, exception: Exception | None) -> None:
    """Bring the assets up to date also for the pages that this build did not write."""
    written = {path.stem for path in _folder(app).glob("*.js")}
    if written and not exception:
        _write_assets(app, sorted(written & set(EXPLORERS)))


def _folder(app: Sphinx) -> Path:
    return Path(app.outdir) / "_static" / "afm"


def _write_assets(app: Sphinx, names: list[str]) -> None:
    folder = _folder(app)
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / "afm_host.js", (HERE / "afm_host.js").read_text("utf-8"))
    for name in names:
        _write(folder / f"{name}.js", classic(name))
        _write(folder / f"{name}.css", styles(name, tokens=False))


def _write(path: Path, text: str) -> None:
    """Write only what changed, so that an unchanged book keeps its files."""
    if not path.is_file() or path.read_text("utf-8") != text:
        path.write_text(text, "utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_transform(LinksToState)
    app.connect("html-page-context", add_assets)
    app.connect("build-finished", refresh_assets)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
