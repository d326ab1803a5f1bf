"""The training loop."""

import numpy as np
import pytest

from gru_lib import SGD, Adam, linear_backward, linear_forward, linear_init, train
from gru_lib.train import History

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 3))
Y = X @ [[1.0], [-2.0], [0.5]] + 0.3


def squares(p, batch):
    x, y = batch
    predicted, cache = linear_forward(x, p)
    error = predicted - y
    return (error**2).mean(), linear_backward(2 * error / error.size, cache, p)[1]


def fit(steps=200, batches=None, lr=0.1, **kwargs):
    p = linear_init(np.random.default_rng(1), 3, 1)
    return p, train(p, squares, batches or [(X, Y)], Adam(p, lr=lr), steps=steps, progress=False, **kwargs)


def test_training_finds_the_line():
    p, history = fit(500)
    np.testing.assert_allclose(p.W[:, 0], [1, -2, 0.5], atol=1e-3)
    assert history.steps == 500 and history.loss[-1] < 1e-6 < history.loss[0]
    assert len(history.grad_norm) == 500 and not history.stopped


def test_metrics_are_taken_every_so_often_and_at_the_end():
    _, history = fit(25, evaluate=lambda p: {"w": p.W[0, 0]}, every=10)
    assert history.curve("w")[0] == [10, 20, 25]
    assert history.last("w") == history.metrics["w"][-1][1]
    with pytest.raises(KeyError, match="no metric 'v'; there is w"):
        history.last("v")


def test_stop_ends_training():
    _, history = fit(100, evaluate=lambda p: {"w": 0}, every=5, stop=lambda h: h.steps >= 15)
    assert history.steps == 15 and history.stopped and "stopped early" in repr(history)


def test_schedule_sets_the_learning_rate_of_each_step():
    p = linear_init(np.random.default_rng(1), 3, 1)
    opt = SGD(p, lr=1.0)
    seen = []

    def look(p, batch):
        seen.append(opt.lr)
        return squares(p, batch)

    train(p, look, [(X, Y)], opt, steps=3, schedule=lambda i: 0.1 / (i + 1), progress=False)
    assert seen == [0.1, 0.05, 0.1 / 3]


def test_clipping_bounds_the_step():
    p = linear_init(np.random.default_rng(1), 3, 1)
    before = p.flat.copy()
    history = train(p, squares, [(100 * X, Y)], SGD(p, lr=1.0), steps=1, clip_norm=0.01, progress=False)
    assert np.linalg.norm(p.flat - before) == pytest.approx(0.01) and history.grad_norm[0] > 1


def test_a_loss_that_is_not_finite_stops_before_the_step():
    p = linear_init(np.random.default_rng(1), 3, 1)
    before = p.flat.copy()
    with pytest.raises(FloatingPointError, match="at step 0 the loss is nan"):
        train(p, squares, [(X, Y * np.nan)], SGD(p, lr=0.1), steps=3, progress=False)
    np.testing.assert_array_equal(p.flat, before)


def test_lists_repeat_and_generators_must_last():
    assert fit(7, [(X, Y), (X[:5], Y[:5])])[1].steps == 7
    with pytest.raises(ValueError, match="batches must yield 5 batches; it ended after 2"):
        fit(5, iter([(X, Y)] * 2))


def test_errors_name_the_argument():
    p, q = linear_init(RNG, 3, 1), linear_init(RNG, 3, 1)
    with pytest.raises(ValueError, match="optimizer must hold the same parameter object"):
        train(p, squares, [(X, Y)], Adam(q), steps=1)
    with pytest.raises(ValueError, match="steps must be at least 1; got 0"):
        train(p, squares, [(X, Y)], Adam(p), steps=0)
    with pytest.raises(ValueError, match="at least one batch"):
        train(p, squares, [], Adam(p), steps=1)


def test_the_bar_shows_only_where_somebody_can_see_it(capsys):
    fit(2)
    train(p := linear_init(RNG, 3, 1), squares, [(X, Y)], Adam(p), steps=2, progress=True)
    assert capsys.readouterr() == ("", "")


def test_history_tells_how_it_went():
    assert repr(History(loss=[2.0, 0.5], metrics={"accuracy": [(2, 0.75)]})) == (
        "History(2 steps, loss 0.5, accuracy 0.75)"
    )
