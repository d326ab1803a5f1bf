"""A content security policy in every page: what a browser may load and run there, whatever else gets into the page.

Scripts come from the book's own folder. The few that the theme writes into its pages are allowed by their hashes, and
those that a cell's output might hold are not. Nothing is evaluated: the explorers live without ``unsafe-eval``.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup
from sphinx.application import Sphinx
from sphinx.config import Config

FRAME = Path(__file__).parent / "frame.js"
POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    # Sizes and places stand in style attributes: of figures and formulas, of what explorers and the theme's menus move.
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data:",  # the theme's style sheets hold small pictures
    "font-src": "'self' data:",  # the formulas' font stands in its style sheet: maths_font.py
    "form-action": "'self'",  # the search
    "base-uri": "'none'",
}
FRONT = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta content="{policy}" http-equiv="Content-Security-Policy"/>
<meta content="0; url={front}" http-equiv="refresh"/>
<title>{title}</title>
</head>
</html>
"""


def hashed(script: str) -> str:
    """What allows a script that stands in a page."""
    return f"'sha256-{b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def policy(scripts: list[str]) -> str:
    """The policy of a page that holds these scripts."""
    allowed = " ".join([POLICY["script-src"], *dict.fromkeys(map(hashed, scripts))])
    return "; ".join(f"{name} {value}" for name, value in (POLICY | {"script-src": allowed}).items())


def state_policy(page: BeautifulSoup, served: bool = False) -> None:
    """Put the policy at the head of a page, before all that it is about; after the repairs, which remove scripts.

    A page that `do.py serve` shows its writer has none: the server reloads it by a script that it writes into it.
    """
    if served:
        return
    assert page.head is not None
    own = [script.string or "" for script in page.select("script:not([src])") if not script.find_parent("article")]
    meta = page.new_tag("meta", attrs={"http-equiv": "Content-Security-Policy", "content": policy(own)})
    charset = page.head.find("meta", charset=True)
    charset.insert_after(meta) if charset else page.head.insert(0, meta)


def write_front(app: Sphinx) -> None:
    """Write the page that leads from the root to the front page; sphinx_external_toc would write one without a head."""
    title, front = app.config.html_title, app.builder.get_target_uri(app.config.root_doc)
    text = FRONT.format(policy=policy([]), title=title, front=front)
    (Path(app.outdir) / "index.html").write_text(text, "utf8")


def add_script(_app: Sphinx, config: Config) -> None:
    """Put the script of the buttons around the text where pages load it from."""
    config.html_static_path.append(str(FRAME))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_config_value("gru_served", False, "html")  # `do.py serve` sets it
    app.add_js_file(FRAME.name, loading_method="defer")
    app.connect("config-inited", add_script)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
