"""From the equations to the library's speed, one change at a time: the rungs that chapter 11 measures.

Every rung is a whole training step of a GRU (keep, reset before the product): it takes the inputs xs (T, N, D), the
gradient of every output dhs (T, N, H) and the parameters, and returns the outputs, the gradient of the inputs and the
gradients of the parameters. All rungs give the same numbers. The last one is the library.

``python -m benchmarks.ladder`` times them in turns, prints the table and stores it in ladder.json.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gru_lib import GRUParams, gru_backward, gru_forward, gru_init, gru_step, gru_step_backward
from gru_lib._core import buffers as _buffers
from gru_lib._core.products import columns, times
from gru_lib.ops import sigmoid_pair

Array = Any
Empty = Callable[[tuple[int, ...], Any], Array]  # what np.empty does: memory for a shape and a dtype
STORED = Path(__file__).with_suffix(".json")
SIZES = {"small": (4, 32, 2, 16), "middle": (100, 20, 100, 100), "large": (35, 32, 28, 256)}


def equations(xs: Array, dhs: Array, p: GRUParams) -> tuple[Array, Array, GRUParams]:
    """Rung 0: the step of chapter 4 and the backward step of chapter 5, in a loop."""
    h, hs, caches = np.zeros_like(dhs[0]), [], []
    for x in xs:
        h, cache = gru_step(x, h, p)
        hs.append(h)
        caches.append(cache)
    dh, dxs, total = np.zeros_like(h), [], p.zeros_like()
    for dh_out, cache in zip(dhs[::-1], caches[::-1], strict=True):
        dx, dh, grads = gru_step_backward(dh + dh_out, cache, p)
        dxs.append(dx)
        total.flat += grads.flat
    return np.stack(hs), np.stack(dxs[::-1]), total


def fused(xs: Array, dhs: Array, p: GRUParams) -> tuple[Array, Array, GRUParams]:
    """Rung 1: the gates side by side. 3 products per step forward instead of 6, 6 backward instead of 12."""
    H, h, hs, caches = p.H, np.zeros_like(dhs[0]), [], []
    for x in xs:
        a = x @ p.W_x + p.b
        s, not_s = sigmoid_pair(a[:, : 2 * H] + h @ p.W_h[:, : 2 * H])
        r, z = s[:, :H], s[:, H:]
        q = r * h
        n = np.tanh(a[:, 2 * H :] + q @ p.W_hn)
        caches.append((x, h, s, not_s, n, q))
        h = z * h + not_s[:, H:] * n
        hs.append(h)
    dh, dxs, g = np.zeros_like(h), [], p.zeros_like()
    for dh_out, (x, h_prev, s, not_s, n, q) in zip(dhs[::-1], caches[::-1], strict=True):
        dh = dh + dh_out
        da, dq = _to_gates(dh, h_prev, s, not_s, n, p)
        g.W_x[:] += x.T @ da
        g.W_h[:, : 2 * H] += h_prev.T @ da[:, : 2 * H]
        g.W_hn[:] += q.T @ da[:, 2 * H :]
        g.b[:] += da.sum(axis=0)
        dxs.append(da @ p.W_x.T)
        dh = dh * s[:, H:] + dq * s[:, :H] + da[:, : 2 * H] @ p.W_h[:, : 2 * H].T
    return np.stack(hs), np.stack(dxs[::-1]), g


def _to_gates(dh: Array, h_prev: Array, s: Array, not_s: Array, n: Array, p: GRUParams) -> tuple[Array, Array]:
    """Return (da_r, da_z, da_n) side by side, and dq: the first half of chapter 5's backward step."""
    H = p.H
    da_n = dh * not_s[:, H:] * (1 - n * n)
    dq = da_n @ p.W_hn.T
    slope = s * not_s
    return np.concatenate((dq * h_prev * slope[:, :H], dh * (h_prev - n) * slope[:, H:], da_n), axis=1), dq


def together(xs: Array, dhs: Array, p: GRUParams, empty: Empty = np.empty) -> tuple[Array, Array, GRUParams]:
    """Rung 2: whatever no step has to wait for leaves the loop: the inputs' product, and every weight's gradient.

    Rung 3 is the same with `empty` from `gru_lib._core.buffers`: memory is reused.
    """
    (T, N, H), D, dtype = dhs.shape, p.D, xs.dtype
    a, da = empty((T, N, 3 * H), dtype), empty((T, N, 3 * H), dtype)
    s, not_s = empty((T, N, 2 * H), dtype), empty((T, N, 2 * H), dtype)
    hs, n, q = empty((T + 1, N, H), dtype), empty((T, N, H), dtype), empty((T, N, H), dtype)
    np.matmul(xs, p.W_x, out=a)
    a += p.b
    hs[0] = 0
    for t in range(T):
        s[t], not_s[t] = sigmoid_pair(a[t, :, : 2 * H] + hs[t] @ p.W_h[:, : 2 * H])
        q[t] = s[t, :, :H] * hs[t]
        n[t] = np.tanh(a[t, :, 2 * H :] + q[t] @ p.W_hn)
        hs[t + 1] = s[t, :, H:] * hs[t] + not_s[t, :, H:] * n[t]
    dh = np.zeros_like(dhs[0])
    for t in reversed(range(T)):
        dh = dh + dhs[t]
        da[t], dq = _to_gates(dh, hs[t], s[t], not_s[t], n[t], p)
        dh = dh * s[t, :, H:] + dq * s[t, :, :H] + da[t, :, : 2 * H] @ p.W_h[:, : 2 * H].T
    rows = da.reshape(T * N, 3 * H)
    g = _weights(p, xs, hs[:-1].reshape(T * N, H), q.reshape(T * N, H), rows)
    return hs[1:], (rows @ p.W_x.T).reshape(T, N, D), g


def _weights(p: GRUParams, xs: Array, h_prev: Array, q: Array, da: Array) -> GRUParams:
    """All weights' gradients from T · N rows: one product per block of weights."""
    H, g = p.H, p.zeros_like()
    g.W_x[:] = xs.reshape(-1, p.D).T @ da
    g.W_h[:, : 2 * H] = h_prev.T @ da[:, : 2 * H]
    g.W_hn[:] = q.T @ da[:, 2 * H :]
    g.b[:] = np.ones(len(da), xs.dtype) @ da
    return g


def batch_last(xs: Array, dhs: Array, p: GRUParams, empty: Empty = _buffers.empty) -> tuple[Array, Array, GRUParams]:
    """Rung 4: internally, the batch is the last axis, so each gate is one contiguous slab (H, N)."""
    (T, N, H), D, dtype = dhs.shape, p.D, xs.dtype
    W_h, W_hn = p.W_h[:, : 2 * H].T.copy(), p.W_hn.T.copy()
    Wt_h, Wt_hn = p.W_h[:, : 2 * H].copy(), p.W_hn.copy()
    a, da = empty((T, 3 * H, N), dtype), empty((T, 3 * H, N), dtype)
    s, not_s = empty((T, 2 * H, N), dtype), empty((T, 2 * H, N), dtype)
    h, n, q = empty((T + 1, H, N), dtype), empty((T, H, N), dtype), empty((T, H, N), dtype)
    np.matmul(p.W_x.T.copy(), xs.transpose(0, 2, 1), out=a)
    a += p.b[:, None]
    h[0] = 0
    for t in range(T):
        s[t], not_s[t] = sigmoid_pair(a[t, : 2 * H] + W_h @ h[t])
        q[t] = s[t, :H] * h[t]
        n[t] = np.tanh(a[t, 2 * H :] + W_hn @ q[t])
        h[t + 1] = s[t, H:] * h[t] + not_s[t, H:] * n[t]
    dh = np.zeros((H, N), dtype)
    for t in reversed(range(T)):
        dh = dh + dhs[t].T
        da[t, 2 * H :] = dh * not_s[t, H:] * (1 - n[t] * n[t])
        dq = Wt_hn @ da[t, 2 * H :]
        slope = s[t] * not_s[t]
        da[t, :H] = dq * h[t] * slope[:H]
        da[t, H : 2 * H] = dh * (h[t] - n[t]) * slope[H:]
        dh = dh * s[t, H:] + dq * s[t, :H] + Wt_h @ da[t, : 2 * H]
    hs = empty((T + 1, N, H), dtype)
    hs[:] = h.transpose(0, 2, 1)
    rows, q_rows = columns(da, empty((da.size,), dtype)).T, columns(q, empty((q.size,), dtype)).T
    g = _weights(p, xs, hs[:-1].reshape(T * N, H), q_rows, rows)
    return hs[1:], (rows @ p.W_x.T).reshape(T, N, D), g


def library(xs: Array, dhs: Array, p: GRUParams) -> tuple[Array, Array, GRUParams]:
    """Rung 5: `gru_forward` and `gru_backward`: factors first, all in place, in spans and blocks, arrays kept."""
    hs, _, tape = gru_forward(xs, None, p)
    dxs, _, g = gru_backward(dhs, None, tape, p)
    return hs, dxs, g


RUNGS: dict[str, Callable[[Array, Array, GRUParams], tuple[Array, Array, GRUParams]]] = {
    "the equations, step by step": equations,
    "gates side by side": fused,
    "out of the loop": together,
    "memory used again": partial(together, empty=_buffers.empty),
    "batch last": batch_last,
    "factors first, in place": library,
}


def problem(size: tuple[int, int, int, int], dtype: Any = np.float32) -> tuple[Array, Array, GRUParams]:
    """Inputs, gradients of the outputs and parameters, from one seed."""
    T, N, D, H = size
    rng = np.random.default_rng(0)
    p = gru_init(rng, D, H, dtype=dtype)
    p.b[:] = rng.normal(0, 0.5, 3 * H)
    return rng.normal(size=(T, N, D)).astype(dtype), rng.normal(size=(T, N, H)).astype(dtype), p


def products(size: tuple[int, int, int, int]) -> Callable[[], Any]:
    """The floor: only the matrix products of a training step, in the shapes of the last rung."""
    T, N, D, H = size
    rng = np.random.default_rng(0)
    W_x, W_h, W_hn, h, a = (
        rng.normal(size=s).astype(np.float32) for s in ((3 * H, D), (2 * H, H), (H, H), (H, N), (2 * H, N))
    )
    Wt_h = W_h.T.copy()
    x_rows, h_rows, a_rows = (rng.normal(size=(T * N, k)).astype(np.float32) for k in (D, H, 3 * H))
    out_2, out_1 = np.empty_like(a), np.empty_like(h)

    def run() -> Any:
        x_rows @ W_x.T
        for _ in range(T):
            np.dot(W_h, h, out=out_2)
            np.dot(W_hn, h, out=out_1)
        for _ in range(T):
            np.dot(W_hn, h, out=out_1)
            np.dot(Wt_h, a, out=out_1)
        return x_rows.T @ a_rows, h_rows.T @ a_rows[:, : 2 * H], h_rows.T @ a_rows[:, 2 * H :], a_rows @ W_x

    return run


def time_one(name: str, size: tuple[int, int, int, int]) -> tuple[float, float]:
    """Best processor time in seconds of one training step, and its page faults. Run it in a process of its own."""
    import resource  # Linux and macOS

    xs, dhs, p = problem(size)
    run: Callable[[], Any] = products(size) if name == "floor" else partial(RUNGS[name], xs, dhs, p)
    best, calls, spent = float("inf"), 0, 0.0
    for _ in range(3):
        run()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    while calls < 5 or spent < 0.4:
        start = time.process_time()
        run()
        took = time.process_time() - start
        calls, spent, best = calls + 1, spent + took, min(best, took)
    return best, (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / calls


def measure(size: tuple[int, int, int, int], rounds: int = 7) -> tuple[dict[str, float], dict[str, list[int]]]:
    """Seconds of a training step, and the fewest and most page faults, by rung and for the floor.

    How much memory the allocator keeps differs from process to process, and one rung's leftovers affect the next. So in
    each round every rung, in turn, gets a fresh process; the time is the median over the rounds of the best in each.
    """
    spawn = multiprocessing.get_context("spawn")
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in (*RUNGS, "floor")}
    for _ in range(rounds):
        for name, runs in found.items():
            with ProcessPoolExecutor(1, mp_context=spawn) as home:
                runs.append(home.submit(time_one, name, size).result())
    seconds = {name: float(np.median([took for took, _ in runs])) for name, runs in found.items()}
    return seconds, {n: [round(pick(f for _, f in runs)) for pick in (min, max)] for n, runs in found.items()}


def calls(H: int = 16, N: int = 32) -> dict[str, float]:
    """Best seconds of one NumPy call on the arrays of a small layer."""
    rng = np.random.default_rng(0)
    W, h, out = (rng.normal(size=s).astype(np.float32) for s in ((H, H), (H, N), (H, N)))
    one = np.array(1, np.float32)
    timed = {
        "np.empty((16, 32))": lambda: np.empty((H, N)),
        "h[2:5]": lambda: h[2:5],
        "W @ h": lambda: W @ h,
        "np.dot(W, h, out=out)": lambda: np.dot(W, h, out=out),
        "h * out": lambda: h * out,
        "np.multiply(h, out, out=out)": lambda: np.multiply(h, out, out=out),
        "np.add(h, 1, out=out)": lambda: np.add(h, 1, out=out),
        "np.add(h, one, out=out)": lambda: np.add(h, one, out=out),
        "np.exp(h, out=out)": lambda: np.exp(h, out=out),
    }
    best = dict.fromkeys(timed, float("inf"))
    for _ in range(60):
        for name, call in timed.items():
            h[:] = out[:] = 1
            start = time.process_time()
            for _ in range(1000):
                call()
            best[name] = min(best[name], (time.process_time() - start) / 1000)
    return best


def made_anew(size: tuple[int, int, int, int] = SIZES["small"]) -> list[float]:
    """Best seconds of the library's step: with all arrays and views made anew, and with those of the previous call."""
    arguments, best = problem(size), [float("inf")] * 2
    for _ in range(60):
        for i, forget in enumerate((_buffers._waiting.clear, lambda: None)):
            for _ in range(20):
                forget()
                start = time.process_time()
                library(*arguments)
                best[i] = min(best[i], time.process_time() - start)
    return best


def product(K: int = 768, H: int = 256, N: int = 32) -> list[float]:
    """Best seconds of one step's product (K, H) times (H, N): in one piece, and in slabs."""
    rng = np.random.default_rng(0)
    W, h, out = (rng.normal(size=s).astype(np.float32) for s in ((K, H), (H, N), (K, N)))
    found = []
    for multiply in (partial(np.dot, W), times(W, N)):
        best = float("inf")
        for _ in range(200):
            start = time.process_time()
            for _ in range(20):
                multiply(h, out)
            best = min(best, (time.process_time() - start) / 20)
        found.append(best)
    return found


def product_by_kernels() -> dict[str, list[float]]:
    """`product` with the kernels that NumPy picks and with older ones, each in its own process."""
    spawn, own, found = multiprocessing.get_context("spawn"), os.environ.pop("OPENBLAS_CORETYPE", None), {}
    for kernels in ("own", "Haswell"):
        if kernels != "own":
            os.environ["OPENBLAS_CORETYPE"] = kernels
        with ProcessPoolExecutor(1, mp_context=spawn) as home:
            found[kernels] = home.submit(product).result()
    os.environ.pop("OPENBLAS_CORETYPE")
    if own is not None:
        os.environ["OPENBLAS_CORETYPE"] = own
    return found


def main() -> None:
    """Measure all sizes, print and store."""
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        raise SystemExit("ladder: set OPENBLAS_NUM_THREADS=1, so that processor time is the time of one thread.")
    from benchmarks.contenders import version

    found: dict[str, Any] = {"numpy": version("gru_lib"), "sizes": SIZES, "seconds": {}, "faults": {}}
    print(found["numpy"])
    for name, size in SIZES.items():
        seconds, faults = measure(size)
        found["seconds"][name], found["faults"][name] = seconds, faults
        print(f"\n{name}: T x N x D x H = {'x'.join(map(str, size))}")
        for rung, took in seconds.items():
            gain = seconds["the equations, step by step"] / took
            least, most = faults[rung]
            print(f"  {rung:30s}{took * 1e3:10.3f} ms{gain:8.2f}x{least:8d} to {most} page faults", flush=True)
    found["calls"] = calls()
    print("\nMicroseconds of a call:", {name: round(took * 1e6, 2) for name, took in found["calls"].items()})
    found["made anew"] = made_anew()
    print("A step of the small layer, all made anew and kept, us:", [round(s * 1e6) for s in found["made anew"]])
    found["product"] = product_by_kernels()
    for kernels, (whole, slabs) in found["product"].items():
        print(f"768x256 times 256x32, {kernels} kernels: {whole * 1e6:.0f} us in one piece, {slabs * 1e6:.0f} in slabs")
    STORED.write_text(json.dumps(found, indent=1) + "\n", "utf8")


if __name__ == "__main__":
    main()
