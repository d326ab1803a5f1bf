"""Exercises on what is built around a cell: dropout, chapter 14, stacks and both directions, chapter 15."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gru_book.check.engine import Array, Exercise, Fault, Function, Mistake, Outputs, call, exercise
from gru_book.check.oracle import D, H, N, T, affine, draw, each, sig, weights
from gru_lib.cells.gru import gru_init

__all__ = ["deep_causal", "deep_reverse", "drop_candidate"]


@exercise
def drop_candidate() -> Exercise:
    """Check ``f(x, h_prev, p, m) -> h``: a GRU step with the mask m on what is written, chapter 14.

    Given x (N, D), h_prev (N, H), the weights p and a mask m (N, H) of 0 and 1 / (1 − p); return h (N, H).
    """
    p, rng = draw(2017, gru_init)
    w = weights(p, "rzn")
    x, h_prev = rng.normal(size=(N, D)), rng.normal(size=(N, H))
    m = np.array([[0, 1, 1, 0], [1, 0, 1, 1], [1, 1, 0, 0]]) / 0.6
    one = np.ones_like(m)

    def run_with(
        write: Array = m,
        *,
        keep: Array = one,
        end: Array = one,
        gates: Array = one,
        old: Array = one,
        inside: Array = one,
        z_mask: Array = one,
        swap: bool = False,
    ) -> Outputs:
        """The step, with a mask in each of the places where a reader might put it."""
        r, z = each(sig, affine(x, gates * h_prev, w, "r")), each(sig, affine(x, gates * h_prev, w, "z"))
        n = np.tanh(inside * affine(x, r * old * h_prev, w, "n"))
        z = z_mask * z
        kept, written = (1 - z, z) if swap else (z, 1 - z)
        return {"h": end * (kept * keep * h_prev + written * write * n)}

    def mistakes() -> Iterator[Mistake]:
        yield "the mask is missing.", run_with(one)
        yield "the mask falls on the new state; it falls on the candidate only.", run_with(one, end=m)
        message = "the mask falls on what is kept; what is kept stays as it is, and n is masked."
        yield message, run_with(one, keep=m)
        yield "the mask stands inside tanh; it belongs outside, on n.", run_with(one, inside=m)
        message = "the mask falls on the old state in the candidate; it falls on n."
        yield message, run_with(one, old=m)
        yield "the mask falls on the state that all gates see; it falls on n.", run_with(one, old=m, gates=m)
        yield "the gates see a masked state; only n is masked.", run_with(gates=m)
        yield "the mask falls on z; it falls on n.", run_with(one, z_mask=m)
        message = "the mask is used as 0 and 1: m holds 1 / (1 − p) already, multiply by it."
        yield message, run_with(np.sign(m))
        yield "the mask is turned over: where m is 0, n is dropped.", run_with(1 / 0.6 - m)
        message = "the mask is used or scaled twice: m holds 1 / (1 − p) already, multiply by it once."
        yield message, run_with(m / 0.6)
        yield "z and 1 − z have changed places. Here h = z ⊙ h_prev + (1 − z) ⊙ m ⊙ n.", run_with(swap=True)

    return Exercise({"x": x, "h_prev": h_prev, "p": p, "m": m}, run_with(), mistakes)


@exercise
def deep_reverse() -> Exercise:
    """Check ``f(xs, lengths) -> xs``: each sequence of xs (T, N, D) reversed within its length, chapter 15.

    Given xs (T, N, D) and N lengths; return xs (T, N, D). Padding stays where it is.
    """
    xs, lengths = np.random.default_rng(15).normal(size=(T, 4, D)), [T, 3, 0, 1]

    def turned(where: Callable[[int, int], int]) -> Outputs:
        """Row t of sequence n comes from row where(t, its length)."""
        out = xs.copy()
        for n, L in enumerate(lengths):
            for t in range(T):
                out[t, n] = xs[where(t, L), n]
        return {"xs": out}

    right = turned(lambda t, L: L - 1 - t if t < L else t)
    mask = np.arange(T)[:, None, None] < np.array(lengths)[:, None]

    def mistakes() -> Iterator[Mistake]:
        yield "the whole of it is reversed, padding too: reverse the first L rows of each sequence.", {"xs": xs[::-1]}
        yield "nothing is reversed.", {"xs": xs}
        yield "the batch is reversed; time is axis 0.", {"xs": xs[:, ::-1]}
        yield "the features are reversed; time is axis 0.", {"xs": xs[:, :, ::-1]}
        yield "padding is set to zero; it must stay as it is.", {"xs": np.where(mask, right["xs"], 0)}
        message = "the last real row stays where it is: the slice ends one row early."
        yield message, turned(lambda t, L: L - 2 - t if t < L - 1 else t)
        message = "one row of padding is reversed too: the slice ends one row late."
        yield message, turned(lambda t, L: L - t if t <= L < T else t if L < T else T - 1 - t)
        message = "the first row stays where it is: the slice begins one row late."
        yield message, turned(lambda t, L: L - t if 1 <= t < L else t)
        message = "the rows are rotated: row t must come from row L − 1 − t."
        yield message, turned(lambda t, L: (t - 1) % L if t < L else t)
        message = "all sequences are reversed within the length of the second."
        yield message, turned(lambda t, _: lengths[1] - 1 - t if t < lengths[1] else t)
        yield "the padding is reversed, and the sequence is not.", turned(lambda t, L: t if t < L else T - 1 - t + L)
        message = "padding has moved to the front: a sequence must begin at row 0."
        yield message, turned(lambda t, L: (T - 1 - t) if t >= T - L else t + L)

    return Exercise({"xs": xs, "lengths": lengths}, right, mistakes)


# Layers for `deep_causal`: a name for what each does, whether it looks ahead, and the outputs from the inputs.
LAYERS: list[tuple[str, bool, Callable[[Array], Array]]] = [
    ("an output may depend on the input of its own step; only later inputs count", False, lambda xs: 2 * xs),
    ("a layer that sums the inputs so far does not look ahead", False, lambda xs: np.cumsum(xs, axis=0)),
    ("a layer without any input in its outputs does not look ahead", False, np.ones_like),
    ("a layer that reads backwards looks ahead", True, lambda xs: np.cumsum(xs[::-1], axis=0)[::-1]),
    ("a layer that averages over all steps looks ahead", True, lambda xs: xs.mean(axis=0) + np.zeros_like(xs)),
    ("a layer whose output reads the next input, and no other, looks ahead", True,
     lambda xs: np.concatenate([xs[1:], xs[-1:]])),
    ("a layer of which only the first output reads the last input looks ahead", True,
     lambda xs: np.concatenate([xs[-1:], xs[1:]])),
    ("a layer of which only the last output but one reads the last input looks ahead", True,
     lambda xs: np.concatenate([xs[:-2], xs[-1:], xs[-1:]])),
    ("a layer of which only the first output reads the second input looks ahead", True,
     lambda xs: np.concatenate([xs[1:2], xs[1:]])),
    ("a layer that looks ahead for one feature only looks ahead", True,
     lambda xs: np.concatenate([xs[..., :1].cumsum(axis=0), xs[::-1, :, 1:]], axis=2)),
    ("a layer that depends on a later input by a billionth looks ahead: compare exactly", True,
     lambda xs: xs + 1e-9 * np.cumsum(xs[::-1], axis=0)[::-1]),
    ("a layer that reads the next input where it is positive looks ahead; NaN is not positive, so change numbers", True,
     lambda xs: np.concatenate([np.where(xs[1:] > 0, xs[1:], 0), 0 * xs[-1:]])),
    ("a layer that multiplies later inputs by 0 does not look ahead; 0 times NaN is NaN, so change numbers", False,
     lambda xs: xs + 0 * xs.sum(axis=0)),
    ("a layer that reads the ratios within the next input looks ahead; one factor for all leaves them", True,
     lambda xs: np.concatenate([np.abs(xs[1:]) / (np.abs(xs[1:]).sum(axis=2, keepdims=True) + 1e-300), 0 * xs[-1:]])),
]  # fmt: skip


@exercise
def deep_causal() -> Exercise:
    """Check ``f(forward, p) -> bool``: whether an output depends on a later input, chapter 15.

    Given a layer, forward(xs, h0, p), which returns hs (T, N, …) and two more, and its weights p, with p.D the size
    of an input; return True or False.
    """
    p = gru_init(np.random.default_rng(16), D, H)

    def layer(of: Callable[[Array], Array]) -> Callable[..., tuple[Any, ...]]:
        return lambda xs, h0, p, **_: (of(np.asarray(xs)), None, None)

    def mistakes() -> Iterator[Mistake]:
        yield f"it says True, but {LAYERS[0][0]}.", {"answer": np.array(1)}

    def others(f: Function) -> None:
        for what, ahead, of in LAYERS[1:]:
            said = call(f, layer(of), p)
            if bool(np.all(said)) != ahead:
                raise Fault(f"it says {not ahead}, but {what}.")

    args = {"forward": layer(LAYERS[0][2]), "p": p}
    shown = f"is right about all of {len(LAYERS)} layers"
    return Exercise(args, {"answer": np.array(0)}, mistakes, then=others, shown=shown)
