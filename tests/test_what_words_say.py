"""Words against what they are about: links, names of arguments, papers, chapters, shapes and formulas."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import equations
import numpy as np
import pytest
import yaml

from conftest import ROOT
from gru_lib import convert, gru_forward, gru_init, gru_step, sigmoid
from gru_lib.ops import bce_with_logits

FILES = sorted(path for package in ("gru_lib", "gru_book") for path in (ROOT / package).rglob("*.py"))
TEXTS = sorted([*ROOT.glob("book_text/*.md"), *ROOT.glob("book/*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
NAMED = re.compile(r"\[([^\]\[]+)\](?:\(|: )(?:book/)?((\d\d)([a-e]?)-[\w-]+)")
NUMBER = re.compile(r"(?:^|\b(?:[Pp]age|[Cc]hapter)s? )(\d+)([a-e]?)$|\b(?:[Pp]age|[Cc]hapter) (\d+)([a-e]?)\b")
ORDER = re.findall(r"file: book/((\d\d)([a-e]?)-\S+)", (ROOT / "_toc.yml").read_text("utf8"))
CHAPTERS, PAGES = [name for name, _, letter in ORDER if not letter], [name for name, *_ in ORDER]
TITLES = {
    re.search("^# (.*)", (ROOT / f"book_text/{name}.md").read_text("utf8"), re.M)[1].lower(): name for name in PAGES
}


def wrong_link(page: str, words: str, target: str) -> bool:
    """Whether the words of a link name another page than it leads to: by number, by title, or as the next one."""
    if found := NUMBER.search(words):
        number, letter = filter(None, (found[1] or found[3], (found[2] or found[4] or "-")))
        return target[:2] != f"{number:0>2}" or target[2] != letter
    if words.lower() in TITLES:
        return TITLES[words.lower()] != target
    if found := re.search(r"\bnext (page|chapter)\b", words, re.I):
        order = CHAPTERS if found[1].lower() == "chapter" else PAGES
        before = [name for name in order if name <= page or name[:2] < page[:2]]
        return order[len(before) :][:1] != [target]
    return False


def test_a_link_leads_to_the_page_that_its_words_name():
    links = [(path, found) for path in TEXTS for found in NAMED.finditer(path.read_text("utf8"))]
    assert len(links) > 400
    assert [(path.name, m[0]) for path, m in links if wrong_link(path.stem, m[1], m[2])] == []


def stems(text: str) -> set[str]:
    return {word[:5] for word in re.findall(r"[a-z]{4,}", re.sub(r"\{numref\}`[^`]*`", "", text).lower())}


def strange_references(text: str) -> Iterator[str]:
    """Before the exercises: what is named far from where it stands, with no word of its caption in the paragraph."""
    text = re.split(r"^## Exercises", text, flags=re.M)[0]
    sections = re.split(r"^(?=##+ )", text, flags=re.M)
    home = {name: k for k, one in enumerate(sections) for name in re.findall(r"^ *name: (\S+)$", one, re.M)}
    captions = {name: words for words, name in re.findall(r"caption: ((?:(?!caption:).)*?)\n *name: (\S+)", text, re.S)}
    for k, section in enumerate(sections):
        for block in section.split("\n\n"):
            for name in re.findall(r"^(?! ).*?\{numref\}`([\w-]+)`", block, re.M):
                if home.get(name, k) != k and not stems(block) & stems(captions.get(name, "")):
                    yield f"{name}: {block}"


def test_a_figure_or_table_that_is_named_is_near_or_is_about_the_same():
    texts = {path.name: path.read_text("utf8") for path in TEXTS}
    assert sum(text.count("{numref}") for text in texts.values()) > 20
    assert [(name, one) for name, text in texts.items() for one in strange_references(text)] == []


CLAIMS = yaml.safe_load((ROOT / "tests" / "framework_claims.yml").read_text("utf8"))
RAN = "; ".join(f"{name} {said}" for part in ("versions", "older") for name, said in CLAIMS[part].items()).lower()
VERSION = r"\b(pytorch|keras|tensorflow|jax|flax|transformers|onnx\w*|equinox|haiku|mlx)`? (?:version )?((?:\d+\.)+\d+)"


def test_a_version_of_a_framework_is_one_that_the_list_of_claims_has():
    """The one that was run, or its beginning; or an older one that a page tells of."""
    said = {(path.name, *found) for path in TEXTS for found in re.findall(VERSION, path.read_text("utf8").lower())}
    assert len(said) > 15
    assert [one for one in sorted(said) if not re.search(rf"\b{one[1]} {re.escape(one[2])}(?![^.;, )])", RAN)] == []


LETTERS = r"([rznifgo](?:\$?, \$?[rznifgo]){2,3})\b"  # r, z, n, in whatever markup
STACKED = re.compile(rf"(?:\border(?: is)?|\b(PyTorch|Keras|ONNX)):? (?:\*\*|\$|\*)?{LETTERS}")
BECOMES = re.compile(rf"\border {LETTERS} becomes {LETTERS}")
FRAMEWORK = re.compile(r"\b(PyTorch|torch|Keras|keras|ONNX|onnx)\b")


def wrong_orders(text: str) -> Iterator[str]:
    """Orders of gates that are not those with which the library reads and writes the arrays of the framework before."""
    orders = {"pytorch": convert._OURS, "torch": convert._OURS, "keras": convert._KERAS, "onnx": convert._ONNX}
    for found in STACKED.finditer(text):
        said, line = re.sub(r"\W", "", found[2]), text[: found.start()].rpartition("\n")[2]
        box = re.search(r"\n```python\n((?:(?!\n```).)*)\Z", text[: found.start()], re.S)
        before = FRAMEWORK.findall(box[1] if box else line)
        of = (found[1] or (before or ["torch"])[-1]).lower()  # the library's own is PyTorch's
        if BECOMES.match(text, found.start()):  # from the first that its heading names to the second
            of, to = map(str.lower, FRAMEWORK.findall(text[: found.start()].rpartition("\n#")[2].split("\n")[0]))
            then = re.sub(r"\W", "", BECOMES.match(text, found.start())[2])
            if orders[to]["lstm" if "i" in said else "gru"] != then:
                yield f"{to}: {found[0]} becomes {then}"
        if orders[of]["lstm" if "i" in said else "gru"] != said:
            yield f"{of}: {found[0]}"


def test_an_order_of_gates_is_that_of_the_framework_it_is_said_of():
    files = [*TEXTS, *FILES]
    assert sum(len(STACKED.findall(path.read_text("utf8"))) for path in files) > 15
    assert [(path.name, one) for path in files for one in wrong_orders(path.read_text("utf8"))] == []
    assert [*wrong_orders("Keras has the order r, z, n.")] and [*wrong_orders("ONNX $i, f, g, o$")]


T, N, D, H = 7, 5, 3, 2
p = gru_init(np.random.default_rng(0), D, H)
after = gru_init(np.random.default_rng(0), D, H, reset_after=True)
xs = np.random.default_rng(1).normal(size=(T, N, D))
hs, h_T, tape = gru_forward(xs, None, p)
h, cache = gru_step(xs[0], np.zeros((N, H)), p)
CODE = {
    "x": xs[0], "xs": xs, "h_prev": np.zeros((N, H)), "h": h, "h_T": h_T, "hs": hs, "r": cache.r, "z": cache.z,
    "n": cache.n, "a_r": xs[0] @ p.W_xr, "a_z": xs[0] @ p.W_xz, "a_n": xs[0] @ p.W_xn, "p.b_hn": after.b_hn,
    **{f"p.{name}": getattr(p, name) for name in ("W_x", "W_h", "b")},
    **{f"p.{kind}{gate}": getattr(p, kind + gate) for kind in ("W_x", "W_h", "b_") for gate in "rzn"},
}  # fmt: skip
SIZES = {"T": T, "N": N, "D": D, "H": H}


def shape(text):
    """(T, N, 3H) as numbers."""
    parts = [part.strip() for part in text.strip("()").split(",") if part.strip()]
    return tuple(int(part[:-1] or 1) * SIZES[part[-1]] for part in parts)


def test_the_shapes_of_the_notation_are_those_of_the_code():
    text = (ROOT / "book" / "notation.md").read_text("utf8")
    table, rest = text.split("## The cell")
    checked = 0
    for row in table.split("* - ")[2:]:
        _, codes, shapes, *_ = (cell.strip() for cell in row.strip().split("\n  -"))
        names, wanted = re.findall(r"`([^`]+)`", codes), re.findall(r"\$(\([A-Z0-9, ]+\))\$", shapes)
        for k, name in enumerate(names):
            if wanted and name in CODE:
                assert CODE[name].shape == shape(wanted[min(k, len(wanted) - 1)]), name
                checked += 1
    for name, wanted in re.findall(r"`([\w.]+)` (?:is|have) \$(\([A-Z0-9, ]+\))\$", rest):
        assert CODE[name].shape == shape(wanted), name
        checked += 1
    assert checked >= 25


def loss_of(s, y):
    """The library's binary cross-entropy, from the logit."""
    return float(bce_with_logits(np.array([[s]]), np.array([[y]]))[0])


@pytest.mark.parametrize(("term", "values"), [
    ("binary cross-entropy", [{"s": 0.3, "y": y, "it": loss_of(0.3, y)} for y in (0.0, 1.0)]),
    ("convex update", [{"z": 0.3, "a": 2.0, "b": 5.0, "it": 0.3 * 2.0 + 0.7 * 5.0}]),
    ("central differences", [{"f": lambda x: x**2 - 3 * x, "x": 0.4, "epsilon": 0.1, "it": 2 * 0.4 - 3}]),
    ("complex step", [{"f": lambda x: x**2 - 3 * x, "x": 0.4, "epsilon": 0.1, "it": 2 * 0.4 - 3}]),
    ("logit", [{"p": float(sigmoid(a)), "it": a} for a in (-2.0, 0.7)]),
])  # fmt: skip
def test_a_formula_of_the_glossary_is_what_the_library_computes(term, values):
    text = (ROOT / "book" / "glossary.md").read_text("utf8")
    entry = re.search(rf"^{term}\n((?:  .*\n)+)", text, re.M)[1]
    formula = max(re.findall(r"\$([^$]+)\$", entry), key=len)
    for one in values:
        known = one | {"L": one["it"], "log": np.log, "sigma": sigmoid, "i": 1j, "Im": np.imag}
        assert list(equations.check(equations.words_of(f"L = {formula}"), known)) == [], formula


def checks(function: ast.FunctionDef) -> Iterator[tuple[str, str, str, str]]:
    """Of each ``check_…(where, "name", value, …)``: where, if it is said there, the name, the value, and the call."""
    for call in ast.walk(function):
        if isinstance(call, ast.Call) and re.match("(?:check|as)_", ast.unparse(call.func)) and len(call.args) > 2:
            where, name, value = call.args[:3]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                said = where.value if isinstance(where, ast.Constant) else ""
                yield said, name.value, ast.unparse(value), ast.unparse(call)


def test_an_error_names_the_function_that_was_called_and_the_argument_that_was_checked():
    wrong, checked = [], 0
    for path in FILES:
        for function in ast.walk(ast.parse(path.read_text("utf8"))):
            if isinstance(function, ast.FunctionDef):
                own = {arg.arg for arg in (*function.args.args, *function.args.kwonlyargs)}
                names = {function.name, "words"} if function.name[0] != "_" else set()
                for where, name, value, call in checks(function):
                    checked += 1
                    if (names and where and where.split()[0].rpartition(".")[2] not in names) or (
                        value in own and value != name
                    ):
                        wrong.append(f"{path.name}: {call}")
    assert checked > 350
    assert wrong == []


WORKS = re.compile(
    r"([A-Z][\w'’-]+)(?: (?:and|&) ([A-Z][\w-]+)| et al\.|, [A-Z]\w+ (?:and|&) [A-Z]\w+)? \((\d{4})\)"
    r"(?:, arXiv:(\d{4}\.\d{4,5}))?"
)
NOT_ON_A_PAGE = {
    "Polyak (1964)", "Sutskever et al. (2013)", "Loshchilov & Hutter (2017)", "Saxe et al. (2014), arXiv:1312.6120",
    "Wilson (1927)", "Schlag et al. (2021), arXiv:2102.11174", "Yang et al. (2024), arXiv:2406.06484",
}  # fmt: skip


def test_a_paper_that_a_docstring_names_is_in_the_bibliography_with_its_year_and_number():
    entries = re.split(r"\n@", (ROOT / "book" / "references.bib").read_text("utf8"))
    found = [match for path in FILES for match in WORKS.finditer(path.read_text("utf8"))]
    unknown = {
        match[0]
        for match in found
        if not any(
            all(re.search(rf"author.*\b{name}\b", entry, re.I) for name in match.group(1, 2) if name)
            and re.search(rf"year\W+{match[3]}\b", entry)
            and (match[4] or "") in entry
            for entry in entries
        )
    }
    assert len(found) > 50
    assert unknown == NOT_ON_A_PAGE
