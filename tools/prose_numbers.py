"""Say what every measured number in the prose comes from.

A **measured number** is a decimal, a percentage, a power of ten, a whole number from 10 on, a number word from five on,
and a smaller number, in digits or in words, if it counts out of something ("four of ten", "none of ten") or has a unit
("three times"). It has a source

- if **a cell of the page** prints it, or has it in its code, at the precision written. To count, the place that has the
  number must not have its neighbours too, one higher or lower in the last digit. The places are the lines of the cell
  above that share a word with the sentence, that cell, with the next one, with all lines of the page that share a word,
  and the whole page for a number of three digits or more;
- or if ``tests/prose_numbers/NN-name.txt`` has **an entry** for it: the number as the page writes it, and where it
  stands. It holds for one paragraph of the page, whichever it is, or for as many as it says with ×.

      6.6: = log(0.5) / log(0.9)
      74 %: output 16c: alone «0.74» [0.70, 0.78]
      0.11: output: nothing «2.87» [2.83, 2.91] 2.93
          output: input and output «2.76» [2.75, 2.76] 2.84
          = a - b
      80, 91: tests/test_chapter01.py: assert (linear, elman) == («80», «91»)
      sums: 0.36 ×3 = 0.6 ** 2; one tenth = 1 - 0.9
      given: 0.7 ×2, ten

  ``output:`` and ``code:`` are followed by a line of this page; ``output 16c:`` by one of another page; a path by a
  line of that file, in which a test that fills the number into the page's sentence needs no «»; ``=`` by a sum of the
  numbers in «», which are called a, b, c … in turn and number ``count``; ``cited:`` says that the page cites it. Of
  several numbers each has its own «». ``sums:`` are of numbers alone. ``given:`` lists what nothing measures: settings,
  examples, and how many of a thing there are.

It must not be nats where its source says bits, or a GRU's where that says LSTM (`KINDS`): what stands nearest to it
counts, in the prose and in the line. Nor may two numbers of a sentence be exchanged, so that beside each stands what
only the other's source says; for that, their sources must name what they are of: ``{16: «2.1», 256: «1.2»}``. Nor must
it be tokens where the page has none, but steps (`UNITS`): an entry that has the unit, such as ``40 tokens``, allows it.

``python tools/prose_numbers.py [NN …]`` lists the numbers without a source, with lines that may be it, and the entries
that do not hold any more.
"""

from __future__ import annotations

import html
import json
import math
import re
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from markdown_it.renderer import RendererHTML
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser

from gru_book.widgets import Explorer

ROOT = Path(__file__).resolve().parents[1]
TEXT, BOOK, ENTRIES = ROOT / "book_text", ROOT / "book", ROOT / "tests" / "prose_numbers"
EXTENSIONS = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))["parse"]["myst_enable_extensions"]

# ------------------------------------------------------------------------------------------------------------ the prose

DIRECTIVE = re.compile(r"(?:---\n(?P<head>.*?)^---\n|(?::[\w-]+:[^\n]*\n|\n)*)(?P<body>.*)", re.S | re.M)
NOT_PROSE = ("literalinclude", "code-block", "bibliography", "image", "glue:figure")
# A prediction's answer; its options, of which the wrong ones have no source.
ANSWER, WRONG = re.compile(r"^:answer: (.*)$", re.M), re.compile(r"(?:^- .*\n)+(?=---\n)", re.M)
FRONT = re.compile(r"\*\*Time\*\*:|\*\*You need\*\*|\d+ · ")  # front matter of a chapter, held by test_page_lengths.py


class Block(NamedTuple):
    """A paragraph, a heading, a cell of a table, a caption or a formula."""

    line: int
    cell: int  # the code cell above
    text: str


@cache
def reader() -> Any:
    """The parser that reads the book."""
    return create_md_parser(MdParserConfig(enable_extensions=EXTENSIONS), RendererHTML)


def blocks(text: str, line: int = 1, cell: int = -1) -> Iterator[Block]:
    """The prose of a page, block by block, as the book's own parser sees it."""
    for token in reader().parse(text):
        at = line + (token.map[0] if token.map else 0)
        if token.type == "inline" and not FRONT.match(token.content):
            yield Block(at, cell, "".join(map(words_of, token.children or ())))
        elif token.type in ("math_block", "math_block_label", "amsmath"):
            yield Block(at, cell, f"${token.content}$")
        elif token.type in ("fence", "colon_fence") and token.info.startswith("{"):
            name, _, title = token.info.strip("{").partition("}")
            head, body = DIRECTIVE.match(token.content).groups()  # type: ignore[union-attr]
            figure = (yaml.safe_load(head or "") or {}).get("mystnb", {})
            for caption in (figure.get("figure", {}).get("caption"), figure.get("image", {}).get("alt")):
                yield from blocks(caption or "", at, cell)
            if name == "code-cell":
                cell += 1
            elif name == "math":
                yield Block(at, cell, f"${body}$")
            elif name not in NOT_PROSE:
                if name == "predict":
                    title += "".join(f"; {answer}" for answer in ANSWER.findall(token.content))
                    body = WRONG.sub(lambda m: "".join(re.findall(r"^- \[x\].*\n", m[0], re.M)), body)
                yield Block(at, cell, title)
                yield from blocks(body, at, cell)


def words_of(token: Any) -> str:
    """What a piece of a line says; markup, code and the names of what a link leads to say nothing."""
    text = {"math_inline": f"${token.content}$", "softbreak": " ", "code_inline": " x ", "myst_role": " x "}
    return str(token.content if token.type in ("text", "image") else text.get(token.type, ""))


# Names that are numbers, and addresses.
NAMES = re.compile(
    r"""https?://\S+
    | \b(?:[Cc]hapters?|[Pp]ages?|[Qq]uestions?|[Ee]xercises?|[Vv]ersion|[Ss]ection|PyTorch|Keras|Python|NumPy|numpy)
      (?:[, ]+(?:and\ |to\ |or\ )?\d+(?:\.\d+)*[a-e]?\b)+
    | \b\d+[a-e]\b(?!-) | \b\d+\.\d+\.\d+\b | AVX-512 | IEEE\ 754 | \b95\ %(?=\ intervals?)
    | \b[Uu]nit\ \d+(?:\ and\ \d+)? | \b[Tt]wenty[-\ ]minutes?
    | \b(?:1[789]|20)\d\d\b(?![,.]\d) | -\d\d-\d\d\b                             # years, dates
    """,
    re.X,
)
MATH = re.compile(r"\$[^$]+\$")
_NAMES = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety hundred"
WORDS = (
    {w: k for k, w in enumerate(_NAMES.split(), 1)} | {"none": 0} | {w: 10 * k for k, w in enumerate(_TENS.split(), 2)}
)
WORDS = {f"{t}-{w}": WORDS[t] + WORDS[w] for t in _TENS.split()[:8] for w in _NAMES.split()[:9]} | WORDS
_WORD, _DIGITS = "|".join(WORDS), r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:e-?\d+)?"
NUMBER = re.compile(
    rf"(?<![\w.#^])(?:(?P<digits>{_DIGITS})|(?P<word>{_WORD}))(?!\w)"
    r"(?P<percent>[ ]?%)?(?P<scale>[ ](?:million|billion|thousand|(?:ten|hundred|thousand|million)ths?)\b)?",
    re.I,
)
SCALES = {"million": 1e6, "billion": 1e9, "thousand": 1e3}
SCALES |= {"tenth": 0.1, "hundredth": 0.01, "thousandth": 1e-3, "millionth": 1e-6}
_UNIT = r"(?:times|percent|points?|bits?|seconds?|minutes?|hours?|ms|µs|KB|MB|GB|°|degrees)(?! of|\w)"
UNIT_AFTER = re.compile(rf"(?:(?: to | or )(?:{_WORD}|[\d.]+))?[ -]{_UNIT}", re.I)
OF_AFTER = re.compile(rf" of (?:the |our )?(?:\w+ )?(?:{_WORD}|\d[\d,]*)\b", re.I)
OF_TEN = re.compile(r" of (?:the )?(?:ten|\d\d+)\b", re.I)
OF_BEFORE = re.compile(rf"\b(?:{_WORD}|\d[\d,]*) (?:\w+ )?of (?:the |our )?(?:\w+ )?$", re.I)
MATH_NUMBER = re.compile(
    rf"(?<![\w_^[{{.])(?:10\^(?P<f>\d|{{-?\d+}})|(?P<digits>{_DIGITS})(?:\s*\\cdot\s*10\^(?P<e>\d|{{-?\d+}}))?)"
    r"(?![\w.]*\d|[a-zA-Z])"
)
UNITS = ("bit nat", "KB MB GB", "second minute hour", "token step")
# One of these beside a number, and of its source each line with another, is a slip.
KINDS = ("bit nat", "gru lstm elman window", "one two")
THING = re.compile(rf"[^\W\d_]*\$?[ -]({'|'.join(' '.join(UNITS).split())})(?=s?\b(?! of))")
HEDGES = {
    "about": r"\b(?:about|nearly|almost|some|roughly|around|close to|near|level)\s+(?:\S+\s+)?\S{0,2}$",
    "above": r"\b(?:over|above|(?:more|better|longer|larger) than|at least|well|good|beyond|past)\s+(?:a\s+)?\S{0,2}$",
    "below": r"\b(?:under|below|(?:less|fewer|no more|lower|smaller) than|at most|up to|within|short of)\s+"
    r"(?:a\s+)?\S{0,2}$",
}


class Number(NamedTuple):
    """A measured number: what is written and where, its value, one in its last digit, what the words before allow."""

    written: str
    block: Block
    start: int
    value: float
    unit: float
    percent: bool
    hedge: str  # "about", "above", "below" or nothing
    power: bool = False  # of ten: its neighbours are the powers beside it

    def beside(self) -> Iterator[Number]:
        """The numbers that it would be if its last digit were wrong by one."""
        for by in (10, 0.1) if self.power else ():
            yield self._replace(value=self.value * by, unit=self.unit * by)
        for unit in () if self.power else (-self.unit, self.unit):
            yield self._replace(value=self.value + unit)

    def agrees(self, value: float) -> bool:
        """Whether the prose may say it for a value: at the precision written."""
        if self.power:
            return value > 0 < self.value and abs(math.log10(value) - math.log10(self.value)) <= 0.5
        step = self.unit
        if self.hedge == "about" and self.unit == 1 and self.value >= 10:  # "about 1,500"
            step = 10 ** (len(f"{self.value:.0f}") - len(f"{self.value:.0f}".rstrip("0")))
        return abs(value - self.value) <= step / 2 * (1 + 1e-9)

    def allows(self, value: float) -> bool:
        """What "about" and "more than" allow beyond rounding, where an entry says which number is meant."""
        off = abs(value - self.value)
        about = off <= 0.1 * self.value or (self.value < 20 and off <= self.unit)
        above, below = self.value <= value <= 2 * self.value, self.value / 2 <= value <= self.value
        return self.agrees(value) or {"about": about, "above": above, "below": below}.get(self.hedge, False)

    @property
    def place(self) -> Place:
        return Place(self.block.text, self.start, self.start + len(self.written))

    @property
    def thing(self) -> str:
        """The unit that stands behind it, if it is one of UNITS."""
        found = THING.match(self.block.text, self.start + len(self.written))
        return found[1] if found else ""

    def is_of(self, entry: str) -> bool:
        """Whether an entry of this name is for it."""
        return entry in (self.written, f"{self.written} {self.thing}s")

    def __str__(self) -> str:
        around = squeeze(self.block.text[max(0, self.start - 30) : self.start + 40])
        return f"line {self.block.line}: {self.written}, in “{around}”"


def numbers(block: Block) -> list[Number]:
    """The measured numbers of a block."""
    found = []
    plain = NAMES.sub(lambda m: "x" * len(m[0]), block.text)

    def number(n: re.Match[str], at: int, percent: bool) -> Number:
        parts = n.groupdict("")
        digits = str(WORDS[parts["word"].lower()]) if parts.get("word") else (parts["digits"] or "1").replace(",", "")
        scale = 10.0 ** int((parts.get("e") or parts.get("f") or "0").strip("{}"))
        scale *= SCALES.get(parts.get("scale", "").strip().rstrip("s"), 1)
        mantissa, _, power = digits.partition("e")
        unit = 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2])) * scale
        hedge = next((name for name, form in HEDGES.items() if re.search(form, plain[max(0, at - 40) : at])), "")
        value = float(digits) * scale
        written = squeeze(n[0]).lower() if parts.get("word") else squeeze(n[0])
        return Number(written, block, n.start(), value, unit, percent, hedge, bool(parts.get("f")))

    for m in MATH.finditer(plain):
        for n in MATH_NUMBER.finditer(plain, m.start(), m.end()):
            last = n.end() == m.end() - 1  # the formula ends with it, so what follows belongs to it
            alone = last and not plain[m.start() : n.start()].strip("$ -+≈~")
            made = number(n, m.start(), last and plain.startswith((" %", "%"), m.end()))
            unit = last and UNIT_AFTER.match(plain, m.end())
            if made.unit != 1 or made.percent or unit or (alone and made.value >= 10):
                found.append(made)
    plain = MATH.sub(lambda m: "x" * len(m[0]), plain)
    found += [number(n, n.start(), bool(n["percent"])) for n in NUMBER.finditer(plain) if counts(n, plain)]
    return sorted(found, key=lambda n: n.start)


def counts(n: re.Match[str], plain: str) -> bool:
    """Whether a number in the text is a measured one, by what stands around it."""
    if n["percent"] or n["scale"] or (n["digits"] and len(n["digits"]) > 1):
        return True
    word, end = (n["word"] or "").lower(), n.end()
    if word in ("none", "one", "two"):  # "one point", "two bits", "one of the two": hardly ever
        return bool(OF_TEN.match(plain, end))
    if WORDS.get(word, 0) >= 5:
        return plain[end : end + 1] != "-" or plain[end + 1 : end + 2].isspace()  # not twenty-seventh
    before = plain[max(0, n.start() - 40) : n.start()]
    return any((UNIT_AFTER.match(plain, end), OF_AFTER.match(plain, end), OF_BEFORE.search(before)))


# ---------------------------------------------------------------------------------------------------------- the sources

# Where in a sentence, and in a line, what is said of a number ends.
SENTENCE = re.compile(r"[.;:?!] ")
PIECE = re.compile(r"[.,;:?!(—] |\)[,\s]| (?:and|but|while|or|against|where|which|than|whereas|not) ")
FIELD = re.compile(r"[;|](?!\d)")
KEY = r"[{,] ?[\"']?(\w[\w ]*?)[\"']?: "
IN_CODE = re.compile(r"(?<![\w.])\d[\d_]*(?:\.\d+)?(?:e[-+]?\d+)?", re.I)
PRINTED = re.compile(
    r"10\^[-−]?\d+(?:\.\d+)?|(?<![\w.])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?(?: ?%)?", re.I
)
# What of a drawing is not text, and the numbers along its axes; lines of code that only lay a figure or a table out.
UNSEEN = re.compile(r"<(script|style|metadata|template)\b.*?</\1>|^( *)<g id=\"[xy]tick_\d+\">.*?^\2</g>", re.S | re.M)
LAYOUT = re.compile(
    r"^ax|\bax\.|\baxes\b|subplots|lim=|figsize|fontsize|linewidth|color|zorder|annotate|viz\.|point\(|^print"
    r"|:[<>^+]?[\d,.]+[a-z%}]"
)
_COMMON = """the and for with that are has not its one from but all was out than then this they their what when each
both same there here would only more about after before into over which who whose can could does did been have had were
will print import range def return rng random lambda zip strict true false none float int array name row rows line"""
STOP = frozenset(_COMMON.split())


class Place(NamedTuple):
    """Where a number stands, in the prose or in a line of its source."""

    text: str
    start: int
    end: int
    code: bool = False

    def beside(self, ends: re.Pattern[str]) -> str:
        """What stands between the nearest of these ends, without the number."""
        begin = max((m.end() for m in ends.finditer(self.text) if m.end() <= self.start), default=0)
        stop = min((m.start() for m in ends.finditer(self.text) if m.start() >= self.end), default=len(self.text))
        return f"{self.text[begin : self.start]} # {self.text[self.end : stop]}"

    def keys(self) -> tuple[set[str], set[str]]:
        """If it stands in a dictionary, ``{16: 3, 24: 0}``: its key, and the others."""
        own = re.search(rf"{KEY}[\"'(]*$", self.text[: self.start])
        mine = named(own[1]) if own else set()
        return mine, named(" ".join(re.findall(KEY, self.text))) - mine if own else set()


class Source(NamedTuple):
    """A number that a cell prints, or that stands in its code."""

    value: float
    cell: int
    code: bool
    line: str
    found: re.Match[str]

    @property
    def place(self) -> Place:
        return Place(self.line, *self.found.span(), self.code)

    def has(self, n: Number) -> bool:
        """Whether it can be what the prose says: a whole number has to be printed as one."""
        percent = not self.code and self.found[0].endswith("%")
        if n.percent and not percent and self.value <= 1 and n.agrees(100 * self.value):
            return True
        fraction = n.unit == 1 and "." in self.found[0] and not (n.percent or n.hedge)
        return not fraction and n.agrees(self.value)


@cache
def words(line: str) -> frozenset[str]:
    """What a line is about."""
    return frozenset(re.findall(r"[a-z]{3,}", line.lower())) - STOP


def squeeze(line: str) -> str:
    """A line with single spaces."""
    return " ".join(line.split())


def number_in(found: str) -> float:
    """The value of a number that a cell prints or that stands in code."""
    return 10.0 ** float(found[3:].replace("−", "-")) if found[:3] == "10^" else float(re.sub(r"[,_ %]", "", found))


def shown(output: dict[str, Any]) -> str:
    """The text that a reader sees of an output; of an explorer, that of its preview."""
    data = output.get("data", {})
    markup = "".join(data.get("text/html") or data.get("image/svg+xml", ""))
    explorer = Explorer.from_html(markup)
    drawn = UNSEEN.sub("", explorer.fallback() if explorer else markup)
    if drawn:
        return html.unescape(re.sub(r"\s*<[^>]*>\s*", "\n", re.sub(r"\s*</?tspan[^>]*>\s*", "", drawn)))
    return "".join(output.get("text") or data.get("text/plain", ""))


@cache
def outputs(name: str) -> tuple[tuple[int, bool, str], ...]:
    """The lines of a page's outputs and code: of which cell, whether code, and the line."""
    cells = [c for c in json.loads((BOOK / f"{name}.ipynb").read_text("utf8"))["cells"] if c["cell_type"] == "code"]
    texts = [(k, False, shown(output)) for k, cell in enumerate(cells) for output in cell["outputs"]]
    texts += [(k, True, "".join(cell["source"])) for k, cell in enumerate(cells)]
    found = ((k, code, squeeze(line)) for k, code, text in texts for line in text.split("\n"))
    return tuple((k, code, line) for k, code, line in found if line and not (code and LAYOUT.search(line)))


@cache
def printed(name: str) -> list[Source]:
    """Every number that the cells of a page print or have in their code."""
    found = ((*row, m) for row in outputs(name) for m in (IN_CODE if row[1] else PRINTED).finditer(row[2]))
    return [Source(number_in(m[0]), k, code, line, m) for k, code, line, m in found]


def close(name: str, n: Number) -> list[Source]:
    """The numbers of a page that `n` or its neighbours could be."""
    reach = max((20 if n.power else 2) * n.unit, 0.06 * n.value)
    scales = (1, 100) if n.percent else (1,)
    return [s for s in printed(name) if any(abs(scale * s.value - n.value) <= reach for scale in scales)]


@cache
def lines(kind: str, page: str) -> frozenset[str]:
    """The lines in which an entry's source may stand."""
    what, _, other = kind.partition(" ")
    if what in ("output", "code"):
        name = next(p.stem for p in TEXT.glob(f"{other}-*.md")) if other else page
        return frozenset(line for _, code, line in outputs(name) if code == (what == "code"))
    return frozenset(map(squeeze, (ROOT / kind).read_text("utf8").split("\n")))


FUNCTIONS: dict[str, Any] = {"__builtins__": {}, "median": lambda *v: statistics.median(v)}
FUNCTIONS |= {name: getattr(math, name) for name in ("exp", "sqrt", "tanh", "log", "log2", "log10", "pi")}
FUNCTIONS |= {"sigma": lambda a: 1 / (1 + math.exp(-a))}


def named(text: str) -> set[str]:
    """What may say which of two numbers is meant: words without their s, and other numbers."""
    found = re.findall(r"[a-z]{3,}|(?<![\w.])\d+(?:\.\d+)?(?![\w.]*\d)", text.lower().replace(",", ""))
    return {word.rstrip("s") for word in found if word not in STOP}


def said(what: str, text: str) -> list[str]:
    """Which of these words a text, or code, has, as often as it has them."""
    return re.findall(rf"(?<![^\W_])({what.replace(' ', '|').lower()})s?(?![^\W_])", text.lower())


class Entry(NamedTuple):
    """A number as its page writes it, the lines that it comes from, and how it follows from the numbers in them."""

    number: str
    sources: tuple[tuple[str, str], ...]
    how: str = ""
    places: int = 1

    def marked(self) -> list[Place]:
        """Where in its sources the number stands, or those that it is calculated from."""
        found: list[Place] = []
        for _, line in self.sources:
            marks = [*re.finditer("«.*?»", line)]
            plain = line.replace("«", "").replace("»", "")
            found += [Place(plain, m.start() - 2 * k, m.end() - 2 * k - 2) for k, m in enumerate(marks)]
            found += [] if marks or not plain else [Place(plain, 0, len(plain))]
        at = "abcdefghij".find(self.how or "-")
        return found[at : at + 1] if 0 <= at < len(found) else found

    def value(self, page: str) -> float:
        """What the sources say; an error says what is wrong with them."""
        values: list[float] = []
        for kind, source in self.sources:
            if source.replace("«", "").replace("»", "") not in lines(kind, page):
                raise ValueError(f"{kind} has no line “{source}”")
            if kind.startswith("tests/") and "{" in source and "«" not in source:
                return math.nan  # the test fills the number into the sentence, and looks for that on the page
            values += map(number_in, re.findall("«(.*?)»", source))
        names = {"count": len(values), **dict(zip("abcdefghij", values, strict=False))}
        return float(abs(eval(self.how or "a", FUNCTIONS | names)))


def entries(text: str) -> Iterator[Entry]:
    """The entries of a file."""

    def entry(number: str, sources: tuple[tuple[str, str], ...], how: str = "") -> Entry:
        written, _, places = number.partition(" ×")
        return Entry(written.lower() if written[0].isalpha() else written, sources, how, int(places or 1))

    for block in filter(None, re.split(r"\n(?! )", text.strip("\n"))):
        number, _, rest = block.partition(": ")
        rows = rest.split("\n    ")
        if number == "given":
            yield from (entry(each, (("given", ""),)) for each in rest.split(", "))
        elif number == "sums":
            yield from (entry(each, (), how) for each, _, how in (one.partition(" = ") for one in rest.split("; ")))
        else:
            sources = tuple(tuple(row.split(": ", 1)) for row in rows if not row.startswith("= "))
            how = "".join(row[2:] for row in rows if row.startswith("= "))
            each = number.split(", ")
            names = [how] if len(each) == 1 else "abcdefghij"
            yield from (entry(one, sources, name) for one, name in zip(each, names, strict=False))


class Page:
    """A page: its prose, what its cells print, and its entries."""

    def __init__(self, name: str, text: str | None = None, given: str | None = None) -> None:
        self.name, file = name, ENTRIES / f"{name}.txt"
        text = (TEXT / f"{name}.md").read_text("utf8") if text is None else text
        given = (file.read_text("utf8") if file.is_file() else "") if given is None else given
        self.entries = list(entries(given))
        self.numbers = [n for block in blocks(text) for n in numbers(block)]
        self.text, self.cites = text, "{cite" in text

    def tiers(self, n: Number) -> Iterator[Callable[[Source], bool]]:
        """Where to look for a number, each place within the next."""
        above, about = max(0, n.block.cell), words(n.block.text)
        near = (above, above + 1)
        yield lambda s: s.cell == above and not about.isdisjoint(words(s.line))
        yield lambda s: s.cell == above
        yield lambda s: s.cell in near
        yield lambda s: s.cell in near or not about.isdisjoint(words(s.line))
        if n.unit and len(f"{n.value / n.unit:.0f}".rstrip("0")) > 2:  # hardly by chance
            yield lambda s: True

    def by_itself(self, n: Number) -> list[Place]:
        """Where a place has the number, if it has neither of its neighbours."""
        about = close(self.name, n)
        equal = [s for s in about if s.has(n)]
        beside = [s for s in about if s not in equal and any(map(s.has, n.beside()))] if equal else []
        places = ([s.place for s in equal if tier(s)] for tier in self.tiers(n) if not any(map(tier, beside)))
        return next(filter(None, places), [])

    def mistaken(self, n: Number, sources: list[Place]) -> str:
        """What else its source, or else the page, says that it is of; or nothing."""
        for kind in KINDS:
            near, clause = (set(said(kind, n.place.beside(ends))) for ends in (PIECE, SENTENCE))
            here = near or (clause if kind != "one two" else near)
            there = [set(said(kind, place.beside(FIELD)) or said(kind, place.text)) for place in sources]
            if len(here) == 1 and there and all(each and not each & here for each in there):
                return f"{here.pop()}, where its source says {' and '.join(set().union(*there))}"
        here, keys = named(n.place.beside(PIECE)), [place.keys() for place in sources]
        if keys and all(here & others and not here & own for own, others in keys):
            return f"{' '.join(here & keys[0][1])}, where its source says {' '.join(keys[0][0])}"
        found = Counter(each for kind in UNITS if n.thing in kind.split() for each in said(kind, self.text))
        entered = any(n.is_of(e.number) and e.number != n.written for e in self.entries)
        if found[n.thing.lower()] == 1 and max(found.values()) > 2 and not entered:
            return (
                f"{n.thing}s, which the page has nowhere else; if it is right, give “{n.written} {n.thing}s” an entry"
            )
        return ""

    def exchanged(self, sources: dict[int, list[Place]]) -> Iterator[str]:
        """Pairs of numbers of a sentence, beside each of which stands what only the other's source says."""
        for a, b in combinations(self.numbers, 2):
            alike = (a.percent, a.unit, a.written[0].isalpha()) == (b.percent, b.unit, b.written[0].isalpha())
            if a.block is b.block and alike and not SENTENCE.search(a.block.text[a.start : b.start]):
                own = named(f"{a.written} {b.written}")
                here = [named(n.place.beside(PIECE)) - own for n in (a, b)]
                there = [
                    named(" ".join(place.beside(FIELD) for place in sources[id(n)] if not place.code)) - own
                    for n in (a, b)
                ]
                first, last = there[0] - there[1], there[1] - there[0]
                if here[0] & last and here[1] & first and not (here[0] & first or here[1] & last):
                    yield f"{a.written} and {b.written} may be exchanged, by what their sources say beside them: {a}"

    def wrong(self, entry: Entry, n: Number) -> str:
        """What is wrong with an entry for a number of its name, or nothing."""
        kind = entry.sources[0][0] if entry.sources else ""
        if kind in ("given", "cited"):
            return "" if kind == "given" or self.cites else "the page cites nothing"
        try:
            value = entry.value(self.name)
        except (ArithmeticError, LookupError, NameError, OSError, StopIteration, SyntaxError, ValueError) as error:
            return f"{error}"
        fits = math.isnan(value) or n.allows(value) or (n.percent and n.allows(100 * value))
        return "" if fits else f"the source says {value:.6g}"

    def problems(self) -> Iterator[str]:
        """What the writer of the page has to mend."""
        lines = {id(n): self.by_itself(n) for n in self.numbers}
        places: Counter[str] = Counter()
        for entry in self.entries:
            found = [(n, self.wrong(entry, n)) for n in self.numbers if n.is_of(entry.number)]
            if all(wrong for _, wrong in found):
                yield f"{entry.number}: {found[0][1] if found else 'the page has no such number'}"
            else:
                places[found[0][0].written] += entry.places
        needy: dict[str, list[Number]] = {}
        for n in self.numbers:
            if not lines[id(n)]:
                needy.setdefault(n.written, []).append(n)
            lines[id(n)] = lines[id(n)] or [place for e in self.entries if n.is_of(e.number) for place in e.marked()]
            if mistaken := self.mistaken(n, lines[id(n)]):
                yield f"{mistaken}: {n}"
        yield from self.exchanged(lines)
        for written, there in needy.items():
            count = len({n.block for n in there})
            if not places[written]:
                yield from (f"no source: {n}" for n in there)
            elif count > places[written]:
                say = f"{written} stands in {count} paragraphs; if the entry is for each, write “{written} ×{count}”: "
                yield say + "; ".join(map(str, there))


def main(beginnings: list[str]) -> int:
    """List what is wrong on the pages whose names begin so, or on all."""
    failed = False
    for name in (p.stem for p in sorted(TEXT.glob("*.md")) if p.stem.startswith(tuple(beginnings or [""]))):
        page = Page(name)
        for problem in page.problems():
            failed = True
            print(f"{name}: {problem}")
            for n in (n for n in page.numbers if str(n) in problem):
                for s in [s for s in close(name, n) if s.has(n)][:3]:
                    quoted = f"{s.line[: s.found.start()]}«{s.found[0]}»{s.line[s.found.end() :]}"
                    print(f"    perhaps {n.written}: {'code' if s.code else 'output'}: {quoted}")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
