"""Chapter 22: the stored trainings say what the page says, had the settings it says, and can be made again."""

import ctypes
import re
import shutil
import subprocess

import numpy as np
import pytest
from helpers import cells_of, load_results, results

from conftest import ROOT
from experiments import at_work
from experiments.at_work import ALL
from gru_book.models.forecasts import Batch, fit, forecast, forecaster_init, ridge
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


@both
@pytest.mark.parametrize(
    ("part", "chosen", "measure"),
    [
        ("pendulum rates", (ALL, at_work.RATE, at_work.SHORT), lambda run: run["ahead"]),
        ("ridge rates", at_work.RIDGE, lambda run: run["ahead"]),
        ("trees rates", (*at_work.TREES[:3], 40_000), lambda run: run["ahead"]),
    ],
)
def test_every_method_has_the_setting_that_was_best_on_other_seeds(part, chosen, measure, file):
    _, settings, _ = at_work.PARTS[part]
    means = {setting: np.mean([measure(run) for run in stored(part, *setting, file=file)]) for setting in settings}
    if part == "pendulum rates":
        assert 1.7 < means[ALL, 0.003, at_work.SHORT] / means[chosen] < 2.1
    assert means[tuple(chosen)] == pytest.approx(min(means.values()), abs=5e-4)  # ridge: the penalty does not matter
    assert len(means) == {"trees rates": 3}.get(part, 5)


@both
def test_pendulum_gru_has_a_fifth_of_the_ridge_error_trees_lie_between_and_filters_beat_it(file):
    short, trees, line = (ahead(part, file=file) for part in ("pendulum", "trees", "ridge"))
    longer, slower = (ahead("longer", ALL, rate, file=file) for rate in (at_work.RATE, at_work.SLOWER))
    assert 0.17 < short.mean() / line.mean() < 0.23
    assert short.max() < trees.min() and trees.max() < line.min()
    assert len(longer) == len(slower) == len(short) == 10 and (slower < short).all()
    lost = longer[longer > 2 * short] / short[longer > 2 * short]
    assert len(lost) == (2 if file == FILES[0] else 1)
    assert (slower < 2 * short).all()
    assert file == FILES[1] or sorted(lost.round()) == [3, 4]
    assert ahead("law", "filters", file=file).max() < min(*longer, *slower)
    told = ahead("law", "filter, told the length", file=file)
    assert told.max() < ahead("law", "filters", file=file).min()


def test_with_other_kernels_the_means_of_the_nets_change_by_a_hundredth_at_most():
    means = [
        np.mean([[run[k] for k in ("now", "unseen", "ahead")] for run in stored("pendulum", file=f)], 0) for f in FILES
    ]
    assert abs(means[0] - means[1]).max() < 0.01


def test_what_learns_by_no_net_says_the_same_with_other_kernels():
    for part in ("ridge", "law", "trees"):
        rows = [row for row in load_results(FILES[0])[part] if part != "trees" or row[-2] < 5]
        for one, other in zip(rows, load_results(FILES[1])[part], strict=True):
            assert one[:-1] == other[:-1]
            for key, value in one[-1].items():
                assert other[-1][key] == pytest.approx(value, abs=2e-4), (part, key)


def test_nets_of_the_grus_kind_have_its_size_and_stand_in_the_order_that_the_page_says():
    elman, lstm, gru, nets = (
        found.mean()
        for found in (ahead("others", "Elman"), ahead("others", "LSTM"), ahead("pendulum"), ahead("window"))
    )
    assert len(ahead("others", "Elman")) == len(ahead("others", "LSTM")) == 5
    assert gru < elman < nets and abs(lstm / gru - 1) < 0.07
    assert min(ahead("others, minGRU")) > nets
    sizes = {run["size"] for part in ("others", "others, minGRU") for run in stored(part)}
    assert max(sizes) < 1.06 * 3458 and min(sizes) > 3400  # the GRU has 3,458 with its readout


def test_other_cells_have_the_rate_that_was_best_on_another_seed():
    for cell, chosen in at_work.OTHERS.items():
        tried = {row[1]: row[-1]["ahead"] for row in load_results(FILES[0])["others' rates"] if row[0] == cell}
        assert len(tried) >= 4 and min(tried, key=tried.__getitem__) == chosen
        assert min(tried) < chosen < max(tried)


def test_another_cell_made_anew_begins_as_the_stored_one():
    """40 steps of 800."""
    found = at_work.other("Elman", at_work.OTHERS["Elman"], 40, 0)
    assert found["size"] == stored("others", "Elman")[0]["size"] and 0.3 < found["ahead"] < 1.2


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


def test_the_window_net_has_the_best_of_four_settings_and_is_no_better_than_the_trees():
    nets, trees, short = ahead("window"), ahead("trees"), ahead("pendulum")
    assert len(nets) == 10 and abs(nets.mean() - trees.mean()) < 0.05
    assert short.max() < 0.55 * min(nets.min(), trees.min())
    tried = {tuple(row[:-2]): row[-1]["ahead"] for row in load_results(FILES[0])["window rates"]}
    assert len(tried) == 4 and min(tried, key=tried.__getitem__) == at_work.WINDOW


def test_each_input_has_the_rate_that_was_best_of_four_on_another_seed():
    for kind, chosen in at_work.INPUT_RATES.items():
        tried = {row[1]: row[-1]["ahead"] for row in load_results(FILES[0])["inputs' rates"] if row[0] == kind}
        assert len(tried) == 4 and min(tried, key=tried.__getitem__) == chosen
        assert min(tried) < chosen < max(tried)


def test_a_mask_beside_the_carried_value_helps_every_training():
    carried, masked = ahead("carried alone"), ahead("pendulum inputs", "carried and mask")
    assert len(carried) == 5 and carried.min() > masked.max()


@both
def test_the_time_gains_little_and_zeros_with_the_mask_do_without_it(file):
    masked, zeros = (ahead("pendulum inputs", kind, file=file) for kind in ("carried and mask", "zeros and mask"))
    full = ahead("pendulum", file=file)
    assert len(masked) == len(zeros) == (10 if file == FILES[0] else 5) and len(full) == 10
    assert abs(masked.mean() - full.mean()) < 0.01 and 0.005 < full.mean() - zeros.mean() < 0.02


def test_the_state_of_an_untrained_net_hardly_knows_the_length_after_twelve_seconds():
    rng = np.random.default_rng(0)
    drawn, held = pendulums(rng, 1000), pendulums(np.random.default_rng(10_002), 300)
    shares = []
    for seed in range(2):
        m = forecaster_init(np.random.default_rng(seed), D=3, K=2, H=32)
        ends = [gru_forward(inputs(batch), None, m.rnn)[1] for batch in (drawn, held)]
        said_of = ridge(ends[0], np.log(drawn.length), 1.0)(ends[1])
        shares.append(1 - np.var(said_of - np.log(held.length)) / np.var(np.log(held.length)))
    assert max(shares) < 0.05


# ------------------------------------------------------------------------------------------------ made again


def test_what_takes_no_training_gives_what_is_stored():
    assert at_work.linear(*at_work.RIDGE, 0) == pytest.approx(stored("ridge")[0], abs=1e-3)
    for how in ("last reading", "filters", "filter, told the length"):
        assert at_work.knows_the_law(how, 0) == pytest.approx(stored("law", how)[0], abs=1e-3)


def test_shortened_trainings_learn_and_are_the_same_again():
    first = at_work.net(ALL, at_work.RATE, 40, 0)
    assert first["ahead"] < 1.2 < stored("law", "last reading")[0]["ahead"]
    one, again, other = (at_work.net(kind, at_work.RATE, 2, 0) | {"seconds": 0} for kind in (ALL, ALL, "carried"))
    assert one == again != other


def test_trees_are_asked_for_what_is_stored():
    found = at_work.trees(0.1, 5, 7, 2000, 0)
    assert stored("trees")[0]["ahead"] < found["ahead"] < stored("law", "last reading")[0]["ahead"]


def test_trees_get_the_settings_and_the_rows_that_are_asked_for(monkeypatch):
    from sklearn.ensemble import HistGradientBoostingRegressor

    seen = []

    class Recorded(HistGradientBoostingRegressor):
        def fit(self, X, y):
            seen.append((self.learning_rate, self.max_iter, self.max_leaf_nodes, X.shape))
            return super().fit(X, y)

    monkeypatch.setattr("sklearn.ensemble.HistGradientBoostingRegressor", Recorded)
    at_work.trees(0.2, 3, 5, 500, 0, lags=4)
    width = lag_features(pendulums(np.random.default_rng(0), 2), 4).shape[-1]
    assert seen == [(0.2, 3, 5, (500, width))] * 2


# ------------------------------------------------------------------------------------------------ PyTorch


@pytest.mark.frameworks("torch")
def test_pytorch_takes_the_same_first_steps_with_one_bias_in_each_gate():
    import torch

    from experiments.pendulum_torch import Forecaster, stream
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
        readings = [None if np.isnan(v) else v for v in few.values[:, 0]]
        np.testing.assert_allclose(list(stream(theirs, readings)), theirs(pair[0]).numpy()[:, 0], atol=1e-5)


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
