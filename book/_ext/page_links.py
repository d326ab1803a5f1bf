"""The links from page to page: the foot of each page, which says why a reader goes on; the map; and its routes.

A main page leads on to the next main page, and to the first of its own companions for those who want to go deeper; a
companion leads to the next one, on to the next chapter, and back to its own. So nobody needs a companion to go on.
The words are in ``book/page_links.yml``, the titles and times in the pages.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

import pages
from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from map_drawing import drawing
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

logger = logging.getLogger(__name__)


def _name(docname: str) -> str:
    return docname.rpartition("/")[2]


def is_companion(docname: str) -> bool:
    """Whether a page goes deeper than a chapter: 04b-… ."""
    return re.match(r"\d\d[a-z]-", _name(docname)) is not None


def links_from(docname: str, order: Sequence[str], why: dict[str, dict[str, str]]) -> list[dict[str, str]]:
    """Where to go from a page, of the pages in the order of the table of contents: the page, its title, and why."""
    at = order.index(docname)
    main = [page for page in order if not is_companion(page)]
    chapter = next(page for page in reversed(order[: at + 1]) if page in main)
    place = main.index(chapter)
    before = main[:place][-1:] if chapter == docname else [chapter]
    deeper = [page for page in order[at + 1 : at + 2] if is_companion(page)]
    found = []
    for label, rel, led in (("Next", "next", main[place + 1 :][:1]), ("Deeper", "", deeper), ("Back", "prev", before)):
        for page in led:
            words = why.get(_name(page), {}).get("back" if label == "Back" else "next", "")
            title = re.sub(r"[*`]", "", pages.read(_name(page)).title)
            words = words[:1].upper() + words[1:]
            found.append({"label": label, "rel": rel, "page": page, "title": title, "why": words})
    return found


@cache
def order(app: Sphinx) -> list[str]:
    """The pages in the order of the table of contents."""
    root = app.config.root_doc
    found = [root]
    relations = app.env.collect_relations()
    while (following := relations.get(found[-1], (None, None, None))[2]) and following not in found:
        found.append(following)
    return found


def foot(app: Sphinx, pagename: str, _template: str, context: dict[str, Any], doctree: Any) -> None:
    """Give the template the links from a page, and the head of the page the same neighbours."""
    context["gru_page_links"] = []
    everything = order(app)
    if doctree is None or pagename not in everything:
        return
    context["gru_page_links"] = found = links_from(pagename, everything, pages.settings("page_links.yml")["pages"])
    for link in found:
        if not link["why"]:
            logger.warning("book/page_links.yml does not say why a reader goes to %s", link["page"], location=pagename)
    for name in ("next", "prev"):
        neighbours = (link for link in found if link["rel"] == name)
        context[name] = next(({"link": context["pathto"](n["page"]), "title": n["title"]} for n in neighbours), None)


def write_again(_app: Sphinx, env: Any) -> list[str]:
    """Write every page again when the words for its foot, or a page's title, have changed."""
    stamp = repr(pages.settings("page_links.yml")) + repr([pages.read(_name(p)).title for p in sorted(env.found_docs)])
    before, env.gru_page_links = getattr(env, "gru_page_links", ""), stamp
    return [] if stamp == before else sorted(env.found_docs)


class Routes(SphinxDirective):
    """``{routes}``: the routes of the map, each with its pages and the time that they take together; or, with
    ``:short:``, what each is for, how long it takes and where it begins; its name leads to the map."""

    option_spec: ClassVar = {"short": directives.flag}

    def run(self) -> list[nodes.Node]:
        """Return a section's worth of nodes, or a list."""
        note_sources(self)
        routes = pages.settings("page_links.yml")["routes"]
        if "short" in self.options:
            there = {_name(page) for page in self.env.found_docs}
            here = {name: r for name, r in routes.items() if there.issuperset(r["pages"])}
            found = parsed(self, "\n".join(map(_short, here.values())))
            titles = (title for part in found for title in part.findall(nodes.strong))
            for name, title in zip(here, list(titles), strict=True):
                link = nodes.reference("", "", refuri=f"map.html#route-{name}")
                title.replace_self(link)
                link += title
            return found
        return [section(f"route-{name}", route["title"], parsed(self, _route(route))) for name, route in routes.items()]


def route_minutes(route: dict[str, Any]) -> int:
    """The time that the pages of a route state, together."""
    return sum(pages.read(name).minutes for name in route["pages"])


def _total(route: dict[str, Any]) -> str:
    return f"{len(route['pages'])} pages, {pages.hours(route_minutes(route))} of reading."


def _short(route: dict[str, Any]) -> str:
    first = pages.read(route["pages"][0])
    halves = round(route_minutes(route) / 30)
    long = f"about {halves // 2}{'½' * (halves % 2)} hours"
    whole = f"{len(route['pages'])} pages, {long}"
    return f"- **{route['title']}**, {route['short']}: {whole}, from [{first.title}]({first.name}.ipynb)."


def _route(route: dict[str, Any]) -> str:
    found = [pages.read(name) for name in route["pages"]]
    steps = "\n".join(f"- {p.number} · [{p.heading}]({p.name}.ipynb), {p.minutes} minutes" for p in found)
    return f"{route['for']}\n{_total(route)}\n\n{{.gru-contents}}\n{steps}"


class Map(SphinxDirective):
    """``{map-of-the-book}``: every page on a line, and the routes as tracks that stop at some of them."""

    def run(self) -> list[nodes.Node]:
        """Return the drawing, in a form for a desk and one for a phone."""
        note_sources(self)
        found = self.env.found_docs
        lines = [pages.read(_name(p)) for p in sorted(found) if re.match(r"book/\d\d", p)]
        routes = pages.settings("page_links.yml")["routes"]
        svg = "".join(drawing(lines, routes, alt=in_words(lines, routes), slim=slim) for slim in (False, True))
        return [nodes.raw("", svg, format="html")]


def in_words(lines: Sequence[pages.Page], routes: dict[str, Any]) -> str:
    """What the map shows, for readers who cannot see it."""
    stops = ". ".join(
        f"The route {route['title']} stops at {', '.join(pages.read(name).number for name in route['pages'])}"
        for route in routes.values()
    )
    return f"The chapters {lines[0].number} to {lines[-1].number} in a column, with their times. {stops}."


def note_sources(directive: SphinxDirective) -> None:
    """Build the page again when what it is made from changes."""
    env = directive.env
    for path in [pages.BOOK / "page_links.yml", pages.BOOK / "courses.yml", *pages.BOOK.glob("*.ipynb")]:
        env.note_dependency(str(path))


def parsed(directive: SphinxDirective, text: str) -> list[nodes.Node]:
    """Markdown without headings as nodes."""
    holder = nodes.container()
    lines = StringList(text.split("\n"), source=directive.env.docname)
    directive.state.nested_parse(lines, directive.content_offset, holder)
    return list(holder.children)


def section(anchor: str, title: str, children: Sequence[nodes.Node]) -> nodes.section:
    """A section of the page; MyST would put one that a directive parses in front of all that the directive returns."""
    return nodes.section("", nodes.title("", title), *children, ids=[anchor])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_directive("routes", Routes)
    app.add_directive("map-of-the-book", Map)
    app.connect("env-updated", write_again)
    app.connect("html-page-context", foot)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
