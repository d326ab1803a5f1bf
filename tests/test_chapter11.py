"""What chapter 11 and its pages say of the ladder, of its floor, of its stored times, and of other frameworks."""

import contextlib
import io
import itertools
import json
import re

import numpy as np
import pytest
from helpers import box, close

from benchmarks import contenders, ladder
from gru_book import results
from gru_book.models.gru_versions import VERSIONS, problem


class Counted(np.ndarray):
    """An array that counts the multiplications and additions of the products it is in."""

    done = 0

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return self.product(*inputs) if ufunc is np.matmul else NotImplemented

    def __array_function__(self, function, types, arguments, options):
        if function is np.dot:
            return self.product(*arguments)
        return super().__array_function__(function, types, arguments, options)

    @staticmethod
    def product(a, b):
        Counted.done += 2 * a.shape[0] * a.shape[1] * b.shape[1]
        return np.empty((a.shape[0], b.shape[1])).view(Counted)


class CountedDraws:
    """A generator whose arrays count."""

    def normal(self, size):
        return np.zeros(size).view(Counted)


@pytest.mark.parametrize("size", [(5, 3, 4, 6), ladder.SIZES["longer"]])
def test_both_floors_do_the_operations_that_the_chapter_counts(size, monkeypatch):
    T, N, D, H = size
    case = contenders.Case(*size)
    monkeypatch.setattr(np.random, "default_rng", lambda seed: CountedDraws())
    for run in (ladder.products(size), contenders.CONTENDERS["GEMM floor"]("gru", case, "float32").train):
        monkeypatch.setattr(Counted, "done", 0)
        run()
        assert Counted.done == 18 * T * N * H * (D + H) == case.flops(3)


def test_what_is_measured_is_stored_as_the_page_reads_it(tmp_path, monkeypatch):
    """The best of the times, for every version and size."""
    times = itertools.cycle([0.4, 0.1, 0.2, 0.3, 0.2, 0.2, 0.9, 0.5, 0.6, 0.8, 0.7])
    known = results.load("ladder")
    monkeypatch.setattr(ladder, "STORED", tmp_path / "ladder.json")
    monkeypatch.setattr(ladder, "best", lambda run: next(times))
    in_torch = ("nn.GRU", "loop over nn.GRUCell", "plain loop in PyTorch", "loop with few calls")
    monkeypatch.setattr(ladder, "torch_steps", lambda size: dict.fromkeys(in_torch, None))
    monkeypatch.setattr(contenders, "version", str)
    ladder.main()
    found = json.loads(ladder.STORED.read_text("utf8"))
    assert found["seconds"]["large"] == dict.fromkeys((*ladder.VERSIONS, *in_torch, "floor"), 0.1)
    shape = [
        [(name, list(row)) for name, row in one[part].items()]
        for one in (known, found)
        for part in ("sizes", "seconds")
    ]
    assert shape[:2] == shape[2:] and found.keys() == known.keys()  # what is stored is of these versions and sizes


SECONDS = results.load("ladder")["seconds"]


def test_the_ladder_gained_what_the_page_says():
    first, all_three, last = "the equations, step by step", "factors first", "the library"
    layer, loop = "nn.GRU", "loop over nn.GRUCell"
    gains = {name: {who: seconds[first] / took for who, took in seconds.items()} for name, seconds in SECONDS.items()}
    small, large = gains["longer"], gains["large"]
    assert f"{small[all_three]:.1f}" == "2.0" and f"{large[all_three]:.1f}" == "1.1"
    assert f"{small['floor']:.0f}" == "15" and f"{large['floor']:.1f}" == "1.7"
    assert max(small, key=lambda who: small[who] * (who != "floor")) == last
    assert [f"{gain[loop] / gain[layer]:.1f}" for gain in (small, large)] == ["0.7", "1.0"]
    assert SECONDS["longer"][last] < SECONDS["longer"][layer] / 4
    assert large[all_three] < large["out of the loop"]
    own, few = "plain loop in PyTorch", "loop with few calls"
    assert {H: f"{gain[few] / gain[own]:.1f}" for H, gain in ((16, small), (256, large))} == {16: "2.1", 256: "1.2"}
    assert all(gain[few] > gain[layer] for gain in gains.values())
    assert round(1e3 * SECONDS["large"]["floor"]) == 21 and round(1.5e9 / SECONDS["large"]["floor"], -10) == 70e9
    assert "openblas" in results.load("ladder")["numpy"] and "BLAS mkl" in results.load("ladder")["torch"]
    assert results.load("ladder")["machine"] == "AMD EPYC (family 25, model 1), 2 cores"


@pytest.mark.frameworks("torch")
def test_what_is_timed_in_pytorch_computes_the_same_in_the_layer_and_in_the_loop():
    import torch

    box("11-making-it-fast", "def own_loop")  # the last of them
    layer, loop, plain, few = ladder.torch_steps((5, 3, 4, 6)).values()
    torch.testing.assert_close(layer(), loop(), atol=1e-6, rtol=0)
    torch.testing.assert_close(plain(), few(), atol=1e-6, rtol=0)
    close(plain().numpy(), VERSIONS["the library"](*problem((5, 3, 4, 6)))[1], atol=1e-5)


@pytest.mark.frameworks("torch")
def test_the_code_for_pytorch_runs_and_its_loop_is_the_layer(monkeypatch):
    import torch

    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", torch.backends.cudnn.allow_tf32)  # put back when it ends
    code, _ = box("11-making-it-fast", "Timer")
    printed, names = io.StringIO(), {}
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "<page>", "exec"), names)
    took = re.findall(r"^(layer|loop).*backward\(\) ([\d.e-]+)$", printed.getvalue(), re.M)
    assert [name for name, _ in took] == ["layer", "loop"] and all(0 < float(seconds) < 1 for _, seconds in took)
    names["cell"].load_state_dict({name.removesuffix("_l0"): w for name, w in names["layer"].state_dict().items()})
    with torch.no_grad():
        assert torch.allclose(names["loop"](names["xs"]), names["layer"](names["xs"])[0], atol=1e-6)
