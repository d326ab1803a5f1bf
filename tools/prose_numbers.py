"""Say what every measured number in the prose comes from.

The prose of a page is plain text, in the book as in JupyterLab, so its numbers are not filled in by the build. They are
compared instead. A **measured number** is a decimal, a percentage, a power of ten, a whole number from 10 on, and a
smaller one, in digits or in words, that counts out of something ("seven of ten") or has a unit ("three times"). Its
source is found in one of two ways:

- **By itself**, if a cell of the page prints it or has it in its code, at the precision written, while the numbers one
  higher and one lower in its last digit are not there: in the lines of the cell above that share a word with the
  sentence, in that cell, with the next one, in the section, on the page. A formula that works it out is a source too.
- **By an entry** in ``tests/prose_numbers/NN-name.txt``, a piece of the prose and below it where the number stands:

      after 50 steps «two millionths» of it are
          output: small «2e-06»

  ``output:`` and ``code:`` are followed by a line of this page; ``output 16c:`` by one of another page; a path by a
  line of that file; ``calc:`` by a sum, such as ``11 ** 10``; ``given:`` by the reason why nothing measures it. What is
  in «» is the number. If the prose says what follows from one or several of them, say how, with a, b, c for them in
  turn; ``&`` joins two lines of the same place:

      and wrote «73 %» of the candidate
          output: keeps «0.2689» of the old value | 1 - a

``python tools/prose_numbers.py [NN …]`` lists the numbers without a source and the entries that do not hold any more.
``--write`` renews the entries whose line has changed around the same number, adds an entry for each number that is on
the page, with the line it takes to be the source, and removes what is stale: read them in the diff. ``--measure``
changes every measured number by one in its last digit, up and down, and counts the changes that would be noticed.
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
    | \b\d+[a-e]\b(?!-) | \b\d+\.\d+\.\d+\b | AVX-512 | IEEE\ 754 | \b95\ %(?=\ intervals?) | \b[Uu]nit\ \d+(?:\ and\ \d+)? | \b[Tt]wenty(?:-|\ )minutes?
    | \b(?:1[789]|20)\d\d\b(?![,.]\d) | -\d\d-\d\d\b                             # years, dates
    """,
    re.X,
)
MATH = re.compile(r"\$\$.*?\$\$|\$[^$]+\$", re.S)
_NAMES = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety hundred".split()
WORDS = {name: k for k, name in enumerate(_NAMES, 1)} | {name: 10 * k for k, name in enumerate(_TENS, 2)}
_WORD = "|".join(WORDS)
_DIGITS = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:e-?\d+)?"
NUMBER = re.compile(
    rf"(?<![\w.#^])(?:(?P<digits>{_DIGITS})|(?P<word>{_WORD}))(?!\w)"
    r"(?P<percent>[ ]?%)?(?P<scale>[ ](?:million|billion|thousand|(?:ten|hundred|thousand|million)ths?)\b)?",
    re.I,
)
SCALES = {"million": 1e6, "billion": 1e9, "thousand": 1e3, "tenth": 0.1, "hundredth": 0.01, "thousandth": 1e-3, "millionth": 1e-6}
_UNIT = r"(?:times|percent|points?|bits?|seconds?|minutes?|hours?|ms|µs|KB|MB|GB|°|degrees)(?!\w)"
UNIT_AFTER = re.compile(rf"(?:(?: to | or )(?:{_WORD}|[\d.]+))?[ -]{_UNIT}", re.I)
OF_AFTER = re.compile(rf" of (?:the |our )?(?:\w+ )?(?:{_WORD}|\d[\d,]*)\b", re.I)
OF_TEN = re.compile(r" of (?:the )?(?:ten|\d\d+)\b", re.I)
OF_BEFORE = re.compile(rf"\b(?:{_WORD}|\d[\d,]*) (?:\w+ )?of (?:the |our )?(?:\w+ )?$", re.I)
MATH_NUMBER = re.compile(
    rf"(?<![\w_^[{{.])(?:(?P<digits>{_DIGITS})(?:\s*\\cdot\s*10\^(?P<e>\d|{{-?\d+}}))?|10\^(?P<f>\d|{{-?\d+}}))(?![\w.]*\d|[a-zA-Z])"
)
ABOUT = re.compile(r"\b(?:about|nearly|almost|some|roughly|around|close to|near|level)\s+(?:\S+\s+)?\S{0,2}$")
ABOVE = re.compile(r"\b(?:over|above|(?:more|better|longer|larger) than|at least|well|good|beyond|past)\s+(?:a\s+)?\S{0,2}$")
BELOW = re.compile(r"\b(?:under|below|(?:less|fewer|no more|lower|smaller) than|at most|up to|within|short of)\s+(?:a\s+)?\S{0,2}$")


class Number(NamedTuple):
    """A measured number: where it stands, its value, one in its last digit, and what the words before it allow."""

    start: int
    end: int
    value: float
    unit: float
    percent: bool
    hedge: str  # "about", "above", "below" or nothing


def blank(found: re.Match[str]) -> str:
    """As many spaces as there were letters."""
    return re.sub(r"[^\n]", " ", found[0])


def prose(text: str) -> str:
    """A page's text with everything blanked that is not prose, so that every number keeps its place."""
    left = BLOCKS.sub(blank, text)
    for m in CAPTION.finditer(text):
        left = left[: m.start()] + re.sub(r"^ *(?:caption|alt):", blank, m[0]) + left[m.end() :]
    return INLINE.sub(blank, left)


def last_digit(digits: str) -> float:
    """One in the last digit of a number as it is written."""
    mantissa, _, power = digits.partition("e")
    return 10.0 ** (int(power or 0) - len(mantissa.partition(".")[2]))


def numbers(text: str) -> list[Number]:
    """The measured numbers of a page."""
    plain = prose(text)
    found = []

    for m in MATH.finditer(plain):
        for n in MATH_NUMBER.finditer(plain, m.start(), m.end()):
            digits, power = (n["digits"] or "1").replace(",", ""), int((n["e"] or n["f"] or "0").strip("{}"))
            last = n.end() == m.end() - 1  # the formula ends with it, so what follows belongs to it
            percent = last and plain.startswith((" %", "%"), m.end())
            alone = plain[m.start() : n.start()].strip("$ -+≈~") == "" and last
            unit = last and UNIT_AFTER.match(plain, m.end())
            if "." in digits or power or percent or unit or (alone and float(digits) >= 10):
                size, step = float(digits) * 10.0**power, last_digit(digits) * 10.0**power
                found.append(Number(n.start(), n.end(), size, step, percent, hedge(plain, m.start())))
    plain = MATH.sub(lambda m: re.sub(r"[^\n]", "x", m[0]), plain)
    for n in NUMBER.finditer(plain):
        digits = (n["digits"] or str(WORDS[n["word"].lower()])).replace(",", "")
        if n["word"] or (len(digits) == 1 and not n["percent"]):
            before, after = plain[max(0, n.start() - 40) : n.start()], plain[n.end() : n.end() + 40]
            before, after = (part.replace("\n", " ") for part in (before, after))
            if not (n["scale"] or UNIT_AFTER.match(after) or OF_AFTER.match(after) or OF_BEFORE.search(before)):
                continue
            if n["word"] and WORDS[n["word"].lower()] <= 2 and not (
                n["scale"] or (OF_TEN.match(after) and n["word"].lower() == "two")
            ):
                continue  # "one point", "two bits", "one of the two" are seldom measured
        scale = SCALES[n["scale"].strip().rstrip("s")] if n["scale"] else 1.0
        size, step = float(digits) * scale, last_digit(digits) * scale
        found.append(Number(n.start(), n.end(), size, step, bool(n["percent"]), hedge(plain, n.start())))
    return sorted(found)


HEDGES = {"about": ABOUT, "above": ABOVE, "below": BELOW}


def written(text: str, percent: bool = False, hedge: str = "") -> Number | None:
    """The number that a piece of text is."""
    plain = text.replace("$", "").strip()
    n = NUMBER.fullmatch(plain)
    if n:
        digits = (n["digits"] or str(WORDS[n["word"].lower()])).replace(",", "")
        scale = SCALES[n["scale"].strip().rstrip("s")] if n["scale"] else 1.0
        return Number(0, 0, float(digits) * scale, last_digit(digits) * scale, percent or bool(n["percent"]), hedge)
    n = MATH_NUMBER.fullmatch(plain)
    if n:
        digits, power = (n["digits"] or "1").replace(",", ""), int((n["e"] or n["f"] or "0").strip("{}"))
        return Number(0, 0, float(digits) * 10.0**power, last_digit(digits) * 10.0**power, percent, hedge)
    return None


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
PRINTED = re.compile(r"10\^[-−]?\d+(?:\.\d+)?|(?<![\w.])(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?(?P<percent> ?%)?", re.I)


def number_in(found: str) -> float:
    """The value of a number that a cell prints or that stands in code."""
    if found.startswith("10^"):
        return 10.0 ** float(found[3:].replace("−", "-"))
    return float(re.sub(r"[,_ %]", "", found))


# What of a drawing is not text, and the numbers along its axes; lines of code that only lay a figure or a table out.
UNSEEN = re.compile(r"<(script|style|metadata|template)\b.*?</\1>|^( *)<g id=\"[xy]tick_\d+\">.*?^\2</g>", re.S | re.M)
LAYOUT = re.compile(r"^ax|\bax\.|\baxes\b|subplots|lim=|figsize|fontsize|linewidth|color|zorder|annotate|viz\.|point\(|^print|:[<>^+]?[\d,.]+[a-z%}]")


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


STOP = frozenset(
    "the and for with that are has not its one from but all was out than then this they their what when each both same "
    "there here would only more about after before into over which who whose can could does did been have had were will "
    "print import range def return rng random lambda zip strict true false none float int array name row rows line".split()
)


class Page:
    """A page: its text, what its cells print, and its entries."""

    def __init__(self, name: str, text: str | None = None, entries: str | None = None) -> None:
        self.name = name
        self.text = (TEXT / f"{name}.md").read_text("utf8") if text is None else text
        self.prose = prose(self.text)
        self.places = [m.start() for m in CELL.finditer(self.text)]
        self.heads = [0, *(m.start() for m in re.finditer(r"^#+ ", self.prose, re.M)), len(self.text)]
        file = ENTRIES / f"{name}.txt"
        self.entries = list(parse((file.read_text("utf8") if file.exists() else "") if entries is None else entries))

    @cached_property
    def numbers(self) -> list[Number]:
        return numbers(self.text)

    # ------------------------------------------------------------------------------------------------------- by itself

    def tiers(self, n: Number) -> Iterator[Callable[[Source], bool]]:
        """Where to look for a number, each place within the next."""
        above = max(0, bisect.bisect_right(self.places, n.start) - 1)
        k = bisect.bisect_right(self.heads, n.start)
        section = {i for i, p in enumerate(self.places) if self.heads[k - 1] <= p < self.heads[k]} | {above, above + 1}
        start, end = self.text.rfind("\n", 0, n.start) + 1, self.text.find("\n", n.end)
        about = words(self.prose[start:end])
        yield lambda s: s.cell == above and not about.isdisjoint(words(s.line))
        yield lambda s: s.cell == above
        yield lambda s: s.cell in (above, above + 1)
        yield lambda s: s.cell in section
        yield lambda s: True

    def likely(self, n: Number, pages: Iterable[str] = ()) -> list[tuple[float, Entry]]:
        """Entries for a number that cells print or have in their code: first that of the line most like the sentence."""
        start, end = self.text.rfind("\n", 0, n.start) + 1, self.text.find("\n", n.end)
        about, near = words(self.prose[start:end]), words(self.prose[max(start, n.start - 40) : n.end + 40])
        after = re.match(r"\W*([a-z]{4,})", self.prose[n.end :])
        above = bisect.bisect_right(self.places, n.start) - 1
        found = []
        for name in (self.name, *pages):
            for s in close(name, n):
                if matches(n, s):
                    line, next_word = words(s.line), re.match(r"\W*([a-z]{4,})", s.line[s.end :])
                    score = len(about & line) + 2 * len(near & line) + 0.5 * (not s.code) + (n.percent and s.percent)
                    score += 3 * (after is not None and next_word is not None and after[1] == next_word[1])
                    score += 1 - min(abs(s.cell - above) / 4, 1) if name == self.name else -1
                    kind = ("code" if s.code else "output") + (f" {name.partition('-')[0]}" if name != self.name else "")
                    quoted = f"{s.line[: s.start]}«{s.line[s.start : s.end]}»{s.line[s.end :]}"
                    found.append((score, Entry(self.around(n), ((kind, quoted),))))
        return sorted(found, reverse=True)

    def by_itself(self, n: Number) -> bool:
        """Whether a place has the number, and neither of its neighbours."""
        equal, beside = [], []
        for s in close(self.name, n):
            if matches(n, s):
                equal.append(s)
            elif any(matches(n._replace(value=n.value + d * n.unit), s) for d in (-1, 1)):
                beside.append(s)
        return bool(equal) and any(any(map(tier, equal)) and not any(map(tier, beside)) for tier in self.tiers(n))

    @cached_property
    def worked_out(self) -> list[tuple[int, int]]:
        """The parts of formulas that hold as sums: 0.3 · 0.9 · 0.8 = 0.216."""
        held = []
        for m in MATH.finditer(self.prose):
            if "." not in m[0] and "10^" not in m[0]:
                continue
            cuts = [m.start(), *(c for e in re.finditer(r"=|\\approx", m[0]) for c in (m.start() + e.start(), m.start() + e.end())), m.end()]
            sides = [(a, b, self.prose[a:b]) for a, b in zip(cuts[::2], cuts[1::2], strict=True)]
            for (a, b, left), (c, d, right) in pairwise(sides):
                result = written(re.sub(r"[\s&\\$,;.]+$|^[\s$&]+(?=[-\d])|^-", "", right.strip(" $.,;&\\\n")).strip())
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
        places = [m.start() for m in re.finditer(r"\S|(?<=\S)\s", self.text)]
        return "".join(" " if self.text[p].isspace() else self.text[p] for p in places), places

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
        n = covered[0] if len(covered) == 1 else written(self.text[start:end], hedge=hedge(self.prose, start))
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
            n for n in self.numbers if not any(a <= n.start < b or n.start <= a < n.end for a, b in spans) and not self.by_itself(n)
        ]

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


def hedge(plain: str, at: int) -> str:
    before = plain[max(0, at - 40) : at]
    return next((name for name, form in HEDGES.items() if form.search(before)), "")


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
    return tuple(re.compile(re.escape(form).replace("\0", r"([\d.,]+)(?: ?%)?").replace("%)?%", "%)?")) for form in forms)


@cache
def sentences(text: str) -> tuple[str, ...]:
    """What the tests of a file look for with `said` or with `in`, with a zero in place of each number filled in."""
    looked_for: list[ast.AST] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In):
            looked_for.append(node.left)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "said":
            looked_for += node.args[1:]
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
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
            found += [(k, code, line) for line in map(squeeze, text.split("\n")) if line and not (code and LAYOUT.search(line))]
    return tuple(found)


def squeeze(line: str) -> str:
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
    reach = max(2 * n.unit, 0.06 * n.value)
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
    "exp": math.exp, "sqrt": math.sqrt, "tanh": math.tanh, "log": math.log, "log2": math.log2, "log10": math.log10,
    "abs": abs, "median": lambda *v: statistics.median(v), "min": min, "max": max, "sigma": lambda a: 1 / (1 + math.exp(-a)), "comb": math.comb, "round": round,
}
OPERATORS: dict[type, Callable[..., float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Pow: operator.pow, ast.USub: operator.neg, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
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
        if kind.partition(" ")[0] not in ("output", "code") or source.replace("«", "").replace("»", "") in lines(kind, page.name):
            sources.append((kind, source))
            continue
        parts = re.split("(«.*?»)", source)
        pattern = re.compile("".join(f"({re.escape(part[1:-1])})" if part[:1] == "«" else f"(?:{form_of(part)})" for part in parts))
        new = next((m for line in sorted(lines(kind, page.name)) if (m := pattern.fullmatch(line))), None)
        if new is None:
            return None
        line = new.string
        for k in range(new.re.groups, 0, -1):
            line = f"{line[: new.start(k)]}«{new[k]}»{line[new.end(k) :]}"
        sources.append((kind, line))
    again = entry._replace(sources=tuple(sources))
    return None if page.wrong(again) else again


def form_of(part: str) -> str:
    """A pattern for a piece of a line in which other numbers may stand."""
    return r"\d+".join(map(re.escape, re.split(r"\d+", part)))


def write(page: Page) -> None:
    """Renew, add and remove entries, in the order of the page."""
    kept = [entry if not wrong else renewed(page, entry) for entry, wrong in page.checked]
    held = Page(page.name, entries="".join(map(str, filter(None, kept))))
    added = [entry for n in held.unbound() if (entry := next((e for _, e in page.likely(n)), None))]
    entries = [entry for entry in [*filter(None, kept), *added] if page.place(entry)]
    file = ENTRIES / f"{page.name}.txt"
    if entries:
        file.write_text("".join(map(str, sorted(entries, key=lambda e: page.place(e) or (0, 0)))), "utf8")
    else:
        file.unlink(missing_ok=True)


def changed(page: Page) -> Iterator[tuple[str, Page]]:
    """The page with one measured number changed by one in its last digit, for every number, up and down."""
    entries = "".join(map(str, page.entries))
    for n in page.numbers:
        for d in (-1, 1):
            old = page.text[n.start : n.end]
            new = one_more(old, d)
            if new:
                text = page.text[: n.start] + new + page.text[n.end :]
                yield f"{page.around(n)} → {new}", Page(page.name, text, entries)


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
    parser.add_argument("--write", action="store_true", help="renew and add entries where a line of the page has the number")
    parser.add_argument("--measure", action="store_true", help="count the changes of a number that would be noticed")
    options = parser.parse_args()
    names = [p.stem for p in sorted(TEXT.glob("*.md")) if not options.names or p.stem.startswith(tuple(options.names))]
    noticed, count, wrong = 0, 0, 0
    for name in names:
        page = Page(name)
        if options.write:
            write(page)
            page = Page(name)
        if options.measure:
            known = set(page.problems())
            for what, other in changed(page):
                count += 1
                if set(other.problems()) - known:
                    noticed += 1
                else:
                    print(f"{name}: not noticed: {what}")
        for problem in page.problems():
            wrong += 1
            print(f"{name}: {problem}")
    if options.measure:
        print(f"{noticed} of {count} changes noticed, {noticed / count:.1%}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
