"""Link the first use of a term on each page to the glossary.

Only in running text and its lists: not in headings, ledes, objectives, captions, tables, boxes, links or code. Words
that are everyday words, too, are left alone, and so is a term on the page that the glossary names for it, where it is
explained. Pages that list what others hold, such as the front page, have no such links.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

GLOSSARY = "book/glossary"
LISTS = {"book/intro", "book/map", "book/instructors"}
EVERYDAY = {"batch", "bias", "borrow", "checksum", "code", "gate", "initialisation", "mask", "seed", "stack"}
EVERYDAY |= {"state", "Adam", "readout"}  # the last two stand on nearly every page
ENTRY = re.compile(r"^(\w.*)\n((?:  .*\n?)+)", re.M)


def terms(glossary: str) -> dict[str, str]:
    """The entries to link, from the glossary's text, each with the page that explains it or an empty string."""
    found = {}
    for names, text in ENTRY.findall(glossary.partition("```{glossary}\n")[2]):
        page = re.search(r"See \[[^\]]*\]\((\d\d[a-z]?-[\w-]+)\.ipynb\)", text)
        found |= {names: page[1] if page else ""} if names not in EVERYDAY else {}
    return found


class LinkFirstUses(SphinxTransform):
    """Put a reference to the term where a page's running text first uses it."""

    default_priority = 600  # after the text is read, before references are resolved

    def apply(self, **_: Any) -> None:
        """Apply the transform."""
        page = self.env.docname
        if page in {GLOSSARY, *LISTS} or self.app.builder.format != "html":
            return
        path = Path(self.env.doc2path(GLOSSARY))
        self.env.note_dependency(str(path))
        paragraphs = list(self.document.findall(is_running_text))
        for term, explained in terms(path.read_text("utf8")).items():
            if explained != page.rpartition("/")[2]:
                self.link(term, paragraphs)

    def link(self, term: str, paragraphs: list[nodes.paragraph]) -> None:
        """Link the first use of one term; of an entry with two names, of either."""
        pattern = use_of(term)
        for paragraph in paragraphs:
            for text in words(paragraph):
                if use := pattern.search(text):
                    before, after = nodes.Text(text[: use.start()]), nodes.Text(text[use.end() :])
                    text.parent.replace(text, [before, reference(self.env.docname, term, use[0]), after])
                    return


def use_of(term: str) -> re.Pattern[str]:
    """What counts as a use of an entry: one of its names, in the singular or the plural."""
    names = "|".join(map(re.escape, term.split(", ")))
    return re.compile(rf"(?<![\w-])(?:{names})(?:s|es)?(?![\w-])", re.I)


def words(paragraph: nodes.Node) -> list[nodes.Text]:
    """The text of a paragraph, plain or emphasised, in order: not what is in links, code or formulas."""
    plain = (paragraph, *(child for child in paragraph.children if isinstance(child, (nodes.emphasis, nodes.strong))))
    return [text for text in paragraph.findall(nodes.Text) if text.parent in plain]


def is_running_text(node: nodes.Node) -> bool:
    """Whether a node is a paragraph of a section or of a list in it, but for a page's first lines and objectives."""
    if not isinstance(node, nodes.paragraph) or "gru-lede" in node["classes"]:
        return False
    holder = node.parent
    while isinstance(holder, (nodes.list_item, nodes.bullet_list, nodes.enumerated_list)):
        holder = holder.parent
    if not isinstance(holder, nodes.section) or not isinstance(holder.children[0], nodes.title):
        return False
    objectives = holder is not node.parent and isinstance(holder.parent, nodes.document)
    return not objectives


def reference(page: str, term: str, words: str) -> nodes.Node:
    """A reference to a term of the glossary, in the words of the text."""
    link = addnodes.pending_xref(
        "", refdoc=page, refdomain="std", reftype="term", reftarget=term, refexplicit=True, refwarn=True
    )
    link += nodes.inline(words, words, classes=["xref", "std", "std-term"])
    return link


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_transform(LinkFirstUses)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
