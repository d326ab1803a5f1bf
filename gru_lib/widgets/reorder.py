"""Reorder the tokens: which of three nets notices the order of its inputs (chapter 1)."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import numpy as np

from gru_lib.cells.cbow import cbow_forward, cbow_init
from gru_lib.cells.elman import elman_forward, elman_init
from gru_lib.widgets._explorer import Explorer, Number, Permutation
from gru_lib.widgets._modules import HERE
from gru_lib.widgets._svg import fixed, num, still, text

__all__ = ["ReorderExplorer"]

REORDER = json.loads((HERE / "reorder.json").read_text("utf-8"))  # tokens, embeddings, layout and words
_EMBEDDINGS = np.array(REORDER["embeddings"])
H = _EMBEDDINGS.shape[1]
_NETS = ("sum", "linear", "elman")


class ReorderExplorer(Explorer):
    """Five words in two orders, and the last states of three nets: a sum, a linear recurrence, Elman's net.

    ::

        sum (CBOW)   h_t = x_t + h_{t-1}
        linear       h_t = x_t + factor h_{t-1}
        Elman        h_t = tanh(x_t + factor h_{t-1})

    The embeddings x_t are multiples of 1/8, so the sum is exact in floating-point numbers.

    Attributes
    ----------
    order : list of int
        The five words in their new order, each of 0 … 4 once.
    factor : float in [0, 1.25]
        W_h is the unit matrix times this, in the linear and in Elman's net.
    value : dict
        Both, and `sum`, `linear` and `elman`: the largest difference between the two last states.

    Examples
    --------
    >>> from gru_lib.widgets import ReorderExplorer
    >>> value = ReorderExplorer(order=[4, 3, 2, 1, 0]).value
    >>> value["sum"], value["elman"] > 0.1
    (0.0, True)
    """

    module: ClassVar[str] = "reorder"

    order = Permutation(REORDER["start"]["order"], help="the words in their new order").tag(sync=True)
    factor = Number(
        REORDER["start"]["factor"], min=0, max=REORDER["limits"]["factor"][1], help="factor between the steps"
    ).tag(sync=True)

    def last_states(self, net: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the last state for the original order and for this one, each (H,)."""
        xs = np.stack([_EMBEDDINGS, _EMBEDDINGS[self.order]], axis=1)  # (T, 2, H)
        if net == "sum":
            last = cbow_forward(xs, None, cbow_init(H))[1]
        else:
            activation = "tanh" if net == "elman" else "linear"
            p = elman_init(np.random.default_rng(0), H, H, activation=activation, bias=False)
            p.W_x[:], p.W_h[:] = np.eye(H), self.factor * np.eye(H)
            last = elman_forward(xs, None, p)[1]
        return last[0], last[1]

    def values(self) -> dict[str, Any]:
        """Return the state and each net's largest difference."""
        pairs = {net: self.last_states(net) for net in _NETS}
        return self.state() | {net: float(np.abs(a - b).max()) for net, (a, b) in pairs.items()}

    def fallback(self) -> str:
        """Return the states of the three nets as static SVG, with what they say as the caption."""
        words = REORDER["words"][self.lang or "en"]
        value = self.values()
        sentence = " ".join(REORDER["tokens"][token] for token in self.order)
        verdicts = {net: _verdict(value[net], words) for net in _NETS}
        said = words["say"].format(sentence=sentence, factor=fixed(self.factor, 2), **verdicts)
        pictures = {name: (at["W"], at["H"], self._drawing(at, words)) for name, at in REORDER["layout"].items()}
        return still(pictures, "ex-nets", words["diagram"], said)

    def _drawing(self, at: dict[str, Any], words: dict[str, str]) -> str:
        """Return the inside of the <svg>: that of drawNets in reorder.mjs."""
        bar, step, half, full, out = 16, 23, 38, 1.5, []
        value = self.values()
        for net, left, top in zip(_NETS, at["x"], at["y"], strict=True):
            middle = top + 66
            out.append(text("ex-net", left + 110, top + 16, "middle", words[net]))
            for i, (which, state) in enumerate(zip(("original", "yours"), self.last_states(net), strict=True)):
                start = left + i * 120
                out.append(f'<path class="ex-axis" d="M{start} {middle}h{4 * step + 8}"/>')
                out.append(text("ex-small", start + 2 * step + 4, top + 116, "middle", words[which]))
                for unit, v in enumerate(state):
                    size, x = min(abs(v), full) / full * half, start + 8 + unit * step
                    out.append(
                        f'<rect class="ex-down" x="{num(x + 0.75)}" y="{num(middle)}" width="{num(bar - 1.5)}" '
                        f'height="{num(size)}"/>'
                        if v < 0
                        else f'<rect class="ex-fill-h" x="{num(x)}" y="{num(middle - size)}" width="{bar}" '
                        f'height="{num(size)}"/>'
                    )
            out.append(text("ex-num", left + 110, top + 138, "middle", _verdict(value[net], words)))
        return "".join(out)


def _verdict(difference: float, words: dict[str, str]) -> str:
    if difference == 0:
        return words["equal"]
    return words["differ"].format(d="≈ 0" if difference < 0.0005 else fixed(difference))
