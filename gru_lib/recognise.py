"""Whose GRU is this? Which reading of a program's arrays gives the states that the program has computed.

Every step of the record is tried by itself, from the recorded state before it: rounding does not grow, and there is no
loop over time. Most readings fall on a dozen steps; those that are left are compared with all of them.

Chapter 10.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import permutations, product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gru_lib.cells.gru import GRUParams, gru_init
from gru_lib.checks import as_array, plain
from gru_lib.ops import sigmoid
from gru_lib.types import Array, MaybeArray

__all__ = ["Reading", "recognise"]

_WHERE = "recognise"
_LAYER = re.compile(r"_l\d+(_reverse)?$")
_FORTRAN = "blocks in Fortran order"
_GATES: dict[str, Callable[[Array], Array]] = {
    "σ": sigmoid,
    "hard σ, clip(a/5 + ½)": lambda a: np.clip(a / 5 + 0.5, 0, 1),
    "hard σ, clip(a/6 + ½)": lambda a: np.clip(a / 6 + 0.5, 0, 1),
}
# What programs have this form, whatever the count of their biases. "apart": an array for each gate, in any order.
_KNOWN = {
    ("rzn", "W x", "W x", "keep", "after"): "PyTorch",
    ("zrn", "x W", "x W", "keep", "after"): "Keras, reset after",
    ("zrn", "x W", "x W", "keep", "before"): "Keras, reset before",
    ("zrn", "W x", "W x", "keep", "before"): "ONNX, linear_before_reset=0",
    ("zrn", "W x", "W x", "keep", "after"): "ONNX, linear_before_reset=1",
    ("zrn", _FORTRAN, "W x", "keep", "after"): "CuDNNGRU",
    ("rzn", "x W", "x W", "keep", "after"): "Flax NNX, or gru_lib with reset_after=True",
    ("rzn", "x W", "x W", "keep", "before"): "gru_lib",
    ("zrn", "x W", "x W", "write", "before"): "Haiku",
    ("rzn", "[x; h] W", "[x; h] W", "keep", "before"): "TensorFlow 1, GRUCell",
    ("apart", "x W", "x W", "keep", "after"): "Flax Linen",
    ("apart", "x W", "x W", "keep", "before"): "D2L",
    ("apart", "x W", "x W", "write", "after"): "Lasagne",
    ("rnz", "[x; h] W", "[x; h] W", "write", "whole"): "Dreamer",
    ("rnz", "W [x; h]", "W [x; h]", "write", "whole"): "Dreamer",
}
_APART = {
    "reset": "a step from a state that is not 0 in which r is neither 0 nor 1 and differs from unit to unit",
    "place": "two biases of n that differ, in steps in which r is not 1",
    "convention": "a z that is not ½",
    "order": "gates that differ, in steps from a state that is not 0",
    "x": "an input that is not 0, with weights that differ",
    "h": "a state that is not 0, with a recurrent matrix that is not symmetric",
    "gate": "gates far from ½",
    "shift": "a z that is neither 0 nor 1",
}


class Reading(NamedTuple):
    """One way to read the arrays that gives the recorded states."""

    name: str  # in words, such as "Keras, reset after"
    p: GRUParams | None  # ready for gru_forward, or None
    why: str  # why there is no p
    error: float  # the largest difference in one step from the recorded state before it
    taken: dict[str, str]  # for each array, what it was taken for
    says: dict[
        str, str
    ]  # the choices: order, x, h, convention, reset, place (which bias of n is inside r), gate, shift
    apart: str  # what a recording must contain to tell this reading from the others; "" if there is none


class _Blocks(NamedTuple):
    """The arrays, cut into a block for each gate, in the order in which they are stored."""

    says: dict[str, str]  # how x and h are multiplied
    x: list[Array]  # three (D, H)
    h: list[Array]  # three (H, H)
    b: list[tuple[str, Array, Array]]  # (which stands inside r, first biases (3, H), second ones (3, H) or n's (H,))
    roles: dict[str, tuple[str, int]]  # array: what it holds, and of how many gates


class _Trial(NamedTuple):
    """One reading, with the gates in the order r, z, n."""

    says: dict[str, str]
    x: Array  # (3, D, H)
    h: Array  # (3, H, H)
    b: Array  # (3, H)
    inside: Array  # (H,), what is added inside r
    roles: dict[str, tuple[str, int]]


def recognise(
    arrays: Mapping[str, Any] | Sequence[ArrayLike], xs: ArrayLike, hs: ArrayLike, *, h0: MaybeArray = None
) -> list[Reading]:
    """Whose GRU is this? Find how a program reads its arrays, from a short run of it.

    Tried are the orders of the gates, x W and W x, blocks in Fortran order, [x; h] in one matrix, keep and write, the
    reset before the product, after it and over the whole pre-activation (Dreamer), the place of the second bias of n,
    σ and two hard σ. A candidate that is not a tanh, a layer norm or a projection is recognised by none.

    Parameters
    ----------
    arrays
        As the program keeps them, by any names or as a list; nested, as Flax has them; one array for all gates, or for
        each. Arrays for single gates come in one order: if W_xz is the first of its kind, so are W_hz and b_z.
    xs : array (T, N, D)
        Inputs, such as ``rng.normal(size=(5, 3, D))``: random, and the sizes all different.
    hs : array (T, N, H)
        The state after every step, in float32 or float64.
    h0 : array (N, H), optional
        The state before the first; 0 if left out.

    Returns
    -------
    list of Reading
        Those that agree with every state of the record to at least 3·10⁻⁵, the best first. Several are left where the
        record does not tell them apart; then `apart` says what one would have to contain.

    One layer in one direction is read: of a deep or bidirectional net, give one layer's arrays, inputs and states.
    Raises ValueError if none agrees, with the nearest reading, its error and the step at which it parts.

    Examples
    --------
    >>> from gru_lib import convert, gru_forward, gru_init
    >>> rng = np.random.default_rng(0)
    >>> p = gru_init(rng, D=2, H=4, reset_after=True)
    >>> xs = rng.normal(size=(5, 3, 2))
    >>> hs, *_ = gru_forward(xs, None, p)
    >>> [found] = convert.recognise(convert.to_keras([p]), xs, hs)
    >>> found.name, np.array_equal(found.p.flat, p.flat)
    ('Keras, reset after', True)
    """
    named, dtype = _named(arrays)
    xs, hs, h0 = _record(xs, hs, h0)
    _one_layer(named)
    (D,), H = xs.shape[2:], hs.shape[2]
    ways = list(_cuts(named, D, H))
    if not ways:
        raise ValueError(f"{_WHERE}: {_misfit(named, D, H)}")
    trials, limit, near = _search(ways, xs, hs, h0)
    if not trials:
        raise ValueError(f"{_WHERE}: {_nearest(near, limit, ways, xs, hs, h0)}")
    found: list[Reading] = []
    for error, trial in trials:
        p, why = _params(trial, dtype)
        found.append(Reading(_name(trial.says), p, why, error, _taken(trial), trial.says, ""))
    keys = [key for key in _APART if len({each.says[key] for each in found}) > 1]
    return [each._replace(apart="; ".join(_APART[key] for key in keys)) for each in found]


def _named(arrays: Any, prefix: str = "") -> tuple[dict[str, Array], Any]:
    """The arrays by name, in float64, flat where they were nested; and the dtype that p is to have."""
    if isinstance(arrays, tuple | list):
        arrays = {f"arrays[{i}]": array for i, array in enumerate(arrays)}
    if not isinstance(arrays, Mapping):
        raise TypeError(f"{_WHERE}: arrays must be a dict or a list of arrays; got {type(arrays).__name__}.")
    named: dict[str, Array] = {}
    dtypes = [np.dtype(np.float32)]
    for name, array in arrays.items():
        if isinstance(array, Mapping):
            more, dtype = _named(array, f"{prefix}{name}/")
            named |= more
        else:
            array = array.float() if str(getattr(array, "dtype", "")) == "torch.bfloat16" else array
            array = plain(_WHERE, f"{prefix}{name}", array)
            if array.dtype.kind not in "fiu":
                raise TypeError(f"{_WHERE}: {prefix}{name} must hold real numbers; got dtype {array.dtype}.")
            if not np.isfinite(array).all():
                raise ValueError(f"{_WHERE}: {prefix}{name} must be finite; it holds NaN or infinity.")
            named[f"{prefix}{name}"] = array.astype(np.float64)
            dtype = array.dtype
        dtypes.append(dtype)
    return named, np.dtype(np.float64) if np.result_type(*dtypes) != np.float32 else dtypes[0]


def _one_layer(named: Mapping[str, Array]) -> None:
    """Refuse PyTorch's arrays of several layers or of both directions, which their names tell."""
    ends = sorted({match[0] for name in named if (match := _LAYER.search(name))})
    if len(ends) > 1:
        raise ValueError(
            f"{_WHERE}: it reads one layer in one direction; got names that end in {', '.join(ends)}. Give the arrays "
            "of one of them, with its own inputs and states. A layer above reads the outputs of the one below."
        )


def _record(xs: Any, hs: Any, h0: Any) -> tuple[Array, Array, Array]:
    xs, hs = plain(_WHERE, "xs", xs), plain(_WHERE, "hs", hs)
    for name, array in (("xs", xs), ("hs", hs)):
        if array.ndim == 2:
            raise ValueError(
                f"{_WHERE}: {name} must be (T, N, …); got {array.shape}. For one sequence, {name}[:, None]."
            )
        if array.dtype == np.float16:
            raise ValueError(f"{_WHERE}: {name} must be float32 or float64; float16 is too coarse. Run it in float32.")
    xs = as_array(_WHERE, "xs", xs, ("T", "N", "D"), {})
    T, N, _ = xs.shape
    hs = as_array(_WHERE, "hs", hs, ("T", "N", "H"), {"T": T, "N": N})
    sizes = {"T": T, "N": N, "H": hs.shape[2]}
    h0 = np.zeros(hs.shape[1:]) if h0 is None else as_array(_WHERE, "h0", h0, ("N", "H"), sizes)
    for name, array in (("xs", xs), ("hs", hs), ("h0", h0)):
        if not array.size or not np.isfinite(array).all():
            bad = np.argwhere(~np.isfinite(array))
            what = f"NaN or infinity at {bad[0].tolist()}" if len(bad) else f"shape {array.shape}"
            raise ValueError(f"{_WHERE}: {name} must hold finite numbers; got {what}.")
    if T == 1 and not h0.any():
        raise ValueError(
            f"{_WHERE}: xs has one step from a state of 0, which shows nothing of r and of the recurrent matrix. "
            "Record two steps or more, or give an h0 that is not 0."
        )
    return xs, hs, h0


# --------------------------------------------------------------------------------------------------- what is what


def _ways(a: Array, rows: int, H: int, g: int) -> dict[str, list[Array]]:
    """The ways to read an array as g blocks (rows, H) side by side or on top of each other, by name."""
    found: dict[str, list[Array]] = {}
    for axis in (0, 1):
        if a.ndim != 2 or a.shape[axis] % g:
            continue
        blocks = np.split(a, g, axis)
        if blocks[0].shape == (H, rows):
            found["W x"] = [block.T for block in blocks]
        if blocks[0].shape == (rows, H):
            found["x W"] = blocks
            if axis and rows != H:
                found[_FORTRAN] = [block.reshape(H, rows).T for block in blocks]
            elif rows == H:
                found["W x"] = [block.T for block in blocks]
    return found


def _roles(a: Array, D: int, H: int) -> list[tuple[str, int]]:
    """What an array may hold by its shape: "x", "h", "xh" or "b", and of how many gates."""
    while a.ndim > 2 and len(a) == 1:
        a = a[0]
    found = [(kind, g) for kind, rows in (("x", D), ("h", H), ("xh", D + H)) for g in (1, 2, 3) if _ways(a, rows, H, g)]
    flat = a.ndim < 2 or 1 in a.shape or (a.ndim == 2 and len(a) == 2)
    if flat and a.size % H == 0 and a.size // H in (1, 2, 3, 4, 6):
        found.append(("b", a.size // H))
    return found


def _cuts(named: dict[str, Array], D: int, H: int) -> Iterator[_Blocks]:
    """Every way to give each array a role, and to cut it into blocks, that makes a whole GRU."""
    arrays = {name: a[0] if a.ndim > 2 and len(a) == 1 else a for name, a in named.items()}
    choices = list(product(*(_roles(a, D, H) for a in arrays.values()))) if len(arrays) < 14 else []
    totals = [{kind: sum(g for k, g in choice if k == kind) for kind in ("x", "h", "xh", "b")} for choice in choices]
    whole = [
        choice
        for choice, n in zip(choices, totals, strict=True)
        if n["b"] in (0, 3, 4, 6) and (n["x"], n["h"], n["xh"]) in ((3, 3, 0), (0, 0, 3))
    ]
    if len(whole) > 4:  # an array for each gate, and D = H: those of x first, those of h first, or in turn
        kinds = ["".join(kind for kind, _ in choice if kind in "xh") for choice in whole]
        whole = [
            c for c, k in zip(whole, kinds, strict=True) if k in ("xxxhhh", "hhhxxx", "xhxhxh", "hxhxhx", "xh", "hx")
        ]
    for choice in whole:
        given = list(zip(arrays.values(), choice, strict=True))

        def read(kind: str, rows: int, given: Any = given) -> Iterator[tuple[str, list[Array]]]:
            ways = [_ways(a, rows, H, g) for a, (k, g) in given if k == kind]
            for way in ways[0] if ways else ():
                if all(way in each for each in ways):
                    yield way, [block for each in ways for block in each[way]]

        roles = dict(zip(arrays, choice, strict=True))
        b = list(_biases([a.reshape(-1, H) for a, (kind, _) in given if kind == "b"], H))
        for (x, x_blocks), (h, h_blocks) in product(read("x", D), read("h", H)):
            yield _Blocks({"x": x, "h": h}, x_blocks, h_blocks, b, roles)
        for way, blocks in read("xh", D + H):
            for first, k in (("[x; h]", D), ("[h; x]", H)):
                says = dict.fromkeys("xh", f"W {first}" if way == "W x" else f"{first} W")
                parts = [a[:k] for a in blocks], [a[k:] for a in blocks]
                if way != _FORTRAN:
                    yield _Blocks(says, *(parts if first == "[x; h]" else parts[::-1]), b, roles)


def _biases(rows: list[Array], H: int) -> Iterator[tuple[str, Array, Array]]:
    b = np.concatenate(rows) if rows else np.zeros((3, H))
    if len(b) == 4:  # one of them is alone, and it is n's
        for k in (3, 0, 1, 2):
            yield "the second", np.delete(b, k, axis=0), b[k]
        return
    pairs = [(b[:3], b[3:] if len(b) == 6 else np.zeros((3, H)))]
    if len(b) == 6 and all(len(row) == 1 for row in rows):
        pairs.append((b[::2], b[1::2]))
    for first, second in pairs:
        yield "the second", first, second
        yield "the first", second, first


# ------------------------------------------------------------------------------------------------ trying the readings


def _trials(ways: list[_Blocks], gates: Sequence[str]) -> Iterator[_Trial]:
    for blocks, gate, order, convention in product(ways, gates, permutations("rzn"), ("keep", "write")):
        at = [order.index(g) for g in "rzn"]
        x, h = np.stack([blocks.x[k] for k in at]), np.stack([blocks.h[k] for k in at])
        apart = all(g == 1 for kind, g in blocks.roles.values() if kind != "b")
        says = {"order": "".join(order), **blocks.says, "convention": convention, "gate": gate, "shift": "0"}
        says["stored"] = "apart" if apart else says["order"]
        for place, first, second in blocks.b:
            one = first[at]
            two = second[at] if second.ndim == 2 else np.stack([0 * second, 0 * second, second])
            inside = one + two * [[1], [1], [0]]
            yield _Trial({**says, "reset": "after", "place": place}, x, h, inside, two[2], blocks.roles)
            if place == "the second":
                for reset, shift in (("after", "0"), ("before", "0"), ("whole", "0"), ("whole", "-1")):
                    more = {"reset": reset, "place": "neither", "shift": shift}
                    yield _Trial({**says, **more}, x, h, one + two, 0 * two[2], blocks.roles)


def _step(t: _Trial, x: Array, h: Array) -> Array:
    gate, reset = _GATES[t.says["gate"]], t.says["reset"]
    r = gate(x @ t.x[0] + h @ t.h[0] + t.b[0])
    z = gate(x @ t.x[1] + h @ t.h[1] + t.b[1] + int(t.says["shift"]))
    a = x @ t.x[2] + t.b[2]
    if reset == "before":
        n = np.tanh(a + (r * h) @ t.h[2])
    elif reset == "after":
        n = np.tanh(a + r * (h @ t.h[2] + t.inside))
    else:
        n = np.tanh(r * (a + h @ t.h[2]))
    keep = z if t.says["convention"] == "keep" else 1 - z
    return keep * h + (1 - keep) * n


def _search(
    ways: list[_Blocks], xs: Array, hs: Array, h0: Array
) -> tuple[list[tuple[float, _Trial]], float, tuple[_Trial, Array]]:
    """The readings that agree, the best first; the error up to which they do; the nearest, and its errors (T, N)."""
    before = np.concatenate([h0[None], hs[:-1]])
    x, h, wanted = (a.reshape(-1, a.shape[2]).astype(np.float64) for a in (xs, before, hs))
    few = np.unique(np.linspace(0, len(x) - 1, 12).astype(int))
    found: list[tuple[float, _Trial]] = []
    for gates in (["σ"], [gate for gate in _GATES if gate != "σ"]):
        for t in _trials(ways, gates):
            found.append((float(np.abs(_step(t, x[few], h[few]) - wanted[few]).mean()), t))
        nearest = min(found, key=lambda each: each[0])
        off = np.abs(_step(nearest[1], x, h) - wanted).max(axis=1)
        limit = max(1e-9 if hs.dtype == np.float64 else 3e-5, min(3e-5, 100 * float(off.max())))
        if off.max() <= limit:
            break
    else:
        return [], limit, (nearest[1], off.reshape(hs.shape[:2]))
    agree: dict[tuple[Any, ...], tuple[float, _Trial]] = {}
    for rough, t in found:
        if rough <= limit:
            error = float(np.abs(_step(t, x, h) - wanted).max())
            one = (t.says["reset"], t.says["convention"], t.says["gate"], t.says["shift"], *map(bytes, t[1:5]))
            if error <= limit and one not in agree:  # of readings that are one function with one set of numbers, one
                agree[one] = error, t
    best = sorted(agree.values(), key=lambda each: (max(each[0], 1e-9), _known(each[1].says) is None))
    return best, limit, (nearest[1], off.reshape(hs.shape[:2]))


# ------------------------------------------------------------------------------------------------------------ in words


def _known(says: Mapping[str, str]) -> str | None:
    usual = says["place"] == ("the second" if says["reset"] == "after" else "neither") and says["gate"] == "σ"
    key = says["stored"], says["x"], says["h"], says["convention"], says["reset"]
    return _KNOWN.get(key) if usual else None


def _name(says: Mapping[str, str]) -> str:
    if known := _known(says):
        return known
    words = ["an array for each gate" if says["stored"] == "apart" else f"gates {' '.join(says['order'])}"]
    words += [says["x"]] + [says["h"].replace("x", "h")] * (says["h"] != says["x"]) + [f"{says['convention']}s"]
    words += ["reset over the whole of n" if says["reset"] == "whole" else f"reset {says['reset']}"]
    words += ["the first bias of n inside r"] * (says["place"] == "the first" and says["reset"] == "after")
    words += ["both biases of n outside r"] * (says["place"] == "neither" and says["reset"] == "after")
    words += [says["gate"]] * (says["gate"] != "σ")
    return ", ".join(words + ["z with 1 less"] * (says["shift"] != "0"))


def _params(t: _Trial, dtype: Any) -> tuple[GRUParams | None, str]:
    if t.says["reset"] == "whole":
        return None, "gru_lib has no GRU whose reset gate multiplies the whole pre-activation of n."
    if t.says["gate"] != "σ":
        return None, f"gru_lib has no GRU with {t.says['gate']} for its gates."
    bias, after = any(kind == "b" for kind, _ in t.roles.values()), t.says["reset"] == "after"
    (D, H), rng = t.x.shape[1:], np.random.default_rng(0)
    p = gru_init(rng, D, H, reset_after=after, bias=bias, convention=t.says["convention"], dtype=dtype)
    p.W_x[:], p.W_h[:] = np.concatenate(t.x, axis=1), np.concatenate(t.h, axis=1)
    if bias:
        p.b[:] = t.b.ravel()
    if bias and after:
        p.b_hn[:] = t.inside
    return p, ""


def _taken(t: _Trial) -> dict[str, str]:
    order, found, at = t.says["order"], {}, {"x": 0, "h": 0, "xh": 0, "b": 0}
    total = sum(g for kind, g in t.roles.values() if kind == "b")
    for name, (kind, g) in t.roles.items():
        start, at[kind] = at[kind], at[kind] + g
        gates = " ".join((order * 2)[start : start + g])
        if kind == "b":
            known = total == 3 or (total == 6 and g > 1)
            found[name] = f"biases of {gates}" if known else "a bias" if g == 1 else "biases"
        else:
            way = t.says["h" if kind == "h" else "x"]
            found[name] = f"{'W_x' if kind == 'x' else 'W_h' if kind == 'h' else 'W_x and W_h'} of {gates}: "
            found[name] += way.replace("x", "h") if kind == "h" else way
    return found


def _misfit(named: dict[str, Array], D: int, H: int) -> str:
    shapes = ", ".join(f"{name} {a.shape}" for name, a in named.items()) or "nothing"
    said = f"arrays must hold three gates' weights from D = {D} inputs and H = {H} units, and 0, 3, 4 or 6 biases for "
    said += f"each unit; got {shapes}."
    if any(4 * H in a.shape for a in named.values()):
        return f"{said} An array has 4H: is it an LSTM?"
    if H % 2 == 0 and any(True for _ in _cuts(named, D, H // 2)):
        return f"{said} They fit H = {H // 2}: does hs have both directions? Give one of them."
    if len(named) % 2 == 0:
        half = dict(list(named.items())[: len(named) // 2])
        if H % 2 == 0 and any(True for _ in _cuts(half, D, H // 2)):
            return f"{said} They fit two directions of H = {H // 2}: give the arrays and the columns of hs of one."
    return said


def _nearest(near: tuple[_Trial, Array], limit: float, ways: list[_Blocks], xs: Array, hs: Array, h0: Array) -> str:
    """What is said if no reading agrees."""
    t, off = near
    step = int(np.argmax((off > limit).any(axis=1)))
    said = f"no reading of arrays agrees with hs. The nearest, {_name(t.says)}, is off by {off.max():.2g}; it parts "
    said += f"from hs at step {step} (counted from 0)."
    if (off[1:] <= limit).all():
        return f"{said} All later steps agree: give the h0 of the record."
    start = h0 if h0.any() else None
    others = {
        "xs and hs have the batch first: give xs.swapaxes(0, 1) and hs.swapaxes(0, 1)": (0, 0),
        "the record was run backwards: give xs[::-1] and hs[::-1]": (1, 1),
        "the record was run backwards and its outputs are not turned round again: give xs[::-1]": (1, 0),
    }
    for words, (turn_x, turn_h) in others.items():
        if turn_x:
            again = xs[::-1], hs[::-1] if turn_h else hs, h0
        elif start is None:
            again = xs.swapaxes(0, 1), hs.swapaxes(0, 1), np.zeros((len(hs), hs.shape[2]))
        else:
            continue
        if found := _search(ways, *again)[0]:
            return f"no reading of arrays agrees with hs, but {_name(found[0][1].says)} does if {words}."
    still = (hs[1:] == hs[:-1]).all(axis=2) | (hs[1:] == 0).all(axis=2)
    if still[-1].any() and ((off <= limit)[1:] | still).all():
        return (
            f"{said} Up to there all agree, and then hs is 0 or stands still: is it padding? Give the real steps only."
        )
    if off.max() < 0.01 and (hs == hs.astype(np.float32)).all():
        return f"{said} That may be rounding: run it in float64, or in float32 without TF32."
    if off.max() > 0.1:
        said += " That is far: is there another activation, a layer norm, an order of gates in x that h has not?"
    return said
