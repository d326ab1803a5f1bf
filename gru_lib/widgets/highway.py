"""The highway: how far the gradient of a GRU reaches, by the bias of its update gate (chapter 9)."""

from __future__ import annotations

import json
from typing import Any, ClassVar

import numpy as np

from gru_lib.cells.gru import GRUParams, gru_init, gru_step
from gru_lib.jacobian import jacobian
from gru_lib.widgets._decades import Curve, drawing, size
from gru_lib.widgets._explorer import Explorer, Number, OneOf, Whole
from gru_lib.widgets._modules import HERE
from gru_lib.widgets._svg import fixed, percent, still

__all__ = ["HighwayExplorer"]

HIGHWAY = json.loads((HERE / "highway.json").read_text("utf-8"))  # start, limits, net, inputs, layout and words
_START, _LIMITS = HIGHWAY["start"], HIGHWAY["limits"]
_INPUTS = np.array(HIGHWAY["inputs"])  # (T, H)
T, H = _INPUTS.shape


class HighwayExplorer(Explorer):
    """One GRU of 5 units, driven by inputs, and the norm of dh_T/dh_0 for T up to 100.

    The weights and the inputs are drawn once (the seed stands in `highway.json`) and rounded. All biases are zero but
    that of the update gate. The direct path is the product of the shares kept, its largest entry.

    Attributes
    ----------
    b_z : float in [-4, 8]
        Bias of the update gate, the same for all units.
    length : int in [1, 100]
        Number of steps T.
    convention : "keep" or "write"
        Whether z is the share of the old state that is kept, or the share of the candidate that is written.
    value : dict
        All of these; `total` and `direct` after T steps; `kept`, the mean share kept.

    Examples
    --------
    >>> from gru_lib.widgets import HighwayExplorer
    >>> HighwayExplorer(b_z=4.0).value["total"] > 1e10 * HighwayExplorer(b_z=0.0).value["total"]
    True
    """

    module: ClassVar[str] = "highway"

    b_z = Number(_START["b_z"], min=_LIMITS["b_z"][0], max=_LIMITS["b_z"][1], help="bias of the gate").tag(sync=True)
    length = Whole(_START["length"], min=1, max=T, help="number of steps").tag(sync=True)
    convention = OneOf(["keep", "write"], _START["convention"]).tag(sync=True)

    def params(self) -> GRUParams:
        """Return the parameters of the net."""
        p = gru_init(np.random.default_rng(0), H, H, convention=self.convention)
        for name, weights in HIGHWAY["weights"].items():
            getattr(p, name)[:] = weights
        p.b[:] = 0
        p.b_z[:] = self.b_z
        return p

    def reach(self) -> dict[str, np.ndarray]:
        """Return, for T = 0 … 100, the norm "total", the "direct" path, and the mean share "kept", each (101,)."""
        p, h = self.params(), np.zeros((1, H))
        steps = jacobian(_INPUTS[:, None], None, p).steps[:, 0]
        J, path, found = np.eye(H), np.ones(H), {"total": [1.0], "direct": [1.0], "kept": [1.0]}
        total_kept = 0.0
        for t, (x, step) in enumerate(zip(_INPUTS, steps, strict=True), start=1):
            h, cache = gru_step(x[None], h, p)
            keep = (cache.z if self.convention == "keep" else cache.not_z)[0]
            J, path = step @ J, path * keep
            total_kept += keep.mean()
            found["total"].append(np.linalg.norm(J, 2))
            found["direct"].append(path.max())
            found["kept"].append(total_kept / t)
        return {name: np.array(values) for name, values in found.items()}

    def values(self) -> dict[str, Any]:
        """Return the state and the three numbers at T = length."""
        return self.state() | {name: float(curve[self.length]) for name, curve in self.reach().items()}

    def fallback(self) -> str:
        """Return the two curves as static SVG, with what they say as the caption."""
        words = HIGHWAY["words"][self.lang or "en"]
        curves = self.reach()
        total, direct, kept = (curves[name][self.length] for name in ("total", "direct", "kept"))
        said = words["say"].format(
            T=self.length, bias=fixed(self.b_z, 1), kept=percent(kept), total=size(total), direct=size(direct)
        )
        shown = [
            Curve("g", "", words["total"], curves["total"]),
            Curve("z", "ex-line-direct", words["direct"], curves["direct"]),
        ]
        pictures = {
            name: (at["W"], at["H"], drawing(shown, self.length, at, HIGHWAY["decades"], words))
            for name, at in HIGHWAY["layout"].items()
        }
        return still(pictures, "ex-growth", words["diagram"], said)
