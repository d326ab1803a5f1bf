"""Chapter 22: the stored trainings say what the page says, had the settings it says, and can be made again."""

import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest
from helpers import cells_of, results

from conftest import ROOT
from experiments import at_work
from gru_book.models.forecasts import Batch, fit, forecast, forecaster_init
from gru_book.tasks.pendulum import inputs, lag_features, pendulums, targets
from gru_lib import gru_forward, gru_init
from gru_lib.convert import to_torch

FILES = ("at_work", "at_work_own")  # the second with other kernels
both = pytest.mark.parametrize("file", FILES)


def stored(part, *what, file=FILES[0]):
    return results(file, part, *what)


def ahead(part, *what, file=FILES[0]):
    return np.array([run["ahead"] for run in stored(part, *what, file=file)])


# -------------------------------------------------------------------------------------------- settings and claims

CHOSEN = {
    "pendulum rates": (at_work.RATE, at_work.SHORT),
    "longer rates": (at_work.SLOWER, at_work.LONG),
    "ridge rates": at_work.RIDGE,
    "trees rates": (*at_work.TREES[:3], 40_000),
    "window rates": at_work.WINDOW,
}


def best(part, *what):
    """The setting with the least mean error; of ridge, whose penalty does not matter, the first of the best."""
    means = {setting: ahead(part, *setting).mean().round(3) for setting in at_work.PARTS[part][1]}
    tried = {setting: mean for setting, mean in means.items() if setting[: len(what)] == what}
    return min(tried, key=tried.__getitem__), len(tried)


@pytest.mark.parametrize("part", CHOSEN)
def test_every_method_has_the_setting_that_was_best_on_other_seeds(part):
    assert best(part)[0] == CHOSEN[part] and not set(at_work.PARTS[part][2]) & set(at_work.SEEDS)


@pytest.mark.parametrize("cell", at_work.OTHERS)
def test_other_cells_have_the_best_of_four_rates_which_is_neither_the_least_nor_the_largest(cell):
    tried = sorted(rate for name, rate, _ in at_work.PARTS["others' rates"][1] if name == cell)
    assert best("others' rates", cell) == ((cell, at_work.OTHERS[cell], at_work.SHORT), 4)
    assert tried[0] < at_work.OTHERS[cell] < tried[-1]


@both
def test_filters_beat_every_net_and_a_gru_every_ridge_and_tree(file):
    law, tree, line = (ahead(*part, file=file) for part in (("law", "filters"), ("trees",), ("ridge",)))
    short, longer = ahead("pendulum", file=file), ahead("longer", at_work.SLOWER, file=file)
    assert len(short) == len(longer) == 10 and (longer < short).all() and law.mean() < 0.5 * short.mean()
    assert law.max() < longer.min() and short.max() < tree.min() and tree.max() < line.min()


def test_with_other_kernels_the_means_change_by_a_hundredth_at_most_and_by_nothing_without_a_net():
    for part, most in (("pendulum", 0.01), ("ridge", 2e-4), ("law", 2e-4), ("trees", 0.002)):
        means = [ahead(part, file=file).mean() for file in FILES]
        assert abs(means[0] - means[1]) < most, part


def test_nets_with_a_state_have_the_grus_size_and_come_in_the_order_of_the_page():
    gru, window = map(ahead, ("pendulum", "window"))
    lstm, elman = (ahead("others", cell) for cell in ("LSTM", "Elman"))
    assert [len(found) for found in (gru, lstm, elman, window)] == [10, 5, 5, 10]
    assert max(*gru, *lstm) < min(elman) and max(elman) < min(window)
    sizes = {run["size"] for run in stored("others")}
    assert max(sizes) < 1.06 * 3458 and min(sizes) > 0.96 * 3458  # the GRU has 3,458 with its readout


def test_the_step_in_c_is_the_librarys(tmp_path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler here")
    program = tmp_path / "gru.so"
    subprocess.run(
        [compiler, "-O2", "-shared", "-fPIC", "-o", program, ROOT / "experiments" / "gru_step.c", "-lm"], check=True
    )
    step = ctypes.CDLL(program).gru_step
    D, H, rng = 3, 5, np.random.default_rng(0)
    p = gru_init(rng, D, H, reset_after=True, dtype=np.float32)
    p.flat[:] = rng.normal(size=p.size)
    xs = rng.normal(size=(20, 1, D)).astype(np.float32)
    h, room = np.zeros(H, np.float32), np.zeros(4 * H, np.float32)
    arrays = [np.ascontiguousarray(a) for a in (p.W_x, p.W_h, p.b, p.b_hn)]
    for x, wanted in zip(xs, gru_forward(xs, None, p)[0], strict=True):
        step(D, H, *(a.ctypes.data_as(ctypes.c_void_p) for a in (x[0], h, *arrays, room)))
        np.testing.assert_allclose(h, wanted[0], atol=1e-5)


# ------------------------------------------------------------------------------------------------ made again


def test_what_takes_no_training_gives_what_is_stored():
    assert at_work.linear(*at_work.RIDGE, 0) == pytest.approx(stored("ridge")[0], abs=1e-3)
    assert at_work.knows_the_law("last reading", 0) == pytest.approx(stored("law", "last reading")[0], abs=1e-3)


@pytest.mark.slow
def test_filters_give_what_is_stored():
    assert at_work.knows_the_law("filters", 0) == pytest.approx(stored("law", "filters")[0], abs=1e-3)


def test_shortened_trainings_learn_and_are_the_same_again():
    asked = stored("law", "last reading")[0]["ahead"]
    one, again = (at_work.net(at_work.RATE, 20, 0) | {"seconds": 0} for _ in range(2))
    assert one == again and one["ahead"] < 1.4 < asked
    other = at_work.other("Elman", at_work.OTHERS["Elman"], 20, 0)
    assert other["size"] == stored("others", "Elman")[0]["size"] and other["ahead"] < asked


def test_trees_get_the_settings_and_the_rows_that_are_asked_for(monkeypatch):
    from sklearn.ensemble import HistGradientBoostingRegressor

    seen = []

    class Recorded(HistGradientBoostingRegressor):
        def fit(self, X, y):
            seen.append((self.learning_rate, self.max_iter, self.max_leaf_nodes, X.shape))
            return super().fit(X, y)

    monkeypatch.setattr("sklearn.ensemble.HistGradientBoostingRegressor", Recorded)
    monkeypatch.setattr(at_work, "TRAINING", 60)
    found = at_work.trees(0.2, 3, 5, 500, 0, lags=4)
    assert seen == [(0.2, 3, 5, (500, lag_features(pendulums(np.random.default_rng(0), 2), 4).shape[-1]))] * 2
    assert stored("trees")[0]["ahead"] < found["ahead"] < stored("law", "last reading")[0]["ahead"]


# ------------------------------------------------------------------------------------------------ PyTorch


@pytest.mark.frameworks("torch")
def test_pytorch_takes_the_same_first_steps_with_one_bias_in_each_gate():
    import torch

    from experiments.pendulum_torch import Forecaster
    from experiments.pendulum_torch import fit as torch_fit

    rng = np.random.default_rng(0)
    few, m, theirs = pendulums(rng, 8), forecaster_init(rng, 3, 2, 6), Forecaster(3, 2, 6)
    theirs.rnn.load_state_dict({name: torch.from_numpy(a) for name, a in to_torch([[m.rnn]]).items()})
    with torch.no_grad():
        theirs.out.weight[:], theirs.out.bias[:] = torch.from_numpy(m.out.W.T.copy()), torch.from_numpy(m.out.b.copy())
    theirs.rnn.bias_hh_l0.register_hook(lambda g: g * (torch.arange(18) >= 12))
    batch = Batch(inputs(few), targets(few), np.ones((120, 8, 2), bool))
    pair = torch.from_numpy(batch.xs), torch.from_numpy(batch.ys)
    ours, losses = fit(m, [batch], 0.03, 10).loss, torch_fit(theirs, [pair] * 10, 0.03, 10)
    np.testing.assert_allclose(ours, losses, rtol=1e-4)
    assert abs(ours[0] - losses[0]) < 1e-6
    with torch.no_grad():
        np.testing.assert_allclose(theirs(pair[0]).numpy(), forecast(m, batch.xs), atol=1e-3)


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
