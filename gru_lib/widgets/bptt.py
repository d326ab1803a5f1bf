"""The stepper: one unit of a GRU, forward and backward over three steps, line by line (chapter 5)."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import numpy as np

from gru_lib.cells.gru import gru_backward, gru_forward, gru_init, gru_step, gru_step_backward
from gru_lib.widgets._explorer import Explorer, Number, Whole
from gru_lib.widgets._modules import HERE
from gru_lib.widgets._svg import fixed, num, path, still, sub, text

__all__ = ["BPTTExplorer"]

BPTT = json.loads((HERE / "bptt.json").read_text("utf-8"))  # start, limits, lines, layout and words
_START, _LIMITS = BPTT["start"], BPTT["limits"]
_PARAMETERS = [key for key in _START if key.startswith(("W_", "b_"))]
T = 3
LAST = T * (len(BPTT["forward"]) + len(BPTT["backward"])) - 1


def _number(key: str) -> Any:
    limit = _LIMITS[key.rstrip("0123456789").partition("_")[0]]
    return Number(_START[key], min=-limit, max=limit, help=f"{key}, in [-{limit}, {limit}]").tag(sync=True)


class BPTTExplorer(Explorer):
    """Backpropagation through time, by hand: D = H = 1, T = 3, convention "keep", reset "before".

    The forward pass is eight lines for each step, the backward pass eleven, from step 3 to step 1. `at` is the line
    at hand, counted from 0. Gradients come from the outputs: `out3 = 1` and the others 0 is the loss L = h_3.

    Attributes
    ----------
    at : int in [0, 56]
        The line; `line("dhprev", 2)` gives its number.
    x1, x2, x3, h0 : float in [-1, 1]
        Inputs and initial state.
    out1, out2, out3 : float in [-1, 1]
        Gradient from the output at each step.
    W_xr, W_hr, W_xz, W_hz, W_xn, W_hn : float in [-4, 4]
        Weights.
    b_r, b_z, b_n : float in [-8, 8]
        Biases.
    value : dict
        All of these, the states h1 … h3 and the gradients dh0 … dh3.

    Examples
    --------
    >>> from gru_lib.widgets import BPTTExplorer
    >>> stepper = BPTTExplorer(at=BPTTExplorer.line("dhprev", 3))
    >>> round(stepper.value["dh3"], 3)
    1.0
    """

    module: ClassVar[str] = "bptt"

    at = Whole(_START["at"], min=0, max=LAST, help=f"number of the line, in [0, {LAST}]").tag(sync=True)
    x1 = _number("x1")
    x2 = _number("x2")
    x3 = _number("x3")
    h0 = _number("h0")
    out1 = _number("out1")
    out2 = _number("out2")
    out3 = _number("out3")
    W_xr = _number("W_xr")
    W_hr = _number("W_hr")
    b_r = _number("b_r")
    W_xz = _number("W_xz")
    W_hz = _number("W_hz")
    b_z = _number("b_z")
    W_xn = _number("W_xn")
    W_hn = _number("W_hn")
    b_n = _number("b_n")

    @staticmethod
    def line(name: str, step: int) -> int:
        """Return the number of a line: `name` as in chapter 5's code ("az", "dn", "dhprev" …), `step` 1 to 3.

        Raises
        ------
        ValueError
            For a name or a step that is not there.
        """
        forward, backward = BPTT["forward"], BPTT["backward"]
        if name not in (*forward, *backward) or step not in range(1, T + 1):
            raise ValueError(
                f"BPTTExplorer.line: name must be one of {', '.join([*forward, *backward])} and step 1, 2 or 3; "
                f"got {name!r}, {step!r}."
            )
        if name in forward:
            return (step - 1) * len(forward) + forward.index(name)
        return T * len(forward) + (T - step) * len(backward) + backward.index(name)

    def _params(self) -> Any:
        p = gru_init(np.random.default_rng(0), 1, 1)
        for key in _PARAMETERS:
            getattr(p, key)[...] = getattr(self, key)
        return p

    def values(self) -> dict[str, Any]:
        """Return the state, the states h1 … h3 and the gradients dh0 … dh3."""
        p = self._params()
        xs = np.array([self.x1, self.x2, self.x3]).reshape(T, 1, 1)
        dh = np.array([self.out1, self.out2, self.out3]).reshape(T, 1, 1)
        hs, _, tape = gru_forward(xs, [[self.h0]], p)
        found = {f"h{t}": hs[t - 1].item() for t in range(1, T + 1)}
        found["dh0"] = gru_backward(dh, None, tape, p)[1].item()
        for t, (total, _, _) in enumerate(self._steps(), start=1):
            found[f"dh{t}"] = total
        return self.state() | found

    def _steps(self) -> list[tuple[float, list[float], float]]:
        """For each step: the gradient of its state, the four terms of what goes back, and their sum."""
        p, h, caches = self._params(), [[self.h0]], []
        for x in (self.x1, self.x2, self.x3):
            h, cache = gru_step([[x]], h, p)
            caches.append(cache)
        found, after = [], 0.0
        for cache, out in zip(reversed(caches), (self.out3, self.out2, self.out1), strict=True):
            dh = out + after
            _, h_prev, r, not_r, z, not_z, n, _ = (array.item() for array in cache)
            da_z = dh * (h_prev - n) * z * not_z
            dq = dh * not_z * (1 - n * n) * self.W_hn
            terms = [dh * z, da_z * self.W_hz, dq * h_prev * r * not_r * self.W_hr, dq * r]
            after = gru_step_backward([[dh]], cache, p)[1].item()
            found.append((dh, terms, after))
        return found[::-1]

    def fallback(self) -> str:
        """Return the strip of three steps, all lines done, with what it says as its caption."""
        words = BPTT["words"][self.lang or "en"]
        steps = self._steps()
        said = words["still"].format(last=fixed(steps[-1][0]), start=fixed(steps[0][2]))
        pictures = {}
        for name, layout in BPTT["layout"].items():
            at = layout["strip"]
            pictures[name] = (at["W"], at["H"], _strip(self.values(), steps, at))
        return still(pictures, "ex-strip", words["strip"], said)


def _strip(values: dict[str, float], steps: list[tuple[float, list[float], float]], at: dict[str, Any]) -> str:
    """Return the inside of the strip's <svg>: that of drawStrip in bptt.mjs at the last line, without the frame."""
    half, out = at["half"], []
    for t in range(T + 1):
        x = at["first"] + t * at["gap"]
        h = values["h0"] if t == 0 else values[f"h{t}"]
        out += [
            text("ex-sym ex-h", x, 14, "middle", sub("h", str(t))),
            text("ex-num ex-h", x, 34, "middle", fixed(h)),
            text("ex-sym ex-g", x, 128, "middle", sub("δ", f"h{t}")),
            text("ex-num ex-g", x, 148, "middle", fixed(steps[0][2] if t == 0 else steps[t - 1][0])),
        ]
        if t == 0:
            continue
        middle, left, right = x - at["gap"] / 2 - at["shift"], x - at["gap"] + 26, x - 26
        out += [
            path("ex-axis", [(left, 10), (right, 10)]),
            path("ex-axis", [(right - 5, 6), (right, 10), (right - 5, 14)]),
            path("ex-back", [(right, 124), (left, 124)]),
            path("ex-back-head", [(left + 5, 120), (left, 124), (left + 5, 128)]),
            path("ex-axis", [(middle, 36), (middle, 112)]),
        ]
        for i, v in enumerate(steps[t - 1][1]):
            y, size = 45 + 19 * i, min(abs(v), 1.0) * half
            out += [
                text("ex-small", middle - half - 5, y + 4.5, "end", str(i + 1)),
                f'<rect class="ex-bar {"ex-minus" if v < 0 else ""}" x="{num(middle - size if v < 0 else middle)}" '
                f'y="{num(y - 4)}" width="{num(size)}" height="8"/>',
                text("ex-part ex-g", middle + half + 4, y + 4.5, "start", fixed(v)),
            ]
    return "".join(out)
