"""The API reference: the library's docstrings by Sphinx's autodoc, autosummary, napoleon and viewcode, as they come.

What is added: the fields of a class stand as its source has them, since their comments hold the shapes; and a book
without solutions has no source of the checks, which hold the answers. A name leads to where it is described, whatever
module it is offered by.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from functools import cache
from importlib import import_module
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext.autodoc import Documenter, ModuleDocumenter
from sphinx.util.inspect import stringify_signature

CHECKS = "gru_book.check"


@cache
def fields(cls: type) -> str:
    """The fields of a class as its source has them, comments included; empty if it has none of its own."""
    if not vars(cls).get("__annotations__") or hasattr(cls, "class_traits"):
        return ""
    source = textwrap.dedent(inspect.getsource(cls))
    body = ast.parse(source).body[0].body  # type: ignore[attr-defined]
    own = [s for s in body if isinstance(s, ast.AnnAssign) and not ast.unparse(s.target).startswith("_")]
    lines = source.splitlines()
    return textwrap.dedent("\n".join("\n".join(lines[s.lineno - 1 : s.end_lineno]) for s in own))


def show_fields(_app: Sphinx, what: str, _name: str, obj: Any, _options: Any, lines: list[str]) -> None:
    """Put the fields of a class below its docstring."""
    if what == "class" and (found := fields(obj)):
        lines += ["", "Fields:", "", ".. code-block:: python", "", *textwrap.indent(found, "   ").split("\n"), ""]


def as_written(_app: Sphinx, what: str, _name: str, obj: Any, *_: Any) -> tuple[str, str | None] | None:
    """A signature as the source has it: ``x: ArrayLike``, not what ArrayLike stands for, on every Python alike.

    A class whose fields are shown needs none, which would say them again.
    """
    made = inspect.unwrap(obj.__init__ if what == "class" else obj) if callable(obj) else None
    if what == "class" and fields(obj):
        return "", None
    if not inspect.isfunction(made):
        return None
    signature = inspect.signature(made)
    own = [parameter for parameter in signature.parameters.values() if parameter.name not in ("self", "cls")]

    def full(name: re.Match[str]) -> str:
        """A class of another module of the book with its module, as several have a Batch; pages show it without."""
        named = made.__globals__.get(name[0])
        home = named.__module__ if inspect.isclass(named) else ""
        return f"{home}.{name[0]}" if home.startswith("gru_book.") and home != made.__module__ else name[0]

    text = re.sub(r"(?<![\w.])[A-Z]\w*", full, stringify_signature(signature.replace(parameters=own)))
    given, arrow, returns = text.partition(") -> ")
    return given + ")" * bool(arrow), (returns if arrow and what != "class" else None)


def without_fields(_app: Sphinx, what: str, _name: str, obj: Any, _skip: bool, _options: Any) -> bool | None:
    """Leave fields and traits out of a class's members: they are shown together."""
    kinds = {kind.__name__ for kind in type(obj).__mro__}
    return True if what == "class" and kinds & {"_tuplegetter", "member_descriptor", "TraitType"} else None


def find_source(app: Sphinx, module: str) -> tuple[str, dict[str, Any]] | None:
    """Nothing in place of what viewcode would show of a check, in a book without solutions."""
    return ("", {}) if app.config.gru_solutions == "no" and module.startswith(CHECKS) else None


class InOrder(ModuleDocumenter):
    """Document a module's names in the order of its source, not in that of its ``__all__``."""

    def sort_members(self, documenters: list[tuple[Documenter, bool]], order: str) -> list[tuple[Documenter, bool]]:
        """Return the names in order."""
        places = self.analyzer.tagorder if self.analyzer else {}
        return sorted(documenters, key=lambda entry: places.get(entry[0].name.partition("::")[2], len(places)))


def resolve(app: Sphinx, env: BuildEnvironment, node: Any, shown: nodes.TextElement) -> nodes.Node | None:
    """Link a name where the only one of its kind is described: `gru_lib.load` is in `gru_lib.io`."""
    objects = env.get_domain("py").objects  # type: ignore[attr-defined]
    last = node["reftarget"].rpartition(".")[2]
    offered = getattr(import_module(node.get("py:module") or "gru_lib"), last, None)
    home = f"{getattr(offered, '__module__', '')}.{last}"
    alike = [name for name in objects if name.endswith(f".{last}") and not name.startswith(f"{CHECKS}.")]
    found = [home] if home in objects else alike
    if node.get("refdomain") != "py" or len(found) != 1 or len(last) < 3:
        return None
    uri = app.builder.get_relative_uri(node["refdoc"], objects[found[0]].docname)
    return nodes.reference("", "", shown, internal=True, refuri=f"{uri}#{objects[found[0]].node_id}")


def own_nodes(_app: Sphinx, doctree: nodes.document) -> None:
    """Let a page's nodes be of that page: those of ``eval-rst`` would store Sphinx's environment, 7 MB, with each."""
    for node in doctree.findall():
        node.document = doctree


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    for name in ("autodoc", "autosummary", "napoleon", "viewcode"):
        app.setup_extension(f"sphinx.ext.{name}")
    app.add_autodocumenter(InOrder, override=True)
    app.connect("autodoc-process-docstring", show_fields, priority=600)  # after napoleon
    app.connect("autodoc-process-signature", as_written)
    app.connect("autodoc-skip-member", without_fields)
    app.connect("doctree-read", own_nodes)
    app.connect("missing-reference", resolve)
    app.connect("viewcode-find-source", find_source)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
