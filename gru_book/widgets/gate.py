"""The gate explorer: one GRU unit, one time step, with its gates in the reader's hand (chapter 4)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from traitlets import TraitError, observe, validate

from gru_book.widgets._explorer import Explorer
from gru_book.widgets._modules import data
from gru_book.widgets._traits import Number, OneOf
from gru_lib.cells.gru import gru_init, gru_step

__all__ = ["GateExplorer"]

GATE = data("gate.json")  # start, limits, layout and words, shared with gate.mjs
_START, _LIMITS = GATE["start"], GATE["limits"]
_PARAMETERS = [key for key in _START if key.startswith(("W_", "b_"))]  # b_hn comes last


def _number(key: str) -> Any:
    limit = _LIMITS[key] if key in _LIMITS else _LIMITS[key[0]]
    return Number(_START[key], min=-limit, max=limit, help=f"{key}, in [-{limit}, {limit}]").tag(sync=True)


def _computed(lo: float, hi: float, **kwargs: Any) -> Any:
    return Number(0.5, min=lo, max=hi, **kwargs)


class GateExplorer(Explorer):
    """One unit of a GRU and one step of it, to be tried by hand.

    ::

        r = σ(x W_xr + h_prev W_hr + b_r)
        z = σ(x W_xz + h_prev W_hz + b_z)
        n = tanh(x W_xn + (r h_prev) W_hn + b_n)            reset "before"
        n = tanh(x W_xn + b_n + r (h_prev W_hn + b_hn))     reset "after"
        h = z h_prev + (1 − z) n                            convention "keep"; "write" swaps z and 1 − z

    Every trait below can be read, set, observed and linked (`ipywidgets.link`). All are plain numbers: D = H = 1.

    Attributes
    ----------
    x, h_prev : float in [-1, 1]
        Input and old state.
    W_xr, W_hr, W_xz, W_hz, W_xn, W_hn : float in [-4, 4]
        Weights.
    b_r, b_z, b_n, b_hn : float in [-16, 16]
        Biases; b_hn acts only with reset "after".
    convention : "keep" or "write"
        Whether z is the share of the old state that is kept, or the share of the candidate that is written.
    reset : "before" or "after"
        Where the reset gate acts: on h_prev, or on h_prev W_hn + b_hn.
    view : "step" or "resets"
        What is drawn: the step, or the same step for both places of the reset, side by side.
    r, z : float in (0, 1)
        The gates. Setting one moves its bias.
    n, h : float
        Candidate and new state; read-only.
    value : dict
        All of these, for `ipywidgets.interactive_output`.

    Examples
    --------
    >>> from gru_book.widgets import GateExplorer
    >>> gate = GateExplorer(x=0.5, h_prev=0.7, z=0.99)
    >>> round(gate.h, 3)
    0.69
    """

    module: ClassVar[str] = "gate"

    x = _number("x")
    h_prev = _number("h_prev")
    W_xr = _number("W_xr")
    W_hr = _number("W_hr")
    b_r = _number("b_r")
    W_xz = _number("W_xz")
    W_hz = _number("W_hz")
    b_z = _number("b_z")
    W_xn = _number("W_xn")
    W_hn = _number("W_hn")
    b_n = _number("b_n")
    b_hn = _number("b_hn")
    convention = OneOf(["keep", "write"], _START["convention"]).tag(sync=True)
    reset = OneOf(["before", "after"], _START["reset"]).tag(sync=True)
    view = OneOf(["step", "resets"], _START["view"], help="one step, or both places of the reset").tag(sync=True)

    # Computed from the state, in Python and in the page alike, so they are not sent.
    r = _computed(0, 1)
    z = _computed(0, 1)
    n = _computed(-1, 1, read_only=True)
    h = _computed(-1, 1, read_only=True)

    _computing = False  # True while r and z change because the state did, not because someone set them

    def __init__(self, **state: Any) -> None:
        gates = {name: state.pop(name) for name in ("r", "z") if name in state}
        for name in ("n", "h"):
            if name in state:
                raise TypeError(f"GateExplorer: {name} is computed from the state and cannot be set.")
        super().__init__(**state)
        self._step()
        self._tell()
        for name, share in gates.items():
            setattr(self, name, share)

    @observe(*_START)
    def _step(self, _change: Any = None) -> None:
        """Compute r, z, n and h with `gru_step`."""
        after = self.reset == "after"
        p = gru_init(np.random.default_rng(0), 1, 1, reset_after=after, convention=self.convention)
        for name in _PARAMETERS if after else _PARAMETERS[:-1]:  # reset-before has no b_hn
            getattr(p, name)[...] = getattr(self, name)
        h, cache = gru_step([[self.x]], [[self.h_prev]], p)
        self._computing = True
        try:
            for name, array in {"r": cache.r, "z": cache.z, "n": cache.n, "h": h}.items():
                value = array.item()
                if abs(value - getattr(self, name)) > 1e-12:  # so that σ(logit(z)) does not answer a set z
                    self.set_trait(name, value)
        finally:
            self._computing = False

    def _bias_for(self, gate: str, share: float) -> float:
        others = self.x * getattr(self, f"W_x{gate}") + self.h_prev * getattr(self, f"W_h{gate}")
        return float(np.log(share) - np.log1p(-share) - others)

    @validate("r", "z")
    def _reachable(self, proposal: Any) -> float:
        name, share = proposal["trait"].name, proposal["value"]
        if self._computing:
            return share
        if not 0 < share < 1:
            raise TraitError(f"GateExplorer: {name} must be a number strictly between 0 and 1; got {share!r}.")
        bias = self._bias_for(name, share)
        if abs(bias) > _LIMITS["b"]:
            raise TraitError(f"GateExplorer: {name} = {share!r} needs b_{name} = {bias:.3g}, beyond ±{_LIMITS['b']}.")
        return share

    @observe("r", "z")
    def _move_bias(self, change: Any) -> None:
        if not self._computing:
            setattr(self, f"b_{change['name']}", self._bias_for(change["name"], change["new"]))

    def values(self) -> dict[str, Any]:
        """Return the state and r, z, n, h."""
        return self.state() | {name: getattr(self, name) for name in "rznh"}
