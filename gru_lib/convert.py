"""Parameters in other people's layouts: PyTorch, Keras, ONNX, and the texts this book grew from. Both ways, exactly.

Converting moves numbers and never runs anything. The result computes the same function:

========  ==============================  ===========  =========================================
layout    matrices                        gates        biases
========  ==============================  ===========  =========================================
ours      (D, 3H), (H, 3H): x W           r z n        b, and b_hn inside the reset gate
PyTorch   (3H, D), (3H, H): W x           r z n        two of (3H,)
Keras     (D, 3H), (H, 3H): x W           z r h        (2, 3H) reset after, (3H,) reset before
ONNX      (dirs, 3H, D), (dirs, 3H, H)    z r h        (dirs, 6H)
========  ==============================  ===========  =========================================

The LSTM's gates are i f g o here and in PyTorch, i f c o in Keras, i o f c in ONNX (c is our g).

A layer is a list of directions: ``[p]``, or ``[forward, backward]`` for a bidirectional one. A stack is a list of
layers; ``stack(*(bidirectional(*d) if len(d) == 2 else d[0] for d in layers))`` runs it.

PyTorch's two biases on r and z only act through their sum, so we store the sum; it may differ from theirs in the last
bit. Gradients are not parameters: where one of our biases stands for two of theirs, both have its gradient.

In all `from_*` functions `cell` is "gru", "lstm" or "rnn", and `options` are further arguments of the cell's init that
the layout does not hold, such as the RNN's activation; a GRU becomes "keep" (in `from_source`, what the text uses), and
`with_convention` turns it afterwards. Half precision is read as float32. A missing or unknown name, a shape that does
not fit, or an option that contradicts the layout raises ValueError. Each `to_*` is the inverse.

Chapter 10.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gru_lib.cells.elman import ElmanParams, elman_init
from gru_lib.cells.gru import GRUParams, gru_init
from gru_lib.cells.lstm import LSTMParams, lstm_init
from gru_lib.checks import as_array, check_bool, check_choice, check_instance, check_int, check_sequence, plain
from gru_lib.params import Params
from gru_lib.recognise import Reading, recognise
from gru_lib.types import Array, MaybeArray

__all__ = [
    "Reading", "from_keras", "from_onnx", "from_source", "from_torch", "name_of", "recognise", "to_keras", "to_onnx",
    "to_source", "to_torch", "with_convention",
]  # fmt: skip

_INIT: dict[str, Any] = {
    "gru": (GRUParams, gru_init),
    "lstm": (LSTMParams, lstm_init),
    "rnn": (ElmanParams, elman_init),
}
_OURS = {"gru": "rzn", "lstm": "ifgo", "rnn": "h"}
_KERAS = {"gru": "zrn", "lstm": "ifgo", "rnn": "h"}
_ONNX = {"gru": "zrn", "lstm": "iofg", "rnn": "h"}


def with_convention(p: GRUParams, convention: str) -> GRUParams:
    """Return a GRU in the given convention that computes the same function.

    ::

        "keep":  h = z ⊙ h_prev + (1 − z) ⊙ n
        "write": h = (1 − z) ⊙ h_prev + z ⊙ n

    1 − σ(a) = σ(−a), so negating W_xz, W_hz and b_z exchanges z and 1 − z. No bit is lost, and `p` stays as it was.

    Examples
    --------
    >>> from gru_lib import convert, gru_forward, gru_init
    >>> rng = np.random.default_rng(0)
    >>> p, xs = gru_init(rng, D=3, H=5), rng.normal(size=(4, 2, 3))
    >>> q = convert.with_convention(p, "write")
    >>> np.array_equal(q.W_xz, -p.W_xz)
    True
    >>> hs, *_ = gru_forward(xs, None, p)
    >>> np.allclose(hs, gru_forward(xs, None, q)[0])
    True
    """
    check_instance("with_convention", "p", p, GRUParams)
    check_choice("with_convention", "convention", convention, ("keep", "write"))
    rng = np.random.default_rng(0)  # what it draws is overwritten
    new = gru_init(rng, p.D, p.H, reset_after=p.reset_after, bias=p.bias, convention=convention, dtype=p.dtype)
    new.flat[:] = p.flat
    if convention != p.convention:
        for part in (new.W_xz, new.W_hz, *([new.b_z] if p.bias else [])):
            np.negative(part, out=part)
    return new


# --------------------------------------------------------------------------------------------------------- PyTorch

_TORCH_NAME = re.compile(r"(weight|bias)_(ih|hh)_l(0|[1-9]\d{0,2})(_reverse)?")
_TORCH_CELL = re.compile(r"(weight|bias)_(ih|hh)")


def from_torch(state: Mapping[str, ArrayLike], cell: str, **options: Any) -> list[list[Params]]:
    """Read the `state_dict()` of a `torch.nn.GRU`, `LSTM`, `RNN`, or a single cell's, as arrays or CPU tensors.

    ::

        weight_ih_l0 (G·H, D)  = W_xᵀ      bias_ih_l0 (G·H,)    layer 0 (G = 3, 4 or 1 gates)
        weight_hh_l0 (G·H, H)  = W_hᵀ      bias_hh_l0 (G·H,)
        …_l1, …                            next layers; D is the number of directions times H
        …_l0_reverse                       the backward direction

    A `GRUCell`, `LSTMCell` or `RNNCell` has these names without _l0. Returns a list of layers, each a list of one or
    two directions. A GRU becomes reset-after. Projections (`proj_size`) are not supported.

    Examples
    --------
    >>> from gru_lib import convert, gru_init
    >>> rng = np.random.default_rng(0)
    >>> p = gru_init(rng, D=3, H=5, reset_after=True)
    >>> state = convert.to_torch([[p]])  # the state_dict of nn.GRU(3, 5)
    >>> [[q]] = convert.from_torch(state, "gru")
    >>> np.array_equal(q.flat, p.flat), q.reset_after
    (True, True)
    """
    where = "from_torch"
    check_choice(where, "cell", cell, tuple(_INIT))
    check_instance(where, "state", state, Mapping)
    options = _options(where, cell, options, reset_after=True)
    state = {str(name): _single(array) for name, array in state.items()}
    if state and all(map(_TORCH_CELL.fullmatch, state)):
        state = {f"{name}_l0": array for name, array in state.items()}
    found = {name: _TORCH_NAME.fullmatch(name) for name in state}
    unknown = [name for name, match in found.items() if match is None]
    if unknown or not found:
        raise ValueError(f"{where}: {_what_else(unknown)}")
    matches = [match for match in found.values() if match is not None]
    suffixes = ["", "_reverse"] if any(match[4] for match in matches) else [""]
    biases = ("bias_ih", "bias_hh") if any(match[1] == "bias" for match in matches) else ()
    layers = []
    for layer in range(1 + max(int(match[3]) for match in matches)):
        directions = []
        for suffix in suffixes:
            names = [f"{kind}_l{layer}{suffix}" for kind in ("weight_ih", "weight_hh", *biases)]
            missing = [name for name in names if name not in state]
            if missing:
                raise ValueError(f"{where}: state must hold {', '.join(names)}; {', '.join(missing)} missing.")
            sizes = _sizes(where, names[1], state[names[1]], cell, rows="GH")
            if layer:
                sizes["D"] = len(suffixes) * sizes["H"]
            W_x = as_array(where, names[0], state[names[0]], ("GH", "D"), sizes)
            W_h = as_array(where, names[1], state[names[1]], ("GH", "H"), sizes)
            b = [as_array(where, name, state[name], ("GH",), sizes) for name in names[2:]]
            directions.append(_build(cell, _OURS[cell], W_x.T, W_h.T, *(b or (None, None)), **options))
        layers.append(directions)
    return layers


def _what_else(names: list[str]) -> str:
    """Say what a state_dict holds that is not a recurrent layer's."""
    if any(name.startswith("weight_hr_l") for name in names):
        return "projections (proj_size) are not supported; got 'weight_hr_l0'."
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    said = f"state must hold names such as weight_ih_l0; got {repr(names[0]) + more if names else 'nothing'}."
    heads = dict.fromkeys(name.rpartition(".")[0] for name in names if re.search(r"\.weight_hh(_l0)?$", name))
    if heads:
        said += f" A recurrent layer is under {', '.join(repr(f'{head}.') for head in heads)}: pass that module's own "
        said += "state_dict(), or its names without the prefix."
    return said


def to_torch(layers: Sequence[Sequence[Params]]) -> dict[str, Array]:
    """Write the `state_dict` of a `torch.nn.GRU`, `LSTM` or `RNN`, as arrays: `torch.from_numpy` makes them tensors.

    Our one bias on r and z becomes `bias_ih`, and `bias_hh` is 0 there. A GRU that is reset-before raises ValueError:
    PyTorch has none, and no weights make the two equal. So does an Elman network that is neither tanh nor relu.

    Examples
    --------
    >>> from gru_lib import convert, gru_init
    >>> rng = np.random.default_rng(0)
    >>> p = gru_init(rng, D=3, H=5, reset_after=True)
    >>> for name, array in convert.to_torch([[p]]).items():
    ...     print(name, array.shape)
    weight_ih_l0 (15, 3)
    weight_hh_l0 (15, 5)
    bias_ih_l0 (15,)
    bias_hh_l0 (15,)
    """
    where = "to_torch"
    if isinstance(layers, Params):
        raise TypeError(
            f"{where}: layers must be a list of layers, each a list of directions; got {type(layers).__name__}. "
            "Write [[p]] for one layer, [[p.layer0], [p.layer1]] for a stack, [p.forward, p.backward] if bidirectional."
        )
    check_sequence(where, "layers", layers)
    for i, directions in enumerate(layers):
        _directions(where, directions, f"layers[{i}]")
    if not layers:
        raise ValueError(f"{where}: layers must be at least one, such as [[p]]; got none.")
    first, count = layers[0][0], len(layers[0])
    for layer, directions in enumerate(layers):
        D = first.D if layer == 0 else count * first.H
        if _one_kind(where, directions[0]) != _one_kind(where, first) or len(directions) != count:
            raise ValueError(f"{where}: layers must have one kind, one H and one count of directions; got {layers!r}.")
        if directions[0].D != D:
            raise ValueError(f"{where}: layers[{layer}] must have D = {D}; got {directions[0].D}.")
    state: dict[str, Array] = {}
    for layer, directions in enumerate(layers):
        for p, suffix in zip(directions, ("", "_reverse"), strict=False):
            if isinstance(p, ElmanParams):
                check_choice(where, "activation", p.activation, ("tanh", "relu"))
            W_x, W_h, b_x, b_h = _take(where, p, _OURS, reset_after=True)
            state[f"weight_ih_l{layer}{suffix}"] = np.ascontiguousarray(W_x.T)
            state[f"weight_hh_l{layer}{suffix}"] = np.ascontiguousarray(W_h.T)
            if b_x is not None and b_h is not None:
                state[f"bias_ih_l{layer}{suffix}"], state[f"bias_hh_l{layer}{suffix}"] = b_x, b_h
    return state


# ----------------------------------------------------------------------------------------------------------- Keras


def from_keras(
    weights: Sequence[ArrayLike], cell: str, *, reset_after: bool | None = None, **options: Any
) -> list[Params]:
    """Read `layer.get_weights()` of a Keras `GRU`, `LSTM`, `SimpleRNN`, or of `Bidirectional` around one.

    Returns a list of one or two directions. A layer with ``go_backwards=True`` runs ``xs[::-1]``, and returns its
    outputs in the order in which it makes them.

    Parameters
    ----------
    weights
        kernel (D, G·H), recurrent_kernel (H, G·H) and, with biases, bias: (2, 3H) for a GRU with `reset_after`, else
        (G·H,). Twice that for `Bidirectional`, forward first. A bias (2·G·H,) is that of the older `CuDNNGRU` or
        `CuDNNLSTM`, whose kernels lie otherwise, and are read so.
    reset_after
        As in Keras, where True is the default. Only for the GRU; one without biases must say it, since nothing in its
        arrays does. Keras's activations must be the default tanh and sigmoid: the arrays do not tell others.

    Examples
    --------
    >>> from gru_lib import convert, gru_init
    >>> p = gru_init(np.random.default_rng(0), D=3, H=5, reset_after=True)
    >>> weights = convert.to_keras([p])  # as layer.get_weights() has them
    >>> [q] = convert.from_keras(weights, "gru")
    >>> np.array_equal(q.flat, p.flat)
    True
    """
    where = "from_keras"
    check_choice(where, "cell", cell, tuple(_INIT))
    check_sequence(where, "weights", weights)
    if len(weights) not in (2, 3, 4, 6):
        raise ValueError(f"{where}: weights must hold 2 or 3 arrays, or 4 or 6 if bidirectional; got {len(weights)}.")
    if cell == "gru" and reset_after is None and len(weights) in (2, 4):
        raise ValueError(
            f"{where}: reset_after must be given for a GRU without biases: the layer's own, True by default in Keras. "
            "kernel and recurrent_kernel do not tell."
        )
    after = True if reset_after is None else check_bool(where, "reset_after", reset_after)
    options = _options(where, cell, options, reset_after=after)
    weights = [_single(array) for array in weights]
    each = len(weights) // (2 if len(weights) > 3 else 1)
    directions = []
    for start in range(0, len(weights), each):
        kernel, recurrent, *bias = weights[start : start + each]
        sizes = _sizes(where, "recurrent_kernel", recurrent, cell, rows="H")
        W_x = as_array(where, "kernel", kernel, ("D", "GH"), sizes)
        W_h = as_array(where, "recurrent_kernel", recurrent, ("H", "GH"), sizes)
        b_x = b_h = None
        if bias and cell != "rnn" and options.get("reset_after", True) and np.shape(bias[0]) == (2 * sizes["GH"],):
            blocks = len(_OURS[cell])  # cuDNN's W x, its numbers put into the shape of x W block by block
            W_x, W_h = (np.hstack([k.reshape(k.shape[::-1]).T for k in np.split(W, blocks, 1)]) for W in (W_x, W_h))
            b_x, b_h = as_array(where, "bias", bias[0], ("2GH",), {"2GH": 2 * sizes["GH"]}).reshape(2, -1)
        elif bias and options.get("reset_after"):
            b_x, b_h = as_array(where, "bias", bias[0], ("2", "GH"), {"2": 2, **sizes})
        elif bias:
            b_x = as_array(where, "bias", bias[0], ("GH",), sizes)
        directions.append(_build(cell, _KERAS[cell], W_x, W_h, b_x, b_h, **options))
    return directions


def to_keras(directions: Sequence[Params]) -> list[Array]:
    """Write the arrays for `layer.set_weights(...)`; a Keras GRU must have the `reset_after` of the parameters.

    Examples
    --------
    >>> from gru_lib import convert, gru_init
    >>> p = gru_init(np.random.default_rng(0), D=3, H=5, reset_after=True)
    >>> kernel, recurrent, bias = convert.to_keras([p])
    >>> kernel.shape, recurrent.shape, bias.shape
    ((3, 15), (5, 15), (2, 15))
    >>> np.array_equal(kernel[:, :5], p.W_xz)  # z comes first
    True
    """
    weights = []
    for p in _directions("to_keras", directions):
        W_x, W_h, b_x, b_h = _take("to_keras", p, _KERAS)
        weights += [W_x, W_h]
        if b_x is not None and b_h is not None:
            weights.append(np.stack([b_x, b_h]) if isinstance(p, GRUParams) and p.reset_after else b_x)
    return weights


# ------------------------------------------------------------------------------------------------------------ ONNX


def from_onnx(
    W: ArrayLike,
    R: ArrayLike,
    B: MaybeArray = None,
    *,
    cell: str,
    linear_before_reset: int | None = None,
    **options: Any,
) -> list[Params]:
    """Read the inputs W, R and B of an ONNX `GRU`, `LSTM` or `RNN` node.

    Peepholes (P), clipping, `input_forget` and activations other than the cell's own have no counterpart here.

    Returns a list of one or two directions. ``direction="reverse"`` has one: ``p`` is run on ``xs[::-1]``, and its
    outputs are Y as ``hs[::-1]``.

    Parameters
    ----------
    W : array (dirs, G·H, D)
    R : array (dirs, G·H, H)
    B : array (dirs, 2·G·H), optional
        The bias of W, then that of R.
    linear_before_reset
        The node's attribute: 0 (its default) is our reset-before, anything else reset-after. A GRU must be given it:
        W, R and B do not tell. Files of a PyTorch GRU need 1, but `torch.onnx.export` with onnxscript 0.5.7 to 0.7.0
        writes 0. From a few outputs of the net, `recognise` finds which it is.

    Examples
    --------
    >>> from gru_lib import convert, lstm_init
    >>> p = lstm_init(np.random.default_rng(0), D=3, H=5)
    >>> W, R, B = convert.to_onnx([p])  # the inputs of a node
    >>> [q] = convert.from_onnx(W, R, B, cell="lstm")
    >>> np.array_equal(q.flat, p.flat)
    True
    """
    where = "from_onnx"
    check_choice(where, "cell", cell, tuple(_INIT))
    W, R, B = _single(W), _single(R), None if B is None else _single(B)
    R = plain(where, "R", R)
    if R.ndim != 3 or len(R) not in (1, 2):
        raise ValueError(f"{where}: R must have shape (dirs, GH, H) with dirs 1 or 2; got {R.shape}.")
    sizes = {"dirs": len(R), **_sizes(where, "R", R[0], cell, rows="GH")}
    sizes["2GH"] = 2 * sizes["GH"]
    W, R = as_array(where, "W", W, ("dirs", "GH", "D"), sizes), as_array(where, "R", R, ("dirs", "GH", "H"), sizes)
    b = None if B is None else as_array(where, "B", B, ("dirs", "2GH"), sizes)
    if linear_before_reset is None and cell == "gru":
        raise ValueError(
            f"{where}: linear_before_reset must be given for a GRU: the node's attribute, or 0 where it has none. W, R "
            "and B do not tell. For PyTorch's it must be 1, whatever the file says: onnxscript 0.5.7 to 0.7.0 wrote 0."
        )
    flag = 0 if linear_before_reset is None else linear_before_reset
    after = check_int(where, "linear_before_reset", flag, minimum=0) != 0
    if options.get("reset_after", after) != after:
        got = options["reset_after"]
        raise ValueError(f"{where}: reset_after must be {after}, as linear_before_reset says; got {got}.")
    options = _options(where, cell, options, reset_after=after)
    split = [(None, None)] * len(R) if b is None else [np.split(row, 2) for row in b]
    return [_build(cell, _ONNX[cell], W[d].T, R[d].T, *split[d], **options) for d in range(len(R))]


def to_onnx(directions: Sequence[Params]) -> tuple[Array, Array, Array | None]:
    """Write W, R and B of an ONNX node; B is None without biases.

    For a GRU the node needs ``linear_before_reset=int(p.reset_after)``.

    Examples
    --------
    >>> from gru_lib import convert, lstm_init
    >>> p = lstm_init(np.random.default_rng(0), D=3, H=5)
    >>> W, R, B = convert.to_onnx([p])
    >>> W.shape, R.shape, B.shape
    ((1, 20, 3), (1, 20, 5), (1, 40))
    >>> np.array_equal(W[0, 5:10], p.W_xo.T)  # o comes second
    True
    """
    taken = [_take("to_onnx", p, _ONNX) for p in _directions("to_onnx", directions)]
    W, R = np.stack([t[0].T for t in taken]), np.stack([t[1].T for t in taken])
    return W, R, None if taken[0][2] is None else np.stack([np.concatenate([t[2], t[3]]) for t in taken])


# --------------------------------------------------------------------------------------------------------- the texts


class _Names(NamedTuple):
    """What a text calls the matrices, in our order of gates."""

    x: tuple[str, ...]
    h: tuple[str, ...]
    b: tuple[str, ...]  # empty: the text has no biases
    convention: str = "keep"
    columns: bool = False  # column vectors: W x


_SOURCES = {
    ("ai-edu", "gru"): _Names(("Ur", "Uz", "Un"), ("Wr", "Wz", "Wn"), (), "write"),
    ("d2l", "gru"): _Names(("W_xr", "W_xz", "W_xh"), ("W_hr", "W_hz", "W_hh"), ("b_r", "b_z", "b_h")),
    ("goldberg", "gru"): _Names(("W^xr", "W^xz", "W^xs"), ("W^sr", "W^sz", "W^sg"), (), "write"),
    ("goldberg", "lstm"): _Names(("W^xi", "W^xf", "W^xz", "W^xo"), ("W^hi", "W^hf", "W^hz", "W^ho"), ()),
    ("goldberg", "rnn"): _Names(("W^x",), ("W^s",), ("b",)),
    ("ng", "gru"): _Names(("W_xr", "W_xz", "W_xa"), ("W_ar", "W_az", "W_aa"), ("b_r", "b_z", "b_a"), columns=True),
}


def from_source(arrays: Mapping[str, ArrayLike], source: str, cell: str = "gru") -> Params:
    """Read parameters under the names of one of the texts.

    ==========  ====================================================================  ===========================
    source      names                                                                 convention
    ==========  ====================================================================  ===========================
    "ai-edu"    W (3H, H), U (3D, H): the gates z, r, n stacked by rows               x U + h W, write, no bias
    "d2l"       W_xr W_xz W_xh  W_hr W_hz W_hh  b_r b_z b_h                           X W, keep
    "goldberg"  W^xr W^xz W^xs  W^sr W^sz W^sg; also the LSTM and the simple RNN      x W, write, no bias
    "ng"        W_xr W_xz W_xa  W_ar W_az W_aa  b_r b_z b_a, the biases (H, 1)        W x (columns), keep
    ==========  ====================================================================  ===========================

    All four are reset-before. Goldberg's LSTM is W^xi W^xf W^xz W^xo, W^hi W^hf W^hz W^ho, where z is the
    candidate; his simple RNN is W^x, W^s, b.

    Examples
    --------
    >>> from gru_lib import convert
    >>> arrays = {"W": np.zeros((15, 5)), "U": np.zeros((9, 5))}
    >>> p = convert.from_source(arrays, "ai-edu")
    >>> p.D, p.H, p.convention, p.bias
    (3, 5, 'write', False)
    """
    where, names = "from_source", _source("from_source", source, cell)
    wanted = ("W", "U") if source == "ai-edu" else (*names.x, *names.h, *names.b)
    check_instance(where, "arrays", arrays, Mapping)
    if set(arrays) != set(wanted):
        raise ValueError(f"{where}: arrays must have the names {', '.join(wanted)}; got {', '.join(map(str, arrays))}.")
    given = {name: plain(where, f"arrays[{name!r}]", array) for name, array in arrays.items()}
    if source == "ai-edu":
        for name, rows in (("W", "3H"), ("U", "3D")):
            if given[name].ndim != 2 or len(given[name]) % 3:
                raise ValueError(f"{where}: {name} must have shape ({rows}, H); got {given[name].shape}.")
        given = {f"{name}{g}": a for name in "UW" for g, a in zip("zrn", np.split(given[name], 3), strict=True)}
    sizes = {"H": given[names.h[0]].shape[-1] if given[names.h[0]].ndim else -1, "1": 1}
    x_axes, b_axes = (("H", "D"), ("H", "1")) if names.columns else (("D", "H"), ("H",))
    sizes["D"] = given[names.x[0]].shape[x_axes.index("D")] if given[names.x[0]].ndim == 2 else -1
    x = [as_array(where, name, given[name], x_axes, sizes) for name in names.x]
    h = [as_array(where, name, given[name], ("H", "H"), sizes) for name in names.h]
    b = [as_array(where, name, given[name], b_axes, sizes).reshape(-1) for name in names.b]
    if names.columns:
        x, h = [a.T for a in x], [a.T for a in h]
    options = {"convention": names.convention} if cell == "gru" else {}
    b_x = np.concatenate(b) if b else None
    return _build(cell, _OURS[cell], np.concatenate(x, axis=1), np.concatenate(h, axis=1), b_x, None, **options)


def to_source(p: Params, source: str) -> dict[str, Array]:
    """Write parameters under the names and in the convention of one of the texts, whatever the convention of `p`.

    Raises ValueError if a GRU is reset-after, or has biases that are not 0 where the text has none.

    Examples
    --------
    >>> from gru_lib import convert, gru_init
    >>> p = gru_init(np.random.default_rng(0), D=3, H=5)
    >>> arrays = convert.to_source(p, "d2l")
    >>> np.array_equal(arrays["W_xh"], p.W_xn), sorted(arrays)[:3]
    (True, ['W_hh', 'W_hr', 'W_hz'])
    """
    where, cell = "to_source", _cell_of("to_source", p)
    names = _source(where, source, cell)
    W_x, W_h, b, _ = _take(where, p, _OURS, reset_after=False, convention=names.convention)
    if b is not None and not names.b and b.any():
        raise ValueError(f"{where}: p must have no biases, or zeros, for {source!r}; got biases that are not 0.")
    G = len(names.x)
    arrays = dict(zip((*names.x, *names.h), (*np.split(W_x, G, axis=1), *np.split(W_h, G, axis=1)), strict=True))
    if source == "ai-edu":
        return {name: np.concatenate([arrays[name + g] for g in "zrn"]) for name in "WU"}
    if names.b:
        b = np.zeros(W_x.shape[1], p.dtype) if b is None else b
        arrays |= zip(names.b, np.split(b, G), strict=True)
    if names.columns:
        arrays = {name: a.T if a.ndim == 2 else a[:, None] for name, a in arrays.items()}
    return {name: np.ascontiguousarray(a) for name, a in arrays.items()}


# ----------------------------------------------------------------------------------------------------- number by number


def name_of(layout: str, array: str, index: tuple[int, ...], *, D: int, H: int, reset_after: bool = True) -> str:
    """Name the number of our GRU that stands at one place of another layout's array, such as "W_hz[1, 3]".

    It is found by converting a GRU of zeros with a 1 at that place. A minus stands before a number whose sign changes:
    the layout writes with z, and ours here keeps. Both biases of PyTorch, Keras and ONNX on r or z have one name,
    because we store their sum.

    Parameters
    ----------
    layout
        "torch", "keras", "onnx", or one of the sources of `from_source`.
    array
        Its name there: "weight_ih_l0", "kernel", "W", "W_xz" and so on.
    index
        One whole number for each of the array's axes.
    D, H
        Input and hidden size.
    reset_after
        For Keras and ONNX, which hold both; PyTorch's GRU is always reset-after, those of the texts never.

    Raises ValueError for an unknown layout or array, or an index that the array does not have.

    Examples
    --------
    >>> from gru_lib.convert import name_of
    >>> name_of("keras", "recurrent_kernel", (1, 3), D=3, H=5)
    'W_hz[1, 3]'
    >>> name_of("torch", "weight_ih_l0", (7, 2), D=3, H=5)
    'W_xz[2, 2]'
    """
    where = "name_of"
    texts = tuple(dict.fromkeys(name for name, cell in _SOURCES if cell == "gru"))
    check_choice(where, "layout", layout, ("torch", "keras", "onnx", *texts))
    check_bool(where, "reset_after", reset_after)
    check_sequence(where, "index", index)
    index = tuple(check_int(where, "index", i, minimum=-1) for i in index)
    after = layout == "torch" or (reset_after and layout not in texts)
    p = gru_init(np.random.default_rng(0), D, H, reset_after=after)
    p.flat[:] = 0
    write, read = _BOTH_WAYS.get(layout, (lambda p: to_source(p, layout), lambda a, _: from_source(a, layout)))
    arrays = write(p)
    check_choice(where, "array", array, tuple(arrays))
    shape = arrays[array].shape
    if len(index) != len(shape) or not all(0 <= i < size for i, size in zip(index, shape, strict=True)):
        raise ValueError(f"{where}: index must be a place in {array}, which has shape {shape}; got {index}.")
    arrays[array][index] = 1
    p = with_convention(read(arrays, after), "keep")
    names = (*(f"{array}{gate}" for array in ("W_x", "W_h", "b_") for gate in _OURS["gru"]), "b_hn")
    name, part = next((name, getattr(p, name)) for name in names if getattr(p, name).any())
    place = ", ".join(map(str, np.argwhere(part)[0]))
    return f"{'-' if part.min() < 0 else ''}{name}[{place}]"


_KERAS_NAMES, _ONNX_NAMES = ("kernel", "recurrent_kernel", "bias"), ("W", "R", "B")
_BOTH_WAYS: dict[str, tuple[Any, Any]] = {
    "torch": (lambda p: to_torch([[p]]), lambda a, _: from_torch(a, "gru")[0][0]),
    "keras": (
        lambda p: dict(zip(_KERAS_NAMES, to_keras([p]), strict=True)),
        lambda a, after: from_keras(list(a.values()), "gru", reset_after=after)[0],
    ),
    "onnx": (
        lambda p: dict(zip(_ONNX_NAMES, to_onnx([p]), strict=True)),
        lambda a, after: from_onnx(**a, cell="gru", linear_before_reset=int(after))[0],
    ),
}


# ----------------------------------------------------------------------------------------------------------- shared


def _options(where: str, cell: str, options: dict[str, Any], *, reset_after: bool) -> dict[str, Any]:
    """The options of the cell's init, with what the layout itself says of a GRU; it cannot be given otherwise."""
    if cell != "gru":
        return options
    says = {"reset_after": reset_after, "convention": "keep"}
    for name, value in says.items():
        if (got := options.get(name, value)) != value:
            then = f" Use with_convention(p, {got!r}) afterwards." if name == "convention" else ""
            raise ValueError(f"{where}: {name} must be {value!r}, as in the layout; got {got!r}.{then}")
    return {**options, **says}


def _single(array: Any) -> Any:
    """Half precision as float32, which holds it exactly. A tensor is asked for it, since NumPy has no bfloat16."""
    if str(getattr(array, "dtype", "")).removeprefix("torch.") not in ("float16", "bfloat16"):
        return array
    return array.float() if hasattr(array, "float") else np.asarray(array).astype(np.float32)


def _build(cell: str, order: str, W_x: Array, W_h: Array, b_x: Array | None, b_h: Array | None, **options: Any) -> Any:
    """Our parameters from fused row-vector matrices with gates in `order`."""
    arrays = [None if a is None else _reorder(a, order, _OURS[cell]) for a in (W_x, W_h, b_x, b_h)]
    dtype = np.result_type(*[a for a in arrays if a is not None])
    init = _INIT[cell][1]
    bias = b_x is not None
    D, H = len(W_x), len(W_h)
    p = init(np.random.default_rng(0), D, H, bias=bias, dtype=dtype, **options)
    p.W_x[:], p.W_h[:], b_x, b_h = arrays
    if not bias:
        return p
    p.b[:] = b_x
    if b_h is not None and cell == "gru" and p.reset_after:
        p.b[: 2 * H] += b_h[: 2 * H]
        p.b_hn[:] = b_h[2 * H :]
    elif b_h is not None:
        p.b[:] += b_h
    return p


def _take(
    where: str, p: Params, orders: Mapping[str, str], *, reset_after: bool | None = None, convention: str = "keep"
) -> tuple[Array, Array, Array | None, Array | None]:
    """New arrays W_x, W_h, b_x, b_h with gates in another order: the inverse of `_build`."""
    cell = _cell_of(where, p)
    if isinstance(p, GRUParams):
        if reset_after is not None and p.reset_after != reset_after:
            has, lacks = ("after", "before") if reset_after else ("before", "after")
            raise ValueError(
                f"{where}: p must be reset-{has}, the only GRU of that layout; got reset-{lacks}. The two are not "
                f"equivalent: in general no weights of one give the states of the other. "
                f"Train with reset_after={reset_after}."
            )
        p = with_convention(p, convention)
    b_x = b_h = None
    if p.bias:
        b_x, b_h = p.b, np.zeros_like(p.b)
        if cell == "gru" and p.reset_after:
            b_h[2 * p.H :] = p.b_hn
    W_x, W_h = (_reorder(a, _OURS[cell], orders[cell]) for a in (p.W_x, p.W_h))
    b_x, b_h = (None if a is None else _reorder(a, _OURS[cell], orders[cell]) for a in (b_x, b_h))
    return W_x, W_h, b_x, b_h


def _reorder(a: Array, given: str, wanted: str) -> Array:
    """Reorder the blocks of the last axis, one per gate. Always a new array."""
    blocks = np.split(a, len(given), axis=-1)
    return np.concatenate([blocks[given.index(gate)] for gate in wanted], axis=-1)


def _sizes(where: str, name: str, W_h: ArrayLike, cell: str, *, rows: str) -> dict[str, int]:
    """H and G·H from the recurrent matrix, which has one axis of each."""
    shape, G = plain(where, name, W_h).shape, len(_OURS[cell])
    H = shape[0 if rows == "H" else 1] if len(shape) == 2 else 0
    if not H or shape[1 if rows == "H" else 0] != G * H:
        wanted = f"(H, {G}H)" if rows == "H" else f"({G}H, H)"
        raise ValueError(f"{where}: {name} of a {cell} must have shape {wanted}; got {shape}.")
    return {"H": H, "GH": G * H}


def _cell_of(where: str, p: Any, name: str = "p") -> str:
    for cell, (kind, _) in _INIT.items():
        if isinstance(p, kind):
            return cell
    kinds = ", ".join(kind.__name__ for kind, _ in _INIT.values())
    raise TypeError(f"{where}: {name} must be one of {kinds}; got {type(p).__name__}.")


def _directions(where: str, directions: Sequence[Params], name: str = "directions") -> Sequence[Params]:
    if not isinstance(directions, tuple | list) or len(directions) not in (1, 2):
        raise ValueError(f"{where}: {name} must be a list of one or two directions, such as [p]; got {directions!r}.")
    for p in directions:
        _cell_of(where, p, name)
    if len({(_one_kind(where, p), p.D, p.dtype) for p in directions}) > 1:
        raise ValueError(f"{where}: {name} must have one kind and one size; got {directions!r}.")
    return directions


def _one_kind(where: str, p: Params) -> tuple[Any, ...]:
    """What all parts of one layer have in common elsewhere. The convention is not among it: it is converted."""
    return _cell_of(where, p), p.H, p.bias, *(p.options.get(name) for name in ("reset_after", "activation"))


def _source(where: str, source: str, cell: str) -> _Names:
    check_choice(where, "source", source, tuple(dict.fromkeys(name for name, _ in _SOURCES)))
    check_choice(where, f"the cell of {source!r}", cell, tuple(c for name, c in _SOURCES if name == source))
    return _SOURCES[source, cell]
