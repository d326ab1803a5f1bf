"""Number the chapters as their files are numbered.

Sphinx numbers the pages of a numbered toctree 1, 2, 3 … in the order of the table of contents. Here the file name
decides, so that ``04-gru-forward.ipynb`` is chapter 4 whatever precedes it, and its equations are (4.1), (4.2) …
``04b-bounds.ipynb`` is a companion page of chapter 4: page 4b, with the equations (4b.1), (4b.2) …
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx_external_toc.collectors import TocTreeCollectorWithStyles

Label = int | str

_assign_section_numbers = TocTreeCollectorWithStyles.assign_section_numbers


def chapter_number(docname: str) -> Label | None:
    """The number that a file name starts with: 4 for ``book/04-gru-forward``, "4b" for ``book/04b-bounds``."""
    match = re.match(r"(\d+)([a-z]?)-", docname.rpartition("/")[2])
    if match is None:
        return None
    return f"{int(match[1])}{match[2]}" if match[2] else int(match[1])


def is_chapter(docname: str) -> bool:
    """Whether a page is a chapter or one of its companions."""
    return chapter_number(docname) is not None


def renumber(number: tuple[Label, ...] | list[Label] | None, chapter: Label) -> tuple[Label, ...]:
    """Replace the first part of a section number by the chapter's number; an empty one stays empty."""
    return (chapter, *number[1:]) if number else ()


def assign_section_numbers(self: TocTreeCollectorWithStyles, env: BuildEnvironment) -> list[str]:
    """Number as Jupyter Book does, then substitute each chapter's own number; return the documents that changed."""
    before = env.toc_secnumbers
    for docname in env.found_docs:
        if isinstance(chapter_number(docname), str):
            env.titles[docname].attributes.pop("secnumber", None)  # that of the last build; it would be renumbered
    _assign_section_numbers(self, env)
    # A companion stands below its chapter, deeper than Sphinx numbers. Its title gets a number, its sections none.
    for docname in env.found_docs:
        if isinstance(chapter_number(docname), str):
            anchors = [node["anchorname"] for node in env.tocs[docname].findall(nodes.reference)]
            env.toc_secnumbers[docname] = {anchor: () if anchor else (0,) for anchor in anchors}
    for docname, numbers in env.toc_secnumbers.items():
        chapter = chapter_number(docname)
        if chapter is None:
            continue
        env.toc_secnumbers[docname] = {anchor: renumber(old, chapter) for anchor, old in numbers.items()}
        for node in (env.titles[docname], *env.tocs[docname].findall(nodes.reference)):
            if isinstance(chapter, str) and not node.get("anchorname"):
                node["secnumber"] = (0,)
            if node.get("secnumber"):
                node["secnumber"] = renumber(node["secnumber"], chapter)
    return [docname for docname, numbers in env.toc_secnumbers.items() if numbers != before.get(docname)]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension. Sphinx offers no event between numbering sections and numbering figures."""
    TocTreeCollectorWithStyles.assign_section_numbers = assign_section_numbers
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
