"""What a site has around its pages: icons, descriptions, pages for wrong and for old addresses, and files for robots.

``html.baseurl`` in ``_config.yml`` says the site's address. While it is empty, the variable ``SITE_ADDRESS`` may, as in
the workflow that publishes the pages. Without either no page names a site: there are no canonical links, no sitemap and
no pictures beside shared links, all of which need whole addresses.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit
from xml.sax.saxutils import escape

import pages
from docutils import nodes
from search_index import one_line
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError

LONGEST = 200  # letters of a description
ICONS = """
<link rel="icon" href="{static}favicon.ico" sizes="32x32"/>
<link rel="apple-touch-icon" href="{static}apple-touch-icon.png"/>
"""
NOT_FOUND = """
<h1>There is no such page</h1>
<p>The address may be mistyped, or the page may have moved. The <a href="{front}">front page</a> lists every chapter,
and the <a href="{search}">search</a> finds words in all of them.</p>
"""
MOVED = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta content="default-src 'none'; base-uri 'none'" http-equiv="Content-Security-Policy"/>
<title>This page has moved — {book}</title>
<link rel="canonical" href="{there}"/>
<meta http-equiv="refresh" content="0; url={there}"/>
</head>
<body><p>This page has moved: <a href="{there}">{title}</a></p></body>
</html>
"""


def set_address(_app: Sphinx, config: Config) -> None:
    """Pass the site's address on to the extension that describes the pages to other programs."""
    name, address = "html.baseurl", config.html_baseurl
    if not address and (given := os.environ.get("SITE_ADDRESS")):
        name, address = "SITE_ADDRESS", given.rstrip("/") + "/"
    if address and not re.fullmatch(r"https?://[^/\s]+(/[^?#\s]*)?/", address):
        raise ExtensionError(f"{name} must be like https://somebody.github.io/gru-book/; got {address!r}")
    config.html_baseurl = address
    config.ogp_site_url = address
    config.ogp_site_name = config.html_title
    config.ogp_social_cards = {"enable": False}  # one card for all
    if address:
        config.ogp_image = "_static/card.png"
        config.ogp_image_alt = "Two plates of a gate, and the title of the book"
        config.ogp_custom_meta_tags = ['<meta name="twitter:card" content="summary_large_image" />']


def describe(doctree: nodes.document) -> str:
    """The page in a sentence: its lede, or its first paragraph."""
    paragraphs = list(doctree.findall(nodes.paragraph))
    ledes = [p for p in paragraphs if "gru-lede" in p["classes"]]
    text = one_line(*(ledes or paragraphs)[:1])
    return text if len(text) <= LONGEST else text[: text.rindex(" ", 0, LONGEST)].rstrip(".,;:") + " …"


def days(folder: Path) -> dict[str, str]:
    """The day of the last change of each source, as far as git knows; in a shallow clone it does not."""
    if _git(folder, "rev-parse", "--is-shallow-repository") != "false":
        return {}
    named = ("-c", "core.quotepath=off", "log", "--format=%x00%cs", "--name-only", "--relative")
    found: dict[str, str] = {}
    for commit in _git(folder, *named, "--", "book", "book_text").split("\0")[1:]:  # the newest first
        day, *files = commit.split("\n")
        found = dict.fromkeys(filter(None, files), day) | found
    return found


def note_days(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Note each page's day, and write those pages again that show another: a commit changes it, and no source."""
    known = days(Path(app.srcdir))
    before: dict[str, str] = getattr(env, "gru_days", {})
    now = {}
    for page in env.found_docs:
        sources = (f"book_text/{page.rpartition('/')[2]}.md", str(env.doc2path(page, base=False)))
        now[page] = next((known[source] for source in sources if source in known), "")
    env.gru_days = now  # type: ignore[attr-defined]
    return sorted(page for page, day in now.items() if day != before.get(page))


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def add_to_head(app: Sphinx, pagename: str, _template: str, context: dict[str, Any], doctree: Any) -> None:
    """Give a page its icons, its description and the day of its last change; before sphinxext.opengraph reads them."""
    static = context["pathto"]("_static/", 1)
    context["metatags"] = context.get("metatags", "") + ICONS.format(static=static)
    if doctree is None:
        return
    description = describe(doctree)
    context["meta"] = (context["meta"] or {}) | {"og:description": description}
    context["metatags"] += f'<meta name="description" content="{escape(description, {chr(34): "&quot;"})}"/>\n'
    if day := app.env.gru_days.get(pagename):  # type: ignore[attr-defined]
        context["last_updated"] = day


def drop_half_address(app: Sphinx, _page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Without the site's address ``og:url`` would be half of one; after sphinxext.opengraph wrote it."""
    if not app.config.html_baseurl:
        context["metatags"] = re.sub(r'<meta property="og:url"[^>]*>\s*', "", context["metatags"])


def wrong_address(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """The page that a server shows for an address that leads nowhere."""
    if app.builder.format == "html":
        link = app.builder.get_relative_uri
        body = NOT_FOUND.format(front=link("404", app.config.root_doc), search="search.html")
        yield "404", {"title": "There is no such page", "body": body}, "page.html"


def make_absolute(html: str, root: str) -> str:
    """The page with links from `root`, such as ``/gru-book/``, for whatever address it is shown at, and no address."""
    html = re.sub('<link rel="canonical"[^>]*>', "", html)
    links = re.compile(r'(?<= )(href|src|action|data-content_root)="(?!#)([^"]*)"')
    return links.sub(lambda link: f'{link[1]}="{urljoin(root, link[2])}"', html)


def write_files(app: Sphinx) -> None:
    """Write what is no page, and make the links of 404.html absolute."""
    out, address = Path(app.outdir), app.config.html_baseurl
    (out / ".nojekyll").touch()  # GitHub Pages would leave out the folders that begin with an underscore
    robots = "User-agent: *\nAllow: /\n"
    sitemap = out / "sitemap.xml"
    sitemap.unlink(missing_ok=True)
    if address:
        robots += f"Sitemap: {address}sitemap.xml\n"
        pages = [app.builder.get_target_uri(page) for page in sorted(app.env.found_docs)]
        urls = "".join(f"  <url><loc>{escape(urljoin(address, page))}</loc></url>\n" for page in pages)
        sitemap.write_text(
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{urls}</urlset>\n',
            "utf8",
        )
    (out / "robots.txt").write_text(robots, "utf8")
    wrong = out / "404.html"
    wrong.write_text(make_absolute(wrong.read_text("utf8"), urlsplit(address).path or "/"), "utf8")


def write_moved(app: Sphinx) -> None:
    """Write a page for each old address of ``book/redirects.yml`` that no page has: it leads on, from disk as well."""
    for old, new in pages.settings("redirects.yml").items():
        name, hash_, anchor = new.partition("#")
        if f"book/{old}" not in app.env.found_docs:
            there = f"{name}.html{hash_}{anchor}"
            text = MOVED.format(there=there, title=escape(pages.read(name).title), book=app.config.html_title)
            (Path(app.outdir) / "book" / f"{old}.html").write_text(text, "utf8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension, around sphinxext.opengraph, whose priority is 500."""
    app.connect("config-inited", set_address)
    app.connect("env-updated", note_days)
    app.connect("html-page-context", add_to_head, priority=400)
    app.connect("html-page-context", drop_half_address, priority=600)
    app.connect("html-collect-pages", wrong_address)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
