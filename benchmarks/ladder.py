"""Time the versions of chapter 11, `gru_book.models.gru_versions`, and PyTorch's layer where it is installed.

``python -m benchmarks.ladder`` times them in turns, prints the table and stores it in gru_book/results/ladder.json.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gru_book.models.gru_versions import VERSIONS, problem
from gru_book.results import FOLDER

STORED = FOLDER / "ladder.json"
BLOCK = 0.005  # seconds
SIZES = {
    "longer": (40, 32, 2, 16),
    "middle": (100, 20, 100, 100),
    "large": (35, 32, 28, 256),
}


def products(size: tuple[int, int, int, int]) -> Callable[[], Any]:
    """The floor: only the matrix products of a training step, in the shapes of the last version."""
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


def few_calls() -> Any:
    """The loop that chapter 11 shows, from its text."""
    names: dict[str, Any] = {}
    text = (Path(__file__).parents[1] / "book_text" / "11-making-it-fast.md").read_text("utf8")
    (code,) = re.findall(r"^```python\n(import torch\n\n\ndef own_loop.*?)^```$", text, re.M | re.S)
    exec(code, names)
    return names["own_loop"]


def torch_steps(size: tuple[int, int, int, int]) -> dict[str, Callable[[], Any]]:
    """The same training step in PyTorch: its layer and a loop over its cell, which reset after the product, and loops
    of one's own, which reset before it: a product for each gate, and the page's, with few calls."""
    try:
        import torch
    except ImportError:
        print("ladder: PyTorch is not installed, and left out.")
        return {}
    torch.set_num_threads(1)
    xs, dhs, p = problem(size)
    x, dh = torch.from_numpy(xs).requires_grad_(), torch.from_numpy(dhs)
    layer, cell = torch.nn.GRU(*size[2:]), torch.nn.GRUCell(*size[2:])
    cell.load_state_dict({name.removesuffix("_l0"): w for name, w in layer.state_dict().items()})

    def whole() -> Any:
        return layer(x)[0]

    def loop() -> Any:
        h, hs = None, []
        for x_t in x:
            h = cell(x_t, h)
            hs.append(h)
        return torch.stack(hs)

    W_x, W_h, b = (torch.from_numpy(a.copy()).requires_grad_() for a in (p.W_x, p.W_h, p.b))
    own = torch.nn.ParameterList([W_x, W_h, b])

    def plain() -> Any:
        h, hs = torch.zeros(size[1], size[3]), []
        (W_xr, W_xz, W_xn), (W_hr, W_hz, W_hn), (b_r, b_z, b_n) = (m.chunk(3, dim=-1) for m in (W_x, W_h, b))
        for x_t in x:
            r = torch.sigmoid(x_t @ W_xr + h @ W_hr + b_r)
            z = torch.sigmoid(x_t @ W_xz + h @ W_hz + b_z)
            n = torch.tanh(x_t @ W_xn + (r * h) @ W_hn + b_n)
            h = z * h + (1 - z) * n
            hs.append(h)
        return torch.stack(hs)

    loop_of_the_page = few_calls()

    def few() -> Any:
        return loop_of_the_page(x, W_x, W_h, b)

    def step(forward: Callable[[], Any], module: Any) -> Callable[[], Any]:
        def run() -> Any:
            x.grad = None
            module.zero_grad()
            forward().backward(dh)
            return x.grad

        return run

    return {
        "nn.GRU": step(whole, layer),
        "loop over nn.GRUCell": step(loop, cell),
        "plain loop in PyTorch": step(plain, own),
        "loop with few calls": step(few, own),
    }


def best(run: Callable[[], Any], seconds: float = 0.05) -> float:
    """Processor time of a call, the least of the means over `BLOCK`: of one short call it may be wrong by a tenth."""
    start = time.process_time()
    run()
    calls = max(1, int(BLOCK / max(time.process_time() - start, 1e-6)))
    least, stop = float("inf"), time.process_time() + seconds
    while (start := time.process_time()) < stop:
        for _ in range(calls):
            run()
        least = min(least, (time.process_time() - start) / calls)
    return least


def measure(size: tuple[int, int, int, int], rounds: int = 40) -> dict[str, float]:
    """Best seconds of a training step, by version and for the floor. They take turns."""
    xs, dhs, p = problem(size)
    runs = {name: partial(version, xs, dhs, p) for name, version in VERSIONS.items()}
    runs |= torch_steps(size) | {"floor": products(size)}
    found = dict.fromkeys(runs, float("inf"))
    for _ in range(rounds):
        for name, run in runs.items():
            found[name] = min(found[name], best(run))
    return found


def main() -> None:
    """Measure all sizes, print and store."""
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        raise SystemExit("ladder: set OPENBLAS_NUM_THREADS=1, so that processor time is the time of one thread.")
    from benchmarks.__main__ import machine
    from benchmarks.contenders import version

    found: dict[str, Any] = {"machine": machine(), "numpy": version("gru_lib")}
    if torch_steps(SIZES["longer"]):
        found["torch"] = version("torch.nn")
    print(*found.values(), sep="; ")
    found |= {"sizes": SIZES, "seconds": {}}
    for name, size in SIZES.items():
        found["seconds"][name] = seconds = measure(size)
        print(f"\n{name}: T x N x D x H = {'x'.join(map(str, size))}")
        for one, took in seconds.items():
            gain = seconds["the equations, step by step"] / took
            print(f"  {one:30s}{took * 1e3:10.3f} ms{gain:8.2f}x", flush=True)
    STORED.write_text(json.dumps(found, indent=1) + "\n", "utf8")


if __name__ == "__main__":
    main()
