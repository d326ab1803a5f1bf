r"""Read a printed equation and calculate it.

`displayed` finds the equations of a page, and `check` calculates the sides of one and compares them. What a letter
stands for is said by `values`: from its name, as TeX has it without braces, to an array (``"W_xr"``), a function
(``"f'"``), or a range, which makes the letter an index (``"j"``).

- ``h_{t-1}`` is ``values["h_t-1"]`` if there is one; otherwise ``values["h"]`` at the index t - 1. Arrays count from 1,
  as the book does; a dictionary has the indices that it has. A `Rows` has an index that is not printed, the sequence.
- ``\gd{a_z}`` is ``"δa_z"``, ``\gd{q,m}`` is ``"δq"`` at m, ``w^{\text{prev}}`` is ``"w^prev"``, ``h^{(k)}_t`` is
  ``"h^()"`` at k and t, ``\frac{\partial h_t}{\partial h_{t-1}}`` is ``"∂h_t/∂h_t-1"``, ``\tilde c`` is ``"tilde c"``.
- Side by side, numbers multiply, and arrays are a matrix product; ``\odot`` wants equal shapes. Dots stand for nothing:
  the values are so chosen that nothing is left out, two steps, or a function whose higher derivatives are zero.
- E, Var and Pr go over ``values["outcomes"]``, pairs of a probability and the values that an outcome changes.
- An index that no sum binds is free: the equation is checked at each of its values.

Why not a parser that exists: SymPy's `parse_latex` and latex2sympy know neither ⊙ nor ``^\top``, and take letters side
by side for numbers, so that ``x W`` and ``W x`` are the same; pylatexenc gives tokens, but not what multiplies what.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import equation_maths
import yaml
from equation_maths import RELATE, Rows, Values
from macros import without_classes, without_macros

ROOT = Path(__file__).resolve().parents[1]

Words = list[str]

MACROS = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))["sphinx"]["config"]["maths_macros"]
NAMED = r"\\(?:operatorname\*?|mathrm|texttt|text|mathbb|mathcal)(?![A-Za-z])\s*(?:\{[^{}]*\}|[A-Za-z])"
WORD = re.compile(rf"{NAMED}|\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|[A-Za-z]|\S")
SPACE = re.compile(
    r"(?<!\\)\\[,;!: ]|\\q?quad\b|\\[Bb]igg?[lr]?(?![A-Za-z])|\\(left|right)(?![A-Za-z])|\\(text|display)style\b"
    r"|\{\}|\[4pt\]|\\(begin|end)\{(aligned|gathered)\}|&&\s*\\text\{[^{}]*\}"
)
ACCENTS = (r"\tilde", r"\hat", r"\bar", r"\underline", r"\overline", r"\overrightarrow", r"\overleftarrow")
DOTS = (r"\dots", r"\cdots", r"\vdots", r"\ddots")
GROUPS = {"(": ")", "[": "]", "{": "}", r"\{": r"\}", r"\begin": r"\end"}
CLOSING = {*GROUPS.values()}
OVER = {r"\sum": "total", r"\prod": "multiplied", r"\min": "least", r"\max": "greatest"}
MEANS = {"E": "mean", "Var": "variance", "var": "variance", "Pr": "mean"}
BINARY = {"+": "add", "-": "sub", r"\pm": "pm", r"\odot": "wise", r"\cdot": "dot", "/": "divide", r"\bmod": "modulo"}
OPERATIONS = {*RELATE, *BINARY}


@dataclass(frozen=True)
class Equation:
    """A displayed equation of a page."""

    page: str
    label: str
    tex: str


class Aside(dict[str, Any]):
    """What words beside a statement, "before:", say of the letters there."""


class NotRead(Exception):
    """The reader does not know a letter or a sign, or what it reads is not true."""


def displayed(page: str, text: str) -> Iterator[Equation]:
    """The displayed equations of a page that have a label."""
    for found in re.finditer(r"(?m)^ *\$\$\s*((?:(?!\$\$).)+?)\s*\$\$ ?(?:\(([^)]+)\))?", text, re.S):
        if found[2]:
            yield Equation(page, found[2], found[1])


# From TeX to words, from words to statements.


def words_of(tex: str) -> Words:
    """The words of TeX, without the book's macros, spaces, and what only sets it."""
    tex = without_classes(
        without_macros(tex, MACROS), lambda role, inner: inner.replace(r"\delta_", r"\grad", role == "g")
    )
    tex = re.sub(r"\\left\.(.*?)\\right\|_(\{[^{}]*\})", r"\1\\given\2", tex, flags=re.S)
    tex = re.sub(r"\\frac(\d)(\w)", r"\\frac{\1}{\2}", re.sub(r"\\[dt]frac", r"\\frac", tex))
    tex = re.sub(r"\\;\s*\\;", ",", tex.replace(r"\mathrel{+}=", "="))
    tex = re.sub(r"\\?[A-Za-z]+ *&?= *1, *\\dots, *\w", "", tex)  # which values an index has
    words, inside = [], []
    for word in WORD.findall(SPACE.sub(" ", tex)):  # a row that ends in a bracket goes on
        inside += [word] if word in GROUPS else []
        inside = inside[:-1] if word in CLOSING else inside
        words += [] if word in ("&", r"\\") and inside and inside[-1] != r"\begin" else [word]
    while r"\underbrace" in words:  # what it braces stays
        at = words.index(r"\underbrace")
        end = closing(words, at + 1)
        words[at : closing(words, end + 2) + 1] = words[at + 1 : end + 1]
    return words


def closing(words: Words, at: int) -> int:
    """Where the group that opens at `at` closes."""
    depth = 0
    for end in range(at, len(words)):
        depth += (words[end] in GROUPS) - (words[end] in CLOSING)
        if depth == 0:
            return end
    raise NotRead(f"a bracket does not close: {' '.join(words[at:])}")


def outside(words: Words) -> Iterator[tuple[int, str]]:
    """The words outside of brackets, with their places."""
    depth = 0
    for k, word in enumerate(words):
        depth -= word in CLOSING
        if depth == 0:
            yield k, word
        depth += word in GROUPS


def split(words: Words, *marks: str) -> list[Words]:
    """The parts between marks that stand outside of brackets."""
    if not any(mark in words for mark in marks):  # mostly
        return [words]
    ends = [-1, *(k for k, word in outside(words) if word in marks), len(words)]
    return [words[a + 1 : b] for a, b in pairwise(ends)]


def plain(words: Words) -> str:
    r"""The words as a name: ``\text{next}`` is next, ``{t - 1}`` is t-1, ``\alpha`` alpha, ``\mathcal{L}`` calL."""
    return "".join(map(_plain, words)).strip()


@cache
def _plain(word: str) -> str:
    if re.fullmatch(NAMED, word):
        return re.sub(r"^\\(?:math(?=cal))?(cal)?[a-z]*\*?\s*\{?|\}$", r"\1", word)
    return word.strip("{}\\")


def statements(words: Words) -> Iterator[tuple[list[Words], Words]]:
    """The sides and the relations of each statement. A new row goes on with the last unless it begins with its own."""
    joined: list[Words] = []
    words = [more for word in words for more in ([";", word] if re.fullmatch(r"\\text\{\w+:\}", word) else [word])]
    for piece in split(words, ",", ";", ":", ".", r"\Rightarrow"):
        fresh = True
        for row in split(piece, r"\\"):
            row = [word for part in split(row, "&") for word in part]
            begins = row[:1] and row[0] not in OPERATIONS and related(row)
            if not fresh and not (begins and joined[-1][-1] not in OPERATIONS and related(joined[-1])):
                joined[-1] += row
            elif row:
                joined.append(row)
                fresh = False
    for statement in joined:
        if set(statement) - set(DOTS):
            yield split(statement, *RELATE), related(statement)


def related(words: Words) -> Words:
    """The relations that stand outside of brackets."""
    return [word for _, word in outside(words) if word in RELATE]


# From words to Python.


def index_name(letter: str) -> str:
    """An index as a Python name."""
    return "v0" if letter == "v" else letter.replace("'", "_")  # v is where the values are


class Reader:
    """Makes Python of one side. `free` collects the indices that no sum binds."""

    def __init__(self, words: Words, values: Values, bound: tuple[str, ...] = (), free: set[str] | None = None) -> None:
        self.words, self.values, self.bound, self.at = words, values, bound, 0
        self.free: set[str] = set() if free is None else free

    def inner(self, words: Words, *bound: str) -> Reader:
        return Reader(words, self.values, (*self.bound, *bound), self.free)

    def peek(self, ahead: int = 0) -> str:
        return self.words[self.at + ahead] if self.at + ahead < len(self.words) else ""

    def take(self) -> str:
        if not self.peek():
            raise NotRead(f"something is missing at the end of: {' '.join(self.words)}")
        self.at += 1
        return self.words[self.at - 1]

    def group(self) -> Words:
        """The words of the group, or the one word, that follows."""
        if self.peek() not in GROUPS:
            return [self.take()]
        end = closing(self.words, self.at)
        words, self.at = self.words[self.at + 1 : end], end + 1
        return words

    def until(self, mark: str) -> str:
        """What stands up to the next `mark`."""
        end = self.words.index(mark, self.at) if mark in self.words[self.at :] else len(self.words)
        words, self.at = self.words[self.at : end], end + 1
        return self.inner(words).whole()

    def whole(self) -> str:
        """All the words."""
        code = self.sum()
        if self.peek():
            raise NotRead(f"cannot go on at: {' '.join(self.words[self.at :])}")
        return code

    def sum(self) -> str:
        code = ""
        while self.peek() in ("+", "-", r"\pm") or not code:
            sign = self.take() if self.peek() in ("+", "-", r"\pm") else ""
            if self.peek() in DOTS:
                self.take()
                continue
            term = self.product()
            code = f"{BINARY[sign]}({code}, {term})" if code else f"-{term}" if sign == "-" else term
        return code

    def product(self) -> str:
        code = self.factor()
        while self.peek() not in ("", "+", "-", r"\pm"):
            if self.peek() in DOTS:
                self.take()
                continue
            how = BINARY[self.take()] if self.peek() in BINARY else "times"
            code = f"{how}({code}, {self.factor()})"
        return code

    def factor(self) -> str:
        """A number, a name, a group or an operation, with its superscript."""
        word = self.peek()
        if word in OVER and self.peek(1) == "_":
            return self.over()
        if word in ("(", "["):
            return self.postfix(self.bracket())
        if word == "{":
            return self.postfix(f"({self.inner(self.group()).whole()})")
        if word == r"\{":
            return f"[{self.listed(self.group())}]"
        if word == r"\begin":
            return self.postfix(self.environment())
        if word[:1].isdigit():
            return self.postfix(self.take())
        if word not in ("|", r"\|", r"\frac", r"\sqrt"):
            return self.name()
        self.take()
        if word == r"\sqrt":
            return f"np.sqrt({self.inner(self.group()).whole()})"
        if word != r"\frac":
            return self.postfix(f"norm({self.until(word)})")
        top, bottom = self.group(), self.group()
        if top[0] in (r"\partial", r"\mathrm d", r"\mathrm{d}"):
            return self.derivative(top, bottom)
        return f"divide({self.inner(top).whole()}, {self.inner(bottom).whole()})"

    def postfix(self, code: str) -> str:
        while self.peek() in ("_", "^"):
            if self.take() == "_":
                code = f"at({code}, {', '.join(c for part in split(self.group(), ',') for c in self.indices(part))})"
            else:
                power = self.group()
                code = f"transposed({code})" if power == [r"\top"] else f"power({code}, {self.inner(power).whole()})"
        return code

    def bracket(self) -> str:
        """(a + b); a row (a, b); 1 or 0 for a condition [a > b]."""
        words = self.group()
        if related(words):
            return f"(1.0 * {self.condition(words)})"
        return f"row({self.listed(words)})" if len(split(words, ",")) > 1 else f"({self.inner(words).whole()})"

    def condition(self, words: Words) -> str:
        (relation,) = related(words)
        left, right = (self.inner(side).whole() for side in split(words, relation))
        return f"({left} {relation} {right})" if relation in "<>" else f"RELATE[{relation!r}]({left}, {right})"

    def listed(self, words: Words) -> str:
        r"""What commas part. ``c_1, \dots, c_t`` and ``c_1 \dots c_t`` are all from c_1 to c_t; a lone dot is None."""
        parts = split(words, ",")
        for k in [k for k, part in enumerate(parts) if part in ([d] for d in DOTS) and 0 < k < len(parts) - 1][:1]:
            parts[k - 1 : k + 2] = [[*parts[k - 1], *parts[k], *parts[k + 1]]]
        codes = []
        for part in parts:
            ends = split(part, *DOTS)
            if part == [r"\cdot"] or not any(ends):
                codes.append("None")
            elif len(ends) == 2:
                (letter, (a,), _), (same, (b,), _) = (self.inner(end).parts() for end in ends)
                if same != letter:
                    raise NotRead(f"from {letter} to {same}")
                codes.append(f"*run(v[{letter!r}], {self.inner(a).whole()}, {self.inner(b).whole()})")
            else:
                codes.append(self.inner(part).whole())
        return ", ".join(codes)

    def environment(self) -> str:
        """A matrix, or cases with a condition each."""
        words = self.group()
        kind = plain(self.group())
        rows = [split(row, "&") for row in split(words[closing(words, 0) + 1 :], r"\\")]
        if kind != "cases":
            cells = [[self.inner(cell).whole() for cell in row if set(cell) - set(DOTS)] for row in rows]
            return f"block([{', '.join('[' + ', '.join(row) + ']' for row in cells if row)}])"
        code = ""
        for value, words in reversed(rows):
            text, words = plain(words).rstrip(",."), [word for word in words if plain([word]) != "if"]
            here = self.inner([word for word in value if word != ","]).whole()
            test = self.condition(words) if set(words) & set(RELATE) else f"v[{text!r}]"
            code = f"({here} if {test} else {code})" if code else here
        return code

    def over(self) -> str:
        """A sum, a product, the least or the greatest over indices."""
        how = OVER[self.take()]
        self.take()
        below = split(self.group(), ",")
        above = self.inner(self.group()).whole() if self.peek() == "^" and self.take() else ""
        loops, bound = [], []
        for part in below:
            (mark, *_) = [*related(part), ""]
            letter, *limit = split(part, mark)
            name = index_name(plain(letter))
            if above:
                loops.append(f"for {name} in range({self.inner(*limit, *bound).whole()}, {above} + 1)")
            elif mark == r"\in":
                loops.append(f"for {name} in {self.inner(*limit, *bound).whole()}")
            else:
                test = f" if RELATE[{mark!r}]({name}, {self.inner(*limit, *bound).whole()})" if mark else ""
                loops.append(f"for {name} in v[{plain(letter)!r}]{test}")
            bound.append(plain(letter))
        body = self.inner(self.words[self.at :], *bound)
        code = body.product()
        self.at += body.at
        return f"{how}([{code} {' '.join(loops)}])"

    def parts(self) -> tuple[str, list[Words], Words]:
        """A name: its letter, its subscripts, its superscript."""
        word, below, above = self.take(), [], []
        if word == r"\grad":
            inside = self.inner(self.group())
            letter, below, above = inside.parts()
            if inside.peek() not in ("", ","):
                raise NotRead(f"a gradient of: {' '.join(inside.words)}")
            letter, below = f"δ{letter}", below + split(inside.words[inside.at :], ",")[1:]
        elif word in ACCENTS:
            letter = f"{word[1:]} {plain(self.group())}"
        elif word[0].isalpha() or re.match(r"\\[A-Za-z]", word):
            letter = plain([word])
        else:
            raise NotRead(f"no letter, but {word} in: {' '.join(self.words)}")
        while self.peek() in ("'", "_", "^") and self.peek(1) != r"\top" and not (above and self.peek() == "^"):
            mark = self.take()
            if mark == "'":
                letter += mark
            elif mark == "_":
                below = split(self.group(), ",")
            else:
                above = self.group()
        return letter, below, above

    def namings(self, letter: str, below: list[Words], above: Words) -> Iterator[tuple[str, list[str], Words]]:
        """What may be the name, from long to short, with the indices and the exponent that are left."""
        for kept in range(len(below), -1, -1):
            low = "_" + ",".join(map(plain, below[:kept])) if kept else ""
            rest = below[kept:]
            if above:
                yield f"{letter}^{plain(above)}{low}", rest, []
            if above[:1] == ["("]:
                yield f"{letter}^(){low}", [above[1:-1], *rest], []
            yield letter + low, rest, above

    def indices(self, words: Words) -> list[str]:
        """``tj`` is two indices, ``t - 1`` is one."""
        if len(words) > 1 and all(re.fullmatch(r"[A-Za-z]|\d+|\\[a-z]+", word) for word in words):
            return [code for word in words for code in self.indices([word])]
        return [*words[0]] if words[0].isdigit() else [self.inner(words).whole()]

    def name(self) -> str:
        letter, below, above = self.parts()
        if not below and (letter in self.bound or isinstance(self.values.get(letter), range)):
            self.free |= {letter} - set(self.bound)
            code = index_name(letter)
            return self.postfix(f"power({code}, {self.inner(above).whole()})" if above else code)
        if letter in MEANS and not below and not above and letter not in self.values:
            what = self.group() if self.peek() in ("[", "(") else []
            code = self.condition(what) if related(what) else self.inner(what).whole() if what else self.factor()
            return self.postfix(f"{MEANS[letter]}(v, lambda: {code})")
        return self.known(self.namings(letter, below, above))

    def known(self, namings: Iterator[tuple[str, list[Words], Words]]) -> str:
        """The first of the names that the values know, at its indices, with its arguments, to its power."""
        names = list(namings)
        key, rest, exponent = next((naming for naming in names if naming[0] in self.values), ("", [], []))
        if not key:
            raise NotRead(f"the values have no {' and no '.join(repr(name) for name, *_ in names)}")
        value = self.values[key]
        indices = [code for part in rest for code in self.indices(part)]
        if isinstance(value, Rows):
            self.free |= {value.index} - set(self.bound)
            indices.append(value.index)
        code = f"at(v[{key!r}], {', '.join(indices)})" if indices else f"v[{key!r}]"
        if callable(next(iter(value.values())) if indices and isinstance(value, dict) else value):
            code += f"({self.arguments()})"
        return self.postfix(f"power({code}, {self.inner(exponent).whole()})" if exponent else code)

    def arguments(self) -> str:
        r"""What a function is given: ``(a, b)``, or the next factor; ``(a, b \mid c)`` is two lists."""
        if self.peek() != "(":
            return self.factor()
        lists = [self.listed(part) for part in split(self.group(), r"\mid")]
        return lists[0] if len(lists) == 1 else ", ".join(f"[{part}]" for part in lists)

    def derivative(self, top: Words, bottom: Words) -> str:
        r"""``\partial u_j / \partial v_i`` is ``∂u/∂v`` at j and i, or a longer name."""
        given = f"|{plain(self.group())}" if self.peek() == r"\given" and self.take() else ""
        whole = f"∂{plain(top[1:])}/∂{plain(bottom[1:])}{given}"
        if whole in self.values:
            return f"v[{whole!r}]"
        sign = "".join(top[1:3]) if top[1] == "^" else ""
        upper, lower = self.inner(top[1 + len(sign) :]), self.inner(bottom[1:])
        above, below = ([*reader.namings(*reader.parts())] for reader in (upper, lower))
        if upper.peek() or lower.peek():
            raise NotRead(f"a derivative of {' '.join(top)} by {' '.join(bottom)}")
        return self.known((f"∂{sign}{u[0]}/∂{d[0]}{given}", u[1] + d[1], []) for u, d in product(above, below))


# From Python to a verdict.


def check(words: Words, values: Values) -> Iterator[str]:
    """What is wrong with the statements of an equation, and how they were read."""
    values = values | (values["outcomes"][0][1] if "outcomes" in values else {})
    for sides, marks in statements(words):
        statement = [word for side, mark in zip(sides, [*marks, ""], strict=True) for word in [*side, mark] if word]
        asides = {word: values[text] for word in statement if isinstance(values.get(text := spoken(word)), Aside)}
        here = values.copy()
        for aside in asides.values():
            here |= aside
        free: set[str] = set()
        codes: list[str] = []
        try:
            codes = [Reader([w for w in side if w not in asides], here, (), free).whole() for side in sides]
            letters = sorted(free)
            if r"\leftarrow" in marks:  # the new value of what stands on the left
                for letter in [key for key in here if f"{key}←" in here]:
                    codes[0] = codes[0].replace(f"v[{letter!r}]", f"v[{letter + '←'!r}]")
            if not marks:
                marks, codes = ["="], [*codes, f"at(v['value'], {', '.join(letters)})" if free else "v['value']"]
            decimals = max((len(word.partition(".")[2]) for word in sides[-1] if word[0].isdigit()), default=0)
            find = eval(f"lambda v, {', '.join(map(index_name, letters))}: [{', '.join(codes)}]", vars(equation_maths))
            for place in product(*(here[letter] for letter in letters)):
                for mark, (left, right) in zip(marks, pairwise(find(here, *place)), strict=True):
                    within = (10.0**-decimals,) if decimals and mark == "=" else ()
                    if not RELATE[mark](left, right, *within):
                        raise NotRead(
                            f"not true at {dict(zip(letters, place, strict=True))}: {left!r} {mark} {right!r}"
                        )
        except Exception as error:
            yield "\n    ".join([" ".join(statement), "read as:", *codes, repr(error)])


def spoken(word: str) -> str:
    """The words of the text, if it is one."""
    return plain([word]) if word.startswith(r"\text") else ""
