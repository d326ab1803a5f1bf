"""Exercises on the GRU, chapters 4 and 5, in both conventions and with the reset gate before or after the product."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from gru_book.check import oracle
from gru_book.check.engine import Array, Exercise, Mistake, Outputs, exercise
from gru_book.check.oracle import D, H, N, Scalar, T, affine, draw, each, matmul, sig, sums, weights
from gru_lib.cells.gru import GRUCache, GRUParams, gru_init
from gru_lib.checks import check_choice
from gru_lib.convert import recognise

__all__ = ["gru_backward", "gru_forward", "gru_step", "gru_step_backward"]

Weights = Mapping[str, Array]


class _Variant(NamedTuple):
    after: bool  # the reset gate acts after the product with W_hn
    write: bool  # z is the share that is written


def _draw(
    where: str, reset_after: bool, convention: str, bias: bool
) -> tuple[GRUParams, Outputs, np.random.Generator, _Variant]:
    check_choice(f"check.{where}", "convention", convention, ("keep", "write"))
    p, rng = draw(2014, gru_init, reset_after=reset_after, convention=convention, bias=bias)
    return p, weights(p, "rzn"), rng, _Variant(p.reset_after, convention == "write")


def _mix(kept: Array, h_prev: Array, written: Array, n: Array, r: Array) -> Array:
    return kept * h_prev + written * n


def _step(
    x: Array,
    h_prev: Array,
    w: Weights,
    variant: _Variant,
    *,
    gate: Scalar = sig,
    squash: Scalar = math.tanh,
    gates: Mapping[str, Callable[[Array], Array]] = MappingProxyType({}),
    mix: Callable[..., Array] = _mix,
    all_reset: bool = False,
) -> tuple[Array, GRUCache]:
    """One step (chapter 4).

    `gate` and `squash` replace σ and tanh, `gates` replaces σ in single gates, `mix` makes the new state, and
    `all_reset` multiplies the candidate's whole pre-activation by r.
    """

    def gate_of(name: str) -> Array:
        a = affine(x, h_prev, w, name)
        return gates[name](a) if name in gates else each(gate, a)

    r, z = gate_of("r"), gate_of("z")
    if variant.after:
        q = matmul(h_prev, w["W_hn"]) + w["b_hn"]
        a_n = matmul(x, w["W_xn"]) + w["b_n"] + r * q
    else:
        q = r * h_prev
        a_n = affine(x, q, w, "n") + r * w["b_hn"]  # b_hn is 0, except in mistakes
    if all_reset:
        a_n = r * (affine(x, h_prev, w, "n") + w["b_hn"])
    n = each(squash, a_n)
    kept, written = (1 - z, z) if variant.write else (z, 1 - z)
    return mix(kept, h_prev, written, n, r), GRUCache(x, h_prev, r, 1 - r, z, 1 - z, n, q)


def _pools() -> Iterator[Callable[[Array], Array]]:
    """Yield the ways to make a gate one number for all units: from a sum, a mean or one unit; per row, or for all."""
    for axis in (1, None):
        for pool in (np.sum, np.mean):
            yield functools.partial(_pooled, pool, axis)
        yield functools.partial(_mean_gate, axis)
    yield lambda a: 0 * a + each(sig, a)[:, :1]


def _pooled(pool: Callable[..., Array], axis: int | None, a: Array) -> Array:
    return each(sig, 0 * a + pool(a, axis=axis, keepdims=True))


def _mean_gate(axis: int | None, a: Array) -> Array:
    return 0 * a + each(sig, a).mean(axis=axis, keepdims=True)


def _step_mistakes(w: Weights, run: Callable[..., Outputs], variant: _Variant) -> Iterator[Mistake]:
    """Yield what goes wrong in a forward step. `run` computes the outputs from weights, a variant and options."""

    def twist(message: str, change: Weights | None = None, variant: _Variant = variant, **options: Any) -> Mistake:
        return message, run({**w, **(change or {})}, variant, **options)

    def zero(*names: str) -> Outputs:
        return {name: 0 * w[name] for name in names}

    after, write = variant
    kept = "h = (1 − z) ⊙ h_prev + z ⊙ n" if write else "h = z ⊙ h_prev + (1 − z) ⊙ n"
    reset = "r ⊙ (h_prev W_hn + b_hn)" if after else "(r ⊙ h_prev) W_hn"
    here, there = ("after", "before") if after else ("before", "after")
    yield twist(f"z and 1 − z have changed places. Here {kept}.", variant=_Variant(after, not write))
    kept_share, written_share = ("1 − z", "z") if write else ("z", "1 − z")
    message = f"n lacks its share {written_share}. Here {kept}."
    yield twist(message, mix=lambda kept, h, written, n, r: kept * h + n)
    message = f"h_prev lacks its share {kept_share}. Here {kept}."
    yield twist(message, mix=lambda kept, h, written, n, r: h + written * n)
    message = f"the candidate is missing from the new state. Here {kept}."
    yield twist(message, mix=lambda kept, h, written, n, r: kept * h)
    message = f"the old state is missing from the new one. Here {kept}."
    yield twist(message, mix=lambda kept, h, written, n, r: written * n)
    message = f"the new state uses r ⊙ h_prev; r belongs into the candidate only. Here {kept}."
    yield twist(message, mix=lambda kept, h, written, n, r: kept * r * h + written * n)
    message = f"the reset gate acts {there} the product with W_hn. Here it acts {here} it: {reset}."
    yield twist(message, zero("b_hn"), _Variant(not after, write))
    r_as_z, z_as_r = ({a + s: w[a + t] for a in ("W_x", "W_h", "b_")} for s, t in ("zr", "rz"))
    yield twist("r and z have changed places: r belongs into the candidate, z into the new state.", r_as_z | z_as_r)
    yield twist(f"r stands where z belongs: {kept}.", r_as_z)
    yield twist(f"z stands where r belongs: {reset}.", z_as_r)
    r_turned = {a + "r": -w[a + "r"] for a in ("W_x", "W_h", "b_")}
    yield twist(f"1 − r stands where r belongs: {reset}.", r_turned)
    message = f"the reset gate multiplies what comes from x as well; it multiplies only the old state: {reset}."
    yield twist(message, all_reset=True)
    for some in ("rz", "r", "z"):
        message = f"{' and '.join(some)} {'are' if len(some) > 1 else 'is'} one number for all units; "
        message += "a gate has a number for each unit: do not sum or average over the units."
        yield from (twist(message, gates=dict.fromkeys(some, pool)) for pool in _pools())
    r_is_1 = zero("W_xr", "W_hr") | {"b_r": np.full(H, 1e3)}
    yield twist(f"the reset gate is missing from the candidate: {reset}.", r_is_1)
    n_alone = zero("W_xz", "W_hz") | {"b_z": np.full(H, 1e3 if write else -1e3)}
    yield twist(f"the update gate is missing: h is the candidate n. Here {kept}.", n_alone)
    yield twist("tanh stands at the gates where σ belongs: r and z must lie in (0, 1).", gate=math.tanh)
    yield twist("σ stands at the candidate where tanh belongs: n must lie in (−1, 1).", squash=sig)
    yield twist("the candidate has no tanh.", squash=lambda a: a)
    yield twist("the gates have no σ.", gate=lambda a: a)
    for slope, hard in (("0.2 a", lambda a: 0.2 * a), ("a / 6", lambda a: a / 6)):
        message = f"a hard sigmoid stands at the gates where σ belongs: clip({slope} + 0.5, 0, 1)."
        yield twist(message, gate=lambda a, hard=hard: min(max(hard(a) + 0.5, 0), 1))
    yield twist("the sign in σ is turned: σ(a) = 1 / (1 + exp(−a)).", gate=lambda a: sig(-a))
    yield from (twist(message, change) for message, change in oracle.slips(w, "rzn"))
    for gates in ("rzn", *"rzn"):
        place = "all three" if gates == "rzn" else f"a_{gates}"
        b_hn = ["b_hn"] if "n" in gates else []
        yield twist(f"h_prev is missing from {place}: add h_prev W_h…", zero(*(f"W_h{g}" for g in gates), *b_hn))
        yield twist(f"x is missing from {place}: add x W_x…", zero(*(f"W_x{g}" for g in gates)))
    if w["b_hn"].any():
        yield twist("b_hn: missing bias. It stands inside the reset gate's product.", zero("b_hn"))
        outside = zero("b_hn") | {"b_n": w["b_n"] + w["b_hn"]}
        yield twist(f"b_hn stands outside the reset gate. Here {reset}.", outside)
        before, wrong = _Variant(False, write), "the reset gate acts before the product with W_hn"
        yield twist(f"{wrong}, and b_hn stands outside it. Here {reset}.", outside, before)
        yield twist(f"{wrong}, and on b_hn by itself. Here {reset}.", variant=before)


def _combination(p: GRUParams, xs: Array, hs: Array, h0: Array) -> str:
    """What is wrong at once, if the states are those of the same arrays read in another convention."""
    try:
        says = recognise(dict(p.items()), xs, hs, h0=h0)[0].says
    except ValueError:
        return ""
    where = {"before": "before the product", "after": "after the product", "whole": "over the whole pre-activation"}
    right, share = "after" if p.reset_after else "before", "kept" if p.convention == "keep" else "written"
    faults = {
        f"the gates stand in the order {' '.join(says['order'])}, here r z n": says["order"] != "rzn",
        "W_h is transposed": says["h"] != "x W",
        f"z and 1 − z have changed places, here z is the share {share}": says["convention"] != p.convention,
        f"r acts {where[says['reset']]}, here {where[right]}": says["reset"] != right,
        "b_hn stands outside r": says["reset"] == right == "after" and says["place"] == "neither" and p.bias,
    }
    found = [fault for fault, there in faults.items() if there]
    return f"the arrays are read in another convention: {'; '.join(found)}." if found else ""


@exercise
def gru_step(*, reset_after: bool = False, convention: str = "keep", bias: bool = True) -> Exercise:
    """Check ``f(x, h_prev, p) -> h`` (a cache may follow): one step of a GRU, chapter 4.

    Given x (N, D), h_prev (N, H) and the weights p.W_xr and so on; return h (N, H), alone or before a cache.
    """
    p, w, rng, variant = _draw("gru_step", reset_after, convention, bias)
    x, h_prev = rng.normal(size=(N, D)), rng.normal(size=(N, H))

    def run(w: Weights, variant: _Variant, **options: Any) -> Outputs:
        return {"h": _step(x, h_prev, w, variant, **options)[0]}

    args = {"x": x, "h_prev": h_prev, "p": p}
    return Exercise(
        args,
        run(w, variant),
        lambda: _step_mistakes(w, run, variant),
        guess=lambda found: _combination(p, x[None], found["h"][None], h_prev),
    )


@exercise
def gru_forward(
    *, reset_after: bool = False, convention: str = "keep", bias: bool = True, lengths: bool = False
) -> Exercise:
    """Check ``f(xs, h0, p) -> hs, h_T`` (a tape may follow): the loop over time, chapter 4.

    Given xs (T, N, D), h0 (N, H), the weights p and, if there is padding, lengths (N,); return hs (T, N, H) and
    h_T (N, H).

    With ``lengths=True`` there is padding, and it holds NaN.
    """
    p, w, rng, variant = _draw("gru_forward", reset_after, convention, bias)
    xs, h0 = rng.normal(size=(T, N, D)), rng.normal(size=(N, H))
    real = np.array([T, 2, 3]) if lengths else np.full(N, T)
    mask = (np.arange(T)[:, None] < real)[:, :, None]  # (T, N, 1)

    def loop(
        w: Weights, variant: _Variant, *, carry: bool = True, zero: bool = True, start: Array = h0, **options: Any
    ) -> Outputs:
        h, hs = start, []
        for x, m in zip(xs, mask, strict=True):
            new, _ = _step(np.where(m, x, 0), h, w, variant, **options)
            h = np.where(m, new, h) if carry else new
            hs.append(np.where(m, h, 0) if zero else h)
        return {"hs": np.array(hs), "h_T": h}

    right = loop(w, variant)

    def mistakes() -> Iterator[Mistake]:
        hs, h_T = right["hs"], right["h_T"]
        again = np.array([_step(x, h0, w, variant)[0] for x in xs])
        yield "every step starts from h0: carry the state, h = step(x_t, h).", {"hs": again, "h_T": again[-1]}
        before = np.array([h0, *hs[:-1]])
        yield "hs holds h_{t−1} where h_t belongs: store the state after the step.", {"hs": before, "h_T": h_T}
        message = "all rows of hs are the last state: one array was stored T times and overwritten. Store copies."
        yield message, {"hs": np.array([h_T] * T), "h_T": h_T}
        yield "h0 is ignored: the first step must start from it.", loop(w, variant, start=0 * h0)
        yield "hs runs backwards in time.", {"hs": hs[::-1], "h_T": h_T}
        yield "h_T is the first state; it must be the last.", {"hs": hs, "h_T": hs[0]}
        yield "h_T is the state before the last step.", {"hs": hs, "h_T": before[-1]}
        if lengths:
            message = "h_T is hs[-1], which is zero where padded: return the state that was carried."
            yield message, {"hs": hs, "h_T": hs[-1]}
            yield "outputs in padding must be zero; they hold the carried state.", loop(w, variant, zero=False)
            message = "lengths are ignored: a padded step must carry the state and put out zero."
            yield message, loop(w, variant, carry=False, zero=False)
            yield "a padded step must carry the state; here it goes on computing.", loop(w, variant, carry=False)
        yield from _step_mistakes(w, loop, variant)

    args = {"xs": np.where(mask, xs, np.nan), "h0": h0, "p": p}
    return Exercise(
        args,
        right,
        mistakes,
        kwargs={"lengths": real} if lengths else {},
        guess=lambda found: "" if lengths else _combination(p, xs, found["hs"], h0),
    )


def _step_backward(
    dh: Array, cache: GRUCache, w: Weights, variant: _Variant, leave: tuple[str, ...] = ()
) -> tuple[Outputs, dict[str, Outputs]]:
    """Return the gradients of one step (chapter 5), and the terms of dx and dh_prev. `leave`: keys of LEFT_OUT."""
    after, write = variant
    x, h_prev, r, _, z, _, n, q = cache
    kept, written = (1 - z, z) if write else (z, 1 - z)

    def factor(name: str, value: Array) -> Array:
        return np.ones_like(value) if name in leave else value

    def slope(gate: str, a: Array) -> Array:
        squash = math.tanh if gate == "n" else sig
        a = each(squash, a) if f"again {gate}" in leave else a
        return factor(f"slope {gate}", 1 - a * a if gate == "n" else a * (1 - a))

    direct = dh * (written if "share of h_prev" in leave else kept)
    dn = dh * (kept if "share of n" in leave else written)
    dz = dh * (n - h_prev if write != ("sign z" in leave) else h_prev - n)
    da_n = dn * slope("n", n)
    seen = kept * h_prev + written * n if "h for h_prev" in leave else h_prev
    if after:
        dq, dr = da_n * factor("dq r", r), da_n * factor("dr h", q)
        through, dW_hn = matmul(dq, w["W_hn"].T), matmul(seen.T, dq)
    else:
        dq = matmul(da_n, w["W_hn"] if "W_hn T" in leave else w["W_hn"].T)
        dr, through = dq * factor("dr h", h_prev), dq * factor("dq r", r)
        dW_hn = matmul((seen if "r in W_hn" in leave else q).T, da_n)
    da = {"r": dr * slope("r", r), "z": dz * slope("z", z), "n": da_n}
    W_hT = {g: w[f"W_h{g}"] if "W_h T" in leave else w[f"W_h{g}"].T for g in "rz"}
    terms = {
        "dh_prev": {
            f"dh ⊙ {'(1 − z)' if write else 'z'}, the direct path": direct,
            "da_z W_hzᵀ, through the update gate": matmul(da["z"], W_hT["z"]),
            "da_r W_hrᵀ, through the reset gate": matmul(da["r"], W_hT["r"]),
            f"{'dq W_hnᵀ' if after else 'dq ⊙ r'}, through the candidate": through,
        },
        "dx": {f"da_{g} W_x{g}ᵀ": matmul(a, w[f"W_x{g}"].T) for g, a in da.items()},
    }
    out = oracle.total(terms) | oracle.weight_grads(x, seen, da)
    return out | {"dW_hn": dW_hn, "db_hn": sums(dq)}, terms


LEFT_OUT = {
    "sign z": "da_z has the wrong sign: ∂h/∂z is {dz}.",
    "share of h_prev": "z and 1 − z have changed places in the direct path of dh_prev: {shares}.",
    "share of n": "z and 1 − z have changed places in da_n: {shares}.",
    "slope z": "da_z lacks the slope of σ: z ⊙ (1 − z).",
    "slope r": "da_r lacks the slope of σ: r ⊙ (1 − r).",
    "slope n": "da_n lacks the slope of tanh: 1 − n².",
    "again z": "da_z takes the slope at σ(z): z is σ(a_z) already, and its slope is z ⊙ (1 − z).",
    "again r": "da_r takes the slope at σ(r): r is σ(a_r) already, and its slope is r ⊙ (1 − r).",
    "again z, again r": "the slopes of the gates are taken at σ(z) and σ(r): z and r are squashed already, so their "
    "slopes are z ⊙ (1 − z) and r ⊙ (1 − r).",
    "again n": "da_n takes the slope at tanh(n): n is tanh(a_n) already, and its slope is 1 − n².",
    "again z, again r, again n": "all slopes are taken of what is squashed already: they are z ⊙ (1 − z), r ⊙ (1 − r) "
    "and 1 − n².",
    "dr h": "dr lacks its factor {dr}: the product rule on what the reset gate multiplies.",
    "dq r": "{dq} lacks its factor r: what passes the reset gate forward passes it backward.",
    "r in W_hn": "dW_hn uses h_prev where r ⊙ h_prev was multiplied: dW_hn = (r ⊙ h_prev)ᵀ da_n.",
    "h for h_prev": "dW_h uses h_t where h_{{t−1}} belongs: the product in the forward pass was h_prev W_h.",
    "W_hn T": "dq uses W_hn where W_hnᵀ belongs.",
    "W_h T": "dh_prev uses W_hr and W_hz where W_hrᵀ and W_hzᵀ belong.",
    "share of h_prev, share of n": "z and 1 − z have changed places in the backward pass: {shares}.",
    "slope z, slope r, slope n": "the slopes are missing: "
    "da = dgate ⊙ σ′(a) for the gates, ⊙ tanh′(a) for the candidate.",
}


def _step_backward_mistakes(run: Callable[..., Outputs], variant: _Variant) -> Iterator[Mistake]:
    """Yield what goes wrong in a backward step. `run` computes the gradients from `leave`."""
    after, write = variant
    words = {
        "dz": "n − h_prev" if write else "h_prev − n",
        "shares": f"h_prev has the share {'1 − z and n has z' if write else 'z and n has 1 − z'}",
        "dr": "h_prev W_hn + b_hn" if after else "h_prev",
        "dq": "dq" if after else "the candidate's term of dh_prev",
    }
    for names, message in LEFT_OUT.items():
        if not (after and names in ("r in W_hn", "W_hn T")):
            yield message.format(**words), run(tuple(names.split(", ")))


def _grad_names(p: GRUParams) -> tuple[str, ...]:
    biases = ["b_r", "b_z", "b_n"] + (["b_hn"] if p.reset_after else [])
    return (*(f"W_{a}{g}" for a in "xh" for g in "rzn"), *(biases if p.bias else []))


@exercise
def gru_step_backward(*, reset_after: bool = False, convention: str = "keep", bias: bool = True) -> Exercise:
    """Check ``f(dh, cache, p) -> dx, dh_prev, grads``: backward through one step, chapter 5.

    Given dh (N, H), the step's cache (x, h_prev, r, 1 − r, z, 1 − z, n, q), as in a `GRUCache`, and the weights p;
    return dx (N, D), dh_prev (N, H) and grads, a dict by name (W_xr … b_n) or a GRUParams.
    """
    p, w, rng, variant = _draw("gru_step_backward", reset_after, convention, bias)
    x, h_prev, dh = (rng.normal(size=(N, k)) for k in (D, H, H))
    _, cache = _step(x, h_prev, w, variant)
    outputs, terms = _step_backward(dh, cache, w, variant)
    names = _grad_names(p)
    right = {name: outputs[name] for name in ("dx", "dh_prev", *(f"d{name}" for name in names))}

    def mistakes() -> Iterator[Mistake]:
        return _step_backward_mistakes(lambda leave: _step_backward(dh, cache, w, variant, leave)[0], variant)

    return Exercise({"dh": dh, "cache": cache, "p": p}, right, mistakes, grads=names, terms=terms, batch=N)


@exercise
def gru_backward(*, reset_after: bool = False, convention: str = "keep", bias: bool = True) -> Exercise:
    """Check ``f(dhs, dh_T, caches, p) -> dxs, dh0, grads``: backpropagation through time, chapter 5.

    Given dhs (T, N, H), dh_T (N, H), a list with the cache of each step, and the weights p; return dxs (T, N, D),
    dh0 (N, H) and grads, a dict by name (W_xr … b_n) or a GRUParams.
    """
    p, w, rng, variant = _draw("gru_backward", reset_after, convention, bias)
    xs, h = rng.normal(size=(T, N, D)), rng.normal(size=(N, H))
    dhs, dh_T = rng.normal(size=(T, N, H)), rng.normal(size=(N, H))
    names, caches = _grad_names(p), []
    for x in xs:
        h, cache = _step(x, h, w, variant)
        caches.append(cache)

    def loop(
        leave: tuple[str, ...] = (), *, flow: bool = True, last: bool = True, outer: bool = True, sums: bool = True
    ) -> Outputs:
        dh, dxs = dh_T if last else 0 * dh_T, np.zeros_like(xs)
        grads = {f"d{name}": np.zeros(getattr(p, name).shape) for name in names}
        for t in reversed(range(T)):
            end = t == T - 1
            dh = (dh if flow or end else 0 * dh) + (dhs[t] if outer or end else 0)
            g, _ = _step_backward(dh, caches[t], w, variant, leave)
            dh, dxs[t] = g["dh_prev"], g["dx"]
            grads = {name: g[name] + (a if sums else 0) for name, a in grads.items()}
        return {"dxs": dxs, "dh0": dh, **grads}

    right = loop()

    def mistakes() -> Iterator[Mistake]:
        message = "the gradient does not flow back in time: dh must be dhs[t] plus what the step after t hands back."
        yield message, loop(flow=False)
        yield "dh_T is left out: it is the gradient that enters at the last state.", loop(last=False)
        yield "dhs[t] is left out except at the end: every output has its own gradient.", loop(outer=False)
        yield "the parameters' gradients are those of one step: sum them over time.", loop(sums=False)
        yield "dxs runs backwards in time.", right | {"dxs": right["dxs"][::-1]}
        yield from _step_backward_mistakes(loop, variant)

    args = {"dhs": dhs, "dh_T": dh_T, "caches": caches, "p": p}
    return Exercise(args, right, mistakes, grads=names, batch=N)
