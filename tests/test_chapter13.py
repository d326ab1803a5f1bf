"""Chapter 13: what the page says of its memories, and that its stored trainings can be made again."""

import json

import numpy as np
import pytest

from experiments import other_memories
from gru_lib import gradcheck, jacobian
from gru_lib.cells import scrn_forward, scrn_init, stack_step
from gru_lib.tasks.adding import BASELINE, adding

STORED = json.loads(other_memories.STORED.read_text("utf8"))


def results(part, *what):
    return [row[-1] for row in STORED[part] if row[: len(what)] == list(what)]


def test_stored_results_hold_every_setting_and_seed_once():
    for part, (_, settings, seeds) in other_memories.PARTS.items():
        wanted = [[*setting, seed] for seed in seeds for setting in settings]
        found = [row[:-1] for row in STORED[part]]
        assert sorted(map(str, found)) == sorted(map(str, wanted)), part
        assert len(seeds) >= 3 or part == "rates"


@pytest.mark.parametrize("cell", ["Elman", "IRNN", "SCRN", "GRU", "LSTM"])
def test_a_training_made_anew_goes_as_the_stored_one(cell):
    """Its first 200 steps of 2,000; later ones drift apart by rounding on other machines.

    The IRNN's drift apart before that: with NumPy's own kernels in place of the tests' its errors here are 0.187 and
    0.161, stored are 0.173 and 0.216. Of it we ask that it neither learns nor diverges sooner than the stored one.
    """
    again = other_memories.add(cell, 50, 0, lr=other_memories.best_rate(cell), steps=200)
    (stored,) = results("adding", cell, 50, 0)
    assert again["size"] == stored["size"]
    np.testing.assert_allclose(again["error"], stored["error"][:2], rtol=0.3 if cell == "IRNN" else 0.05)


def test_a_net_made_anew_is_the_stored_size_and_learns_copying_as_far():
    again = other_memories.strings("copy", "NTM", "bits", 0.0, 1, steps=500)
    (stored,) = results("strings", "copy", "NTM", "bits", 0.0, 1)
    assert again.keys() == stored.keys() and again["size"] == stored["size"]
    assert again["5"][0] >= 0.95 and stored["5"][0] >= 0.95
    assert again["40"][0] < 0.9 and stored["40"][0] < 0.9  # 32 rows of memory


def test_results_are_stored_as_they_were_computed_and_made_once(tmp_path, monkeypatch):
    made = []

    def run(name, seed):
        made.append((name, seed))
        return {"right": seed / 3, "name": name}

    monkeypatch.setattr(other_memories, "STORED", tmp_path / "out.json")
    monkeypatch.setattr(
        other_memories, "PARTS", {"one": (run, (("a",), ("b",)), range(2)), "two": (run, (("c",),), [5])}
    )
    other_memories.main(["one", "two"])
    stored = json.loads((tmp_path / "out.json").read_text("utf8"))
    assert stored["one"][3] == ["b", 1, {"right": 0.3333, "name": "b"}] and stored["two"][0][1] == 5
    other_memories.main(["one", "two"])
    assert len(made) == 5 and json.loads((tmp_path / "out.json").read_text("utf8")) == stored


def test_claims_of_the_page_hold_in_the_stored_results():
    def ends(cell, T):
        return [run["error"][-1] for run in results("adding", cell, T)]

    for T in (50, 100):
        assert max(ends("GRU", T) + ends("LSTM", T)) < 0.01
        for cell in ("Elman", "Elman, orthogonal", "SCRN"):
            assert min(ends(cell, T)) > 0.9 * BASELINE
    assert max(ends("IRNN", 50)) < 0.03 < min(ends("IRNN", 100))
    assert min(run["error"] for run in results("kept", "set")) > 0.85 * BASELINE
    assert max(run["error"] for run in results("kept", "begun")) < 0.03
    assert (
        min(run["error"][-1] for cell in other_memories.SLOW for run in results("slow", cell, False)) > 0.9 * BASELINE
    )
    assert max(run["error"][-1] for run in results("slow", "SCRN", True)) < 0.12
    assert max(run["error"][-1] for run in results("slow", "SCRN, 0.99", True)) < 0.02
    for run in results("strings", "reverse", "GRU") + results("strings", "reverse", "stack", "bits"):
        assert run["16"][1] == 0
    for run in results("strings", "reverse", "stack", "softmax", -1.0):
        assert run["16"][1] >= 0.99
    assert sum(run["8"][1] > 0.9 for run in results("strings", "reverse", "stack", "softmax", 0.0)) == 3
    for run in results("strings", "copy", "NTM"):
        assert run["20"][0] >= 0.97 and run["40"][0] < 0.7


def test_adder_gradient_matches_complex_step():
    rng = np.random.default_rng(0)
    for cell in other_memories.CELLS:
        m = other_memories.adder(rng, cell, dtype=np.float64)
        m.flat[:] = rng.normal(0, 0.3, m.size)
        batch = adding(rng, 2, 4)
        _, grads = other_memories.adder_loss(m, batch)
        report = gradcheck(lambda m, batch=batch: other_memories.adder_loss(m, batch)[0], {"m": m}, {"m": grads})
        assert report.worst < 1e-12, cell


def test_letter_loss_gradient_matches_complex_step():
    rng = np.random.default_rng(0)
    m = other_memories.speaker(rng, "stack", "brackets", dtype=np.float64)
    batch = other_memories.brackets(rng, 2, 4)
    _, grads = other_memories.letter_loss(m, batch)
    some = rng.choice(m.size, 200, replace=False)

    def loss(part):
        whole = m.flat.astype(part.dtype)
        whole[some] = part
        return other_memories.letter_loss(m.on(whole), batch)[0]

    report = gradcheck(loss, {"part": m.flat[some]}, {"part": grads.flat[some]})
    assert report.worst < 1e-12


@pytest.mark.parametrize("alpha", [0.5, 0.95])
def test_slow_units_of_an_scrn_keep_alpha_to_the_t_and_are_linear(alpha):
    rng = np.random.default_rng(0)
    p = scrn_init(rng, D=2, H=4, C=3, alpha=alpha)
    xs = rng.normal(size=(2, 20, 1, 2))
    total = np.eye(p.S)
    for step in jacobian(xs[0], None, p).steps[:, 0]:
        total = step @ total
    np.testing.assert_allclose(total[:3, :3], alpha**20 * np.eye(3), rtol=1e-12)
    c = [scrn_forward(x, None, p)[1][:, :3] for x in (xs[0], xs[1], xs[0] + 2 * xs[1])]
    np.testing.assert_allclose(c[0] + 2 * c[1], c[2], atol=1e-12)


def test_half_push_and_half_pop_never_make_a_deep_stack():
    values, strengths = np.zeros((1, 0, 1)), np.zeros((1, 0))
    for _ in range(20):
        _, values, strengths, _ = stack_step(np.ones((1, 1)), np.full(1, 0.5), np.full(1, 0.5), values, strengths)
        assert strengths.sum() == 0.5
