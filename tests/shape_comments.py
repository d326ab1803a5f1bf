"""Comments with a shape in code that a page shows, ``a = x @ W + b  # (N, 1)``, compared with the arrays that it makes.

The comment is about what the line assigns or returns, or, if it names them, about the arguments of a function or what a
loop goes over: ``# xs (T, N, D), h (N, H)``. A letter is one size within a call, and D and H are those of its `p`.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import sys
from types import FrameType
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from docstring_shapes import SHAPE, fits

ONE = re.compile(rf"(?:(\w+) )?{SHAPE}(?=$|[,:;.]| each| and )")


def said(line: str) -> list[tuple[str, str]]:
    """The shapes in the comment of a line of code, each with the name before it or none."""
    _, mark, comment = line.partition("  # ")
    return ONE.findall(comment) if mark and line.strip()[0] != "#" and re.match(rf"(\w+ )?{SHAPE}", comment) else []


class Wrapped(ast.NodeTransformer):
    """Hands what a line with such a comment makes to ``_look(cell, line, names, value)``."""

    def __init__(self, cell: int, lines: set[int]) -> None:
        self.cell, self.lines = cell, lines

    def call(self, line: int, names: ast.expr, value: ast.expr) -> ast.Call:
        arguments = [ast.Constant(self.cell), ast.Constant(line), ast.Constant(ast.unparse(names)), value]
        return ast.Call(ast.Name("_look", ast.Load()), arguments, [])

    def visit_Assign(self, row: ast.Assign) -> ast.AST:
        if row.end_lineno in self.lines:
            row.value = self.call(row.end_lineno, row.targets[0], row.value)
        return row

    def visit_Return(self, row: ast.Return) -> ast.AST:
        if row.end_lineno in self.lines and row.value:
            row.value = self.call(row.end_lineno, row.value, row.value)
        return row

    def visit_For(self, row: ast.For) -> ast.AST:
        if row.lineno in self.lines:
            row.body.insert(0, self.first(row.lineno, ast.unparse(row.target)))
        return self.generic_visit(row)

    def visit_FunctionDef(self, row: ast.FunctionDef) -> ast.AST:
        if row.lineno in self.lines:
            row.body.insert(0, self.first(row.lineno, ", ".join(a.arg for a in row.args.args)))
        return self.generic_visit(row)

    def first(self, line: int, names: str) -> ast.stmt:
        target = ast.parse(names, mode="eval").body
        return ast.Expr(self.call(line, target, target))


class Seen(Exception):
    """All the comments have been compared."""


def compared(cells: list[str], call: str = "") -> list[str]:
    """What is wrong with the comments of these cells, which run until each was reached once.

    `call` runs below the last of them: what the page defines and never calls.
    """
    last = max(k for k, cell in enumerate(cells) if any(map(said, cell.split("\n"))))
    cells = [*cells[: last + 1], call, *cells[last + 1 :]]
    comments = {(k, i): said(line) for k, c in enumerate(cells) for i, line in enumerate(c.split("\n"), 1)}
    waiting = {at for at, shapes in comments.items() if shapes}
    wrong: list[str] = []
    known: dict[FrameType, dict[str, int]] = {}

    def look(cell: int, line: int, made: str, value: Any) -> Any:
        frame = sys._getframe(1)
        if (cell, line) in waiting:
            waiting.discard((cell, line))
            p = frame.f_locals.get("p") if frame.f_code.co_name != "<module>" else None
            own = {key: getattr(p, key) for key in "DH" if isinstance(getattr(p, key, None), int)}
            sizes, shapes = known.setdefault(frame, own), comments[cell, line]
            parts = [part.strip() for part in made.strip("()").split(",")]
            many = list(value) if len(parts) > 1 and isinstance(value, tuple | list) else [value]
            if not shapes[0][0]:  # one after the other; a single shape is of the first
                pairs = [(part, one, shape) for part, one, (_, shape) in zip(parts, many, shapes, strict=False)]
            else:
                values = dict(zip(parts, many, strict=False))
                both = [(part, one, shape) for name, shape in shapes if name == "both" for part, one in values.items()]
                rest = [(name, shape) for name, shape in shapes if name != "both"]
                pairs = both + [(name, values.get(name, frame.f_locals.get(name)), shape) for name, shape in rest]
            for name, one, shape in pairs:
                if not fits(np.shape(one), shape, sizes):
                    wrong.append(f"{name} is {np.shape(one)}, and said to be ({shape}) with {sizes}")
        if not waiting:
            raise Seen
        return value

    names: dict[str, Any] = {"_look": look}
    quietly = (
        contextlib.redirect_stdout(io.StringIO()),
        np.printoptions(),
        plt.rc_context(),
        contextlib.suppress(Seen),
    )
    with contextlib.ExitStack() as stack:  # a page sets options of NumPy and Matplotlib, and leaves figures open
        for one in quietly:
            stack.enter_context(one)
        stack.callback(plt.close, "all")
        for k, source in enumerate(cells):
            if not waiting:
                break
            tree = Wrapped(k, {i for c, i in comments if c == k and comments[c, i]}).visit(ast.parse(source))
            exec(compile(ast.fix_missing_locations(tree), "<page>", "exec"), names)
    return wrong + [f"never reached: {cells[k].split(chr(10))[i - 1].strip()}" for k, i in sorted(waiting)]
