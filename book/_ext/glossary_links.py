"""Link the first use of a term on each page to the glossary.

Only in running text: not in headings, ledes, captions, tables, boxes, links, emphasis or code. Words that are everyday
words, too, are left alone, and so is a term on the page that the glossary names for it, where it is explained.
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
EVERYDAY = {"batch", "bias", "borrow", "candidate", "checksum", "clipping", "gate", "initialisation", "padding"}
EVERYDAY |= {"stack", "state", "temperature", "token"}
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
        if page == GLOSSARY or self.app.builder.format != "html":
            return
        path = Path(self.env.doc2path(GLOSSARY))
        self.env.note_dependency(str(path))
        paragraphs = list(self.document.findall(is_running_text))
        for term, explained in terms(path.read_text("utf8")).items():
            if explained != page.rpartition("/")[2]:
                self.link(term, paragraphs)

    def link(self, term: str, paragraphs: list[nodes.paragraph]) -> None:
        """Link the first use of one term; of an entry with two names, of the first."""
        name = re.escape(term.partition(", ")[0])
        pattern = re.compile(rf"(?<![\w-]){name}(?:s|es)?(?![\w-])", re.I)
        for paragraph in paragraphs:
            for text in [child for child in paragraph.children if isinstance(child, nodes.Text)]:
                if use := pattern.search(text):
                    before, after = nodes.Text(text[: use.start()]), nodes.Text(text[use.end() :])
                    paragraph.replace(text, [before, reference(self.env.docname, term, use[0]), after])
                    return


def is_running_text(node: nodes.Node) -> bool:
    """Whether a node is a paragraph of a section, but for a page's first lines."""
    if not isinstance(node, nodes.paragraph) or "gru-lede" in node["classes"]:
        return False
    section = node.parent
    return isinstance(section, nodes.section) and isinstance(section.children[0], nodes.title)


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
