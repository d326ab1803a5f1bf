"""Translate a date: an encoder–decoder that runs in the page (chapter 17)."""

from __future__ import annotations

import json
import unicodedata
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from traitlets import TraitError, TraitType

from gru_lib.cells.gru import gru_forward
from gru_lib.decode import greedy
from gru_lib.layers.seq2seq import Seq2SeqParams, seq2seq_step
from gru_lib.models.translator import translator_init
from gru_lib.tasks.dates import Alphabet
from gru_lib.widgets._explorer import Explorer, Whole
from gru_lib.widgets._modules import HERE
from gru_lib.widgets._svg import fixed, num, percent, still, text

__all__ = ["DatesExplorer"]

DATES = json.loads((HERE / "dates.json").read_text("utf-8"))  # start, presets, layout and words
WEIGHTS = json.loads((HERE / "dates-weights.json").read_text("utf-8"))  # of experiments/dates.py, and their accuracy
_START, _LIMITS, LONGEST = DATES["start"], DATES["limits"], DATES["longest"]
SOURCE, TARGET = Alphabet(WEIGHTS["written"]), Alphabet(WEIGHTS["iso"])
H = WEIGHTS["H"]


class Typed(TraitType):
    """A trait for a text of at most `longest` characters."""

    def __init__(self, default: str, *, longest: int, **kwargs: Any) -> None:
        self.longest = longest
        super().__init__(default, **kwargs)

    def validate(self, obj: Any, value: Any) -> str:
        """Return `value`, or raise TraitError."""
        if not isinstance(value, str) or len(value) > self.longest:
            raise TraitError(
                f"{type(obj).__name__}: {self.name} must be a text of at most {self.longest} characters; got {value!r}."
            )
        return value


@cache
def net() -> Seq2SeqParams:
    """Return the trained net, its weights as the page has them."""
    p = translator_init(
        np.random.default_rng(0), WEIGHTS["E"], H, source=SOURCE, target=TARGET, feed=True, dtype=np.float64
    )
    p.flat[:] = WEIGHTS["flat"]
    return p


class Found(NamedTuple):
    """What the net does with a text."""

    read: str  # what it can read of the text
    states: np.ndarray  # (S, H): of the encoder, in the order of the text
    tokens: list[int]
    rows: np.ndarray  # (T, tokens): log-probabilities
    log_prob: float


def translate_text(typed: str) -> Found:
    """Run the net: read the text from its end, write greedily."""
    known = "".join(c for c in unicodedata.normalize("NFC", typed) if c in SOURCE.characters)[:LONGEST] or " "
    p = net()
    source, _ = SOURCE.tokens([known], reverse=True)
    states = gru_forward(p.source.E[source], None, p.encoder)[0][::-1, 0]
    step, rows = seq2seq_step(p), []

    def noting(state: Any, token: Any) -> Any:
        log_probs, after = step(state, token)
        rows.append(log_probs)
        return log_probs, after

    last = states[:1]
    found = greedy(noting, (last, last), p.start, end=TARGET.end, max_steps=_LIMITS["at"][1])
    return Found(known, states, found.tokens.tolist(), np.array(rows), float(found.log_prob))


class DatesExplorer(Explorer):
    """A trained encoder–decoder turns a date in six languages into its ISO form, in the page itself.

    Attributes
    ----------
    text : str of at most 40 characters
        The date as it is typed; characters that the net does not know are left out.
    at : int in [1, 12]
        The framed character of the output; where the output is shorter, its last.
    unit : int in [1, 32]
        The unit of the encoder whose states are drawn.
    value : dict
        All of these; `iso`, what the net writes; `probabilities`, of each character written; `log_prob`, of all of it;
        `states`, of the unit, in the order of the text.

    Examples
    --------
    >>> from gru_lib.widgets import DatesExplorer
    >>> DatesExplorer(text="7 mars 2026").value["iso"]
    '2026-03-07'
    """

    module: ClassVar[str] = "dates"

    text = Typed(_START["text"], longest=LONGEST, help="a date as people write it").tag(sync=True)
    at = Whole(_START["at"], min=1, max=_LIMITS["at"][1], help="the framed character of the output").tag(sync=True)
    unit = Whole(_START["unit"], min=1, max=H, help="the unit whose states are drawn").tag(sync=True)

    def values(self) -> dict[str, Any]:
        """Return the state, and what the net makes of the text."""
        found = translate_text(self.text)
        written = [float(np.exp(row[token])) for row, token in zip(found.rows, found.tokens, strict=True)]
        return self.state() | {
            "iso": TARGET.text(found.tokens),
            "probabilities": written,
            "log_prob": found.log_prob,
            "states": found.states[:, self.unit - 1].tolist(),
        }

    def fallback(self) -> str:
        """Return the four rows as static SVG, with what they say as the caption."""
        words, found = DATES["words"][self.lang or "en"], translate_text(self.text)
        at = min(self.at, len(found.tokens))
        p = np.exp(found.rows[at - 1, : TARGET.end + 1])
        first, second = np.argsort(-p, kind="stable")[:2]
        said = words["say"].format(
            text=found.read,
            iso=TARGET.text(found.tokens),
            all=percent(float(np.exp(found.log_prob))),
            at=at,
            first=_sign(first, words),
            p=percent(float(p[first])),
            second=_sign(second, words),
            q=percent(float(p[second])),
            k=self.unit,
            h=fixed(float(found.states[0, self.unit - 1]), 2),
        )
        pictures = {
            name: (layout["W"], layout["H"], _rows(found, at, self.unit, layout, words))
            for name, layout in DATES["layout"].items()
        }
        return still(pictures, "ex-rows", words["diagram"], said)


def _sign(token: int, words: dict[str, str]) -> str:
    return words["end"] if token == TARGET.end else "?" if token == TARGET.start else TARGET.characters[token]


def _bar(cls: str, x: float, y: float, width: float, height: float) -> str:
    return f'<rect class="{cls}" x="{num(x)}" y="{num(y)}" width="{num(width)}" height="{num(max(height, 0))}"/>'


def _signed(x: float, y: float, width: float, v: float, half: float) -> str:
    size = abs(v) * half
    if v < 0:
        return _bar("ex-down ex-h", x + 0.75, y, width - 1.5, size)
    return _bar("ex-fill-h", x, y - size, width, size)


def _tank(x: float, y: float, width: float, high: float, p: float) -> str:
    return _bar("ex-tank", x, y, width, high) + _bar("ex-share-of", x, y + high * (1 - p), width, high * p)


def _frame(x: float, y: float, width: float, height: float) -> str:
    return f'<rect class="ex-frame" x="{num(x)}" y="{num(y)}" width="{num(width)}" height="{num(height)}" rx="2"/>'


def _rows(found: Found, at: int, unit: int, layout: dict[str, Any], words: dict[str, str]) -> str:
    """Return the inside of the rows' <svg>; dates.mjs draws the same, and a test holds the two equal."""
    left, span, out = layout["left"], layout["span"], []
    read, hand, write, prob = (layout[name] for name in ("read", "hand", "write", "prob"))

    def name(top: float, one: str, two: str) -> None:
        if layout["slim"]:
            both = one + (f'\u2002<tspan class="ex-h">{two}</tspan>' if two else "")
            out.append(text("ex-small", left, top - 8, "start", both))
        else:
            out.append(text("ex-small", 0, top + 14, "start", one))
            if two:
                out.append(text("ex-small ex-h", 0, top + 32, "start", two))

    h = '<tspan class="ex-it">h</tspan>'
    name(read["mid"] - read["half"], words["read"], f"{h} {words['unit_k'].format(k=unit)}")
    name(hand["mid"] - hand["half"], words["hand"], h)
    name(write["text"] - (18 if layout["slim"] else 16), words["write"], "")
    name(prob["tank"], words["prob"].format(at=at), "")

    column = min(24, span / len(found.read))
    out.append(f'<path class="ex-axis" d="M{num(left)} {num(read["mid"])}h{num(column * len(found.read))}"/>')
    for i, sign in enumerate(found.read):
        x = left + i * column
        v = float(found.states[i, unit - 1])
        out.append(_signed(x + column * 0.17, read["mid"], column * 0.66, v, read["half"]))
        shown = "\u00a0" if sign == " " else sign
        out.append(text("ex-char", x + column / 2, read["text"], "middle", shown))

    column = span / H
    out.append(f'<path class="ex-axis" d="M{num(left)} {num(hand["mid"])}h{num(span)}"/>')
    for i, v in enumerate(found.states[0].tolist()):
        out.append(_signed(left + column * (i + 0.17), hand["mid"], column * 0.66, v, hand["half"]))
    out.append(_frame(left + column * (unit - 1), hand["mid"] - hand["half"] - 4, column, 2 * hand["half"] + 8))

    column = span / _LIMITS["at"][1]
    for t, token in enumerate(found.tokens):
        x = left + column * t
        cls = "ex-small" if token == TARGET.end else "ex-sign"
        out.append(text(cls, x + column / 2, write["text"], "middle", _sign(token, words)))
        p = float(np.exp(found.rows[t, token]))
        out.append(_tank(x + column * 0.25, write["tank"], column * 0.5, write["high"], p))
    top, height = write["text"] - 20, write["tank"] + write["high"] + 26 - write["text"]
    out.append(_frame(left + column * (at - 1), top, column, height))

    for token in range(TARGET.end + 1):
        x = left + column * token
        p = float(np.exp(found.rows[at - 1, token]))
        out.append(_tank(x + column * 0.25, prob["tank"], column * 0.5, prob["high"], p))
        cls = "ex-small" if token == TARGET.end else "ex-char"
        out.append(text(cls, x + column / 2, prob["text"], "middle", _sign(token, words)))
    return "".join(out)
