"""Gain and length: how the norm of dh_T/dh_0 of an Elman net grows or fades with T (chapter 2)."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import numpy as np

from gru_lib.cells.elman import ElmanParams, elman_forward, elman_init
from gru_lib.jacobian import jacobian
from gru_lib.widgets._decades import Curve, drawing, size
from gru_lib.widgets._explorer import Explorer, Number, Whole
from gru_lib.widgets._modules import HERE
from gru_lib.widgets._svg import fixed, still

__all__ = ["GainExplorer"]

GAIN = json.loads((HERE / "gain.json").read_text("utf-8"))  # start, limits, net, inputs, layout and words
_START, _LIMITS = GAIN["start"], GAIN["limits"]
_INPUTS = np.array(GAIN["inputs"])  # (T, H)
T, H = _INPUTS.shape


class GainExplorer(Explorer):
    """One Elman net of 8 units, at rest and driven by inputs, and the norm of dh_T/dh_0 for T up to 100.

    ::

        h_t = tanh(strength x_t + h_{t-1} W_h),    h_0 = 0,    spectral radius of W_h: `radius`

    W_h and the inputs x_t are drawn once (the seed stands in `gain.json`) and rounded; `radius` scales W_h.

    Attributes
    ----------
    radius : float in [0.5, 2]
        Spectral radius of W_h.
    strength : float in [0, 3]
        Factor on the inputs.
    length : int in [1, 100]
        Number of steps T.
    value : dict
        All of these; the norms `rest` and `driven` after T steps; `slope`, the root mean square of the driven net's
        slopes (its mean over the steps is geometric).

    Examples
    --------
    >>> from gru_lib.widgets import GainExplorer
    >>> gain = GainExplorer(radius=1.1)
    >>> gain.value["rest"] > 1e4, gain.value["driven"] < 1e-8
    (True, True)
    """

    module: ClassVar[str] = "gain"

    radius = Number(_START["radius"], min=0.5, max=2, help="spectral radius of W_h").tag(sync=True)
    strength = Number(_START["strength"], min=0, max=3, help="factor on the inputs").tag(sync=True)
    length = Whole(_START["length"], min=1, max=T, help="number of steps").tag(sync=True)

    def params(self) -> ElmanParams:
        """Return the parameters of the net: W_x = I, no bias."""
        p = elman_init(np.random.default_rng(0), H, H)
        p.W_x[:], p.W_h[:] = np.eye(H), self.radius / GAIN["net_radius"] * np.array(GAIN["W_h"])
        p.b[:] = 0
        return p

    def growth(self) -> dict[str, np.ndarray]:
        """Return, for T = 0 … 100, the norms "rest" and "driven" and the slopes' root mean square, each (101,)."""
        p = self.params()
        found = {}
        for name, strength in (("rest", 0.0), ("driven", self.strength)):
            xs = strength * _INPUTS[:, None]
            steps = jacobian(xs, None, p).steps[:, 0]
            J, norms = np.eye(H), [1.0]
            for step in steps:
                J = step @ J
                norms.append(np.linalg.norm(J, 2))
            found[name] = np.array(norms)
        hs = elman_forward(self.strength * _INPUTS[:, None], None, p)[0][:, 0]
        logs = np.cumsum(np.log(((1 - hs**2) ** 2).mean(axis=1))) / np.arange(1, T + 1)
        return found | {"slope": np.append(1.0, np.exp(logs / 2))}

    def values(self) -> dict[str, Any]:
        """Return the state and the three numbers at T = length."""
        return self.state() | {name: float(curve[self.length]) for name, curve in self.growth().items()}

    def fallback(self) -> str:
        """Return the two curves as static SVG, with what they say as the caption."""
        words = GAIN["words"][self.lang or "en"]
        curves = self.growth()
        slope = curves["slope"][self.length]
        said = words["say"].format(
            T=self.length,
            radius=fixed(self.radius, 2),
            rest=size(curves["rest"][self.length]),
            driven=size(curves["driven"][self.length]),
            slope=fixed(slope, 2),
            rate=fixed(self.radius * slope, 2),
            measured=fixed(curves["driven"][self.length] ** (1 / self.length), 2),
        )
        shown = [
            Curve("g", "ex-line-rest", words["rest"], curves["rest"]),
            Curve("g", "", words["driven"], curves["driven"]),
        ]
        pictures = {
            name: (at["W"], at["H"], drawing(shown, self.length, at, GAIN["decades"], words))
            for name, at in GAIN["layout"].items()
        }
        return still(pictures, "ex-growth", words["diagram"], said)
