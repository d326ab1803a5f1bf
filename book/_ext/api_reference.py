"""The API reference: the library's docstrings as pages, by Sphinx's autodoc, autosummary, napoleon and viewcode.

A docstring of ours is plain text. In it backticks are code, ``::`` and an indented block are shown as they stand, and
so are examples; numpydoc's sections are lists; a star, a bar or an underscore means itself. Here such text becomes
reStructuredText, shapes such as (T, N, D) and values such as "keep" are set as code, and a name in backticks links to
what the reference says of it. The fields of a class are shown as its source has them, since their comments hold the
shapes.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from docutils import nodes
from frame import written
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext.autodoc import Documenter, ModuleDocumenter
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.build_phase import BuildPhase
from sphinx.util.inspect import stringify_signature

BOOK = Path(__file__).parents[1]
Tags = dict[str, tuple[str, int, int]]

SIZE = r"(?:[2-9]?[A-Z]|[2-9]|\d+[A-Z]?|[A-Z][·²]?[A-Z]?|dirs|L|…|\.\.\.)(?: [+−·] [A-Z0-9]+)?"
SHAPE = re.compile(rf"\({SIZE}(?:,|(?:, {SIZE})+)\)")
VALUE = re.compile(r'"[\w.-]+"')
CODE = re.compile(r":\w+:`[^`]+`|``.+?``|`[^`]+`")
EMPHASIS = re.compile(r"(?<![\w*])\*(?![\s*])[^*\n]+(?<![\s*])\*(?![\w*])")
SECTION = re.compile(r"(?:Parameters|Returns|Raises|Warns|Attributes|Notes|Examples)$")
TYPE = re.compile(r"(?:arrays?|integers?|float|int|str|bool|list|dict|[A-Z]\w+)(?: \([^)]*\))*(?=,| and| or| in|$)")
CHAPTER = re.compile(r"\b[Cc]hapters? \d+(?:(?:, | and | to )\d+)*")
ARXIV = re.compile(r"arXiv:(\d{4}\.\d{4,5})")
PAGES = {int(path.name[:2]): path.stem for path in sorted(BOOK.glob("[0-9][0-9]-*.ipynb"))}
MARKED = re.compile("|".join(f"(?:{kind.pattern})" for kind in (CODE, ARXIV, CHAPTER, SHAPE, VALUE)))
EXAMPLES = ".. rubric:: Examples"  # as napoleon writes it
LONGEST_VALUE = 50  # letters of a constant that are shown


# ------------------------------------------------------------------------------------------ a docstring as plain text


def escape(text: str) -> str:
    """Text outside of backticks, with shapes and values as code, so that it means itself; `*this*` stays emphasis."""

    def plain(part: str) -> str:
        part = re.sub(r"(?<=\w)_(?!\w)", r"\\_", part)  # h_ would be a link
        pieces = re.split(f"({EMPHASIS.pattern})", part)
        return "".join(p if EMPHASIS.fullmatch(p) else re.sub(r"[*|\\](?!_)", r"\\\g<0>", p) for p in pieces)

    def marked(match: re.Match[str]) -> str:
        """What is code or a link; as reStructuredText wants it, apart from the letters around."""
        found = match[0]
        if CODE.fullmatch(found):
            return found
        if ARXIV.fullmatch(found):
            return f"`{found} <https://arxiv.org/abs/{found[6:]}>`__"
        if CHAPTER.fullmatch(found):
            return link_chapters(found)
        return rf"\ ``{found}``\ "

    out, last = "", 0
    for match in MARKED.finditer(text):
        out += plain(text[last : match.start()]) + marked(match)
        last = match.end()
    return out + plain(text[last:])


def link_chapters(text: str) -> str:
    """``Chapter 4`` as a link, and of ``chapters 4 and 11`` each number."""
    if re.fullmatch(r"\w+ \d+", text):
        return f":doc:`{text} </book/{PAGES[int(text.split()[1])]}>`"
    return re.sub(r"\d+", lambda number: f":doc:`{number[0]} </book/{PAGES[int(number[0])]}>`", text)


def describe_type(head: str) -> str:
    """The head of a field, ``h0 : array (N, H), or None for zeros``, with its type as code if it is no sentence."""
    name, colon, kind = head.partition(" : ")
    if not colon:
        return head
    code = TYPE.match(kind)
    return f"{name} : " + (f"`{code[0]}`{escape(kind[code.end() :])}" if code else escape(kind))


def as_rest(lines: list[str]) -> list[str]:
    """A docstring's lines as reStructuredText that napoleon reads."""
    out: list[str] = []
    block: int | None = None  # the indentation above a block that stays as it is
    section, table, example = "", False, False
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if block is not None and line.strip() and indent <= block:
            block = None
        below = lines[i + 1] if i + 1 < len(lines) else ""
        example = bool(line) and (example or line.startswith(">>>"))  # and what it prints, up to an empty line
        if re.fullmatch(r"=+( +=+)+", line.strip()):
            table = bool(below.strip())
            out.append(line)
        elif block is not None or table or example or not line.strip():
            out.append(line)
        elif SECTION.fullmatch(line) and re.fullmatch("-{3,}", below):
            section = line
            out.append(line)
        elif re.fullmatch("-{3,}", line):
            out.append(line)
        elif section in ("Parameters", "Attributes", "Returns", "Raises", "Warns") and not indent:
            out.append(describe_type(line))
        else:
            out.append(escape(line))
        if line.rstrip().endswith("::") and block is None:
            block = indent
    return out


def names_of(obj: Any) -> set[str]:
    """The parameters of a function or the fields of a class: in its docstring they are no links."""
    if inspect.isclass(obj):
        return set(obj.__annotations__) | names_of(obj.__init__)
    try:
        return set(inspect.signature(obj).parameters)
    except (TypeError, ValueError):
        return set()


def prepare(_app: Sphinx, what: str, _name: str, obj: Any, _options: Any, lines: list[str]) -> None:
    """Turn a docstring into reStructuredText, before napoleon reads it."""
    text = "\n".join(as_rest(lines))
    for name in names_of(obj) if what in ("function", "class", "method") else ():
        text = re.sub(rf"(?<!`)`{re.escape(name)}`(?!`)", rf"``{name}``", text)
    if what in ("attribute", "data"):
        text = re.sub(r": ", " – ", text, count=1)  # napoleon would take what stands before the colon for a type
    lines[:] = text.split("\n")


# ------------------------------------------------------------------------------------------------ classes and constants


@cache
def fields(cls: type) -> str:
    """The fields of a class as its source has them, comments included; empty if it has none of its own. The traits of
    an explorer stand in its docstring."""
    if not vars(cls).get("__annotations__") or hasattr(cls, "class_traits"):
        return ""
    source = textwrap.dedent(inspect.getsource(cls))
    body = ast.parse(source).body[0].body  # type: ignore[attr-defined]
    own = [s for s in body if isinstance(s, ast.AnnAssign) and not ast.unparse(s.target).startswith("_")]
    lines = source.splitlines()
    wanted: list[str] = []
    for s in own:
        above = s.lineno - 1
        while lines[above - 1].lstrip().startswith("#"):
            above -= 1
        wanted += lines[above : s.end_lineno]
    return textwrap.dedent("\n".join(wanted))


def show_fields(_app: Sphinx, what: str, _name: str, obj: Any, _options: Any, lines: list[str]) -> None:
    """Put the fields of a class below its docstring and above its examples, after napoleon."""
    if what == "class" and (found := fields(obj)):
        label = "A named tuple:" if issubclass(obj, tuple) else "Fields:"
        shown = ["", label, "", ".. code-block:: python", "", *textwrap.indent(found, "   ").split("\n"), ""]
        below = lines.index(EXAMPLES) if EXAMPLES in lines else len(lines)
        lines[below:below] = shown


def as_written(
    _app: Sphinx, what: str, _name: str, obj: Any, _options: Any, _given: str | None, _returns: str | None
) -> tuple[str, str | None] | None:
    """A signature as the source has it: ``x: ArrayLike``, not what ArrayLike stands for.

    A class whose fields are shown needs none, which would say them again.
    """
    made = obj.__init__ if what == "class" else obj
    if what == "class" and (fields(obj) or not (getattr(made, "__module__", None) or "").startswith("gru_lib.")):
        return "", None
    if not inspect.isfunction(made):
        return None
    signature = inspect.signature(made)
    own = [parameter for parameter in signature.parameters.values() if parameter.name not in ("self", "cls")]
    written = stringify_signature(signature.replace(parameters=own))
    given, arrow, returns = qualified(written, inspect.unwrap(made)).partition(") -> ")
    return (given + ")" if arrow else given), (returns if arrow and what != "class" else None)


def qualified(signature: str, function: Any) -> str:
    """Name a class of another module with its module, as several modules have a Batch; pages show it without."""

    def full(name: re.Match[str]) -> str:
        named = function.__globals__.get(name[0])
        module = getattr(named, "__module__", "")
        away = inspect.isclass(named) and module.startswith("gru_lib.") and module != function.__module__
        return f"{module}.{name[0]}" if away and "._" not in module else name[0]

    return re.sub(r"(?<![\w.])[A-Z]\w*", full, signature)


class InOrder(ModuleDocumenter):
    """Document a module's names in the order of its source; what comes from elsewhere in that of its ``__all__``."""

    def sort_members(self, documenters: list[tuple[Documenter, bool]], order: str) -> list[tuple[Documenter, bool]]:
        """Return the names in order."""
        places = self.analyzer.tagorder if self.analyzer else {}
        listed = super().sort_members(documenters, order)
        return sorted(listed, key=lambda entry: places.get(entry[0].name.partition("::")[2], len(places)))


def without_fields(_app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave fields and traits out of a class's members: they are shown together."""
    kinds = {kind.__name__ for kind in type(obj).__mro__}
    return True if what == "class" and kinds & {"_tuplegetter", "member_descriptor", "TraitType"} else None


def shorten_value(_app: Sphinx, _domain: str, kind: str, content: addnodes.desc_content) -> None:
    """Leave out the value of a constant that says nothing or is long."""
    for signature in content.parent.children[:-1] if kind == "data" else ():
        for value in list(signature.findall(addnodes.desc_annotation)):
            text = value.astext()
            if text.startswith(" = ") and (len(text) > LONGEST_VALUE or re.search("<|Path\\(", text)):
                signature.remove(value)


# --------------------------------------------------------------------------------------------------------------- links


def by_last_part(objects: dict[str, Any]) -> dict[str, list[str]]:
    """The names of the reference by their last part. A check has the name of what it checks, and gives way to that; so
    does a module to the function in it."""
    found: dict[str, list[str]] = {}
    for name, entry in objects.items():
        if not name.startswith("gru_lib.check.") and entry.objtype != "module":
            found.setdefault(name.rpartition(".")[2], []).append(name)
    for name in (name for name, entry in objects.items() if entry.objtype == "module"):
        found.setdefault(name.rpartition(".")[2], [name])
    return found


def defined(module: str, name: str) -> str:
    """Where the name that a module offers is defined: ``gru_lib.io.load`` for load in gru_lib."""
    thing = getattr(import_module(module), name, None)
    return f"{getattr(thing, '__module__', module)}.{name}"


def resolve(app: Sphinx, env: BuildEnvironment, node: Any, shown: nodes.TextElement) -> nodes.Node | None:
    """A name that Python's scoping does not find from here: link it if it is unique, else show it as it is."""
    if node.get("refdomain") != "py":
        return None
    objects = env.get_domain("py").objects  # type: ignore[attr-defined]
    if "_gru_names" not in app.__dict__:
        app.__dict__["_gru_names"] = by_last_part(objects)
    last = node["reftarget"].rpartition(".")[2]
    offered = {defined(module, last) for module in (node.get("py:module"), "gru_lib") if module} & objects.keys()
    found = sorted(offered) or app.__dict__["_gru_names"].get(last, [])
    if len(found) != 1 or len(node["reftarget"]) < 3:
        return shown
    page, anchor = objects[found[0]].docname, objects[found[0]].node_id
    uri = app.builder.get_relative_uri(node["refdoc"], page)
    return nodes.reference("", "", shown, internal=True, refuri=f"{uri}#{anchor}", reftitle=found[0])


@cache
def source(module: str) -> tuple[str, Tags]:
    """A module's source, and the lines of its functions, classes and constants."""
    analyzer = ModuleAnalyzer.for_module(module)
    tags: Tags = dict(analyzer.find_tags())
    for statement in ast.parse(analyzer.code).body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        for target in (name for each in targets for name in getattr(each, "elts", [each])):
            if isinstance(target, ast.Name):
                tags.setdefault(target.id, ("other", statement.lineno, statement.end_lineno or statement.lineno))
    return analyzer.code, tags


def find_source(app: Sphinx, module: str) -> tuple[str, Tags] | None:
    """What viewcode shows. The checks hold the answers to the exercises, so a book without solutions has no source
    of theirs.

    When pages are written, viewcode asks once more and writes the source's page again if it gets an answer. That is so
    if a page of the reference was written; otherwise viewcode looks which is newer, the module or its page.
    """
    if app.phase >= BuildPhase.RESOLVING and not any(page.startswith("book/api") for page in written(app)):
        return None
    if app.config.gru_solutions == "no" and module.startswith("gru_lib.check"):
        return "", {}
    return source(module)


def home(_app: Sphinx, module: str, name: str) -> str:
    """The module in which a name is defined. What is no function or class says nothing of that: a constant stands
    where it is documented."""
    thing: Any = import_module(module)
    for part in name.split("."):
        thing = getattr(thing, part, None)
    defined = getattr(thing, "__module__", None) or ""
    return defined if defined.startswith("gru_lib.") and name in source(defined)[1] else module


def drop_sources_without_links(_app: Sphinx, env: BuildEnvironment) -> None:
    """A module of which nothing is shown gets no page of source."""
    modules = env.__dict__.get("_viewcode_modules", {})
    for module in [name for name, entry in modules.items() if not entry or not entry[2]]:
        del modules[module]


def own_nodes(_app: Sphinx, doctree: nodes.document) -> None:
    """Let a page's nodes be of that page. Those of ``eval-rst`` say that they are of a document which still holds
    Sphinx's environment, and with each page all that would be stored: 7 MB, read again by every build."""
    for node in doctree.findall():
        node.document = doctree


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension: around napoleon, whose priority is 500."""
    for name in ("autodoc", "autosummary", "napoleon", "viewcode"):
        app.setup_extension(f"sphinx.ext.{name}")
    app.add_autodocumenter(InOrder, override=True)
    app.connect("autodoc-process-docstring", prepare, priority=400)
    app.connect("autodoc-process-docstring", show_fields, priority=600)
    app.connect("autodoc-process-signature", as_written)
    app.connect("autodoc-skip-member", without_fields)
    app.connect("object-description-transform", shorten_value)
    app.connect("doctree-read", own_nodes)
    app.connect("missing-reference", resolve)
    app.connect("viewcode-find-source", find_source)
    app.connect("viewcode-follow-imported", home)
    app.connect("env-updated", drop_sources_without_links)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
