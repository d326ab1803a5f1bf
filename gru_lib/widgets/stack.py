"""The stack over time: twelve steps of a differentiable stack, by hand or by a trained net (chapter 13)."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, ClassVar

import numpy as np

from gru_lib._core.params import Bundle, bundle
from gru_lib.cells.stack_rnn import StackRNNState, stack_rnn_init, stack_rnn_step, stack_step
from gru_lib.ops import linear_forward, linear_init
from gru_lib.widgets._explorer import Explorer, Line, Numbers, OneOf, Whole
from gru_lib.widgets._modules import HERE
from gru_lib.widgets._svg import fixed, num, still, text

__all__ = ["StackExplorer"]

STACK = json.loads((HERE / "stack.json").read_text("utf-8"))  # start, presets, layout and words, shared with stack.mjs
NET = HERE / "stack-net.json"  # weights, with their origin and what they get right
_START = STACK["start"]
T = len(_START["push"])
BLANK = "\u00b7"


class StackExplorer(Explorer):
    """A word and blanks in twelve steps, pushed on a stack and popped from it, by hand or by a trained net.

    Attributes
    ----------
    word : str
        Of its letters a to h the first six count; blanks follow.
    who : "hand" or "net"
        Who sets push and pop.
    push, pop : lists of 12 floats in [0, 1]
        By hand: the strength pushed at each step, and popped before it.
    at : int in [1, 12]
        The framed step.
    value : dict
        All of these; of each step the `strengths` of the entries and the `weights` with which they are read, the
        bottom first; `says`, the letter that most of the read is, or the net's answer. Where the net decides, its
        `push` and `pop`.

    Examples
    --------
    >>> from gru_lib.widgets import StackExplorer
    >>> StackExplorer().value["strengths"][2]
    [0.3, 0.0, 0.9]
    """

    module: ClassVar[str] = "stack"

    word = Line(_START["word"], length=24, help="letters a to h").tag(sync=True)
    push = Numbers(_START["push"], min=0, max=1, help="strength pushed at each step").tag(sync=True)
    pop = Numbers(_START["pop"], min=0, max=1, help="strength popped at each step").tag(sync=True)
    at = Whole(_START["at"], min=1, max=T, help="the framed step").tag(sync=True)
    who = OneOf(["hand", "net"], _START["who"], help="who sets push and pop").tag(sync=True)

    def values(self) -> dict[str, Any]:
        """Return the state and what the stack holds and gives at each step."""
        state = self.state()
        word = [c for c in self.word.lower() if c in STACK["letters"]][: STACK["longest"]]
        inputs = [*word, *[BLANK] * (T - len(word))]
        made = _by_net(inputs) if self.who == "net" else _by_hand(inputs, state["push"], state["pop"])
        if self.who == "net":
            made["says"] = [c if len(word) <= t < 2 * len(word) else "" for t, c in enumerate(made["says"])]
        return state | {"inputs": inputs} | made

    def fallback(self) -> str:
        """Return the rows as static SVG, with what they say as the caption."""
        words = STACK["words"][self.lang or "en"]
        value = self.values()
        pictures = {name: (at["W"], at["H"], _rows(value, at, words)) for name, at in STACK["layout"].items()}
        return still(pictures, "ex-rows", words["diagram"], _sentence(value, words))


def _by_hand(inputs: list[str], push: list[float], pop: list[float]) -> dict[str, Any]:
    values, strengths = np.zeros((1, 0, 0)), np.zeros((1, 0))
    made: dict[str, list[Any]] = {"strengths": [], "weights": [], "says": []}
    for u, d in zip(push, pop, strict=True):
        nothing = np.zeros((1, 0))  # the letters are told by their places
        _, values, strengths, cache = stack_step(nothing, np.array([u]), np.array([d]), values, strengths)
        made["strengths"].append(_short(strengths[0]))
        made["weights"].append(_short(cache.weights[0]))
        made["says"].append(next((letter for _, letter in _shares(inputs, made["weights"][-1])), ""))
    return made


def _by_net(inputs: list[str]) -> dict[str, Any]:
    m, symbols = trained_net(), [*STACK["letters"], BLANK]
    p = m.rnn
    state = StackRNNState(np.zeros((1, p.H)), np.zeros((1, p.M)), np.zeros((1, 0, p.M)), np.zeros((1, 0)))
    made: dict[str, list[Any]] = {"push": [], "pop": [], "strengths": [], "weights": [], "says": []}
    for symbol in inputs:
        out, state, step = stack_rnn_step(np.eye(len(symbols))[[symbols.index(symbol)]], state, p)
        push, pop = step.gates[0][0]
        made["push"].append(float(push))
        made["pop"].append(float(pop))
        made["strengths"].append(_short(state.strengths[0]))
        made["weights"].append(_short(step.stack.weights[0]))
        made["says"].append(STACK["letters"][int(linear_forward(out, m.out)[0].argmax())])
    made["push"], made["pop"] = _short(made["push"]), _short(made["pop"])
    return made


@cache
def trained_net() -> Bundle:
    """Return the net of the explorer, which says words backwards: `rnn`, a GRU with a stack, and `out`."""
    stored = json.loads(NET.read_text("utf-8"))
    H, M, letters, rng = stored["H"], stored["M"], len(STACK["letters"]), np.random.default_rng(0)
    m = bundle(rnn=stack_rnn_init(rng, letters + 1, H, M), out=linear_init(rng, H + M, letters))
    params = stored["params"]
    for name, values in params["controller"].items():
        getattr(m.rnn.controller, name)[:] = values
    m.rnn.act.W[:], m.rnn.act.b[:] = params["act_W"], params["act_b"]
    m.out.W[:], m.out.b[:] = params["out_W"], params["out_b"]
    return m


def _short(values: Any) -> list[float]:
    return [float(f"{float(v):.12g}") for v in values]


def _shares(inputs: list[str], weights: list[float]) -> list[tuple[float, str]]:
    """How much of each letter is read, the most first. Shares below 0.005 are left out."""
    sums: dict[str, float] = {}
    for letter, w in zip(inputs, weights, strict=False):
        sums[letter] = sums.get(letter, 0.0) + w
    return sorted(((w, c) for c, w in sums.items() if w >= 0.005), key=lambda pair: (-round(pair[0], 9), pair[1]))


def _sentence(value: dict[str, Any], words: dict[str, str]) -> str:
    now = value["at"] - 1

    def named(letter: str) -> str:
        return words["blank"] if letter == BLANK else letter

    read = " + ".join(f"{fixed(w, 2)} {named(c)}" for w, c in _shares(value["inputs"], value["weights"][now]))
    deep, answer = sum(value["strengths"][now]), "".join(value["says"])
    backwards = "".join(value["inputs"]).rstrip(BLANK)[::-1]
    return words["sayNet" if value["who"] == "net" else "sayHand"].format(
        t=value["at"],
        push=fixed(value["push"][now], 2),
        pop=fixed(value["pop"][now], 2),
        x=named(value["inputs"][now]),
        deep=fixed(deep, 2),
        part=words["top"] if deep > 1 else words["all"],
        read=read or words["none"],
        answer=answer or words["none"],
        verdict=words["right"] if answer == backwards else words["wrong"],
    )


def _box(cls: str, x: float, y: float, width: float, height: float) -> str:
    return f'<rect class="{cls}" x="{num(x)}" y="{num(y)}" width="{num(width)}" height="{num(max(height, 0))}"/>'


def _rows(s: dict[str, Any], at: dict[str, Any], words: dict[str, str]) -> str:
    """Return the inside of the rows' <svg>; stack.mjs draws the same, and a test holds the two equal."""
    out = []
    left, column, bar = at["left"], at["column"], at["bar"]

    def name(y: float, word: str) -> None:
        place = (left, y - 8) if at["slim"] else (0, y + 16)
        out.append(text("ex-small", *place, "start", word))

    name(at["x"] - 16, words["x"])
    name(at["push"]["y"], words["push"])
    name(at["pop"]["y"], words["pop"])
    name(at["pile"]["y"], words["pile"])
    name(at["says"] - 16, words["answer" if s["who"] == "net" else "reads"])
    floor = at["pile"]["y"] + at["pile"]["high"]
    deepest = max(sum(strengths) for strengths in s["strengths"])
    unit = min(at["pile"]["unit"], at["pile"]["high"] / max(deepest, 1))
    out.append(f'<path class="ex-axis" d="M{left} {floor}H{left + T * column}"/>')
    for t in range(T):
        x, middle = left + t * column + (column - bar) / 2, left + (t + 0.5) * column
        out.append(text("ex-letter-x", middle, at["x"], "middle", s["inputs"][t]))
        for key in ("push", "pop"):
            y, high, v = at[key]["y"], at[key]["high"], s[key][t]
            out.append(_box("ex-tank", x, y, bar, high))
            out.append(_box("ex-amount", x, y + high * (1 - v), bar, high * v))
        bottom = floor
        for i, (strength, weight) in enumerate(zip(s["strengths"][t], s["weights"][t], strict=True)):
            if strength < 0.005:
                continue
            high, read = unit * strength, unit * weight
            out.append(_box("ex-entry", x, bottom - high, bar, high))
            out.append(_box("ex-read", x, bottom - high, bar, read))
            filled = 2 * read >= high  # the letter stands in the larger part
            if max(read, high - read) >= 11:
                y = bottom - high + read / 2 if filled else bottom - (high - read) / 2
                out.append(text("ex-on" if filled else "ex-off", middle, y + 4.5, "middle", s["inputs"][i]))
            bottom -= high
        out.append(text("ex-letter-x", middle, at["says"], "middle", s["says"][t]))
        out.append(text("ex-small", middle, at["H"] - 2, "middle", str(t + 1)))
    now = s["at"] - 1
    numbers = "".join(f"\u2003{words[key]} {fixed(s[key][now], 2)}" for key in ("push", "pop"))
    out.append(text("ex-now", left, 14, "start", f"{words['step']} {s['at']}{numbers}"))
    edge = left + now * column
    out.append(f'<rect class="ex-frame" x="{num(edge)}" y="22" width="{column}" height="{at["H"] - 40}" rx="2"/>')
    return "".join(out)
