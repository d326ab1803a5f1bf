"""Chapter 22: the stored trainings say what the page says, had the settings it says, and can be made again."""

import ctypes
import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from helpers import cells_of, load_results, names_of, results

from conftest import ROOT
from experiments import at_work
from gru_book.models.forecasts import Batch, fit, forecast, forecaster_init
from gru_book.tasks.pendulum import inputs, pendulums, targets
from gru_lib import gru_forward, gru_init
from gru_lib.convert import to_torch

FILES = ("at_work", "at_work_own")  # the second with other kernels
both = pytest.mark.parametrize("file", FILES)


def stored(part, *what, file=FILES[0]):
    return results(file, part, *what)


def ahead(part, *what, file=FILES[0]):
    return np.array([run["ahead"] for run in stored(part, *what, file=file)])


# -------------------------------------------------------------------------------------------- settings and claims


@pytest.mark.parametrize("cell", at_work.RATES)
def test_each_cell_has_the_best_of_three_rates_tried_at_its_full_training(cell):
    tried = {run[1]: run[-1]["ahead"] for run in load_results("at_work")["rates"] if run[0] == cell}
    assert tuple(tried) == at_work.TRIED[cell] and min(tried, key=tried.__getitem__) == at_work.RATES[cell]
    assert {run[2] for part in ("rates", "GRU", "others") for run in load_results("at_work")[part]} == {at_work.STEPS}
    assert not set(at_work.TUNING_SEEDS) & set(at_work.SEEDS)


def test_the_window_net_has_the_best_of_four_settings():
    means = {setting: ahead("window rates", *setting).mean() for setting in at_work.PARTS["window rates"][1]}
    assert min(means, key=means.__getitem__) == at_work.WINDOW and len(means) == 4


@both
def test_filters_beat_every_net(file):
    law, gru = ahead("law", "filters", file=file), ahead("GRU", file=file)
    assert len(gru) == 10 and law.mean() < 0.6 * gru.mean() and law.max() < gru.min()


def test_with_other_kernels_the_means_change_by_a_hundredth_at_most_and_by_nothing_without_a_net():
    for part, most in (("GRU", 0.01), ("law", 2e-4)):
        means = [ahead(part, file=file).mean() for file in FILES]
        assert abs(means[0] - means[1]) < most, part


def test_nets_with_a_state_have_the_grus_size_and_come_in_the_order_of_the_page():
    gru, window = map(ahead, ("GRU", "window"))
    lstm, elman = (ahead("others", cell) for cell in ("LSTM", "Elman"))
    assert [len(found) for found in (gru, lstm, elman, window)] == [10, 5, 5, 10]
    assert max(*gru, *lstm) < min(elman) and max(elman) < min(window)
    assert [f"{np.mean(found):.2f}" for found in (gru, lstm, elman, window)] == ["0.12", "0.12", "0.17", "0.32"]
    scans = [run["ahead"] for cell in at_work.STATES if "minGRU" in cell for run in stored("rates", cell)]
    assert len(scans) == 6 and min(scans) > 0.42 and max(scans) < 0.57
    sizes = {run["size"] for part in ("rates", "GRU", "others") for run in stored(part)}
    assert max(sizes) < 1.03 * 3554 and min(sizes) > 0.97 * 3554  # the GRU has 3,554 with its readout


def test_the_step_in_c_is_the_librarys_with_the_arrays_that_the_page_writes(tmp_path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler here")
    page = names_of(cell for cell in cells_of("22-a-gru-at-work") if "def eight_bits" in cell)
    (code,) = (cell for cell in cells_of("22-a-gru-at-work") if "def c_arrays" in cell)
    page["np"] = np
    exec(code, page)
    D, H, rng = 3, 5, np.random.default_rng(0)
    p = gru_init(rng, D, H, reset_after=True, dtype=np.float32)
    p.flat[:] = rng.normal(size=p.size)
    program, library = tmp_path / "gru.c", tmp_path / "gru.so"
    called = f"gru_step({D}, {H}, x, h, W_x, s_x, W_h, s_h, b, b_hn, a);"
    whole = f"void step(const float *x, float *h) {{ static float a[{6 * H}]; {called} }}"
    text = (ROOT / "experiments" / "gru_step.c").read_text("utf8")
    program.write_text("\n".join([text, *page["c_arrays"](p), whole]) + "\n", "utf8")
    flags = ["-std=c99", "-Wall", "-Werror", "-O2", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, "-o", library, program, "-lm"], check=True)
    step, pointer = ctypes.CDLL(library).step, ctypes.c_void_p
    for W in (p.W_x, p.W_h):
        q, scale = page["eight_bits"](W)
        assert q.dtype == np.int8 and np.abs(q).max() == 127
        W[:] = q * scale
    xs, h = rng.normal(size=(20, 1, D)).astype(np.float32), np.zeros(H, np.float32)
    for x, wanted in zip(xs, gru_forward(xs, None, p)[0], strict=True):
        step(x[0].ctypes.data_as(pointer), h.ctypes.data_as(pointer))
        np.testing.assert_allclose(h, wanted[0], atol=1e-5)


def test_eight_bits_change_the_error_by_less_than_the_page_says():
    stored = json.loads((ROOT / "book" / "22-a-gru-at-work.ipynb").read_text("utf8"))["cells"]
    shown = "".join("".join(out.get("text", "")) for cell in stored for out in cell.get("outputs", []))
    before, after = map(float, re.search(r"error: ([\d.]+), stored in eight bits ([\d.]+)", shown).groups())
    assert abs(before - after) < 0.001
    assert "bytes, then 4,720, with scales and biases" in shown  # the front page says so too


# ------------------------------------------------------------------------------------------------ made again


def test_what_takes_no_training_gives_what_is_stored():
    assert at_work.knows_the_law("last reading", 0) == pytest.approx(stored("law", "last reading")[0], abs=1e-3)


@pytest.mark.slow
def test_filters_give_what_is_stored():
    assert at_work.knows_the_law("filters", 0) == pytest.approx(stored("law", "filters")[0], abs=1e-3)


def test_shortened_trainings_learn_and_are_the_same_again():
    asked = stored("law", "last reading")[0]["ahead"]
    for cell in at_work.STATES:
        one, again = (at_work.net(cell, 0.01, 20, 0) for _ in range(2))
        assert one == again and one["ahead"] < 1.4 < asked
        assert one["size"] == stored("rates", cell)[0]["size"]


# ------------------------------------------------------------------------------------------------ PyTorch


@pytest.mark.frameworks("torch")
def test_pytorch_takes_the_same_first_steps_with_one_bias_in_each_gate():
    import torch

    from experiments.pendulum_torch import Forecaster, fit_torch, pairs

    rng = np.random.default_rng(0)
    few, m, theirs = pendulums(rng, 8), forecaster_init(rng, 3, 2, 6), Forecaster(3, 2, 6)
    theirs.rnn.load_state_dict({name: torch.from_numpy(a) for name, a in to_torch([[m.rnn]]).items()})
    with torch.no_grad():
        theirs.out.weight[:], theirs.out.bias[:] = torch.from_numpy(m.out.W.T.copy()), torch.from_numpy(m.out.b.copy())
    theirs.rnn.bias_hh_l0.register_hook(lambda g: g * (torch.arange(18) >= 12))
    batch = Batch(inputs(few), targets(few), np.ones((120, 8, 2), bool))
    pair = torch.from_numpy(batch.xs), torch.from_numpy(batch.ys)
    ours, losses = fit(m, [batch], 0.03, 10).loss, fit_torch(theirs, [pair] * 10, 0.03, 10)
    np.testing.assert_allclose(ours, losses, rtol=1e-4)
    assert abs(ours[0] - losses[0]) < 1e-6
    with torch.no_grad():
        np.testing.assert_allclose(theirs(pair[0]).numpy(), forecast(m, batch.xs), atol=1e-3)
    losses = fit_torch(Forecaster(3, 2, 6), pairs(batch.xs, batch.ys, N=4), 0.03, 50)
    assert len(losses) == 50 and losses[-1] < 0.5 * losses[0]


@pytest.mark.frameworks("torch")
def test_a_target_that_is_nan_does_not_count_in_pytorch():
    import torch

    from experiments.pendulum_torch import Forecaster, fit_torch

    torch.manual_seed(0)
    m, xs, ys = Forecaster(3, 1, 4), torch.randn(9, 5, 3), torch.full((9, 5, 1), torch.nan)
    assert (m.rnn.bias_hh_l0[4:8] == 1).all()
    ys[2, 3] = 0.5
    with torch.no_grad():
        wanted = ((m(xs)[2, 3] - 0.5) ** 2).item()
    first, *_, last = fit_torch(m, [(xs, ys)] * 50, 0.03, 50)
    assert first == pytest.approx(wanted, rel=1e-5) and last < 0.1 * first


@pytest.mark.frameworks("torch")
def test_pytorch_streams_as_the_page_says():
    import torch

    from experiments.pendulum_torch import Forecaster

    torch.manual_seed(0)
    m, xs, state = Forecaster(3, 2, 6), torch.randn(9, 1, 3), None
    with torch.no_grad():
        for x, wanted in zip(xs, m.rnn(xs)[0], strict=True):
            h, state = m.rnn(x[None], state)
            torch.testing.assert_close(h[0], wanted, atol=1e-6, rtol=0)


# ------------------------------------------------------------------------------------------------ sheet and checklist

SPACE = re.compile(r"\s+")


def formulas(name):
    """The displayed equations of a page, without space and labels."""
    displayed = re.findall(r"\$\$\n(.*?)\n\$\$", "\n\n".join(cells_of(name, "markdown")), re.S)
    return [SPACE.sub("", text).rstrip(".,;") for text in displayed]


def test_equations_of_the_sheet_are_those_of_chapters_4_and_5():
    there = "\n".join(formulas("04-gru-forward") + formulas("05-gru-backward"))
    lines = [part for line in formulas("sheet") for part in re.split(r",\\quad", line)]
    assert len(lines) == 17
    terms = [term for line in lines for term in line.split("=", 1)[1].split("+")]
    assert [term for term in terms if term not in there] == []
