"""Results as a table: HTML in a notebook and on a page, aligned text in a terminal and in a diff.

pandas' Styler was tried. Its tables bring a style element, and ids that are drawn anew
each time, so no stored output comes out again; and as text they are an address in memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from html import escape
from numbers import Integral
from typing import Any, NamedTuple

from gru_lib.checks import check_instance, check_int

__all__ = ["STYLE", "Table", "table"]

#: What a table brings with it in a notebook; the book has a style sheet, which forbids others.
STYLE = """<style>
.gru-table { border-collapse: collapse; border-block: 1.5px solid; font-variant-numeric: tabular-nums; }
.gru-table :is(th, td) { background: none; padding: .2em .9em; text-align: right; white-space: nowrap; }
.gru-table thead th { border-bottom: 1px solid; font-weight: 600; }
.gru-table :is(th, td).gru-words { text-align: left; }
</style>"""


class Table(NamedTuple):
    """Rows of text under headers; `words` says which columns are text, `best` which cells are the best."""

    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[bool, ...]
    best: frozenset[tuple[int, int]]

    def _repr_html_(self) -> str:
        def cell(text: str, j: int, tag: str, more: str = "") -> str:
            words = ' class="gru-words"' if self.words[j] else ""
            return f"<{tag}{more}{words}>{text}</{tag}>"

        head = "".join(cell(escape(text), j, "th", ' scope="col"') for j, text in enumerate(self.headers))
        body = []
        for i, row in enumerate(self.rows):
            texts = [f"<strong>{escape(t)}</strong>" if (i, j) in self.best else escape(t) for j, t in enumerate(row)]
            first = ("th", ' scope="row"') if self.words[0] else ("td", "")
            body.append(cell(texts[0], 0, *first) + "".join(cell(t, j, "td") for j, t in enumerate(texts[1:], 1)))
        rows = "".join(f"<tr>{row}</tr>\n" for row in body)
        style = "" if os.environ.get("GRU_FIGURES") == "bare" else STYLE
        return (
            f'{style}<div class="gru-scroll"><table class="table gru-table">\n'
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>"
        )

    def __repr__(self) -> str:
        """Columns side by side; the best are starred."""
        texts = [self.headers, *self.rows]
        marked = [[t + " *" * ((i - 1, j) in self.best) for j, t in enumerate(row)] for i, row in enumerate(texts)]
        starred = [any(j == column for _, column in self.best) for j in range(len(self.headers))]
        columns = []
        for j, cells in enumerate(zip(*marked, strict=True)):
            column = [t if t.endswith(" *") or not starred[j] else f"{t}  " for t in cells]
            wide = max(map(len, column))
            columns.append([t.ljust(wide) if self.words[j] else t.rjust(wide) for t in column])
        return "\n".join("  ".join(row).rstrip() for row in zip(*columns, strict=True))


def table(
    columns: Mapping[str, Sequence[Any]],
    *,
    digits: int | Mapping[str, int] = 2,
    best: Mapping[str, Callable[[Any], Any]] | None = None,
) -> Table:
    """Show results as a table, at the end of a cell: ``viz.table({"who": names, "right, %": shares})``.

    Parameters
    ----------
    columns
        Header -> the column's cells: texts, whole numbers, numbers, or pairs (v, half) for v ± half. None and NaN are a
        dash. If the first column holds texts, these name the rows.
    digits
        Decimals of the numbers that are not whole: one count for all, or by header. With the same decimals in a column,
        the points stand below each other.
    best
        Header -> `max` or `min`: the best of this column is set bold, and starred where it is text.

    Returns
    -------
    Table
        HTML in a notebook; text as its `repr`.

    Examples
    --------
    >>> from gru_book import viz
    >>> right = [(70.5, 0.6), 76.4]
    >>> viz.table({"who": ["GRU", "counting"], "right, %": right}, digits=1)
    who         right, %
    GRU       70.5 ± 0.6
    counting        76.4
    """
    check_instance("table", "columns", columns, Mapping)
    if not columns or len({len(column) for column in columns.values()}) != 1:
        sizes = ", ".join(f"{header!r} {len(column)}" for header, column in columns.items()) or "none"
        raise ValueError(f"table: columns must have as many cells each; got {sizes}.")
    decimals = {header: digits if isinstance(digits, int) else digits.get(header, 2) for header in columns}
    for name, asked in (("digits", digits), ("best", best or {})):
        if isinstance(asked, Mapping) and (unknown := asked.keys() - columns.keys()):
            raise ValueError(
                f"table: {name} must name headers, {', '.join(map(repr, columns))}; got {unknown.pop()!r}."
            )
    texts = {
        header: [_shown(value, check_int("table", "digits", decimals[header], minimum=0)) for value in column]
        for header, column in columns.items()
    }
    found = set()
    for j, (header, column) in enumerate(columns.items()):
        if best and header in best:
            values = [value[0] if isinstance(value, tuple) else value for value in column]
            top = best[header]([v for v in values if not _missing(v)])
            found |= {(i, j) for i, v in enumerate(values) if not _missing(v) and v == top}
    words = tuple(all(isinstance(value, str) for value in column) for column in columns.values())
    return Table(tuple(columns), tuple(zip(*texts.values(), strict=True)), words, frozenset(found))


def _missing(value: Any) -> bool:
    return value is None or value != value


def _shown(value: Any, digits: int) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, tuple):
        return " ± ".join(_shown(part, digits) for part in value)
    if _missing(value):
        return "–"
    text = str(value) if isinstance(value, Integral) else f"{value:.{digits}f}"
    return text.replace("-", "\N{MINUS SIGN}")
