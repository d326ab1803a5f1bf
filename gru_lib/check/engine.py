"""Is my function right, and if not, what did I do? The checker behind the exercises.

Each function here takes a function of yours and returns a `Result`: ``.ok``, and a ``.message`` that a notebook shows
when the call is the last line of a cell. Nothing is raised for a wrong answer, an unfinished one or one that crashes.

Your function is run on random numbers and compared with an oracle written below straight from the equations, with
loops, apart from the rest of the library. Where they differ, the oracle is run again with one mistake after another
planted in it; if one of these gives your numbers, that is the mistake you made, and the message names it.
"""

from __future__ import annotations

import copy
import math
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gru_lib._core.checks import check_choice
from gru_lib._core.params import Params
from gru_lib.cells.elman import elman_init
from gru_lib.cells.gru import GRUCache, gru_init
from gru_lib.cells.lstm import LSTMState, lstm_init

__all__ = [
    "Result",
    "adam",
    "bce",
    "clip",
    "elman_step",
    "elman_step_backward",
    "gru_backward",
    "gru_forward",
    "gru_step",
    "gru_step_backward",
    "lstm_step",
    "lstm_step_backward",
    "sigmoid",
    "softmax_cross_entropy",
]

Array = NDArray[Any]
Outputs = dict[str, Array]
Mistakes = Iterable[tuple[str, Outputs]]


@dataclass(frozen=True, repr=False)
class Result:
    """What a check found.

    Attributes
    ----------
    ok : bool
        Whether the function is right. The result itself is true or false likewise.
    message : str
        What is wrong, in a sentence or two; or that nothing is.
    """

    ok: bool
    message: str

    def __bool__(self) -> bool:
        return self.ok

    def __repr__(self) -> str:
        return f"{'Right' if self.ok else 'Not yet'}: {self.message}"


@dataclass
class _Task:
    """One exercise: what the function is given, what it must return, and how it may go wrong."""

    name: str
    args: tuple[Any, ...]
    arg_names: tuple[str, ...]
    right: Outputs
    unpack: Callable[[Any], Outputs | str]  # what came back, by name; or what is wrong with its form
    mistakes: Callable[[], Mistakes] = tuple
    terms: dict[str, dict[str, Array]] = field(default_factory=dict)  # output -> the terms whose sum it is
    kwargs: dict[str, Any] = field(default_factory=dict)
    batch: int = 0  # N, to recognise a mean in place of a sum


# ------------------------------------------------------------------------------------------------------- the engine


def _run(task: _Task, f: Callable[..., Any]) -> Result:
    """Run the function on the task and say what is wrong with it."""
    fault = _fault(task, f)
    if fault is None:
        fault = _float32_fault(task, f)
    return Result(True, f"{task.name} does what the equations say.") if fault is None else Result(False, fault)


def _fault(task: _Task, f: Callable[..., Any]) -> str | None:
    if not callable(f):
        return f"give the function itself, as in check.{task.name}({task.name}); this is a {type(f).__name__}."
    args = copy.deepcopy(task.args)
    raw, fault = _call(task.name, f, *args, **copy.deepcopy(task.kwargs))
    if fault is not None:
        return fault
    for name, given, after in zip(task.arg_names, task.args, args, strict=True):
        if not _unchanged(given, after):
            return (
                f"{name} was changed in place: it is the caller's array. Write a new one "
                "(h = h + a in place of h += a, or start from a copy)."
            )
    found = task.unpack(raw)
    if isinstance(found, str):
        return found
    for name, right in task.right.items():
        fault = _form_fault(task, name, found[name], right)
        if fault is not None:
            return fault
    found = {name: np.asarray(found[name]) for name in task.right}
    wrong = [name for name, right in task.right.items() if not _same(found[name], right)]
    if not wrong:
        return None
    for message, outputs in task.mistakes():
        if all(_same(found[name], outputs[name]) for name in task.right):
            return message
    for name in wrong:
        fault = _array_fault(task, name, found[name])
        if fault is not None:
            return fault + _others(task, wrong, but=name)
    name = wrong[0]
    off = np.abs(found[name] - task.right[name])
    at = tuple(int(i) for i in np.unravel_index(int(off.argmax()), off.shape))
    place = f" at {list(at)}" if at else ""
    return f"{name} is wrong: it is {found[name][at]:.6g}{place}, and should be {task.right[name][at]:.6g}." + _others(
        task, wrong, but=name
    )


def _call(name: str, f: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Any, str | None]:
    """What the reader's function returns, or what is wrong with that it returns nothing."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            raw = f(*args, **kwargs)
    except NotImplementedError:
        raw = None
    except Exception as error:
        return None, _crash(name, f, error)
    if raw is None or raw is Ellipsis:
        return None, f"{name} is still blank. Take your time: fill in its lines, and run this cell again."
    return raw, None


def _crash(name: str, f: Callable[..., Any], error: Exception) -> str:
    file = getattr(getattr(f, "__code__", None), "co_filename", None)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    line = f" in the line `{frames[-1].line}`" if frames and frames[-1].line else ""
    return f"{name} stopped with {type(error).__name__}{line}: {error}"


def _unchanged(given: Any, after: Any) -> bool:
    if isinstance(given, Params):
        return np.array_equal(given.flat, after.flat, equal_nan=True)
    if isinstance(given, tuple | list):
        return len(given) == len(after) and all(map(_unchanged, given, after))
    return np.array_equal(given, after, equal_nan=True)


def _form_fault(task: _Task, name: str, value: Any, right: Array) -> str | None:
    """What is wrong with the shape or type of an output, or with its being numbers at all."""
    if value is None or value is Ellipsis:
        return f"{name} is still {'None' if value is None else '...'}. The rest runs: fill in this one next."
    try:
        array = np.asarray(value)
    except ValueError:  # a ragged list
        array = np.asarray(None)
    if array.dtype.kind not in "biufc":
        return f"{name} must be an array of numbers; it is a {type(value).__name__}."
    if array.shape != right.shape:
        hint, N = "", task.batch
        if array.ndim == right.ndim == 2 and array.T.shape == right.shape:
            hint = " It is transposed."
        elif name.startswith("d") and N and array.shape == (N, *right.shape):
            hint = " It has a row for each sequence: sum over the batch, axis 0."
        elif name.startswith("d") and N and array.shape == (N,):
            hint = " That is a sum over the units: sum over the batch, axis 0, in place of axis 1."
        elif array.size == right.size:
            hint = " The numbers are that many: an axis is kept, dropped or moved."
        return f"{name} must have shape {right.shape}; it has {array.shape}.{hint}"
    if not np.isfinite(array).all():
        return f"{name} holds NaN or infinity. Look for a division by 0, an overflow, or np.empty that was not filled."
    return None


def _float32_fault(task: _Task, f: Callable[..., Any]) -> str | None:
    """Right in float64; now float32 in must give float32 out."""

    def single(value: Any) -> Any:
        if isinstance(value, Params):
            return value.astype(np.float32)
        if isinstance(value, tuple | list):
            parts = [single(v) for v in value]
            return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
        if isinstance(value, np.ndarray) and value.dtype == np.float64:
            return value.astype(np.float32)
        return value

    raw, fault = _call(task.name, f, *single(task.args), **task.kwargs)
    found = fault or task.unpack(raw)
    if isinstance(found, str):
        return f"the numbers are right in float64, but with float32 {found}"
    for name, right in task.right.items():
        dtype = np.asarray(found[name]).dtype
        if right.ndim and dtype != np.float32:
            return (
                f"the numbers are right, but {name} is {dtype} when everything given is float32. "
                "Allocate with the dtype of the inputs (np.zeros_like, np.result_type)."
            )
    return None


def _array_fault(task: _Task, name: str, found: Array) -> str | None:
    """A mistake that one wrong array shows on its own."""
    right = task.right[name]
    terms = task.terms.get(name, {})
    for label, term in terms.items():
        if _same(found, right - term):
            return f"{name} lacks a term: {label}."
        if _same(found, right - 2 * term):
            return f"{name} has a term with the wrong sign: {label}."
        if len(terms) > 2 and _same(found, term):
            return f"{name} has only one of its {len(terms)} terms: {label}."
    if _same(found, -right):
        return f"{name} has the wrong sign."
    if right.ndim == 2 and right.shape[0] == right.shape[1] and _same(found, right.T):
        return f"{name} is transposed."
    if task.batch > 1 and _same(found * task.batch, right):
        return f"{name} is a mean over the batch; it must be the sum. The mean, if any, is in the loss already."
    for other, array in task.right.items():
        if other != name and array.shape == right.shape and _same(found, array):
            return f"{name} holds what belongs in {other}."
    size = np.linalg.norm(right)
    factor = float((found * right).sum() / size**2) if size else 0.0
    if factor and _same(found, factor * right):
        return f"{name} is {factor:.6g} times what it should be."
    if not found.any():
        return f"{name} is all zeros."
    return None


def _others(task: _Task, wrong: list[str], *, but: str) -> str:
    fine = [name for name in task.right if name not in wrong]
    text = f" Right: {', '.join(fine)}." if fine else ""
    more = [name for name in wrong if name != but]
    return text + (f" Wrong too: {', '.join(more)}." if more else "")


def _same(a: Any, b: Array) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=1e-7, atol=1e-9))


def _first(name: str) -> Callable[[Any], Outputs | str]:
    """The function returns one array; a cache or the like may follow."""
    return lambda raw: {name: raw[0] if isinstance(raw, tuple) and raw else raw}


def _several(task: str, *names: str) -> Callable[[Any], Outputs | str]:
    """The function returns several arrays; more may follow."""

    def unpack(raw: Any) -> Outputs | str:
        if not isinstance(raw, tuple | list) or len(raw) < len(names):
            count = f"{len(raw)} things" if isinstance(raw, tuple | list) else f"one {type(raw).__name__}"
            return f"{task} must return {', '.join(names)}; it returns {count}."
        return dict(zip(names, raw, strict=False))

    return unpack


def _with_grads(task: str, names: Iterable[str], *outer: str) -> Callable[[Any], Outputs | str]:
    """The function returns arrays and then the parameters' gradients, as Params or by name."""

    def unpack(raw: Any) -> Outputs | str:
        found = _several(task, *outer, "grads")(raw)
        if isinstance(found, str):
            return found
        grads = found.pop("grads")
        if isinstance(grads, Mapping):
            have = {str(name).removeprefix("d"): value for name, value in grads.items()}
            missing = [name for name in names if name not in have]
            if missing:
                return f"grads must have {', '.join(names)}; {', '.join(missing)} missing."
            return found | {f"d{name}": have[name] for name in names}
        if not isinstance(grads, Params):
            return f"grads must be a Params (start from p.zeros_like()) or a dict; it is a {type(grads).__name__}."
        missing = [name for name in names if not hasattr(grads, name)]
        if missing:
            return f"grads must be made by p.zeros_like(); this {type(grads).__name__} has no {', '.join(missing)}."
        return found | {f"d{name}": getattr(grads, name) for name in names}

    return unpack


# -------------------------------------------------------------------------------- the oracle: equations, with loops


def _sig(a: float) -> float:
    return 1 / (1 + math.exp(-a)) if a > 0 else math.exp(a) / (1 + math.exp(a))


def _matmul(A: Array, B: Array) -> Array:
    """A B, one sum at a time."""
    rows, inner, columns = A.shape[0], A.shape[1], B.shape[1]
    return np.array([[sum(A[i, k] * B[k, j] for k in range(inner)) for j in range(columns)] for i in range(rows)])


def _each(function: Callable[..., float], *arrays: Array) -> Array:
    """Apply a function of numbers to every entry."""
    return np.array([[function(*v) for v in zip(*rows, strict=True)] for rows in zip(*arrays, strict=True)])


def _column_sums(A: Array) -> Array:
    return np.array([sum(A[i, j] for i in range(A.shape[0])) for j in range(A.shape[1])])


def _weights(p: Params, gates: str) -> dict[str, Array]:
    """The arrays of each gate by name, copied; zeros where there is no bias."""
    names = [f"{a}{g}" for g in gates for a in ("W_x", "W_h", "b_")] + (["b_hn"] if gates == "rzn" else [])
    return {name: np.zeros(p.H) + v if np.ndim(v := getattr(p, name)) < 2 else v.copy() for name in names}


def _affine(x: Array, h: Array, w: Mapping[str, Array], gate: str) -> Array:
    return _matmul(x, w[f"W_x{gate}"]) + _matmul(h, w[f"W_h{gate}"]) + w[f"b_{gate}"]


def _gru(
    x: Array,
    h_prev: Array,
    w: Mapping[str, Array],
    *,
    after: bool,
    write: bool,
    gate: Callable[[float], float] = _sig,
    squash: Callable[[float], float] = math.tanh,
) -> dict[str, Array]:
    """r, z, n, h and q of one step (chapter 4)."""
    r, z = _each(gate, _affine(x, h_prev, w, "r")), _each(gate, _affine(x, h_prev, w, "z"))
    if after:
        q = _matmul(h_prev, w["W_hn"]) + w["b_hn"]
        n = _each(squash, _matmul(x, w["W_xn"]) + w["b_n"] + _each(lambda a, b: a * b, r, q))
    else:
        q = _each(lambda a, b: a * b, r, h_prev)
        n = _each(squash, _matmul(x, w["W_xn"]) + _matmul(q, w["W_hn"]) + w["b_n"])
    h = _each(lambda z, p, n: (1 - z) * p + z * n if write else z * p + (1 - z) * n, z, h_prev, n)
    return {"r": r, "z": z, "n": n, "q": q, "h": h}


def _gru_mistakes(
    w: dict[str, Array], run: Callable[..., Outputs], *, after: bool, write: bool, bias: bool
) -> Iterator[tuple[str, Outputs]]:
    """Everything that goes wrong in a forward step. `run` computes the outputs from weights and options."""
    kept = "h = (1 − z) ⊙ h_prev + z ⊙ n" if write else "h = z ⊙ h_prev + (1 − z) ⊙ n"
    place = "r ⊙ (h_prev W_hn + b_hn)" if after else "(r ⊙ h_prev) W_hn"

    def twist(message: str, change: Mapping[str, Any] | None = None, **options: Any) -> tuple[str, Outputs]:
        return message, run({**w, **(change or {})}, **({"after": after, "write": write} | options))

    H = len(w["b_r"])
    yield twist(f"z and 1 − z have changed places. Here {kept}.", write=not write)
    yield twist(
        f"the reset gate acts {'before' if after else 'after'} the product with W_hn. "
        f"Here it acts {'after' if after else 'before'} it: {place}.",
        {"b_hn": np.zeros(H)} if not after else None,
        after=not after,
    )
    r_as_z, z_as_r = ({a + s: w[a + t] for a in ("W_x", "W_h", "b_")} for s, t in ("zr", "rz"))
    yield twist("r and z have changed places: r belongs into the candidate, z into the new state.", r_as_z | z_as_r)
    yield twist(f"r stands where z belongs: {kept}.", r_as_z)
    yield twist(f"z stands where r belongs: {place}.", z_as_r)
    off = {"W_xr": 0 * w["W_xr"], "W_hr": 0 * w["W_hr"]}
    yield twist(f"the reset gate is missing from the candidate: {place}.", {**off, "b_r": np.full(H, 1e3)})
    off = {"W_xz": 0 * w["W_xz"], "W_hz": 0 * w["W_hz"]}
    overwrite = np.full(H, 1e3 if write else -1e3)
    yield twist(f"the update gate is missing: h is the candidate n. Here {kept}.", {**off, "b_z": overwrite})
    yield twist("tanh stands at the gates where σ belongs: r and z must lie in (0, 1).", gate=math.tanh)
    yield twist("σ stands at the candidate where tanh belongs: n must lie in (−1, 1).", squash=_sig)
    yield twist("the candidate has no tanh.", squash=lambda a: a)
    yield twist("the gates have no σ.", gate=lambda a: a)
    yield twist("the sign in σ is turned: σ(a) = 1 / (1 + exp(−a)).", gate=lambda a: _sig(-a))
    gates = {"all three": "rzn", "r": "r", "z": "z", "n": "n"}
    for label, which in gates.items():
        transposed = {f"W_h{g}": w[f"W_h{g}"].T for g in which}
        names = ", ".join(transposed)
        yield twist(f"{names} {'are' if len(which) > 1 else 'is'} transposed: h_prev W, not h_prev Wᵀ.", transposed)
        if bias:
            names = ", ".join(f"b_{g}" for g in which)
            yield twist(f"{names}: missing bias.", {f"b_{g}": np.zeros(H) for g in which})
        yield twist(
            f"h_prev is missing from {label if len(which) > 1 else 'a_' + label}: add h_prev W_h…",
            {f"W_h{g}": 0 * w[f"W_h{g}"] for g in which} | ({"b_hn": 0 * w["b_hn"]} if "n" in which else {}),
        )
        yield twist(
            f"x is missing from {label if len(which) > 1 else 'a_' + label}: add x W_x…",
            {f"W_x{g}": 0 * w[f"W_x{g}"] for g in which},
        )
    if bias and after:
        yield twist("b_hn: missing bias. It stands inside the reset gate's product.", {"b_hn": np.zeros(H)})
        outside = {"b_n": w["b_n"] + w["b_hn"], "b_hn": np.zeros(H)}
        yield twist("b_hn stands outside the reset gate. Here r ⊙ (h_prev W_hn + b_hn).", outside)


def _gru_back(
    dh: Array, x: Array, h_prev: Array, w: Mapping[str, Array], *, after: bool, write: bool, leave: tuple[str, ...] = ()
) -> tuple[Outputs, dict[str, dict[str, Array]]]:
    """Gradients of one step (chapter 5), and the terms of dx and dh_prev; `leave` names factors left out."""
    s = _gru(x, h_prev, w, after=after, write=write)
    r, z, n, q, h = s["r"], s["z"], s["n"], s["q"], s["h"]

    def factor(name: str, value: Array) -> Array:
        return np.ones_like(value) if name in leave else value

    direct = 1 - z if write != ("share of h_prev" in leave) else z
    other = z if write != ("share of n" in leave) else 1 - z
    da_z = dh * (n - h_prev if write ^ ("sign z" in leave) else h_prev - n) * factor("slope z", z * (1 - z))
    da_n = dh * other * factor("slope n", 1 - n * n)
    if after:
        dq = da_n * factor("dq r", r)
        dr = da_n * factor("dr h", q)
        through = _matmul(dq, w["W_hn"].T)
    else:
        dq = _matmul(da_n, w["W_hn"] if "W_hn T" in leave else w["W_hn"].T)
        dr = dq * factor("dr h", h_prev)
        through = dq * factor("dq r", r)
    da_r = dr * factor("slope r", r * (1 - r))
    seen = h if "h for h_prev" in leave else h_prev
    last = _matmul(seen.T, dq) if after else _matmul((seen if "r in W_hn" in leave else q).T, da_n)
    T = (lambda a: a) if "W_h T" in leave else np.transpose
    terms = {
        "dh_prev": {
            f"dh ⊙ {'(1 − z)' if write else 'z'}, the direct path": dh * direct,
            "da_z W_hzᵀ, through the update gate": _matmul(da_z, T(w["W_hz"])),
            "da_r W_hrᵀ, through the reset gate": _matmul(da_r, T(w["W_hr"])),
            ("dq W_hnᵀ" if after else "dq ⊙ r") + ", through the candidate": through,
        },
        "dx": {f"da_{g} W_x{g}ᵀ": _matmul(a, w[f"W_x{g}"].T) for g, a in zip("rzn", (da_r, da_z, da_n), strict=True)},
    }
    out = {name: sum(parts.values()) for name, parts in terms.items()}
    for g, a in zip("rzn", (da_r, da_z, da_n), strict=True):
        out[f"dW_x{g}"] = _matmul(x.T, a)
        out[f"dW_h{g}"] = last if g == "n" else _matmul(seen.T, a)
        out[f"db_{g}"] = _column_sums(a)
    out["db_hn"] = _column_sums(dq)
    return out, terms


_LEFT_OUT = {
    "sign z": "da_z has the wrong sign: ∂h/∂z is {kept}.",
    "share of h_prev": "z and 1 − z have changed places in the direct path of dh_prev: {shares}.",
    "share of n": "z and 1 − z have changed places in da_n: {shares}.",
    "slope z": "da_z lacks the slope of σ: z ⊙ (1 − z).",
    "slope r": "da_r lacks the slope of σ: r ⊙ (1 − r).",
    "slope n": "da_n lacks the slope of tanh: 1 − n².",
    "dr h": "dr lacks its factor {dr}: the product rule on what the reset gate multiplies.",
    "dq r": "{dq} lacks its factor r: what passes the reset gate forward passes it backward.",
    "r in W_hn": "dW_hn uses h_prev where r ⊙ h_prev was multiplied: dW_hn = (r ⊙ h_prev)ᵀ da_n.",
    "h for h_prev": "dW_h uses h_t where h_{{t−1}} belongs: the product in the forward pass was h_prev W_h.",
    "W_hn T": "dq uses W_hn where W_hnᵀ belongs.",
    "W_h T": "dh_prev uses W_hr and W_hz where W_hrᵀ and W_hzᵀ belong.",
}


def _back_mistakes(
    run: Callable[[tuple[str, ...]], Outputs], N: int, *, after: bool, write: bool
) -> Iterator[tuple[str, Outputs]]:
    words = {
        "kept": "n − h_prev" if write else "h_prev − n",
        "shares": "h_prev has the share 1 − z and n has z" if write else "h_prev has the share z and n has 1 − z",
        "dr": "h_prev W_hn + b_hn" if after else "h_prev",
        "dq": "dq" if after else "the candidate's term of dh_prev",
    }
    for name, message in _LEFT_OUT.items():
        if not (after and name in ("r in W_hn", "W_hn T")):
            yield message.format(**words), run((name,))
    shares = run(("share of h_prev", "share of n"))
    yield "z and 1 − z have changed places in the backward pass: {shares}.".format(**words), shares
    slopes = run(("slope z", "slope r", "slope n"))
    yield "the slopes are missing: da = dgate ⊙ σ′(a) for the gates, ⊙ tanh′(a) for the candidate.", slopes
    right = run(())
    mean = {name: a / N if name.startswith(("dW", "db")) else a for name, a in right.items()}
    yield "the parameters' gradients are means over the batch; they must be sums.", mean


# ------------------------------------------------------------------------------------------------------ the exercises

_N, _D, _H, _T = 3, 2, 4, 5


def _variant(where: str, reset_after: bool, convention: str, bias: bool) -> tuple[Params, np.random.Generator, Any]:
    check_choice(f"check.{where}", "convention", convention, ("keep", "write"))
    rng = np.random.default_rng(2014)
    p = gru_init(rng, _D, _H, reset_after=reset_after, convention=convention, bias=bias)
    p.flat[:] = rng.normal(size=p.size)
    return p, rng, {"after": p.reset_after, "write": convention == "write"}


def gru_step(
    f: Callable[..., Any], *, reset_after: bool = False, convention: str = "keep", bias: bool = True
) -> Result:
    """Check ``f(x, h_prev, p) -> h`` (a cache may follow): one step of a GRU, chapter 4."""
    p, rng, options = _variant("gru_step", reset_after, convention, bias)
    x, h_prev, w = rng.normal(size=(_N, _D)), rng.normal(size=(_N, _H)), _weights(p, "rzn")

    def run(w: Mapping[str, Array], **options: Any) -> Outputs:
        return {"h": _gru(x, h_prev, w, **options)["h"]}

    return _run(
        _Task(
            "gru_step",
            (x, h_prev, p),
            ("x", "h_prev", "p"),
            run(w, **options),
            _first("h"),
            lambda: _gru_mistakes(w, run, bias=bias, **options),
        ),
        f,
    )


def gru_step_backward(
    f: Callable[..., Any], *, reset_after: bool = False, convention: str = "keep", bias: bool = True
) -> Result:
    """Check ``f(dh, cache, p) -> dx, dh_prev, grads``: backward through one step, chapter 5.

    `cache` is a `GRUCache` (x, h_prev, r, not_r, z, not_z, n, q); `grads` may be a GRUParams or a dict by name.
    """
    p, rng, options = _variant("gru_step_backward", reset_after, convention, bias)
    x, h_prev, dh = (rng.normal(size=(_N, k)) for k in (_D, _H, _H))
    w = _weights(p, "rzn")
    s = _gru(x, h_prev, w, **options)
    cache = GRUCache(x, h_prev, s["r"], 1 - s["r"], s["z"], 1 - s["z"], s["n"], s["q"])
    names = _grad_names(p)
    outputs, terms = _gru_back(dh, x, h_prev, w, **options)

    def run(leave: tuple[str, ...]) -> Outputs:
        return _gru_back(dh, x, h_prev, w, leave=leave, **options)[0]

    return _run(
        _Task(
            "gru_step_backward",
            (dh, cache, p),
            ("dh", "cache", "p"),
            {name: outputs[name] for name in ("dx", "dh_prev", *(f"d{n}" for n in names))},
            _with_grads("gru_step_backward", names, "dx", "dh_prev"),
            lambda: _back_mistakes(run, _N, **options),
            terms,
            batch=_N,
        ),
        f,
    )


def _grad_names(p: Params) -> list[str]:
    names = [f"W_{a}{g}" for a in "xh" for g in "rzn"] + ([f"b_{g}" for g in "rzn"] if p.bias else [])
    return names + (["b_hn"] if p.bias and p.reset_after else [])


def gru_forward(
    f: Callable[..., Any],
    *,
    reset_after: bool = False,
    convention: str = "keep",
    bias: bool = True,
    lengths: bool = False,
) -> Result:
    """Check ``f(xs, h0, p) -> hs, h_T`` (a tape may follow): the loop over time, chapter 4.

    With ``lengths=True``: ``f(xs, h0, p, lengths=…)``, with padding that holds NaN.
    """
    p, rng, options = _variant("gru_forward", reset_after, convention, bias)
    xs, h0, w = rng.normal(size=(_T, _N, _D)), rng.normal(size=(_N, _H)), _weights(p, "rzn")
    real = np.array([_T, 2, 3]) if lengths else np.full(_N, _T)
    mask = np.arange(_T)[:, None] < real

    def loop(
        w: Mapping[str, Array], *, carry: bool = True, zero: bool = True, start: Array = h0, **opts: Any
    ) -> Outputs:
        h, hs = start, []
        for t in range(_T):
            new = _gru(np.where(mask[t, :, None], xs[t], 0), h, w, **opts)["h"]
            h = np.where(mask[t, :, None], new, h) if carry else new
            hs.append(np.where(mask[t, :, None], h, 0) if zero else h)
        return {"hs": np.array(hs), "h_T": h}

    right = loop(w, **options)

    def mistakes() -> Iterator[tuple[str, Outputs]]:
        again = np.array([_gru(xs[t], h0, w, **options)["h"] for t in range(_T)])
        yield "every step starts from h0: carry the state, h = step(x_t, h).", {"hs": again, "h_T": again[-1]}
        before = np.concatenate([h0[None], right["hs"][:-1]])
        yield "hs holds h_{t−1} where h_t belongs: store the state after the step.", {**right, "hs": before}
        message = "all rows of hs are the last state: one array was stored T times and overwritten. Store copies."
        yield message, {**right, "hs": np.repeat(right["h_T"][None], _T, axis=0)}
        yield "h0 is ignored: the first step must start from it.", loop(w, start=np.zeros_like(h0), **options)
        yield "hs runs backwards in time.", {**right, "hs": right["hs"][::-1]}
        yield "h_T is the first state; it must be the last.", {**right, "h_T": right["hs"][0]}
        yield "h_T is the state before the last step.", {**right, "h_T": before[-1]}
        if lengths:
            last = {**right, "h_T": right["hs"][-1]}
            yield "h_T is hs[-1], which is zero where padded: return the state that was carried.", last
            yield "outputs in padding must be zero; they hold the carried state.", loop(w, zero=False, **options)
            yield "a padded step must carry the state; here it goes on computing.", loop(w, carry=False, **options)
        yield from _gru_mistakes(w, lambda w, **o: loop(w, **o), bias=bias, **options)

    unpack = _several("gru_forward", "hs", "h_T")
    given = np.where(mask[:, :, None], xs, np.nan)
    task = _Task("gru_forward", (given, h0, p), ("xs", "h0", "p"), right, unpack, mistakes)
    if lengths:
        task.kwargs = {"lengths": real}
    result = _run(task, f)
    if lengths and not result.ok and "NaN" in result.message:
        task.args = (np.where(mask[:, :, None], xs, 0), h0, p)
        if _fault(task, f) is None:
            return Result(False, "NaN in the padding reaches the result: 0 · NaN is NaN. Choose with np.where instead.")
    return result


def gru_backward(
    f: Callable[..., Any], *, reset_after: bool = False, convention: str = "keep", bias: bool = True
) -> Result:
    """Check ``f(dhs, dh_T, caches, p) -> dxs, dh0, grads``: backpropagation through time, chapter 5.

    `caches` is the list of the steps' `GRUCache`; `grads` may be a GRUParams or a dict by name.
    """
    p, rng, options = _variant("gru_backward", reset_after, convention, bias)
    xs, h0, w = rng.normal(size=(_T, _N, _D)), rng.normal(size=(_N, _H)), _weights(p, "rzn")
    dhs, dh_T = rng.normal(size=(_T, _N, _H)), rng.normal(size=(_N, _H))
    names, before, caches = _grad_names(p), [], []
    h = h0
    for x in xs:
        s = _gru(x, h, w, **options)
        before.append(h)
        caches.append(GRUCache(x, h, s["r"], 1 - s["r"], s["z"], 1 - s["z"], s["n"], s["q"]))
        h = s["h"]

    def loop(
        leave: tuple[str, ...] = (), *, flow: bool = True, last: bool = True, outer: bool = True, sums: bool = True
    ) -> Outputs:
        dh, out = (dh_T if last else 0 * dh_T), {}
        dxs = np.zeros_like(xs)
        for t in reversed(range(_T)):
            dh = (dh if flow or t == _T - 1 else 0 * dh) + (dhs[t] if outer or t == _T - 1 else 0)
            g, _ = _gru_back(dh, xs[t], before[t], w, leave=leave, **options)
            dh, dxs[t] = g["dh_prev"], g["dx"]
            out = {f"d{n}": g[f"d{n}"] + (out.get(f"d{n}", 0) if sums else 0) for n in names}
        return {"dxs": dxs, "dh0": dh, **out}

    def mistakes() -> Iterator[tuple[str, Outputs]]:
        message = "the gradient does not flow back in time: dh must be dhs[t] plus what the step after t hands back."
        yield message, loop(flow=False)
        yield "dh_T is left out: it is the gradient that enters at the last state.", loop(last=False)
        yield "dhs[t] is left out except at the end: every output has its own gradient.", loop(outer=False)
        yield "the parameters' gradients are those of one step: sum them over time.", loop(sums=False)
        right = loop()
        yield "dxs runs backwards in time.", {**right, "dxs": right["dxs"][::-1]}
        yield from _back_mistakes(loop, _N, **options)

    unpack = _with_grads("gru_backward", names, "dxs", "dh0")
    args, arg_names = (dhs, dh_T, caches, p), ("dhs", "dh_T", "caches", "p")
    return _run(_Task("gru_backward", args, arg_names, loop(), unpack, mistakes, batch=_N), f)


def elman_step(f: Callable[..., Any]) -> Result:
    """Check ``f(x, h_prev, p) -> h`` (a cache may follow): one step of Elman's network with tanh, chapter 1."""
    p, x, h_prev, _ = _elman()

    def run(change: Mapping[str, Array] | None = None, squash: Callable[[float], float] = math.tanh) -> Outputs:
        w = {"W_xa": p.W_x, "W_ha": p.W_h, "b_a": p.b} | (change or {})
        return {"h": _each(squash, _affine(x, h_prev, w, "a"))}

    def mistakes() -> Mistakes:
        return (
            ("the bias b is missing.", run({"b_a": 0 * p.b})),
            ("W_h is transposed: h_prev W_h, not h_prev W_hᵀ.", run({"W_ha": p.W_h.T})),
            ("[x, h_prev] W stands where [h_prev, x] W belongs.", run({"W_xa": p.W[:_D], "W_ha": p.W[_D:]})),
            ("h_prev is missing: without h_prev W_h there is no memory.", run({"W_ha": 0 * p.W_h})),
            ("x is missing: add x W_x.", run({"W_xa": 0 * p.W_x})),
            ("there is no tanh.", run(squash=lambda a: a)),
            ("σ stands where tanh belongs.", run(squash=_sig)),
            ("the sign is turned: tanh(a), not tanh(−a).", run(squash=lambda a: math.tanh(-a))),
            ("relu stands where tanh belongs.", run(squash=lambda a: max(a, 0.0))),
        )

    return _run(_Task("elman_step", (x, h_prev, p), ("x", "h_prev", "p"), run(), _first("h"), mistakes), f)


def _elman() -> tuple[Params, Array, Array, Array]:
    rng = np.random.default_rng(1990)
    p = elman_init(rng, _D, _H)
    p.flat[:] = rng.normal(size=p.size)
    return p, rng.normal(size=(_N, _D)), rng.normal(size=(_N, _H)), rng.normal(size=(_N, _H))


class ElmanRecord(NamedTuple):
    """What a reader's `elman_step_backward` is given of the step."""

    x: Array  # (N, D)
    h_prev: Array  # (N, H)
    a: Array  # (N, H)
    h: Array  # (N, H)


def elman_step_backward(f: Callable[..., Any]) -> Result:
    """Check ``f(dh, cache, p) -> dx, dh_prev, grads``: backward through one step of Elman's network, chapter 2.

    `cache` is an `ElmanRecord` (x, h_prev, a, h), a = x W_x + h_prev W_h + b and h = tanh(a);
    `grads` may be an ElmanParams or a dict by name (W_x, W_h, b).
    """
    p, x, h_prev, dh = _elman()
    a = _affine(x, h_prev, {"W_xa": p.W_x, "W_ha": p.W_h, "b_a": p.b}, "a")
    h = _each(math.tanh, a)

    def run(slope: Array, seen: Array = h_prev, W_h: Array = p.W_h.T) -> Outputs:
        da = dh * slope
        out = {"dx": _matmul(da, p.W_x.T), "dh_prev": _matmul(da, W_h)}
        return out | {"dW_x": _matmul(x.T, da), "dW_h": _matmul(seen.T, da), "db": _column_sums(da)}

    slope = 1 - h * h
    right = run(slope)

    def mistakes() -> Mistakes:
        mean = {name: v / _N if name.startswith(("dW", "db")) else v for name, v in right.items()}
        return (
            ("da lacks the slope of tanh: 1 − h².", run(np.ones_like(h))),
            ("the slope of tanh is 1 − h²; this is 1 − h.", run(1 - h)),
            ("the slope of tanh is 1 − h², with h = tanh(a); this is 1 − a².", run(1 - a * a)),
            ("h ⊙ (1 − h) is the slope of σ; that of tanh is 1 − h².", run(h * (1 - h))),
            ("dW_h uses h_t where h_{t−1} belongs: dW_h = h_prevᵀ da.", run(slope, seen=h)),
            ("dh_prev uses W_h where W_hᵀ belongs.", run(slope, W_h=p.W_h)),
            ("the parameters' gradients are means over the batch; they must be sums.", mean),
        )

    unpack = _with_grads("elman_step_backward", ("W_x", "W_h", "b"), "dx", "dh_prev")
    args = (dh, ElmanRecord(x, h_prev, a, h), p)
    return _run(_Task("elman_step_backward", args, ("dh", "cache", "p"), right, unpack, mistakes, batch=_N), f)


def lstm_step(f: Callable[..., Any]) -> Result:
    """Check ``f(x, (h_prev, c_prev), p) -> (h, c)`` (a cache may follow): one step of an LSTM, chapter 12."""
    rng = np.random.default_rng(1997)
    p = lstm_init(rng, _D, _H)
    p.flat[:] = rng.normal(size=p.size)
    x, h_prev, c_prev = (rng.normal(size=(_N, k)) for k in (_D, _H, _H))
    w = _weights(p, "ifgo")

    def run(change: Mapping[str, Array] | None = None, **use: Any) -> Outputs:
        v = w | (change or {})
        i, f, g, o = (_each(use.get(k, math.tanh if k == "g" else _sig), _affine(x, h_prev, v, k)) for k in "ifgo")
        c = f * c_prev + i * g
        return {"h": o * _each(use.get("out", math.tanh), c), "c": c}

    right = run()

    def swap(s: str, t: str) -> Outputs:
        return run({a + u: w[a + v] for a in ("W_x", "W_h", "b_") for u, v in ((s, t), (t, s))})

    def mistakes() -> Iterator[tuple[str, Outputs]]:
        yield "h and c have changed places in what is returned: (h, c).", {"h": right["c"], "c": right["h"]}
        yield "i and f have changed places: c = f ⊙ c_prev + i ⊙ g.", swap("i", "f")
        yield "i and o have changed places.", swap("i", "o")
        yield "f and o have changed places.", swap("f", "o")
        one = dict.fromkeys(("i", "f", "o"), lambda a: 1.0)
        yield "the forget gate is missing: c = f ⊙ c_prev + i ⊙ g.", run(f=one["f"])
        yield "the input gate is missing: c = f ⊙ c_prev + i ⊙ g.", run(i=one["i"])
        yield "the output gate is missing: h = o ⊙ tanh(c).", run(o=one["o"])
        yield "h lacks a tanh: h = o ⊙ tanh(c).", run(out=lambda a: a)
        yield "σ stands at the candidate g where tanh belongs.", run(g=_sig)
        yield "tanh stands at the gates where σ belongs.", run(i=math.tanh, f=math.tanh, o=math.tanh)
        yield "the forget bias is added again: b_f holds it already.", run({"b_f": w["b_f"] + 1})
        for g in ("ifgo", *"ifgo"):
            yield f"{', '.join(f'b_{k}' for k in g)}: missing bias.", run({f"b_{k}": 0 * w[f"b_{k}"] for k in g})
            names = ", ".join(f"W_h{k}" for k in g)
            transposed = run({f"W_h{k}": w[f"W_h{k}"].T for k in g})
            yield f"{names} {'are' if len(g) > 1 else 'is'} transposed: h_prev W, not h_prev Wᵀ.", transposed

    def unpack(raw: Any) -> Outputs | str:
        if isinstance(raw, tuple | list) and raw and isinstance(raw[0], tuple):
            raw = raw[0]
        return _several("lstm_step", "h", "c")(raw)

    args = (x, LSTMState(h_prev, c_prev), p)
    return _run(_Task("lstm_step", args, ("x", "state_prev", "p"), right, unpack, mistakes), f)


class LSTMRecord(NamedTuple):
    """What a reader's `lstm_step_backward` is given of the step."""

    x: Array  # (N, D)
    h_prev: Array  # (N, H), as all that follow
    c_prev: Array
    i: Array
    f: Array
    g: Array
    o: Array
    c: Array


def lstm_step_backward(f: Callable[..., Any]) -> Result:
    """Check ``f((dh, dc), cache, p) -> dx, (dh_prev, dc_prev), grads``: backward through one step, chapter 12.

    `cache` is an `LSTMRecord` (x, h_prev, c_prev, i, f, g, o, c), dc what comes from the step after it; `grads` may be
    an LSTMParams or a dict by name (W_xi … b_o).
    """
    rng = np.random.default_rng(2000)
    p = lstm_init(rng, _D, _H)
    p.flat[:] = rng.normal(size=p.size)
    x, h_prev, c_prev, dh, dc = (rng.normal(size=(_N, k)) for k in (_D, _H, _H, _H, _H))
    w = _weights(p, "ifgo")
    s = {k: _each(math.tanh if k == "g" else _sig, _affine(x, h_prev, w, k)) for k in "ifgo"}
    c = s["f"] * c_prev + s["i"] * s["g"]
    tanh_c = _each(math.tanh, c)
    outer = ("dx", "dh_prev", "dc_prev")
    names = [a + k for a in ("W_x", "W_h", "b_") for k in "ifgo"]

    def back(
        leave: str = "",
    ) -> tuple[Outputs, dict[str, dict[str, Array]]]:
        def factor(name: str, value: Array) -> Array:
            return np.ones_like(value) if name == leave else value

        from_h = dh * factor("o", s["o"]) * factor("slope c", 1 - tanh_c * tanh_c)
        total = (0 if leave == "later" else dc) + (0 if leave == "out" else from_h)
        da = {
            "i": total * (s["f"] if leave == "f for g" else s["g"]) * factor("slope", s["i"] * (1 - s["i"])),
            "f": total * (c if leave == "c for c_prev" else c_prev) * factor("slope", s["f"] * (1 - s["f"])),
            "g": total * s["i"] * factor("slope g", 1 - s["g"] * s["g"]),
            "o": dh * (c if leave == "c for tanh c" else tanh_c) * factor("slope", s["o"] * (1 - s["o"])),
        }
        terms = {
            "dx": {f"da_{k} W_x{k}ᵀ": _matmul(a, w[f"W_x{k}"].T) for k, a in da.items()},
            "dh_prev": {
                f"da_{k} W_h{k}ᵀ": _matmul(a, w[f"W_h{k}"] if leave == "W_h T" else w[f"W_h{k}"].T)
                for k, a in da.items()
            },
        }
        out = {name: sum(parts.values()) for name, parts in terms.items()}
        out["dc_prev"] = dc * s["f"] if leave == "dc before" else total * factor("f", s["f"])
        for k, a in da.items():
            out |= {f"dW_x{k}": _matmul(x.T, a), f"dW_h{k}": _matmul(h_prev.T, a), f"db_{k}": _column_sums(a)}
        return out, terms

    left_out = {
        "later": "the dc that comes in is not used: add it to what comes from h.",
        "out": "what h sends to c is missing: dc + dh ⊙ o ⊙ (1 − tanh²(c)).",
        "o": "dc lacks the factor o: h = o ⊙ tanh(c).",
        "slope c": "dc lacks the slope of tanh at c: 1 − tanh²(c).",
        "c for c_prev": "da_f uses c_t where c_{t−1} belongs: c = f ⊙ c_prev + i ⊙ g.",
        "c for tanh c": "da_o uses c where tanh(c) belongs: h = o ⊙ tanh(c).",
        "f for g": "da_i uses f where g belongs: c = f ⊙ c_prev + i ⊙ g.",
        "slope": "the gates lack the slope of σ: i ⊙ (1 − i), and f and o alike.",
        "slope g": "da_g lacks the slope of tanh: 1 − g².",
        "f": "dc_prev lacks the factor f: c = f ⊙ c_prev + i ⊙ g.",
        "dc before": "dc_prev is made of the dc that came in; take the sum with what comes from h.",
        "W_h T": "dh_prev uses W_h where W_hᵀ belongs.",
    }
    right, terms = back()

    def mistakes() -> Iterator[tuple[str, Outputs]]:
        for leave, message in left_out.items():
            yield message, back(leave)[0]
        mean = {name: v / _N if name.startswith(("dW", "db")) else v for name, v in right.items()}
        yield "the parameters' gradients are means over the batch; they must be sums.", mean

    def unpack(raw: Any) -> Outputs | str:
        if not isinstance(raw, tuple | list) or len(raw) < 3:
            return _several("lstm_step_backward", "dx", "(dh_prev, dc_prev)", "grads")(raw)
        dstate = _several("lstm_step_backward", "(dh_prev, dc_prev)", "2 arrays")(raw[1])
        if isinstance(dstate, str):
            return "the second thing returned must be the pair (dh_prev, dc_prev)."
        return _with_grads("lstm_step_backward", names, *outer)((raw[0], *raw[1][:2], raw[2]))

    args = (LSTMState(dh, dc), LSTMRecord(x, h_prev, c_prev, s["i"], s["f"], s["g"], s["o"], c), p)
    wanted = {name: right[name] for name in (*outer, *(f"d{n}" for n in names))}
    task = _Task("lstm_step_backward", args, ("dstate", "cache", "p"), wanted, unpack, mistakes, terms, batch=_N)
    return _run(task, f)


def sigmoid(f: Callable[..., Any]) -> Result:
    """Check ``f(a) -> σ(a)`` for arrays, large |a| included."""
    a = np.array([[-3.0, -1.0, 0.0], [0.5, 2.0, 4.0]])

    def run(function: Callable[[float], float]) -> Outputs:
        return {"s": _each(function, a)}

    def mistakes() -> Mistakes:
        return (
            ("the sign in the exponent is turned: σ(a) = 1 / (1 + exp(−a)).", run(lambda v: _sig(-v))),
            ("that is tanh; σ lies in (0, 1).", run(math.tanh)),
            ("that is the slope σ(a) σ(−a); σ itself is wanted.", run(lambda v: _sig(v) * _sig(-v))),
            ("that is exp(a); divide by 1 + exp(a).", run(math.exp)),
            ("that is 1 + exp(−a); one divided by it is wanted.", run(lambda v: 1 + math.exp(-v))),
        )

    result = _run(_Task("sigmoid", (a,), ("a",), run(_sig), _first("s"), mistakes), f)
    if not result.ok:
        return result
    ends, fault = _call("sigmoid", f, np.array([-1000.0, 1000.0]))
    if fault is not None or not _same(ends, np.array([0.0, 1.0])):
        return Result(False, f"σ(−1000) and σ(1000) must be 0 and 1; {fault or f'they are {ends}: an overflow'}.")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        f(np.array([-1000.0, 1000.0]))
    if seen:
        message = str(seen[0].message)
        return Result(False, f"the numbers are right, but a = −1000 or 1000 gives a warning: {message}.")
    return result


def bce(f: Callable[..., Any]) -> Result:
    """Check ``f(logits, targets) -> loss, dlogits``: mean binary cross-entropy with logits, and its gradient."""
    rng = np.random.default_rng(0)
    a, y = rng.normal(size=(4, 3)), (rng.random((4, 3)) < 0.5).astype(float)
    K = a.size

    def each(function: Callable[[float, float], float]) -> Array:
        return _each(function, a, y)

    loss = each(lambda v, t: -math.log(_sig(v)) if t else -math.log(_sig(-v)))
    slope = each(lambda v, t: _sig(v) - t)
    right = {"loss": np.array(loss.sum() / K), "dlogits": slope / K}

    def mistakes() -> Mistakes:
        turned = each(lambda v, t: -math.log(_sig(-v)) if t else -math.log(_sig(v)))
        only = each(lambda v, t: -math.log(_sig(v)) if t else 0.0)
        return (
            ("loss and gradient are sums; the mean is wanted: divide by the number of elements.",
             {"loss": np.array(loss.sum()), "dlogits": slope}),
            ("dlogits is not divided by the number of elements; the loss is a mean.", {**right, "dlogits": slope}),
            ("the loss is a sum, though dlogits is right for the mean.", {**right, "loss": np.array(loss.sum())}),
            ("the loss has the wrong sign: it is minus the log-likelihood.", {**right, "loss": -right["loss"]}),
            ("dlogits has the wrong sign: σ(a) − y.", {**right, "dlogits": -right["dlogits"]}),
            ("targets 0 and 1 have changed places.",
             {"loss": np.array(turned.mean()), "dlogits": each(lambda v, t: _sig(v) - 1 + t) / K}),
            ("the loss lacks the half for targets of 0: (1 − y) log(1 − s).", {**right, "loss": np.array(only.mean())}),
            ("the loss is in bits; nats are wanted (the natural logarithm).",
             {**right, "loss": right["loss"] / math.log(2)}),
            ("dlogits has σ's slope too many: with logits it cancels, and σ(a) − y is left.",
             {**right, "dlogits": each(lambda v, t: (_sig(v) - t) * _sig(v) * _sig(-v)) / K}),
            ("dlogits is the gradient in s = σ(a); the one in the logit a is wanted.",
             {**right, "dlogits": each(lambda v, t: (_sig(v) - t) / (_sig(v) * _sig(-v))) / K}),
        )  # fmt: skip

    unpack = _several("bce", "loss", "dlogits")
    result = _run(_Task("bce", (a, y), ("logits", "targets"), right, unpack, mistakes), f)
    if not result.ok:
        return result
    raw, fault = _call("bce", f, np.array([[1000.0, -1000.0]]), np.array([[0.0, 0.0]]))
    if fault is not None or not _same(raw[0], np.array(500.0)) or not np.isfinite(raw[1]).all():
        message = "right for small logits, but at a = 1000 and y = 0 the loss must be 1000: work from the logit"
        return Result(False, f"{message}, log(1 + exp(a)) = np.logaddexp(0, a), not from s.")
    return result


def softmax_cross_entropy(f: Callable[..., Any]) -> Result:
    """Check ``f(logits, targets) -> loss, dlogits``: logits (N, K), targets (N,) of classes, mean over the rows."""
    rng = np.random.default_rng(1)
    N, K = 4, 3
    a, y = rng.normal(size=(N, K)), np.array([2, 0, 1, 2])

    def run(axis: int = 1, shift: Array | float = 0.0) -> tuple[Array, Array]:
        e = _each(math.exp, a - shift)
        total = _column_sums(e.T if axis == 1 else e)
        s = e / (total[:, None] if axis == 1 else total[None, :])
        hot = np.array([[float(y[i] == k) for k in range(K)] for i in range(N)])
        return np.array([-math.log(s[i, y[i]]) for i in range(N)]), s - hot

    loss, slope = run()
    right = {"loss": np.array(loss.sum() / N), "dlogits": slope / N}

    def mistakes() -> Mistakes:
        hot = np.array([[float(y[i] == k) for k in range(K)] for i in range(N)])
        across = [run(0, shift) for shift in (0.0, a.max(axis=1)[:, None], a.max())]
        return (
            *(("the softmax sums over the batch; it must sum over the classes, axis 1.",
               {"loss": np.array(loss.mean()), "dlogits": slope / N}) for loss, slope in across),
            ("loss and gradient are sums; the mean over the rows is wanted.",
             {"loss": np.array(loss.sum()), "dlogits": slope}),
            ("the loss is divided by N·K; the mean is over the N rows.", {**right, "loss": right["loss"] / K}),
            ("dlogits is not divided by N, though the loss is a mean.", {**right, "dlogits": slope}),
            ("the loss has the wrong sign.", {**right, "loss": -right["loss"]}),
            ("dlogits has the wrong sign: s − one-hot.", {**right, "dlogits": -slope / N}),
            ("dlogits is s / N: 1 must be taken off at the target's class.", {**right, "dlogits": (slope + hot) / N}),
            ("the loss is in bits; nats are wanted (the natural logarithm).",
             {**right, "loss": right["loss"] / math.log(2)}),
        )  # fmt: skip

    unpack = _several("softmax_cross_entropy", "loss", "dlogits")
    result = _run(_Task("softmax_cross_entropy", (a, y), ("logits", "targets"), right, unpack, mistakes), f)
    if not result.ok:
        return result
    raw, fault = _call("softmax_cross_entropy", f, np.array([[1000.0, 0.0]]), np.array([1]))
    if fault is not None or not _same(raw[0], np.array(1000.0)) or not np.isfinite(raw[1]).all():
        message = "right for small logits, but exp(1000) overflows: subtract each row's largest logit first"
        return Result(False, f"{message}, which changes no softmax, and take the logarithm before dividing.")
    return result


def adam(f: Callable[..., Any]) -> Result:
    """Check ``f(p, g, m, v, k, lr, beta1, beta2, eps) -> p, m, v``: step number k (from 1) of Adam, on arrays."""
    rng = np.random.default_rng(2015)
    p, g, m = (rng.normal(size=5) for _ in range(3))
    v, k, lr, b1, b2, eps = rng.random(5), 3, 0.1, 0.9, 0.99, 1e-2

    def run(
        k1: float = k, k2: float = k, b1: float = b1, b2: float = b2, sign: int = -1, power: float = 2, form: str = ""
    ) -> Outputs:
        m1 = b1 * m + (1 - b1) * g
        v1 = b2 * v + (1 - b2) * np.abs(g) ** power * (1 if power == 2 else np.sign(g))
        m_hat, v_hat = m1 / (1 - b1**k1), v1 / (1 - b2**k2)
        v_hat = np.where(v_hat > 0, v_hat, 0)
        below = {"": np.sqrt(v_hat) + eps, "inside": np.sqrt(v_hat + eps), "no root": v_hat + eps}[form]
        return {"p": p + sign * lr * m_hat / below, "m": m1, "v": v1}

    def mistakes() -> Mistakes:
        far, right = 1e9, run()
        hat = {**right, "m": right["m"] / (1 - b1**k), "v": right["v"] / (1 - b2**k)}
        return (
            ("the bias correction is missing: m̂ = m / (1 − β1ᵏ), v̂ = v / (1 − β2ᵏ).", run(far, far)),
            ("m̂ is not corrected: m / (1 − β1ᵏ).", run(k1=far)),
            ("v̂ is not corrected: v / (1 − β2ᵏ).", run(k2=far)),
            ("the bias correction uses k − 1: k counts this step.", run(k - 1, k - 1)),
            ("the bias correction uses k + 1: k counts this step already.", run(k + 1, k + 1)),
            ("the bias correction uses 1 − β where 1 − βᵏ belongs.", run(1, 1)),
            ("m and v are returned corrected: keep the raw averages, correct only for the step.", hat),
            ("β1 and β2 have changed places.", run(b1=b2, b2=b1)),
            ("β and 1 − β have changed places.", run(b1=1 - b1, b2=1 - b2)),
            ("the step goes up the gradient: p − lr · …", run(sign=1)),
            ("eps stands inside the root: √v̂ + eps.", run(form="inside")),
            ("the root is missing: √v̂ + eps.", run(form="no root")),
            ("v averages g; it must average g².", run(power=1)),
        )

    names = ("p", "g", "m", "v", "k", "lr", "beta1", "beta2", "eps")
    args = (p, g, m, v, k, lr, b1, b2, eps)
    return _run(_Task("adam", args, names, run(), _several("adam", "p", "m", "v"), mistakes), f)


def clip(f: Callable[..., Any]) -> Result:
    """Check ``f(grads, max_norm) -> list``: scale a list of arrays so that their norm together is at most max_norm."""
    rng = np.random.default_rng(2013)
    grads = [rng.normal(size=(3, 2)), rng.normal(size=4), rng.normal(size=(2, 2))]
    names = tuple(f"grads[{i}]" for i in range(len(grads)))
    top = 0.5

    def scaled(factor: Callable[[Array], Any]) -> Outputs:
        return {name: factor(g) for name, g in zip(names, grads, strict=True)}

    def mistakes() -> Mistakes:
        squares, size = sum(float((g * g).sum()) for g in grads), sum(g.size for g in grads)
        return (
            ("each array is clipped by its own norm; the norm of all together is meant.",
             scaled(lambda g: g * min(1, top / float(np.sqrt((g * g).sum()))))),
            ("the root is missing: the norm is √(Σ g²).", scaled(lambda g: g * min(1, top / squares))),
            ("that clips every value; here the whole gradient is scaled, so that its direction stays.",
             scaled(lambda g: np.clip(g, -top, top))),
            ("the norm is Σ|g|; √(Σ g²) is meant.",
             scaled(lambda g: g * top / sum(float(np.abs(h).sum()) for h in grads))),
            ("the norm is a root of the mean; √(Σ g²) is meant.",
             scaled(lambda g: g * min(1, top / math.sqrt(squares / size)))),
            ("nothing is clipped.", scaled(lambda g: g)),
            ("the gradient is scaled to norm 1; norm max_norm is wanted.", scaled(lambda g: g / math.sqrt(squares))),
            ("the factor is turned over: max_norm / norm.", scaled(lambda g: g * math.sqrt(squares) / top)),
        )  # fmt: skip

    norm = math.sqrt(sum(float(v) ** 2 for g in grads for v in g.ravel()))
    task = _Task(
        "clip",
        (grads, top),
        ("grads", "max_norm"),
        scaled(lambda g: g * top / norm),
        _several("clip", *names),
        mistakes,
    )
    result = _run(task, f)
    if not result.ok:
        return result
    task.args, task.right = (grads, 2 * norm), scaled(lambda g: g)
    if not _run(task, f).ok:
        return Result(
            False, "a gradient whose norm is below max_norm must stay as it is: scale by min(1, max_norm / norm)."
        )
    zeros = [0 * g for g in grads]
    task.args, task.right = (zeros, top), dict(zip(names, zeros, strict=True))
    if not _run(task, f).ok:
        return Result(False, "a gradient of zeros must stay zeros: norm 0 divides by 0.")
    return result
