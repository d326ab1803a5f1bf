"""Search in the book itself: an index by section, and scripts that read it on the results page alone.

Sphinx's own search cuts text into English words, so it finds 门控 in nothing, and its excerpts show the menu and need a
server. Here the prose of every section is stored as it stands, in a script, because from ``file://`` a page can load
nothing else; ``search.js`` looks for words and for Chinese strings in it with MiniSearch, which comes from npm as Temml
does. Of code the names are stored, so that ``num_layers`` finds the box that has it; outputs and displayed maths are
left out. A term of the glossary is a section of its own, and says which chapter explains it; so is each name of the API
reference. What people type for what a page calls otherwise stands in ``book/search_words.yml``, by page.
"""

from __future__ import annotations

import json
import keyword
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mathml
import yaml
from docutils import nodes
from predict import prediction_answer
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util.display import progress_message

HERE = Path(__file__).parent
MINISEARCH = Path(sys.prefix) / "node_modules" / "minisearch"
INDEX = "search_index.js"
WORDS = HERE.parent / "search_words.yml"
VARIABLE = "window.gruSearchIndex = "
LEFT_OUT = (
    nodes.literal_block, nodes.doctest_block, nodes.math_block, nodes.raw, nodes.image, nodes.comment, nodes.target,
    nodes.system_message, addnodes.toctree,
    prediction_answer,  # a result would give it away before its question
)  # fmt: skip


def has_title(node: nodes.Node) -> bool:
    """Whether a node is a section of the page; the boxes of exercises are sections without a title."""
    return isinstance(node, nodes.section) and isinstance(node.children[0], nodes.title)


def prose(node: nodes.Node) -> str:
    """The text of a node without its sections and what is no prose."""
    if isinstance(node, nodes.Text):
        return str(node)
    if isinstance(node, nodes.math):
        return mathml.characters(node)
    if isinstance(node, (addnodes.glossary, addnodes.desc, *LEFT_OUT)) or has_title(node):
        return ""
    text = "".join(prose(child) for child in node.children)
    return text if isinstance(node, nodes.Inline) else f"{text} "


def one_line(*children: nodes.Node) -> str:
    """The prose of some nodes; a docstring's h_{t−1} is h_(t−1), as in formulas."""
    text = "".join(map(prose, children)).replace("\0", "")
    return " ".join(re.sub(r"_\{([^{}]*)\}", r"_(\1)", text).split())


def names(node: nodes.Node) -> Iterator[str]:
    """The names in the code of a node without its sections: cells that are not folded, boxes, listings; no outputs."""
    if has_title(node) or "cell_output" in node.get("classes", []) or "tag_hide-input" in node.get("classes", []):
        return
    if isinstance(node, nodes.literal_block):
        code = re.sub(r"#.*", "", re.sub(r'"""[\s\S]*?"""', "", node.astext()))
        yield from re.findall(r"[^\W\d]\w{2,}", code)
    for child in node.children:
        if isinstance(child, nodes.Element):
            yield from names(child)


def sections(doctree: nodes.document, numbers: dict[str, tuple[int, ...]]) -> Iterator[dict[str, str]]:
    """Each section's anchor, title and prose; of each term of a glossary too, with the page it points to as ``see``."""
    for section in doctree.findall(has_title):
        title = one_line(section.children[0])
        anchor = "" if isinstance(section.parent, nodes.document) else section["ids"][0]
        number = ".".join(map(str, numbers.get(f"#{section['ids'][0]}" if anchor else "", ())))
        yield _section(anchor, f"{number}. {title}" if number else title, section.children[1:])
    for entry in doctree.findall(nodes.definition_list_item):
        terms = [child for child in entry.children if isinstance(child, nodes.term)]
        if isinstance(entry.parent.parent, addnodes.glossary) and terms:
            found = _section(terms[0]["ids"][0], ", ".join(map(one_line, terms)), entry.children[len(terms) :])
            pages = [ref["refuri"] for ref in entry.findall(nodes.reference) if "refuri" in ref]
            chapters = [page for page in pages if re.match(r"\d\d[a-z]?-[\w-]+\.html$", page)]
            yield found | ({"see": chapters[0]} if chapters else {})
    for entry in doctree.findall(addnodes.desc):
        for signature in entry.findall(addnodes.desc_signature):
            if signature.parent is entry and signature["ids"]:
                yield _section(signature["ids"][0], signature["fullname"], list(entry.children[-1].children))


def _section(anchor: str, title: str, children: list[nodes.Node]) -> dict[str, str]:
    found = {"anchor": anchor, "title": title, "text": one_line(*children)}
    code = {name for child in children if isinstance(child, nodes.Element) for name in names(child)}
    return found | ({"code": " ".join(sorted(code - set(keyword.kwlist)))} if code else {})


def note_page(app: Sphinx, pagename: str, _template: str, _context: dict[str, Any], doctree: Any) -> None:
    """Remember the sections of a page that this build writes."""
    if doctree is not None and app.builder.format == "html":
        numbers = app.env.toc_secnumbers.get(pagename, {})
        _noted(app)[pagename] = list(sections(doctree, numbers))


@progress_message("writing the search index")
def write_index(app: Sphinx) -> None:
    """Write the index, with what earlier builds stored of the pages that this one left alone, and the script."""
    static = Path(app.outdir) / "_static"
    path = static / INDEX
    before = json.loads(path.read_text("utf8").removeprefix(VARIABLE)) if path.is_file() else {}
    pages = {name: found for name, found in (before | _noted(app)).items() if name in app.env.found_docs}
    for name, words in yaml.safe_load(WORDS.read_text("utf8")).items():
        if pages.get(f"book/{name}"):
            pages[f"book/{name}"][0]["words"] = ". ".join(words)
    path.write_text(VARIABLE + json.dumps(dict(sorted(pages.items())), ensure_ascii=False), "utf8")
    shutil.copyfile(HERE / "search.js", static / "search.js")
    licence = (MINISEARCH / "LICENSE.txt").read_text("utf8")
    library = (MINISEARCH / "dist" / "umd" / "index.js").read_text("utf8").partition("//# sourceMappingURL")[0]
    (static / "minisearch.js").write_text(f"/* MiniSearch\n\n{licence}*/\n{library}", "utf8")


def without_sphinx_search(app: Sphinx) -> None:
    """Let Sphinx write neither an index nor its page; `results_page` is ours."""
    app.builder.search = False  # type: ignore[attr-defined]


def results_page(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """The page for results."""
    if app.builder.format == "html":
        yield "search", {"title": "Search"}, "search.html"


def _noted(app: Sphinx) -> dict[str, list[dict[str, str]]]:
    noted: dict[str, list[dict[str, str]]] = app.__dict__.setdefault("_gru_sections", {})
    return noted


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension. Pages are noted in the main process only, so writing is not parallel."""
    app.connect("builder-inited", without_sphinx_search)
    app.connect("html-collect-pages", results_page)
    app.connect("html-page-context", note_page)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": False}
