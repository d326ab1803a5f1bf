"""The contenders: the same layer in several frameworks, with the same weights.

Each is a function (cell, case, dtype) -> Contender. It imports its framework inside, so that a missing one is left out
and named. All compute the GRU with the reset gate after the product, the only form that PyTorch has; "gru_lib" is also
timed with the reset gate before it, the book's form.

A training step is a forward pass and the gradients of the inputs, the initial state and every parameter, given the
gradient of the outputs.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = Any


@dataclass(frozen=True)
class Case:
    """Sizes of a run: T steps, N sequences, D inputs, H units."""

    T: int
    N: int
    D: int
    H: int

    def __str__(self) -> str:
        return f"{self.T}x{self.N}x{self.D}x{self.H}"

    def flops(self, gates: int) -> int:
        """Multiplications and additions in the matrix products of one training step."""
        return 3 * 2 * self.T * self.N * gates * self.H * (self.D + self.H)


@dataclass(frozen=True)
class Contender:
    """What is timed. `forward` returns the outputs (T, N, H); `train` the outputs and the gradient of the inputs."""

    forward: Callable[[], Any] | None
    train: Callable[[], Any] | None = None


class Problem:
    """What all contenders get: parameters, inputs and the gradient of the outputs, from one seed."""

    def __init__(self, cell: str, case: Case, dtype: str, *, reset_after: bool = True) -> None:
        from gru_lib import elman_init, gru_init, lstm_init

        rng = np.random.default_rng(0)
        init = {"gru": gru_init, "lstm": lstm_init, "elman": elman_init}[cell]
        options = {"reset_after": reset_after} if cell == "gru" else {}
        self.p = init(rng, case.D, case.H, dtype=dtype, **options)
        self.p.flat[:] = rng.uniform(-1, 1, self.p.size) / np.sqrt(case.H)
        self.xs = rng.normal(size=(case.T, case.N, case.D)).astype(dtype)
        self.dhs = rng.normal(size=(case.T, case.N, case.H)).astype(dtype)
        self.h0 = np.zeros((case.N, case.H), dtype)


def gru_lib(cell: str, case: Case, dtype: str, *, reset_after: bool = True) -> Contender:
    """Our own functions, as the chapters call them; without a backward pass, `infer`."""
    import gru_lib as lib

    q = Problem(cell, case, dtype, reset_after=reset_after)
    run, back = getattr(lib, f"{cell}_forward"), getattr(lib, f"{cell}_backward")

    def train() -> Any:
        hs, _, tape = run(q.xs, None, q.p)
        dxs, _, _ = back(q.dhs, None, tape, q.p)
        return hs, dxs

    return Contender(lambda: lib.infer(q.xs, None, q.p)[0], train)


def gru_lib_before(cell: str, case: Case, dtype: str) -> Contender:
    """Our own functions with the reset gate before the product: the book's default."""
    if cell != "gru":
        return Contender(None)
    return gru_lib(cell, case, dtype, reset_after=False)


def torch_nn(cell: str, case: Case, dtype: str) -> Contender:
    """torch.nn.GRU, LSTM or RNN, with autograd."""
    import torch

    from gru_lib import convert

    q = Problem(cell, case, dtype)
    kind = {"gru": torch.nn.GRU, "lstm": torch.nn.LSTM, "elman": torch.nn.RNN}[cell]
    layer = kind(case.D, case.H, dtype=getattr(torch, dtype))
    layer.load_state_dict({name: torch.from_numpy(np.array(a)) for name, a in convert.to_torch([[q.p]]).items()})
    xs, dhs = torch.from_numpy(q.xs).requires_grad_(), torch.from_numpy(q.dhs)
    h0 = torch.zeros(1, case.N, case.H, dtype=xs.dtype, requires_grad=True)
    start = (h0, torch.zeros_like(h0, requires_grad=True)) if cell == "lstm" else h0

    def forward() -> Any:
        with torch.no_grad():
            return layer(xs, start)[0]

    def train() -> Any:
        for tensor in (xs, *(start if cell == "lstm" else (h0,)), *layer.parameters()):
            tensor.grad = None
        hs, _ = layer(xs, start)
        hs.backward(dhs)
        return hs, xs.grad

    return Contender(forward, train)


def torch_loop(cell: str, case: Case, dtype: str) -> Contender:
    """The GRU as a tutorial writes it in PyTorch: a Python loop over steps, fused weights, autograd."""
    import torch

    if cell != "gru":
        return Contender(None)
    q = Problem(cell, case, dtype)
    W_x, W_h, b, b_hn = (torch.from_numpy(np.array(a)).requires_grad_() for a in (q.p.W_x, q.p.W_h, q.p.b, q.p.b_hn))
    xs, dhs = torch.from_numpy(q.xs).requires_grad_(), torch.from_numpy(q.dhs)
    h0 = torch.zeros(case.N, case.H, dtype=xs.dtype, requires_grad=True)

    def run() -> Any:
        ax, h, hs = xs @ W_x + b, h0, []
        for a in ax.unbind(0):
            a_r, a_z, a_n = a.chunk(3, 1)
            q_r, q_z, q_n = (h @ W_h).chunk(3, 1)
            r, z = torch.sigmoid(a_r + q_r), torch.sigmoid(a_z + q_z)
            n = torch.tanh(a_n + r * (q_n + b_hn))
            h = n + z * (h - n)
            hs.append(h)
        return torch.stack(hs)

    def forward() -> Any:
        with torch.no_grad():
            return run()

    def train() -> Any:
        for tensor in (xs, h0, W_x, W_h, b, b_hn):
            tensor.grad = None
        hs = run()
        hs.backward(dhs)
        return hs, xs.grad

    return Contender(forward, train)


def jax_scan(cell: str, case: Case, dtype: str) -> Contender:
    """The GRU with jax.lax.scan, compiled by jax.jit; gradients by jax.vjp inside the compiled function."""
    import jax

    if cell != "gru":
        return Contender(None)
    jax.config.update("jax_platforms", "cpu")
    jax.config.update("jax_enable_x64", dtype == "float64")
    import jax.numpy as jnp

    q = Problem(cell, case, dtype)
    values = [jnp.asarray(a) for a in (q.xs, q.h0, q.p.W_x, q.p.W_h, q.p.b, q.p.b_hn)]
    dhs = jnp.asarray(q.dhs)

    def run(xs: Any, h0: Any, W_x: Any, W_h: Any, b: Any, b_hn: Any) -> Any:
        def step(h: Any, a: Any) -> Any:
            a_r, a_z, a_n = jnp.split(a, 3, 1)
            q_r, q_z, q_n = jnp.split(h @ W_h, 3, 1)
            r, z = jax.nn.sigmoid(a_r + q_r), jax.nn.sigmoid(a_z + q_z)
            n = jnp.tanh(a_n + r * (q_n + b_hn))
            h = n + z * (h - n)
            return h, h

        return jax.lax.scan(step, h0, xs @ W_x + b)[1]

    def both(dhs: Any, *values: Any) -> Any:
        hs, pull = jax.vjp(run, *values)
        return hs, pull(dhs)

    # Compile here, so that the timed call does not.
    compiled, both = jax.jit(run).lower(*values).compile(), jax.jit(both).lower(dhs, *values).compile()

    def train() -> Any:
        hs, grads = jax.block_until_ready(both(dhs, *values))
        return hs, grads[0]

    return Contender(lambda: jax.block_until_ready(compiled(*values)), train)


def onnxruntime(cell: str, case: Case, dtype: str) -> Contender:
    """One ONNX node in onnxruntime: forward only, float32 only."""
    import onnxruntime as ort
    from onnx import TensorProto, helper, numpy_helper

    from gru_lib import convert

    if dtype != "float32":
        return Contender(None)
    q = Problem(cell, case, dtype)
    tensors = zip("WRB", convert.to_onnx([q.p]), strict=True)
    initializers = [numpy_helper.from_array(np.ascontiguousarray(a), name) for name, a in tensors]
    kind = {"gru": "GRU", "lstm": "LSTM", "elman": "RNN"}[cell]
    attributes = {"linear_before_reset": 1} if cell == "gru" else {}
    node = helper.make_node(kind, ["X", "W", "R", "B"], ["Y"], hidden_size=case.H, **attributes)
    X = helper.make_tensor_value_info("X", TensorProto.FLOAT, [case.T, case.N, case.D])
    Y = helper.make_tensor_value_info("Y", TensorProto.FLOAT, [case.T, 1, case.N, case.H])
    graph = helper.make_graph([node], "layer", [X], [Y], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)
    options = ort.SessionOptions()
    options.intra_op_num_threads = THREADS
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return Contender(lambda: session.run(None, {"X": q.xs})[0][:, 0])


def plain_numpy(cell: str, case: Case, dtype: str) -> Contender:
    """The GRU as tutorials write it in NumPy: one matrix per gate, one product at a time, lists of arrays."""
    if cell != "gru":
        return Contender(None)
    q = Problem(cell, case, dtype)
    W = {name: np.array(getattr(q.p, name)) for name in ("W_xr", "W_xz", "W_xn", "W_hr", "W_hz", "W_hn")}
    b_r, b_z, b_n, b_hn = (np.array(getattr(q.p, name)) for name in ("b_r", "b_z", "b_n", "b_hn"))

    def run() -> Any:
        h, hs, cache = q.h0, [], []
        for x in q.xs:
            r = 1 / (1 + np.exp(-(x @ W["W_xr"] + h @ W["W_hr"] + b_r)))
            z = 1 / (1 + np.exp(-(x @ W["W_xz"] + h @ W["W_hz"] + b_z)))
            past = h @ W["W_hn"] + b_hn
            n = np.tanh(x @ W["W_xn"] + b_n + r * past)
            cache.append((x, h, r, z, n, past))
            h = z * h + (1 - z) * n
            hs.append(h)
        return np.stack(hs), cache

    def train() -> Any:
        hs, cache = run()
        dW = {name: np.zeros_like(a) for name, a in W.items()}
        db = [np.zeros_like(a) for a in (b_r, b_z, b_n, b_hn)]
        dh, dxs = np.zeros_like(q.h0), []
        for t in reversed(range(case.T)):
            x, h, r, z, n, past = cache[t]
            dh = dh + q.dhs[t]
            da_n = dh * (1 - z) * (1 - n * n)
            da_z = dh * (h - n) * z * (1 - z)
            da_r = da_n * past * r * (1 - r)
            dpast = da_n * r
            for gate, da, da_h in (("r", da_r, da_r), ("z", da_z, da_z), ("n", da_n, dpast)):
                dW[f"W_x{gate}"] += x.T @ da
                dW[f"W_h{gate}"] += h.T @ da_h
            for total, da in zip(db, (da_r, da_z, da_n, dpast), strict=True):
                total += da.sum(axis=0)
            dxs.append(da_r @ W["W_xr"].T + da_z @ W["W_xz"].T + da_n @ W["W_xn"].T)
            dh = dh * z + da_r @ W["W_hr"].T + da_z @ W["W_hz"].T + dpast @ W["W_hn"].T
        return hs, np.stack(dxs[::-1])

    return Contender(lambda: run()[0], train)


def gemm_floor(cell: str, case: Case, dtype: str) -> Contender:
    """Only the matrix products that the layer cannot do without, in the shapes it uses."""
    T, N, D, H = case.T, case.N, case.D, case.H
    G = {"gru": 3, "lstm": 4, "elman": 1}[cell] * H
    rng = np.random.default_rng(0)
    W_x, W_h, Wt_h, h, a = (rng.normal(size=s).astype(dtype) for s in [(D, G), (G, H), (H, G), (H, N), (G, N)])
    x_rows, h_rows, a_rows = (rng.normal(size=(T * N, k)).astype(dtype) for k in (D, H, G))
    out_a, out_h = np.empty_like(a), np.empty_like(h)

    def forward() -> Any:
        x_rows @ W_x
        for _ in range(T):
            np.dot(W_h, h, out=out_a)

    def train() -> Any:
        forward()
        for _ in range(T):
            np.dot(Wt_h, a, out=out_h)
        return h_rows.T @ a_rows, x_rows.T @ a_rows, a_rows @ W_x.T

    return Contender(forward, train)


THREADS = 1  # set by the worker before a contender is made


def version(name: str) -> str:
    """A contender's framework, with its version and the instruction set it uses."""
    if name.startswith("torch"):
        import torch

        (blas,) = re.findall(r"BLAS_INFO=(\w+)", torch.__config__.show()) or ["unknown"]
        return f"torch {torch.__version__}, BLAS {blas}"
    if name.startswith(("jax", "onnx")):
        module = importlib.import_module("jax" if name.startswith("jax") else "onnxruntime")
        return f"{module.__name__} {module.__version__}"
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return f"NumPy {np.__version__}, kernels unknown (threadpoolctl is not installed)"
    for library in threadpool_info():
        if library["user_api"] == "blas" and "numpy" in library["filepath"]:
            kernels = f"{library['internal_api']} {library['version']} {library.get('architecture', '')}".strip()
            return f"NumPy {np.__version__}, {kernels}"
    return f"NumPy {np.__version__}, kernels unknown"


CONTENDERS: dict[str, Callable[[str, Case, str], Contender]] = {
    "gru_lib": gru_lib,
    "gru_lib, reset before": gru_lib_before,
    "torch.nn": torch_nn,
    "torch loop": torch_loop,
    "jax.jit scan": jax_scan,
    "onnxruntime": onnxruntime,
    "plain NumPy": plain_numpy,
    "GEMM floor": gemm_floor,
}
