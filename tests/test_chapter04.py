"""What chapter 4 says of a GRU's forward pass: one step by hand, limits, bounds, padding, units of a trained net."""

from __future__ import annotations

import inspect
import itertools
import re

import numpy as np
import pytest
from helpers import ROOT, cells_of, names_of, page_says, run_box

from gru_book import widgets
from gru_lib import elman_init, gru_forward, gru_init, gru_step, sigmoid
from gru_lib.ops import embedding_forward

PAGE = "04-gru-forward"

WITHIN = {"rtol": 0, "atol": 1e-12}
VARIANTS = list(itertools.product(("keep", "write"), (False, True)))

variants = pytest.mark.parametrize(("convention", "reset_after"), VARIANTS)


def random_gru(seed, D=3, H=5, *, r=None, kept=None, **options):
    """A GRU with random weights and biases; r, and the share of the old state that is kept, pinned to 0 or 1."""
    rng = np.random.default_rng(seed)
    p = gru_init(rng, D, H, **options)
    if p.bias:
        p.b[:] = rng.normal(0, 0.5, p.b.shape)
        if p.reset_after:
            p.b_hn[:] = rng.normal(0, 0.5, p.b_hn.shape)
    if r is not None:
        p.b_r[:] = 40 if r else -40
    if kept is not None:
        p.b_z[:] = 40 if kept == (p.convention == "keep") else -40
    return p


def random_inputs(seed, T=60, N=4, D=3, H=5):
    rng = np.random.default_rng(1000 + seed)
    return rng.standard_normal((T, N, D)), rng.uniform(-1, 1, (N, H))


def hand_gru():
    """The two-unit GRU that the chapter calculates by hand."""
    p = gru_init(np.random.default_rng(0), D=1, H=2)
    p.flat[:] = 0
    p.W_xr[:], p.W_hr[:] = [1, 0], [[2, 1], [0, 3]]
    p.W_xz[:], p.W_hz[:], p.b_z[:] = [-1, 1], [[0, 2], [2, -2]], [0.5, 0]
    p.W_xn[:], p.W_hn[:] = [1, -1], [[1, 1], [-1, 1]]
    return p


# ------------------------------------------------------------------------------------------------------------ by hand


def test_hand_calculation_gives_the_numbers_on_the_page():
    h, cache = gru_step([[1.0]], [[0.5, -0.5]], hand_gru())
    for value, on_page in (
        (cache.r, [0.8808, 0.2689]),
        (cache.q, [0.4404, -0.1345]),
        (cache.n, [0.9178, -0.6006]),
        (cache.z, [0.1824, 0.9526]),
        (h, [0.8416, -0.5048]),
    ):
        np.testing.assert_array_equal(value[0].round(4), on_page)


def test_the_page_computes_unit_0_as_it_prints_it():
    text = (ROOT / "book_text" / f"{PAGE}.md").read_text("utf8")
    a_n, z = 1 + 0.5 * sigmoid(2.0) * 1 - 0.5 * sigmoid(-1.0) * (-1), sigmoid(-1.5)
    h = z * 0.5 + (1 - z) * np.tanh(a_n)
    for printed in (
        r"a_{n,0} &= 1 + 0.4404 \cdot 1 - 0.1345 \cdot (-1) \\" + f"\n&= {a_n:.4f}",
        r"\tanh(1.5749) = " + f"{np.tanh(a_n):.4f}",
        rf"\sigma(-1.5) = {z:.4f}",
        rf"0.1824 \cdot 0.5 + {1 - z:.4f} \cdot 0.9178 = {h:.4f}",
        f"kept {100 * z:.0f} % of its 0.5 and wrote {100 * (1 - z):.0f} % of the candidate",
        rf"$\sigma(3) = {sigmoid(3.0):.4f}$",
    ):
        assert printed in text


def test_small_numbers_of_the_prose():
    assert abs(0.9 * -0.6 + 0.1 * 0.9 + 0.45) < 1e-12 and page_says(PAGE, ":answer: −0.45")
    assert [f"{sigmoid(a):.4f}" for a in (0.0, 2.0, 6.0)] == ["0.5000", "0.8808", "0.9975"]
    assert f"{sigmoid(-37.0):.0e}" == "9e-17" and sigmoid(37.0) == 1
    assert page_says(PAGE, r"$\sigma(0) = 0.5$, $\sigma(2) = 0.88$, $\sigma(6) = 0.9975$")


# ---------------------------------------------------------------------------------------------------- limits and bounds


@variants
def test_gates_at_their_ends_make_an_elman_net_a_copy_or_one_layer_of_the_input(convention, reset_after):
    """And a reset at its end alone makes neither net: z still keeps."""

    def run(xs, h0, **pinned):
        p = random_gru(0, convention=convention, reset_after=reset_after, **pinned)
        return gru_forward(xs, h0, p)[0], p

    xs, h0 = random_inputs(0)
    states, p = run(xs, h0, r=1, kept=0)
    elman = [np.tanh(x @ p.W_xn + p.b_n + h @ p.W_hn + p.b_hn) for x, h in zip(xs, [h0, *states], strict=False)]
    layer = np.tanh(xs @ p.W_xn + p.b_n)
    np.testing.assert_allclose(states, elman, **WITHIN)
    np.testing.assert_allclose(run(xs, h0, r=0, kept=0)[0], layer, **WITHIN)
    for r, at_once in ((1, elman), (0, layer)):
        assert np.abs(run(xs, h0, r=r)[0][0] - at_once[0]).max() > 0.1
    long, h0 = random_inputs(1, T=10_000)
    np.testing.assert_allclose(run(long, h0, kept=1)[0][::997], np.broadcast_to(h0, (11, *h0.shape)), **WITHIN)


@variants
@pytest.mark.parametrize("scale", [0.1, 1, 10, 100])
def test_state_stays_within_its_bounds_for_any_weights(scale, convention, reset_after):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        p = random_gru(seed, convention=convention, reset_after=reset_after)
        p.flat[:] = rng.normal(0, scale, p.size)
        xs, h0 = rng.normal(0, 10, (40, 8, 3)), rng.uniform(-3, 3, (8, 5))
        path = np.abs(np.concatenate([h0[None], gru_forward(xs, h0, p)[0]]))
        outside = path[:-1] >= 1
        assert (path <= np.maximum(1, path[0]) + 1e-12).all()
        assert (path[1:][outside] <= path[:-1][outside] + 1e-12).all()


@pytest.mark.parametrize(
    ("gate", "reset_after", "reaches_all"), [("z", False, False), ("r", False, True), ("r", True, False)]
)
def test_a_gate_of_one_unit_reaches_that_unit_or_all(gate, reset_after, reaches_all):
    p = random_gru(3, reset_after=reset_after)
    xs, h_prev = random_inputs(3, T=1)
    before, _ = gru_step(xs[0], h_prev, p)
    getattr(p, f"b_{gate}")[0] += 1
    change = np.abs(gru_step(xs[0], h_prev, p)[0] - before)
    assert (change[:, 0] > 0).all() and ((change[:, 1:] > 0) == reaches_all).all()


@pytest.mark.parametrize(("D", "H"), [(1, 4), (28, 128), (5, 1)])
def test_parameter_count_is_the_formula_and_three_times_an_elman_networks(D, H):
    rng, formula = np.random.default_rng(0), 3 * (D * H + H * H + H)
    assert gru_init(rng, D, H).size == formula == 3 * elman_init(rng, D, H).size
    assert gru_init(rng, D, H, reset_after=True).size == formula + H


# ------------------------------------------------------------------------------------------------ a trained unit


@pytest.fixture(scope="module")
def page():
    """The names of the cells that train chapter 0's network again, for 8 seconds, and follow unit 11."""
    with np.printoptions():  # the page sets its own
        wanted = "from gru_lib import|word_reader_forward\\("
        return names_of(cell for cell in cells_of(PAGE) if re.search(wanted, cell))


@pytest.mark.slow
def test_unit_11_writes_at_the_accent_and_keeps_its_note_to_the_end(page):
    """The letter is the most of what makes it write."""
    z, h, m = page["z"][:, 11], page["h"], page["reader"]
    assert page["word"][1] == "ä" and z.argmin() == 1 and z[1] < 0.1 and np.delete(z, 1).min() > 0.8
    assert abs(h[0]) < 0.1 and h[1:].min() > 0.85
    assert page["word"] not in {word for word, _ in page["data"].train}
    letter = (embedding_forward(page["tokens"], m.embed)[0][1] @ m.rnn.W_xz)[0, 11]
    rest = (page["hs"][0] @ m.rnn.W_hz)[0, 11] + m.rnn.b_z[11]
    assert sigmoid(letter + rest) == pytest.approx(z[1]) and letter < -4 < 2 * rest


def test_the_network_is_that_of_chapter_0():
    """The lines that make it and train it are the same."""
    chapter_0, here = ("\n".join(cells_of(name)) for name in ("00-the-gru-in-twenty-minutes", PAGE))
    for piece in ("batches(rng, data.train, N=64)", "cosine_decay(0.01, 1000)", "dtype=np.float64"):
        assert piece in chapter_0 and piece in here
    assert "clip_by_global_norm(grads, 1.0)" in chapter_0 and "clip_norm=1.0" in here


def test_the_page_and_the_library_have_the_same_letters_in_the_same_order():
    """The lines of a step assign r, z, n and h in this order, in the page's function and in `gru_step`."""
    mine = next(cell for cell in cells_of(PAGE) if "def step(" in cell).split("def forward")[0]
    library = inspect.getsource(gru_step).partition('"""')[2].partition('"""')[2]
    orders = [re.findall(r"^ +([rznh])(?:, \w+)? = ", source, re.M) for source in (mine, library)]
    assert orders == [["r", "z", "n", "h"], ["r", "z", "n", "n", "h"]]  # one n for each place of the reset gate
    for line in ("x @ p.W_xr + h_prev @ p.W_hr + p.b_r", "x @ p.W_xz + h_prev @ p.W_hz + p.b_z"):
        assert line in mine and line in library


# ------------------------------------------------------------------------------------------------- in the frameworks


@pytest.mark.frameworks("torch", "keras")
def test_pytorch_and_keras_make_the_layer_that_the_page_says():
    import keras
    import torch

    names = run_box("04-gru-forward", np=np)
    xs, lengths = names["xs"], names["lengths"]
    layer = keras.layers.GRU(64, return_sequences=True, return_state=True)
    keras_hs, keras_h_T = layer(xs.swapaxes(0, 1), mask=torch.arange(7) < lengths[:, None])
    hs, h_T, keras_hs, keras_h_T = (a.detach().numpy() for a in (names["hs"], names["h_T"], keras_hs, keras_h_T))
    assert hs.shape == (7, 5, 64) and h_T.shape == (1, 5, 64) and keras_hs.shape == (5, 7, 64)
    assert inspect.signature(keras.layers.GRU).parameters["reset_after"].default is True
    for n, length in enumerate(lengths.tolist()):  # each sequence's own last state
        alone = names["gru"](xs[:length, n])[1].detach().numpy()
        np.testing.assert_allclose(h_T[0, n], alone[0], rtol=0, atol=1e-6)
        alone = layer(xs[:length, n][None])[1].detach().numpy()
        np.testing.assert_allclose(keras_h_T[n], alone[0], rtol=0, atol=1e-6)
        assert (hs[length:, n] == 0).all() and (keras_hs[n, length:] == keras_h_T[n]).all()
    read_on = names["gru"](xs)[1].detach().numpy()  # without packing
    assert np.abs(read_on - h_T)[0].max(axis=1)[1:].min() > 0.01


# ------------------------------------------------------------------------------------------- the explorer on the page


def test_explorer_shows_what_the_prose_beside_it_says():
    gate = widgets.GateExplorer()
    assert gate.h_prev > 0 > gate.n  # "the candidate has the other sign than the old state"
    start = gate.h
    gate.z = 0.999
    assert abs(gate.h - gate.h_prev) < 0.002 and f"{gate.h:.3f}" == "0.699"  # "almost exactly the old 0.7"
    gate.z = 0.001
    assert abs(gate.h - gate.n) < 0.002 and (f"{gate.h:.3f}", f"{gate.n:.3f}") == ("-0.324", "-0.325")
    shut = widgets.GateExplorer(r=0.001)
    assert f"{shut.n:.3f}" == "0.500" and abs(shut.h - shut.n) > 0.05  # r alone: h keeps its share of the past
    assert shut.z == widgets.GateExplorer().z
    gone = widgets.GateExplorer(r=0.001, z=0.001)
    assert abs(gone.h - gone.n) < 0.001
    write = widgets.GateExplorer(convention="write")
    assert abs(write.h - start) > 0.1
    write.W_xz, write.W_hz, write.b_z = -write.W_xz, -write.W_hz, -write.b_z
    assert abs(write.h - start) < 1e-12
