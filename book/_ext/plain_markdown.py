"""Turn a resolved page back into Markdown that any Jupyter shows well: no MyST, no macros, no numbers left to compute.

The source is Sphinx's doctree after its transforms: numbers, citations, references and listings stand in it as the page
shows them. A node that this module does not know stops the build, so that nothing is left out silently.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from textwrap import indent
from typing import Any

from afm_host import explorer
from docutils import nodes
from macros import without_classes, without_macros
from result_tables import result
from sphinx.errors import ExtensionError

__all__ = ["COLOURS", "Cell", "Exercise", "Page", "Solution", "expand"]

# The colours of the quantities, between those for light and for dark pages: 3.7:1 or more on both.
COLOURS = {"r": "#168783", "z": "#A252E0", "n": "#B16717", "h": "#437BC3", "x": "#747982", "g": "#DA4240"}


@dataclass
class Cell:
    """A code cell of the chapter, by its place in the notebook, with the caption below it, or above it."""

    index: int
    caption: str = ""
    title: str = ""


@dataclass
class Exercise:
    """An exercise: where the reader's own cell will stand."""

    label: str
    number: str


@dataclass
class Solution:
    """The parts of a solution."""

    label: str
    number: str
    parts: list[Part] = field(default_factory=list)


Part = str | Cell | Exercise | Solution


# ---------------------------------------------------------------------------------------------------------------- maths


def expand(tex: str, macros: dict[str, Any]) -> str:
    r"""TeX without the book's macros: ``\gz[_t]`` becomes ``{\color{#A252E0}{z_t}}``.

    In that form the colour holds in every version of MathJax and in KaTeX.
    """
    tex = without_macros(tex, macros)
    return without_classes(tex, lambda role, content: f"{{\\color{{{COLOURS[role]}}}{{{content}}}}}")


def display(tex: str, number: str = "") -> str:
    """A displayed formula, with its number."""
    return f"$$\n{tex.strip()}{f' {chr(92)}tag{{{number}}}' if number else ''}\n$$"


# ----------------------------------------------------------------------------------------------------------------- text


def escaped(text: str) -> str:
    """Text whose characters Markdown must not take for its own."""
    text = re.sub(r"([\\`*$<])", r"\\\1", text)
    return re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", text)


def fenced(text: str, language: str = "") -> str:
    """A block of code; nothing in the book has a fence in it."""
    return f"```{language}\n{text.rstrip()}\n```"


def quoted(text: str) -> str:
    """A block quotation. JupyterLab takes out equations before quotations: each must stand on one line."""
    text = re.sub(r"^\$\$\n(.*?)\n\$\$$", lambda found: f"$${' '.join(found[1].split())}$$", text, flags=re.M | re.S)
    return indent(text, "> ", lambda _: True).replace("> \n", ">\n")


@dataclass
class Page:
    """What it takes to write one page.

    `link` gives the address a reference leads to from a notebook, or None; `numbers` are those of the page's figures,
    tables, equations, exercises and theorems, by kind and id.
    """

    macros: dict[str, Any]
    numbers: dict[str, dict[str, tuple[int, ...]]]
    link: Callable[[str], str | None]
    title_prefix: str = ""

    def number(self, kind: str, node: nodes.Element) -> str:
        """The number of a node, such as 4.1; empty if it has none."""
        known = self.numbers.get(kind, {})
        return next((".".join(map(str, known[name])) for name in node.get("ids", ()) if name in known), "")

    # inline

    def inline(self, node: nodes.Node, *, cell: bool = False) -> str:
        """The Markdown of a node's children; in a table's cell everything stands on one line."""
        return "".join(self._inline(child, cell) for child in node.children)

    def _inline(self, node: nodes.Node, cell: bool) -> str:
        if isinstance(node, nodes.Text):
            text = escaped(node.astext())
            return text.replace("\n", " ").replace("|", "\\|") if cell else text
        if isinstance(node, nodes.math):
            tex = expand(" ".join(node.astext().split()), self.macros)
            return f"${_without_bars(tex) if cell else tex}$"
        if isinstance(node, nodes.literal):
            text = f"`{node.astext()}`"
            return text.replace("|", "\\|") if cell else text
        if isinstance(node, nodes.emphasis | nodes.strong):
            mark = "*" if isinstance(node, nodes.emphasis) else "**"
            return mark + self.inline(node, cell=cell).strip() + mark
        if isinstance(node, nodes.reference):
            text = self.inline(node, cell=cell)
            target = self.link(node["refuri"]) if node.get("refuri") else None
            return f"[{text}]({target})" if target else text
        if isinstance(node, nodes.raw | nodes.target):
            return ""
        if isinstance(node, nodes.inline):
            return self.inline(node, cell=cell)
        raise ExtensionError(f"plain_markdown: no form for {type(node).__name__} in a line: {node.astext()[:80]!r}")

    # blocks

    def text(self, children: Iterable[nodes.Node]) -> str:
        """Blocks without code cells, as one text."""
        parts = list(self.parts(children, level=3))
        for part in parts:
            if not isinstance(part, str):
                raise ExtensionError(f"plain_markdown: a code cell or an exercise inside another block: {part}")
        return "\n\n".join(part for part in parts if isinstance(part, str))

    def parts(self, children: Iterable[nodes.Node], level: int = 0) -> Iterator[Part]:
        """Everything in `children`, in order; `level` is the depth of the headings around it."""
        for node in children:
            yield from self._parts(node, level)

    def _parts(self, node: nodes.Node, level: int) -> Iterator[Part]:
        kind = type(node).__name__
        # Its companion pages stand below a chapter.
        if isinstance(node, nodes.target) or "toctree-wrapper" in node.get("classes", ()):
            return
        if isinstance(node, nodes.section):
            yield from self.parts(node.children, level + 1)
        elif isinstance(node, nodes.title):
            prefix = self.title_prefix if level == 1 else ""
            yield f"{'#' * level} {prefix}{self.inline(node)}"
        elif kind == "exercise_enumerable_node":
            number = self.number("exercise", node)
            yield f"{'#' * (level + 1)} Exercise {number} · {self._statement_title(node)}"
            yield self.text(node.children[1].children)
            yield Exercise(node["label"], number)
        elif kind == "solution_node":
            number = re.search(r"\d[\w.]*", node.children[0].astext())
            body = list(self.parts(node.children[1].children, level))
            yield Solution(node["target_label"], number[0] if number else "", body)
        elif isinstance(node, nodes.container):
            yield from self._container(node, level)
        else:
            yield self._block(node, kind)

    def _container(self, node: nodes.Element, level: int) -> Iterator[Part]:
        if node.get("nb_element") == "cell_code":
            cell = Cell(node["cell_index"])
            for figure in node.findall(nodes.figure):
                (text,) = (self.inline(child) for child in figure.children if isinstance(child, nodes.caption))
                kind = "table" if isinstance(figure, result) else "figure"
                cell.caption = f"**{kind.title()} {self.number(kind, figure)}.** {text}"
            for shown in node.findall(explorer):
                title, *words = shown.children[:-2]  # then the end of the caption, and the output
                head = f"**Explorer {self.number('explorer', shown)}. {self.inline(title)}**"
                cell.title = "\n\n".join([head, self.text(words)])
            yield cell
        else:
            yield from self.parts(node.children, level)

    def _block(self, node: nodes.Node, kind: str) -> str:
        if isinstance(node, nodes.paragraph | nodes.rubric):
            return self.inline(node).strip()
        if isinstance(node, nodes.math_block):
            return display(expand(node.astext(), self.macros), self.number("displaymath", node))
        if isinstance(node, nodes.literal_block):
            return self._listing(node)
        if isinstance(node, nodes.bullet_list | nodes.enumerated_list):
            return self._list(node)
        if kind == "prediction":
            title, *asked, answer = node.children
            head = f"**Predict.** {self.inline(title)}"
            fold = f"<details><summary>Answer</summary>\n\n{self.text(answer.children)}\n\n</details>"
            return "\n\n".join(filter(None, [head, self.text(asked), fold]))
        if isinstance(node, nodes.table):
            return self._table(node)
        if kind == "proof_node":
            return self.text(node.children)
        if kind == "theorem_node":
            head = f"**Theorem {self.number(node['countertype'], node)}** · {self._statement_title(node)}"
            return quoted(f"{head}\n\n{self.text(node.children[1].children)}")
        if isinstance(node, nodes.Admonition):
            return self._admonition(node, kind)
        raise ExtensionError(f"plain_markdown: no form for {kind}: {node.astext()[:80]!r}")

    def _listing(self, node: nodes.Element) -> str:
        language = node.get("language", "")
        block = fenced(node.astext(), language if language.isidentifier() else "")
        name, source = node.get("listing"), node.get("listing_file")
        if source is None:
            return block
        return f"{f'`{name}`, from ' if name else ''}`{source}`:\n\n{block}"

    def _list(self, node: nodes.Element) -> str:
        items = []
        for number, item in enumerate(node.children, 1):
            mark = f"{number}." if isinstance(node, nodes.enumerated_list) else "-"
            text = self.text(item.children)
            items.append(f"{mark} {indent(text, ' ' * (len(mark) + 1))[len(mark) + 1 :]}")
        return "\n".join(items)

    def _admonition(self, node: nodes.Element, kind: str) -> str:
        if "proof" in node.get("classes", ()):
            text = self.text(node.children)
            return f"*Proof.* {text.removeprefix('Proof. ')}"
        title, body = kind.removesuffix("_node").capitalize(), list(node.children)
        if body and isinstance(body[0], nodes.title):
            title = self.inline(body.pop(0)).strip()
        return quoted(f"**{title}**\n\n{self.text(body)}")

    def _statement_title(self, node: nodes.Element) -> str:
        """The title of an exercise or a theorem, without the brackets that its extension puts around it."""
        title = self.inline(node.children[0]).strip()
        return title[1:-1].strip() if title.startswith("(") and title.endswith(")") else title

    def _table(self, node: nodes.Element) -> str:
        entries = ([paragraph for (paragraph,) in row.children] for row in node.findall(nodes.row))
        rows = [[self.inline(paragraph, cell=True) for paragraph in row] for row in entries]
        lines = ["| " + " | ".join(row) + " |" for row in rows]
        lines.insert(1, "|" + " --- |" * len(rows[0]))
        title = [child for child in node.children if isinstance(child, nodes.title)]
        caption = f"**Table {self.number('table', node)}.** {self.inline(title[0])}\n\n" if title else ""
        return caption + "\n".join(lines)


def _without_bars(tex: str) -> str:
    """TeX without the character that separates the cells of a table."""
    return tex.replace(r"\|", r"\Vert ").replace("|", r"\vert ")
