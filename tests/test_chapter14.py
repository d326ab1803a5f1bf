"""Chapter 14: what the page says of masks and memory, and that its stored trainings can be made again."""

from itertools import product

import numpy as np
import pytest
from helpers import cells_of, check_loss, close, load_results, result, rng, run_box

from experiments import dropout
from gru_book.models.language_model import lm_bits, lm_init, lm_loss
from gru_lib import convert, gru_init, sigmoid
from gru_lib.layers import DropoutMasks, dropout_forward, dropout_mask, dropout_masks
from gru_lib.train import Chunk


def small_chunk():
    """A small language model, and a chunk that begins in some state."""
    source = rng(3)
    xs, ys = source.integers(0, 5, (2, 4, 2))
    return lm_init(source, 5, 3, 4), Chunk(xs, ys, source.normal(size=(2, 4)), carry=lambda state: None)


@pytest.mark.parametrize("scheme", ["zoneout", "weight drop"])
def test_gradient_under_zoneout_and_weight_drop_matches_complex_step(scheme):
    m, chunk = small_chunk()
    check_loss(lambda m: dropout.LOSSES[scheme](m, chunk, rng=rng(7), rate=0.4), m, 1e-10)


def test_zoneout_at_rate_0_is_the_plain_model_and_at_a_rate_near_1_keeps_the_state():
    m, chunk = small_chunk()
    loss, grads = dropout.zoneout_loss(m, chunk, rng=rng(), rate=0.0)
    plain, wanted = lm_loss(m, chunk)
    assert loss == pytest.approx(plain, rel=1e-12)
    np.testing.assert_allclose(grads.flat, wanted.flat, rtol=0, atol=1e-12)
    tokens = rng(1).integers(0, 5, 100)
    assert dropout.zoned_bits(m, tokens, 0.0) == pytest.approx(lm_bits(m, tokens), rel=1e-12)
    silent = m.copy()
    silent.out.W[:] = 0
    assert dropout.zoned_bits(m, tokens, 1 - 1e-12) == pytest.approx(lm_bits(silent, tokens), rel=1e-9)


def texts():
    """The stored trainings on the text, by scheme; "slower" has no masks and a lower learning rate."""
    stored = load_results("dropout")
    found = {scheme: [row for name, _, row in stored["text"] if name == scheme] for scheme in dropout.SCHEMES}
    return found | {"slower": [row for *_, row in stored["text, slower"]]}


def test_without_masks_the_held_out_loss_rises_and_otherwise_later_and_less():
    found = texts()
    assert all(len(rows) == 5 and len(rows[0]["validation"]) == 32 for rows in found.values())
    curves = {scheme: np.median([row["validation"] for row in rows], axis=0) for scheme, rows in found.items()}
    rise = {scheme: curve[-1] - curve.min() for scheme, curve in curves.items()}
    first = {scheme: curve.argmin() for scheme, curve in curves.items()}
    others = [*dropout.SCHEMES[1:], "slower"]
    assert rise["none"] > 1.5 and all(rise[scheme] < 0.4 for scheme in others)
    assert all(first[scheme] > first["none"] for scheme in others)


def test_each_scheme_has_the_drop_rate_that_was_best_on_validation_and_none_is_the_least_or_greatest_tried():
    rates = {scheme: {row["rate"] for row in texts()[scheme]} for scheme in dropout.SCHEMES[1:]}
    assert rates == {"zaremba": {0.3}, "variational": {0.3}, "zoneout": {0.3}, "weight drop": {0.5}}
    for scheme, (rate,) in rates.items():
        tried = {
            r: min(row["validation"]) for name, r, _, row in load_results("dropout")["text rates"] if name == scheme
        }
        assert sorted(tried) == [0.1, 0.3, 0.5, 0.7] and min(tried, key=tried.__getitem__) == rate


def test_at_rate_0_1_variational_and_zoneout_rise_too_and_at_their_own_four_of_ten_are_best_at_the_last_update():
    rates = {(name, r): row["validation"] for name, r, _, row in load_results("dropout")["text rates"]}
    rise = [f"{curve[-1] - min(curve):.2f}" for curve in (rates["variational", 0.1], rates["zoneout", 0.1])]
    assert rise == ["0.11", "0.14"]
    curves = [row["validation"] for scheme in ("variational", "zoneout") for row in texts()[scheme]]
    assert [curve[-1] == min(curve) for curve in curves].count(True) == 4 and len(curves) == 10


def test_the_pages_step_is_the_librarys():
    (code,) = (cell for cell in cells_of("14-dropout") if "def masked_step" in cell)
    names, source = {"np": np, "sigmoid": sigmoid}, rng(1)
    exec(code, names)
    p, xs, h0 = gru_init(source, 2, 4), source.normal(size=(1, 3, 2)), source.normal(size=(3, 4))
    masks = dropout_masks(source, p, 1, 3, rate=0.4, kind="per step")
    theirs = dropout_forward(xs, h0, p, masks=masks)[1]
    close(names["masked_step"](xs[0], h0, p, masks.x[0], masks.h[0]), theirs, atol=1e-15)


def test_at_their_best_variational_and_zoneout_are_better_in_each_training_than_any_without_masks():
    test = {scheme: [row["test"] for row in rows] for scheme, rows in texts().items()}
    without = test["none"] + test["slower"]
    assert all(max(test[scheme]) < min(without) for scheme in ("variational", "zoneout"))
    assert all(np.mean(test[scheme]) < np.mean(test["none"]) for scheme in dropout.SCHEMES[1:])
    gain = round(np.mean(test["slower"]) - min(np.mean(test[scheme]) for scheme in dropout.SCHEMES[1:]), 2)
    assert gain == 0.13


def test_a_training_on_the_text_made_anew_begins_as_the_stored_one(monkeypatch):
    monkeypatch.setattr(dropout, "UPDATES", 50)
    stored = result(dropout, "text", "zoneout", 0)
    again = dropout.regularise("zoneout", stored["rate"], 0)
    assert again["validation"][0] == pytest.approx(stored["validation"][0], abs=0.02)


def test_mean_of_a_mask():
    mask = dropout_mask(np.random.default_rng(0), (400_000,), 0.3)
    assert abs(mask.mean() - 1) < 5 * np.sqrt(0.3 / 0.7 / mask.size)


# ------------------------------------------------------------------------------------------------------ the frameworks


@pytest.mark.frameworks("torch")
def test_pytorch_drops_between_layers_alone_with_a_new_mask_at_each_step():
    import torch

    D, H, xs = 3, 4, torch.randn(50, 2, 3)
    gru = torch.nn.GRU(D, H, num_layers=2, dropout=0.5)
    with torch.no_grad():
        for name, a in gru.named_parameters():
            if name.endswith("l1"):  # the second layer writes tanh of what it is given
                a.zero_()
        gru.weight_ih_l1[2 * H :] = torch.eye(H)
        gru.bias_ih_l1[H : 2 * H] = -200
        below = torch.nn.GRU(D, H)
        below.load_state_dict({name: a for name, a in gru.state_dict().items() if name.endswith("l0")})
        hs, (h_1, _) = gru(xs)
        given, last = below(xs)
    kept = hs != 0
    assert torch.allclose(hs, torch.where(kept, torch.tanh(given / 0.5), 0), atol=1e-6)
    assert torch.allclose(h_1, last[0]) and 0.3 < kept.float().mean() < 0.7 and (kept != kept[0]).any()
    with pytest.warns(UserWarning, match="num_layers greater than 1"):
        torch.nn.GRU(D, H, num_layers=1, dropout=0.5)


@pytest.mark.frameworks("torch")
def test_the_variational_scheme_in_pytorch_masks_what_the_weights_read_and_not_what_z_carries():
    import torch

    torch.manual_seed(0)
    variational = run_box("14-dropout")["variational"]
    gru, xs = torch.nn.GRU(8, 16), torch.randn(20, 4, 8)
    with torch.no_grad():
        (first, _), (second, _) = variational(gru, xs, 0.5), variational(gru, xs, 0.5)
        assert not torch.allclose(first, second) and first.abs().max() < 1  # what z carries does not grow
        masks = [dropout_mask(rng(seed), (4, k), 0.5) for seed, k in ((1, 8), (2, 16))]  # of x, then of h
        left = [torch.from_numpy(mask).float() for mask in masks]
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(variational.__globals__, "dropout", lambda ones, p, training: left.pop(0))
            hs, h = variational(gru, xs, 0.5)
        [[p]] = convert.from_torch(gru.state_dict(), "gru")
        assert torch.equal(h, hs[-1])
        close(hs, dropout_forward(xs.numpy(), None, p, masks=DropoutMasks(*masks))[0], atol=1e-5)
        gru.bias_ih_l0[16:32] = 100  # z is 1
        assert torch.allclose(variational(gru, xs, 0.5)[0], torch.zeros(20, 4, 16), atol=1e-6)


@pytest.mark.frameworks("torch", "keras")
def test_keras_draws_a_mask_for_each_sequence_and_one_for_each_product_with_recurrent_dropout():
    import keras

    both = keras.layers.GRU(4, dropout=0.5, recurrent_dropout=0.5)
    assert np.abs(keras.ops.convert_to_numpy(both(np.ones((2, 100, 4), np.float32), training=True))).max() <= 1
    masks = both.cell.get_recurrent_dropout_mask(keras.ops.ones((2, 50)))
    first, *others = map(keras.ops.convert_to_numpy, masks)
    assert len(others) == 2 and all((mask != first).any() for mask in others)

    inputs = keras.layers.GRU(4, dropout=0.5, return_sequences=True)
    inputs.build((None, None, 4))
    kernel, recurrent, bias = (np.zeros_like(a) for a in inputs.get_weights())
    kernel[:, 8:], bias[0, :4] = np.eye(4), -200  # it writes tanh of what it is given
    inputs.set_weights([kernel, recurrent, bias])
    kept = keras.ops.convert_to_numpy(inputs(np.ones((16, 9, 4), np.float32), training=True)) != 0
    assert (kept == kept[:, :1]).all() and (kept != kept[:1]).any()


@pytest.mark.frameworks("keras")
def test_the_old_lines_make_keras_own_layer_double_its_state_and_the_present_ones_do_not():
    """Six untrained layers. Keras before 3.8 as it is; from then on its cell with the old line before the step."""
    import keras

    class Old(keras.layers.GRUCell):
        def call(self, inputs, states, training=False):
            return super().call(inputs, [states[0] * self.mask], training)

    old = tuple(map(int, keras.__version__.split(".")[:2])) < (3, 8)
    for (units, D), seed in product(((32, 8), (64, 16)), range(3)):
        keras.utils.set_random_seed(seed)
        xs = np.random.default_rng(seed).normal(size=(1, 100, D)).astype(np.float32)
        cell = Old(units)
        cell.mask = keras.ops.convert_to_tensor(dropout_mask(rng(seed), (1, units), 0.5).astype(np.float32))
        layer = keras.layers.GRU(units, recurrent_dropout=0.5, return_sequences=True)
        hs = np.abs(keras.ops.convert_to_numpy(layer(xs, training=True))[0])
        if not old:
            assert hs.max() <= 1
            hs = np.abs(keras.ops.convert_to_numpy(keras.layers.RNN(cell, return_sequences=True)(xs))[0])
        top = hs[-1].argmax()
        assert 1e26 / 10 < hs[-1, top] < 1e29 and hs[-1, top] / hs[-2, top] == pytest.approx(2, rel=1e-3)
