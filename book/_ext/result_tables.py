"""Tables of results are "Table 4.1": a cell whose output is `gru_book.viz.table`, and whose ``mystnb`` metadata give a
figure's ``name`` and ``caption``, is numbered with the page's other tables, and {numref} finds it."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from docutils.transforms import Transform
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


class result(nodes.figure):
    """A table of results with its caption."""


class NumberTables(Transform):
    """Make a numbered table of a figure that holds a table of results."""

    default_priority = 400

    def apply(self, **_: Any) -> None:
        """Apply the transform."""
        for figure in list(self.document.findall(nodes.figure)):
            if any("gru-table" in output.astext() for output in figure.findall(nodes.raw)):
                numbered = result("", *figure.children)
                numbered.update_all_atts(figure)
                numbered.source, numbered.line = figure.source, figure.line
                figure.replace_self(numbered)
                self.document.ids.update(dict.fromkeys(figure["ids"], numbered))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_enumerable_node(result, "table", html=(HTML5Translator.visit_figure, HTML5Translator.depart_figure))
    app.add_transform(NumberTables)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
