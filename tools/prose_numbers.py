"""Say what every measured number in the prose comes from.

A page's prose is plain text, in the book as in JupyterLab, so the build cannot fill its numbers in: they are
compared. A **measured number** is a decimal, a percentage, a power of ten, a whole number from 10 on, and a smaller
one, in digits or in words, if it counts out of something ("seven of ten") or has a unit ("three times"). It needs a
source:

- **A cell of the page** prints it, or has it in its code, at the precision written. To count, the place that has the
  number must not have its neighbours too, one higher or lower in the last digit. The places are the lines of the cell
  above that share a word with the sentence, that cell, with the next one, with all lines of the page that share a word,
  and the whole page for a number of three digits or more.
- **A formula** that works it out: $0.3 \\cdot 0.9 \\cdot 0.8 = 0.216$.
- **A test** of the chapter that works it out, fills it into the sentence and looks for that on the page.
- **An entry** in ``tests/prose_numbers/NN-name.txt``: a piece of the prose, and below it where the number stands.
  What is in «» is the number, in the prose and in the line of the source.

      after 50 steps «two millionths» of it are
          output: small «2e-06»
      gain «0.11» bits in
          output: nothing «2.87» [2.83, 2.89] 2.93 [2.91, 2.95]
          output: input and output «2.76» [2.75, 2.76] 2.84 [2.82, 2.85]
          = a - b

  ``output:`` and ``code:`` are followed by a line of this page; ``output 16c:`` by one of another page; a path by a
  line of that file; ``=`` by a sum of the numbers in «», which are called a, b, c … in turn and number ``count``;
  ``cited:`` stands for a number of the source that its sentence cites; ``given:`` is followed by the reason why
  nothing measures it.

``python tools/prose_numbers.py [NN …]`` lists the numbers without a source, with lines that may be it, and the
entries that do not hold any more. ``--write`` renews the entries whose lines have changed around the same numbers,
adds for each number that stands on its page an entry with the likeliest line, and removes those that fit no prose:
read them in the diff. ``--measure`` changes every measured number by one in its last digit, up and down, and counts
what is noticed.
"""

from __future__ import annotations

import argparse
import ast
import bisect
import html
import json
import math
import operator
import re
import statistics
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
TEXT, BOOK, ENTRIES = ROOT / "book_text", ROOT / "book", ROOT / "tests" / "prose_numbers"

# ------------------------------------------------------------------------------------------------------------ the prose

CELL = re.compile(r"^```\{code-cell\}.*?^```$", re.S | re.M)
CAPTION = re.compile(r"^ *(?:caption|alt): (?:.*\n(?: {6,}.*\n)*)", re.M)
BLOCKS = re.compile(
    r"""\A---\n.*?\n---\n                                                         # head
    | ^\ *(?P<fence>`{3,})\{(?:code-cell|literalinclude)\}.*?^\ *(?P=fence)$        # cells, listings; but see CAPTION
    | ^\ *(?P<other>`{3,})\w*\n.*?^\ *(?P=other)$                                 # code
    | ^\ *`{3,}.*?$ | ^\ *:[\w-]+:.*?$ | ^\([\w-]+\)=$ | ^\ *\d+\.(?=\ )           # directives, options, list items
    | ^-\ \d+\ ·.*?$ | ^\*\*Time\*\*:.*?$ | ^\*\*You\ need\*\*.*?$                 # see test_page_lengths.py
    """,
    re.S | re.M | re.X,
)
# Names that are numbers, and what is code or markup inside a line.
INLINE = re.compile(
    r"""`[^`\n]*` | \{[a-z][\w:]*\} | \[\d+\w?\]\([^)\n]*\) | \]\([^)\n]*\) | <[^>\n]*> | https?://\S+ | \(eq-[\w-]+\)
    | \b(?:[Cc]hapters?|[Pp]ages?|[Qq]uestions?|[Ee]xercises?|[Vv]ersion|[Ss]ection|PyTorch|Keras|Python|NumPy|numpy)
      (?:[, ]+(?:and\ |to\ |or\ )?\d+(?:\.\d+)*[a-e]?\b)+
    | \b\d+[a-e]\b(?!-) | \b\d+\.\d+\.\d+\b | AVX-512 | IEEE\ 754 | \b95\ %(?=\ intervals?)
    | \b[Uu]nit\ \d+(?:\ and\ \d+)? | \b[Tt]wenty[-\ ]minutes?
    | \b(?:1[789]|20)\d\d\b(?![,.]\d) | -\d\d-\d\d\b                             # years, dates
    """,
    re.X,
)
MATH = re.compile(r"\$\$.*?\$\$|\$[^$]+\$", re.S)
_NAMES = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety hundred"
WORDS = {w: k for k, w in enumerate(_NAMES.split(), 1)} | {w: 10 * k for k, w in enumerate(_TENS.split(), 2)}
_WORD = "|".join(WORDS)
_DIGITS = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:e-?\d+)?"
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
HEDGES = {
    "about": re.compile(r"\b(?:about|nearly|almost|some|roughly|around|close to|near|level)\s+(?:\S+\s+)?\S{0,2}$"),
    "above": re.compile(
        r"\b(?:over|above|(?:more|better|longer|larger) than|at least|well|good|beyond|past)\s+(?:a\s+)?\S{0,2}$"
    ),
    "below": re.compile(
        r"\b(?:under|below|(?:less|fewer|no more|lower|smaller) than|at most|up to|within|short of)\s+(?:a\s+)?\S{0,2}$"
    ),
}


class Number(NamedTuple):
    """A measured number: where it stands, its value, one in its last digit, and what the words before it allow."""

    start: int
    end: int
    value: float
    unit: float
    percent: bool
    hedge: str  # "about", "above", "below" or nothing
    power: bool = False  # of ten: its neighbours are the powers beside it

    def beside(self) -> tuple[Number, Number]:
        """The numbers that it would be if its last digit were wrong by one."""
        if self.power:
            ten, tenth = (self._replace(value=self.value * by, unit=self.unit * by) for by in (10, 0.1))
            return ten, tenth
        return self._replace(value=self.value - self.unit), self._replace(value=self.value + self.unit)


def blank(found: re.Match[str]) -> str:
    """As many spaces as there were letters."""
    return re.sub(r"[^\n]", " ", found[0])


def prose(text: str) -> str:
    """A page's text with everything blanked that is not prose, so that every number keeps its place."""
    left = BLOCKS.sub(blank, text)
    for m in CAPTION.finditer(text):
        left = left[: m.start()] + re.sub(r"^ *(?:caption|alt):", blank, m[0]) + left[m.end() :]
    return INLINE.sub(blank, left)


def size(n: re.Match[str]) -> tuple[float, float]:
    """The value of a number as NUMBER or MATH_NUMBER found it, and one in its last digit."""
    parts = n.groupdict()
    word = parts.get("word")
    digits = str(WORDS[word.lower()]) if word else (parts["digits"] or "1").replace(",", "")
    scale = 10.0 ** int((parts.get("e") or parts.get("f") or "0").strip("{}"))
    if parts.get("scale"):
        scale = SCALES[parts["scale"].strip().rstrip("s")]
    mantissa, _, power = digits.partition("e")
    return float(digits) * scale, 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2])) * scale


def hedge(plain: str, at: int) -> str:
    """Which kind of "about" stands before a place, if any."""
    before = plain[max(0, at - 40) : at]
    return next((name for name, form in HEDGES.items() if form.search(before)), "")


def numbers(plain: str) -> list[Number]:
    """The measured numbers of a page's prose."""
    found = []
    for m in MATH.finditer(plain):
        for n in MATH_NUMBER.finditer(plain, m.start(), m.end()):
            value, unit = size(n)
            last = n.end() == m.end() - 1  # the formula ends with it, so what follows belongs to it
            percent = last and plain.startswith((" %", "%"), m.end())
            alone = last and not plain[m.start() : n.start()].strip("$ -+≈~")
            if unit != 1 or percent or (last and UNIT_AFTER.match(plain, m.end())) or (alone and value >= 10):
                found.append(Number(n.start(), n.end(), value, unit, percent, hedge(plain, m.start()), bool(n["f"])))
    plain = MATH.sub(lambda m: re.sub(r"[^\n]", "x", m[0]), plain)
    for n in NUMBER.finditer(plain):
        if counts(n, plain[max(0, n.start() - 40) : n.end() + 40].replace("\n", " "), min(40, n.start())):
            found.append(Number(n.start(), n.end(), *size(n), bool(n["percent"]), hedge(plain, n.start())))
    return sorted(found)


def counts(n: re.Match[str], around: str, at: int) -> bool:
    """Whether a number in the text is a measured one, by what stands around it."""
    if n["percent"] or n["scale"] or (n["digits"] and len(n["digits"]) > 1):
        return True
    after = at + n.end() - n.start()
    if n["word"] and n["word"].lower() in ("one", "two"):  # "one point", "two bits", "one of the two": hardly ever
        return n["word"].lower() == "two" and bool(OF_TEN.match(around, after))
    return any((UNIT_AFTER.match(around, after), OF_AFTER.match(around, after), OF_BEFORE.search(around[:at])))


def written(text: str, about: str) -> Number | None:
    """The number that a piece of text is."""
    plain = text.replace("$", "").strip()
    n = NUMBER.fullmatch(plain) or MATH_NUMBER.fullmatch(plain)
    return n and Number(0, 0, *size(n), "%" in plain, about)


# ---------------------------------------------------------------------------------------------------------- the sources


class Source(NamedTuple):
    """A number that a cell prints, or that stands in its code."""

    value: float
    percent: bool
    whole: bool
    cell: int
    line: str
    start: int
    end: int
    code: bool


IN_CODE = re.compile(r"(?<![\w.])\d[\d_]*(?:\.\d+)?(?:e[-+]?\d+)?", re.I)
PRINTED = re.compile(
    r"10\^[-−]?\d+(?:\.\d+)?|(?<![\w.])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?(?P<percent> ?%)?", re.I
)


def number_in(found: str) -> float:
    """The value of a number that a cell prints or that stands in code."""
    if found.startswith("10^"):
        return 10.0 ** float(found[3:].replace("−", "-"))
    return float(re.sub(r"[,_ %]", "", found))


# What of a drawing is not text, and the numbers along its axes; lines of code that only lay a figure or a table out.
UNSEEN = re.compile(r"<(script|style|metadata|template)\b.*?</\1>|^( *)<g id=\"[xy]tick_\d+\">.*?^\2</g>", re.S | re.M)
LAYOUT = re.compile(
    r"^ax|\bax\.|\baxes\b|subplots|lim=|figsize|fontsize|linewidth|color|zorder|annotate|viz\.|point\(|^print"
    r"|:[<>^+]?[\d,.]+[a-z%}]"
)


def shown(output: dict[str, Any]) -> str:
    """The text that a reader sees of an output."""
    data = output.get("data", {})
    if "text" in output:
        return "".join(output["text"])
    for kind in ("text/html", "image/svg+xml"):
        if kind in data:
            drawn = UNSEEN.sub("", "".join(data[kind]))
            return html.unescape(re.sub(r"\s*<[^>]*>\s*", "\n", re.sub(r"\s*</?tspan[^>]*>\s*", "", drawn)))
    return "".join(data.get("text/plain", ""))


def agrees(n: Number, value: float) -> bool:
    """Whether the prose may say `n` for a value: at the precision written."""
    if n.power:
        return value > 0 and abs(math.log10(value / n.value)) <= 0.5
    if abs(value - n.value) <= n.unit / 2 * (1 + 1e-9):
        return True
    if n.hedge == "about" and n.unit == 1 and n.value >= 10 and n.value % 10 == 0:  # "about 1,500"
        digits = f"{n.value:.0f}"
        return abs(value - n.value) <= 10 ** (len(digits) - len(digits.rstrip("0"))) / 2
    return False


def matches(n: Number, s: Source) -> bool:
    """Whether a printed number can be what the prose says: a whole number has to be printed as one."""
    if n.percent and not s.percent and s.value <= 1 and agrees(n, 100 * s.value):
        return True
    if n.unit == 1 and not (n.percent or n.hedge or s.whole):
        return False
    return agrees(n, s.value)


@cache
def words(line: str) -> frozenset[str]:
    """What a line is about."""
    return frozenset(re.findall(r"[a-z]{3,}", line.lower())) - STOP


_COMMON = """the and for with that are has not its one from but all was out than then this they their what when each
both same there here would only more about after before into over which who whose can could does did been have had were
will print import range def return rng random lambda zip strict true false none float int array name row rows line"""
STOP = frozenset(_COMMON.split())


class Page:
    """A page: its text, what its cells print, and its entries."""

    def __init__(self, name: str, text: str | None = None, entries: str | None = None) -> None:
        self.name = name
        self.text = (TEXT / f"{name}.md").read_text("utf8") if text is None else text
        self.prose = prose(self.text)
        self.places = [m.start() for m in CELL.finditer(self.text)]
        file = ENTRIES / f"{name}.txt"
        self.entries = list(parse((file.read_text("utf8") if file.exists() else "") if entries is None else entries))

    @cached_property
    def numbers(self) -> list[Number]:
        """The measured numbers of its prose."""
        return numbers(self.prose)

    # ------------------------------------------------------------------------------------------------------- by itself

    def tiers(self, n: Number) -> Iterator[Callable[[Source], bool]]:
        """Where to look for a number, each place within the next."""
        above = max(0, bisect.bisect_right(self.places, n.start) - 1)
        near = (above, above + 1)
        start, end = self.text.rfind("\n", 0, n.start) + 1, self.text.find("\n", n.end)
        about = words(self.prose[start:end])
        yield lambda s: s.cell == above and not about.isdisjoint(words(s.line))
        yield lambda s: s.cell == above
        yield lambda s: s.cell in near
        yield lambda s: s.cell in near or not about.isdisjoint(words(s.line))
        if n.unit and len(f"{n.value / n.unit:.0f}".rstrip("0")) > 2:  # hardly by chance
            yield lambda s: True

    def likely(self, n: Number, pages: Iterable[str] = ()) -> list[Entry]:
        """Entries for a number that stands in outputs or code, first with the line most like the sentence."""
        start, end = self.text.rfind("\n", 0, n.start) + 1, self.text.find("\n", n.end)
        about, near = words(self.prose[start:end]), words(self.prose[max(start, n.start - 40) : n.end + 40])
        above = bisect.bisect_right(self.places, n.start) - 1
        next_word = re.compile(r"\W*([a-z]{4,})")
        after = next_word.match(self.prose, n.end)
        found = []
        for name in (self.name, *pages):
            for s in (s for s in close(name, n) if matches(n, s)):
                line, then = words(s.line), next_word.match(s.line, s.end)
                score = len(about & line) + 2 * len(near & line) + 0.5 * (not s.code) + (n.percent and s.percent)
                score += 3 * bool(after and then and after[1] == then[1])
                score += 1 - min(abs(s.cell - above) / 4, 1) if name == self.name else -1
                kind = ("code" if s.code else "output") + (f" {short(name)}" if name != self.name else "")
                quoted = f"{s.line[: s.start]}«{s.line[s.start : s.end]}»{s.line[s.end :]}"
                found.append((score, Entry(self.around(n), ((kind, quoted),))))
        return [entry for _, entry in sorted(found, reverse=True)]

    def by_itself(self, n: Number) -> bool:
        """Whether a place has the number, and neither of its neighbours."""
        equal, beside = [], []
        for s in close(self.name, n):
            if matches(n, s):
                equal.append(s)
            elif any(matches(other, s) for other in n.beside()):
                beside.append(s)
        return bool(equal) and any(any(map(tier, equal)) and not any(map(tier, beside)) for tier in self.tiers(n))

    @cached_property
    def worked_out(self) -> list[tuple[int, int]]:
        """The parts of formulas that hold as sums: 0.3 · 0.9 · 0.8 = 0.216."""
        held = []
        for m in MATH.finditer(self.prose):
            if "." not in m[0] and "10^" not in m[0]:
                continue
            cuts = [
                m.start(),
                *(c for e in re.finditer(r"=|\\approx", m[0]) for c in (m.start() + e.start(), m.start() + e.end())),
                m.end(),
            ]
            sides = [(a, b, self.prose[a:b]) for a, b in zip(cuts[::2], cuts[1::2], strict=True)]
            for (a, b, left), (c, d, right) in pairwise(sides):
                result = written(right.strip(" $.,;&\\\n-"), "")
                value = worth(left)
                if result and value is not None and agrees(result, abs(value)) and re.search(r"[^\d\s.$-]", left):
                    held += [(a, b), (c, d)]
        return held

    @cached_property
    def tested(self) -> list[tuple[int, int]]:
        """The numbers that a test of the chapter works out: it fills them into a sentence and looks for that."""
        flat, places = self.flat
        held = []
        for form in filled(self.name):
            for m in form.finditer(flat):
                held += [(places[m.start(k)], places[m.end(k) - 1] + 1) for k in range(1, form.groups + 1)]
        return held

    # ------------------------------------------------------------------------------------------------------- by entries

    @cached_property
    def flat(self) -> tuple[str, list[int]]:
        """The text with single spaces, and where each letter of it stands."""
        places: list[int] = []
        for m in re.finditer(r"\S+", self.text):
            places += range(m.start(), m.end() + 1)  # and the space after it
        return squeeze(self.text), places

    def place(self, entry: Entry) -> tuple[int, int] | None:
        """Where the number of an entry stands, if its piece of prose stands once on the page."""
        flat, places = self.flat
        before, number, after = re.split("[«»]", entry.prose)
        at = flat.find(before + number + after)
        if at < 0 or flat.find(before + number + after, at + 1) >= 0:
            return None
        return places[at + len(before)], places[at + len(before) + len(number) - 1] + 1

    def wrong(self, entry: Entry) -> str:
        """What is wrong with an entry, or nothing."""
        place = self.place(entry)
        if place is None:
            return "this does not stand on the page, or more than once"
        start, end = place
        covered = [n for n in self.numbers if n.start < end and start < n.end]
        n = covered[0] if len(covered) == 1 else written(self.text[start:end], hedge(self.prose, start))
        if n is None:
            return "no number stands between « and »"
        if entry.kind == "given":
            return "" if len(entry.sources[0][1]) > 3 else "no reason is given"
        if entry.kind == "cited":
            sentence = self.text[self.text.rfind("\n", 0, start) + 1 : self.text.find("\n", end)]
            return "" if "{cite" in sentence else "no citation stands in its sentence"
        value = entry.value(self.name)
        if isinstance(value, str):
            return value
        if any(agrees(n, abs(v)) or allowed(n, abs(v)) for v in ((value, 100 * value) if n.percent else (value,))):
            return ""
        return f"the source says {value:.6g}"

    @cached_property
    def checked(self) -> list[tuple[Entry, str]]:
        return [(entry, self.wrong(entry)) for entry in self.entries]

    def unbound(self) -> list[Number]:
        """The measured numbers that have no source."""
        spans = self.worked_out + self.tested + [self.place(entry) for entry, wrong in self.checked if not wrong]  # type: ignore[operator]
        return [
            n
            for n in self.numbers
            if not any(a <= n.start < b or n.start <= a < n.end for a, b in spans) and not self.by_itself(n)
        ]

    @cached_property
    def problems(self) -> list[str]:
        """What the writer of the page has to mend."""
        lines = [f"no source: {self.around(n)}" for n in self.unbound()]
        return lines + [f"{wrong}: {entry.prose}" for entry, wrong in self.checked if wrong]

    def around(self, n: Number, before: int = 3, after: int = 2) -> str:
        """A number with a few words on both sides, as an entry has it."""
        flat, places = self.flat
        a, b = bisect.bisect_left(places, n.start), bisect.bisect_left(places, n.end)
        while True:
            left = re.search(rf"(?:\S+ ){{0,{before}}}\S*$", flat[:a])
            right = re.match(rf"\S*(?: \S+){{0,{after}}}", flat[b:])
            assert left and right
            if flat.count(left[0] + flat[a:b] + right[0]) == 1 or before > 30:
                return f"{left[0]}«{flat[a:b]}»{right[0]}"
            before, after = before + 1, after + 1


def allowed(n: Number, value: float) -> bool:
    """What "about" and "more than" allow beyond rounding, where an entry says which number is meant."""
    if n.hedge == "about":
        return abs(value - n.value) <= 0.1 * n.value or (n.value < 20 and abs(value - n.value) <= n.unit)
    if n.hedge == "above":
        return n.value <= value <= 2 * n.value
    return n.hedge == "below" and n.value / 2 <= value <= n.value


@cache
def filled(name: str) -> tuple[re.Pattern[str], ...]:
    """The sentences that a test fills with numbers and looks for on a page: f-strings, and strings with {:…}."""
    files = [ROOT / "tests" / f"test_chapter{name[:2]}.py", *sorted((ROOT / "tests").glob("test_explorer_*.py"))]
    texts = {file: file.read_text("utf8") for file in files if file.exists()}
    forms = [form for file, text in texts.items() if file is files[0] or name in text for form in sentences(text)]
    return tuple(
        re.compile(re.escape(form).replace("\0", r"([\d.,]+)(?: ?%)?").replace("%)?%", "%)?")) for form in forms
    )


@cache
def sentences(text: str) -> tuple[str, ...]:
    """What the tests of a file look for with `said` or with `in`, with a zero in place of each number filled in."""
    looked_for: list[ast.AST] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In):
            looked_for.append(node.left)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "said":
            looked_for += node.args[1:]
        elif isinstance(node, ast.Assign) and len(str(getattr(node.value, "value", "")).split()) > 4:
            looked_for.append(node.value)
    found = []
    for node in (inner for outer in looked_for for inner in ast.walk(outer)):
        if isinstance(node, ast.JoinedStr):
            found.append("".join(v.value if isinstance(v, ast.Constant) else "\0" for v in node.values))  # type: ignore[misc]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(re.sub(r"\{[:.\w%]*\}", "\0", node.value))
    return tuple(squeeze(form) for form in found if "\0" in form and re.search(r"[A-Za-z]{3}", form))


@cache
def outputs(name: str) -> tuple[tuple[int, bool, str], ...]:
    """The lines of a page's outputs and code: of which cell, whether code, and the line."""
    found = []
    cells = [c for c in json.loads((BOOK / f"{name}.ipynb").read_text("utf8"))["cells"] if c["cell_type"] == "code"]
    for k, cell in enumerate(cells):
        for text, code in [*((shown(o), False) for o in cell["outputs"]), ("".join(cell["source"]), True)]:
            found += [
                (k, code, line)
                for line in map(squeeze, text.split("\n"))
                if line and not (code and LAYOUT.search(line))
            ]
    return tuple(found)


def short(name: str) -> str:
    """What a page is called in an entry: 07 for ``07-subtraction``."""
    return name.partition("-")[0]


def squeeze(line: str) -> str:
    """A line with single spaces."""
    return " ".join(line.split())


@cache
def printed(name: str) -> list[Source]:
    """Every number that the cells of a page print or have in their code, by size."""
    found = []
    for cell, code, line in outputs(name):
        for m in (IN_CODE if code else PRINTED).finditer(line):
            value = number_in(m[0])
            whole = "." not in m[0]
            found.append(Source(value, not code and m[0].endswith("%"), whole, cell, line, m.start(), m.end(), code))
    return sorted(found)


def close(name: str, n: Number) -> Iterator[Source]:
    """The numbers of a page that `n` or its neighbours could be."""
    reach = max((20 if n.power else 2) * n.unit, 0.06 * n.value)
    sources = printed(name)
    for scale in (1, 100) if n.percent else (1,):
        low = bisect.bisect_left(sources, ((n.value - reach) / scale,))
        high = bisect.bisect_right(sources, ((n.value + reach) / scale, True, True, 1 << 30))
        yield from sources[low:high]


def worth(tex: str) -> float | None:
    """The value of a formula without symbols, or None."""
    code = re.sub(r"\\(?:,|!|;|quad|qquad|bigl?|bigr?|Bigl?|Bigr?|left|right|\\)|[$&]", " ", tex)
    for _ in range(3):
        code = re.sub(r"\\[td]?frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", code)
        code = re.sub(r"\\[td]?frac(\d)(\d)", r"(\1/\2)", code)
        code = re.sub(r"\\sqrt\{([^{}]*)\}", r"sqrt(\1)", code)
        code = re.sub(r"\^\{([^{}]*)\}", r"**(\1)", code)
    code = re.sub(r"\\(tanh|sqrt|log|exp) ?(-?[\d.]+)", r"\1(\2)", code)
    code = re.sub(r"\be\*\*\(", "exp(", code.replace("^", "**")).replace("\\cdot", "*").replace("\\times", "*")
    code = code.replace("\\%", "/100").replace("\\", "").replace("{", "").replace("}", "").replace("−", "-")
    try:
        return evaluate(code.strip(" ,;."))
    except (SyntaxError, ValueError, TypeError, KeyError, ZeroDivisionError, OverflowError):
        return None


FUNCTIONS: dict[str, Callable[..., float]] = {
    name: getattr(math, name) for name in ("exp", "sqrt", "tanh", "log", "log2", "log10")
}
FUNCTIONS |= {"sigma": lambda a: 1 / (1 + math.exp(-a)), "median": lambda *v: statistics.median(v)}
OPERATORS: dict[type, Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
}


def evaluate(code: str, **names: float) -> float:
    """Work out a sum."""

    def work(node: ast.AST) -> float:
        match node:
            case ast.Expression(body):
                return work(body)
            case ast.Constant(int() | float() as value):
                return float(value)
            case ast.Name(name):
                return {"pi": math.pi, **names}[name]
            case ast.UnaryOp(op, operand):
                return OPERATORS[type(op)](work(operand))
            case ast.BinOp(left, op, right):
                a, b = work(left), work(right)
                if isinstance(op, ast.Pow) and abs(b) > 400:
                    raise ValueError("a power that is too large")
                return OPERATORS[type(op)](a, b)
            case ast.Call(ast.Name(name), args, []):
                return FUNCTIONS[name](*map(work, args))
        raise ValueError(f"cannot work out {ast.dump(node)}")

    return float(work(ast.parse(code, mode="eval")).real)


# ---------------------------------------------------------------------------------------------------------- the entries


class Entry(NamedTuple):
    """A number in the prose, the lines that it comes from, and how it follows from the numbers in them."""

    prose: str
    sources: tuple[tuple[str, str], ...]
    how: str = ""

    def __str__(self) -> str:
        rows = [*(f"{kind}: {line}" for kind, line in self.sources), *([f"= {self.how}"] if self.how else [])]
        return "\n    ".join([self.prose, *rows]) + "\n"

    @property
    def kind(self) -> str:
        """The kind of its first source."""
        return self.sources[0][0] if self.sources else ""

    def value(self, page: str) -> float | str:
        """What the sources say, or what is wrong with them."""
        values: list[float] = []
        try:
            for kind, source in self.sources:
                if re.search(r"\bsaid\((?!.*f[\"']).*«", source):
                    return "a test that quotes the page is no source, take the line that works the number out"
                line = source.replace("«", "").replace("»", "")
                if line not in lines(kind, page):
                    return f"{kind} has no line “{line}”"
                values += map(number_in, re.findall("«(.*?)»", source))
            if not values and not self.how:
                return "no number stands between « and » in the source"
            names = dict(zip("abcdefghij", values, strict=False))
            return evaluate(self.how or "a", count=len(values), **names)
        except (SyntaxError, ValueError, TypeError, KeyError, ZeroDivisionError, OSError, StopIteration) as error:
            return f"{error!r} in the source"


@cache
def lines(kind: str, page: str) -> frozenset[str]:
    """The lines in which an entry's source may stand."""
    what, _, other = kind.partition(" ")
    if what in ("output", "code"):
        name = next(p.stem for p in TEXT.glob(f"{other}-*.md")) if other else page
        return frozenset(line for _, code, line in outputs(name) if code == (what == "code"))
    return frozenset(map(squeeze, (ROOT / kind).read_text("utf8").split("\n")))


def parse(text: str) -> Iterator[Entry]:
    """The entries of a file."""
    for block in re.split(r"\n(?! )", text.strip("\n")):
        if not block:
            continue
        said, *rows = block.split("\n    ")
        how = [row[2:] for row in rows if row.startswith("= ")]
        sources = tuple((kind, line) for kind, _, line in (row.partition(": ") for row in rows if row[:2] != "= "))
        if len(re.findall("[«»]", said)) != 2 or not rows or len(how) > 1 or not all(line for _, line in sources):
            raise ValueError(f"not an entry: {block}")
        yield Entry(said, sources, "".join(how))


# --------------------------------------------------------------------------------------------------- what a writer does


def renewed(page: Page, entry: Entry) -> Entry | None:
    """The entry with the lines that stand where its own stood, if the numbers in them are the same."""
    if page.place(entry) is None:
        return None
    sources = []
    for kind, source in entry.sources:
        known = lines(kind, page.name) if kind.partition(" ")[0] in ("output", "code") else ()
        if known and source.replace("«", "").replace("»", "") not in known:
            parts = re.split("(«.*?»)", source)
            form = re.compile("".join(f"({re.escape(p[1:-1])})" if p[:1] == "«" else form_of(p) for p in parts))
            new = next((m for line in sorted(known) if (m := form.fullmatch(line))), None)
            if new is None:
                return None
            source = new.string
            for k in range(form.groups, 0, -1):
                source = f"{source[: new.start(k)]}«{new[k]}»{source[new.end(k) :]}"
        sources.append((kind, source))
    again = entry._replace(sources=tuple(sources))
    return None if page.wrong(again) else again


def form_of(part: str) -> str:
    """A pattern for a piece of a line in which other numbers may stand."""
    return r"\d+".join(map(re.escape, re.split(r"\d+", part)))


def write(page: Page) -> None:
    """Renew, add and remove entries, in the order of the page."""
    kept = [entry if not wrong else renewed(page, entry) for entry, wrong in page.checked]
    held = Page(page.name, page.text, "".join(map(str, filter(None, kept))))
    added = [entries[0] for n in held.unbound() if (entries := page.likely(n))]
    entries = [entry for entry in [*filter(None, kept), *added] if page.place(entry)]
    file = ENTRIES / f"{page.name}.txt"
    if entries:
        file.write_text("".join(map(str, sorted(entries, key=lambda e: page.place(e) or (0, 0)))), "utf8")
    else:
        file.unlink(missing_ok=True)


def changed(page: Page) -> Iterator[tuple[Number, str, str]]:
    """The page's text with one measured number changed by one in its last digit, for every number, up and down."""
    for n in page.numbers:
        for d in (-1, 1):
            new = one_more(page.text[n.start : n.end], d)
            if new:
                yield n, new, page.text[: n.start] + new + page.text[n.end :]


def noticed(page: Page, n: Number, text: str) -> bool:
    """Whether a change of a number is noticed: here, or by the test that fills it into the sentence."""
    if any(start <= n.start < end for start, end in page.tested):
        return True
    return bool(set(Page(page.name, text).problems) - set(page.problems))


def one_more(old: str, d: int) -> str:
    """A written number with its last digit one higher or lower; nothing if that cannot be written."""
    word = re.match(r"[A-Za-z]+", old)
    if word:
        return next((w + old[word.end() :] for w, k in WORDS.items() if k == WORDS[word[0].lower()] + d), "")
    m = re.match(r"[\d,]*\d(?:\.\d+)?", old)
    if m is None or old.startswith("10^"):
        m = re.search(r"(?<=\^)\d+|(?<=-)\d+", old)
        return "" if m is None else old[: m.start()] + str(int(m[0]) + d) + old[m.end() :]
    decimals = len(m[0].partition(".")[2])
    value = float(m[0].replace(",", "")) + d * 10.0**-decimals
    if value < 0:
        return ""
    return (f"{value:,.{decimals}f}" if "," in m[0] else f"{value:.{decimals}f}") + old[m.end() :]


def main() -> int:
    """List what is wrong, or do what is asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NN", help="pages, by the beginning of their names; all if none")
    parser.add_argument(
        "--write", action="store_true", help="renew entries, and add them where the page has the number"
    )
    parser.add_argument("--measure", action="store_true", help="count the changes of a number that would be noticed")
    options = parser.parse_args()
    every = [p.stem for p in sorted(TEXT.glob("*.md"))]
    seen = count = wrong = 0
    for name in (name for name in every if not options.names or name.startswith(tuple(options.names))):
        if options.write:
            write(Page(name))
        page = Page(name)
        if options.measure:
            for n, new, text in changed(page):
                count += 1
                seen += (found := noticed(page, n, text))
                if not found:
                    print(f"{name}: not noticed: {page.around(n)} -> {new}")
        for problem in page.problems:
            wrong += 1
            print(f"{name}: {problem}")
        for n in page.unbound():
            for entry in page.likely(n, [other for other in every if other[:2] == name[:2] and other != name])[:3]:
                print(f"perhaps\n{entry}", end="")
    if options.measure:
        print(f"{seen} of {count} changes noticed, {seen / count:.1%}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
