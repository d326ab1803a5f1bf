"""Training: the loop, resuming to the same bits, truncated backpropagation, early stopping."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from helpers import refused

from gru_lib import (
    SGD,
    Adam,
    bundle,
    gru_backward,
    gru_forward,
    gru_init,
    io,
    linear_backward,
    linear_decay,
    linear_forward,
    linear_init,
    lstm_backward,
    lstm_forward,
    lstm_init,
    save,
    train,
)
from gru_lib.train import Chunks, History, early_stopping

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 3))
Y = X @ [[1.0], [-2.0], [0.5]] + 0.3


def squares(p, batch):
    x, y = batch
    predicted, cache = linear_forward(x, p)
    error = predicted - y
    return (error**2).mean(), linear_backward(2 * error / error.size, cache, p)[1]


def fit_line(steps=200, batches=None, lr=0.1, **kwargs):
    p = linear_init(np.random.default_rng(1), 3, 1)
    return p, train(p, squares, batches or [(X, Y)], Adam(p, lr=lr), steps=steps, progress=False, **kwargs)


def test_training_finds_the_line():
    p, history = fit_line(500)
    np.testing.assert_allclose(p.W[:, 0], [1, -2, 0.5], atol=1e-3)
    assert history.steps == 500 and history.loss[-1] < 1e-6 < history.loss[0]
    assert len(history.grad_norm) == 500 and not history.stopped


def test_metrics_are_taken_every_so_often_and_at_the_end():
    _, history = fit_line(25, evaluate=lambda p: {"w": p.W[0, 0]}, every=10)
    assert history.curve("w")[0] == [10, 20, 25]
    assert history.last("w") == history.metrics["w"][-1][1]
    refused(KeyError, "no metric 'v'; there is w", history.last, "v")


def test_stop_ends_training():
    _, history = fit_line(100, evaluate=lambda p: {"w": 0}, every=5, stop=lambda h: h.steps >= 15)
    assert history.steps == 15 and history.stopped and "stopped early" in repr(history)


P = gru_init(np.random.default_rng(0), 1, 1)
TWO = bundle(a=linear_init(np.random.default_rng(0), 1, 1), b=linear_init(np.random.default_rng(0), 1, 1))


@pytest.mark.parametrize(("p", "returned", "match"), [
    (P, None, r"\(loss, grads\); got NoneType"),
    (P, [1.0, P], r"\(loss, grads\); got list"),
    (P, (1.0, P, None), r"\(loss, grads\); got a tuple of 3"),
    (P, (P, 1.0), "its first part must be a number; got GRUParams"),
    (P, (True, P), "its first part must be a number; got bool"),
    (P, (np.ones(3), P), r"its first part must be a number; got an array of shape \(3,\), float64"),
    (P, (1.0, P.flat), "its second part must be GRUParams like p; got ndarray"),
    (TWO, (1.0, bundle(b=TWO.b, a=TWO.a)), r"must hold a\.W \(1, 1\) where p does; got b\.W \(1, 1\)"),
])  # fmt: skip
def test_the_wrong_part_of_what_a_loss_function_returns_is_named(p, returned, match):
    before = p.flat.copy()
    with pytest.raises((TypeError, ValueError), match="train: loss_and_grads must return .*" + match):
        train(p, lambda p, batch: returned, [None], SGD(p, lr=1.0), steps=1, progress=False)
    np.testing.assert_array_equal(p.flat, before)


@pytest.mark.parametrize("loss", [1, 1.0, np.float32(1), np.array(1.0), np.int64(1)])
def test_a_loss_is_a_number_of_any_type(loss):
    history = train(P, lambda p, batch: (loss, p.zeros_like()), [None], SGD(P, lr=1.0), steps=1, progress=False)
    assert history.loss == [1.0] and type(history.loss[0]) is float


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


def test_a_training_that_runs_off_says_where_and_keeps_the_last_parameters_that_worked():
    p, seen = linear_init(np.random.default_rng(1), 3, 1), []

    def explodes(p, batch):
        loss, grads = squares(p, batch)
        seen.append((loss, p.flat.copy()))
        grads.flat[:] *= [1e3, 1e-12, 1e300, np.nan][len(seen) - 1]  # the largest gradient is not at the largest loss
        return loss, grads

    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(FloatingPointError, match=r"at step 2 .*; the largest before was [\d.e+]+, at step 0\."),
    ):
        train(p, explodes, [(X, Y)], SGD(p, lr=1e10), steps=9, progress=False)
    np.testing.assert_array_equal(p.flat, seen[1][1])


def test_lists_repeat_and_generators_must_last():
    assert fit_line(7, [(X, Y), (X[:5], Y[:5])])[1].steps == 7
    refused(ValueError, "batches must yield 5 batches; it ended after 2", fit_line, 5, iter([(X, Y)] * 2))


def test_errors_name_the_argument():
    p, q = linear_init(RNG, 3, 1), linear_init(RNG, 3, 1)
    refused(ValueError, "optimizer must hold the same parameter object", train, p, squares, [(X, Y)], Adam(q), steps=1)
    refused(ValueError, "at least one batch", train, p, squares, [], Adam(p), steps=1)


def test_the_bar_shows_only_where_somebody_can_see_it(capsys):
    fit_line(2)
    train(p := linear_init(RNG, 3, 1), squares, [(X, Y)], Adam(p), steps=2, progress=True)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("notebook", "file"), [(True, "stdout"), (False, None)])
def test_the_bar_stands_among_what_a_cell_prints_and_else_among_messages(monkeypatch, notebook, file):
    bars = []
    monkeypatch.setitem(sys.modules, "tqdm", SimpleNamespace(tqdm=lambda **options: bars.append(options)))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    if notebook:
        monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace())
    else:
        monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    train(p := linear_init(RNG, 3, 1), squares, [(X, Y)], Adam(p), steps=2)
    assert [(bar["total"], bar["file"]) for bar in bars] == [(2, getattr(sys, file) if file else None)]


def test_without_tqdm_a_notebook_trains_and_shows_no_bar(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ipykernel", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "tqdm", None)
    history = train(p := linear_init(RNG, 3, 1), squares, [(X, Y)], Adam(p), steps=2, progress=True)
    assert history.steps == 2 and capsys.readouterr() == ("", "")


# ------------------------------------------------------------------------------------------------------------ resuming

RUN = {"gru": (gru_init, gru_forward, gru_backward), "lstm": (lstm_init, lstm_forward, lstm_backward)}


def loss_of(cell, rng=None):
    """Squared error of a linear read-out; with `rng`, noise in the inputs, so that randomness matters.

    An integer of 32 bits is half of a draw; the other half waits in the generator.
    """
    _, forward, backward = RUN[cell]

    def loss_and_grads(m, chunk):
        xs = chunk.xs
        if rng is not None:
            xs = xs + 0.1 * rng.normal(size=xs.shape) + rng.integers(0, 2**30, dtype=np.int32) / 2**32
        hs, last, tape = forward(xs, chunk.state, m.rnn)
        chunk.carry(last)
        out, cache = linear_forward(hs, m.out)
        error = out - chunk.ys
        dhs, g_out = linear_backward(2 * error / error.size, cache, m.out)
        return (error**2).mean(), bundle(rnn=backward(dhs, None, tape, m.rnn)[2], out=g_out)

    return loss_and_grads


def setting(cell="gru", optimizer=Adam, dtype=np.float64, **options):
    """Model, optimiser, chunks and generator, always the same at the start."""
    rng = np.random.default_rng(7)
    m = bundle(rnn=RUN[cell][0](rng, 2, 5, dtype=dtype), out=linear_init(rng, 5, 1, dtype=dtype))
    xs = rng.normal(size=(23, 4, 2)).astype(dtype)
    chunks = Chunks(xs, np.cumsum(xs, axis=0)[..., :1], 5)
    rng.integers(0, 2**30, dtype=np.int32)  # so that half of a draw waits at every checkpoint
    return m, optimizer(m, lr=0.01, **options), chunks, rng


def fit(cell, parts, steps, **kwargs):
    m, opt, chunks, rng = parts
    evaluate = kwargs.pop("evaluate", lambda m: {"size": float(np.linalg.norm(m.flat))})
    loss = loss_of(cell, rng)
    return train(m, loss, chunks, opt, steps=steps, every=4, rng=rng, evaluate=evaluate, progress=False, **kwargs)


class KilledError(Exception):
    """Stands for a kill: nothing after it runs."""


@pytest.mark.parametrize(("cell", "optimizer", "dtype"), [
    ("gru", (Adam, {}), np.float32), ("lstm", (Adam, {}), np.float64), ("gru", (SGD, {"momentum": 0.9}), np.float64)
])  # fmt: skip
def test_a_killed_training_resumes_to_the_same_bits(tmp_path, cell, optimizer, dtype):
    make = lambda: setting(cell, optimizer[0], dtype, **optimizer[1])  # noqa: E731
    whole = make()
    history = fit(cell, whole, 30, schedule=linear_decay(0.01, 30), clip_norm=1.0)
    for kill in (2, 9, 17, 26):  # each time at a step that is no multiple of `every`

        def schedule(step, kill=kill):
            if step == kill:
                raise KilledError
            return linear_decay(0.01, 30)(step)

        with pytest.raises(KilledError):
            fit(cell, make(), 30, schedule=schedule, clip_norm=1.0, checkpoint=tmp_path / "run.npz")
    parts = make()
    again = fit(cell, parts, 30, schedule=linear_decay(0.01, 30), clip_norm=1.0, checkpoint=tmp_path / "run.npz")
    np.testing.assert_array_equal(parts[0].flat, whole[0].flat)
    assert again == history
    assert parts[3].bit_generator.state == whole[3].bit_generator.state
    assert [f.name for f in tmp_path.iterdir()] == ["run.npz"]


def test_a_finished_training_is_not_done_again(tmp_path):
    first, again = setting(), setting()
    history = fit("gru", first, 10, checkpoint=tmp_path / "run.npz")
    assert fit("gru", again, 10, checkpoint=tmp_path / "run.npz") == history
    np.testing.assert_array_equal(again[0].flat, first[0].flat)
    fit("gru", again, 12, checkpoint=tmp_path / "run.npz")  # but may be prolonged
    whole = setting()
    fit("gru", whole, 12)
    np.testing.assert_array_equal(again[0].flat, whole[0].flat)


def test_a_list_of_batches_goes_on_where_it_was(tmp_path):
    def loss(p, batch):
        g = p.zeros_like()
        g.flat[:] = batch
        return 0.0, g

    batches = [1.0, 2.0, 3.0]
    runs = []
    for steps in ([7], [2, 3, 7]):
        for k in steps:
            p = linear_init(np.random.default_rng(0), 1, 1)
            path = tmp_path / f"{len(steps)}.npz"
            train(p, loss, batches, SGD(p, 1.0), steps=k, checkpoint=path, progress=False)
        runs.append(p.flat)
    np.testing.assert_array_equal(*runs)


def test_a_checkpoint_of_another_training_is_refused_and_changes_nothing(tmp_path):
    path = tmp_path / "run.npz"
    fit("gru", setting(), 5, checkpoint=path)
    m, _, chunks, rng = setting()
    before = m.flat.copy()
    for kwargs, match in [
        ({"optimizer": SGD(m, 0.1), "rng": rng, "batches": chunks}, "with optimizer SGD; it has Adam"),
        ({"optimizer": Adam(m, 0.1), "rng": None, "batches": chunks}, "with rng None; it has PCG64"),
        ({"optimizer": Adam(m, 0.1), "rng": rng, "batches": [1]}, "with batches None; it has Chunks"),
    ]:
        refused(ValueError, match, train, m, loss_of("gru"), steps=9, checkpoint=path, progress=False, **kwargs)
    with pytest.raises(
        ValueError, match=r"run\.npz must be a checkpoint with p {rnn: LSTMParams.*; it has {rnn: GRUPar"
    ):
        fit("lstm", setting("lstm"), 9, checkpoint=path)
    with pytest.raises(ValueError, match=r"p in run\.npz must be float32 of shape .*; it is float64"):
        fit("gru", setting(dtype=np.float32), 9, checkpoint=path)
    save(path.with_name("net.npz"), m)
    with pytest.raises(ValueError, match=r"net\.npz must be a checkpoint with p .*; it has None"):
        fit("gru", setting(), 9, checkpoint=path.with_name("net.npz"))
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match=r"must be a whole \.npz file that gru_lib wrote"):
        fit("gru", (m, Adam(m, 0.1), chunks, rng), 9, checkpoint=path)
    np.testing.assert_array_equal(m.flat, before)
    refused(ValueError, r"checkpoint must end in \.npz", fit, "gru", setting(), 9, checkpoint=tmp_path / "run.pkl")


# -------------------------------------------------------------------------------------------------- truncated backprop


@pytest.mark.parametrize("spoil", [
    lambda header: [], lambda header: 3, lambda header: {**header, "what": 3}, lambda header: {**header, "history": 3},
    lambda header: {**header, "history": {"loss": 3}}, lambda header: {**header, "optimizer": 3},
    lambda header: {**header, "history": eval("[" * 80 + "]" * 80)},
])  # fmt: skip
def test_a_checkpoint_with_a_spoilt_header_is_refused_and_changes_nothing(tmp_path, spoil):
    p, path = linear_init(np.random.default_rng(1), 3, 1), tmp_path / "run.npz"
    train(p, squares, [(X, Y)], Adam(p), steps=2, checkpoint=path, progress=False)
    header, arrays = io.read("test", path)
    io.write_npz(path, arrays, spoil(header))
    optimizer, before = Adam(p), p.flat.copy()
    with pytest.raises(ValueError, match=r"^train: run\.npz "):
        train(p, squares, [(X, Y)], optimizer, steps=4, checkpoint=path, progress=False)
    np.testing.assert_array_equal(p.flat, before)
    assert optimizer.k == 0


def test_chunks_carry_the_state_so_that_the_forward_pass_is_whole():
    m, _, chunks, _ = setting()
    hs, _, _ = gru_forward(chunks.xs, None, m.rnn)
    pieces = []
    for _, chunk in zip(range(5), chunks, strict=False):
        out, h_T, _ = gru_forward(chunk.xs, chunk.state, m.rnn)
        chunk.carry(h_T)
        pieces.append(out)
    assert [len(p) for p in pieces] == [5, 5, 5, 5, 3]
    np.testing.assert_allclose(np.concatenate(pieces), hs, rtol=0, atol=1e-15)


def test_chunks_begin_again_without_a_state_and_give_every_step_once():
    _, _, chunks, _ = setting()
    seen = []
    for k, chunk in zip(range(10), chunks, strict=False):
        assert (chunk.state is None) == (k % 5 == 0)
        chunk.carry(k)
        seen.append(chunk.xs)
    for epoch in (seen[:5], seen[5:]):
        np.testing.assert_array_equal(np.concatenate(epoch), chunks.xs)


def test_chunks_name_what_is_wrong():
    xs = np.zeros((6, 2, 1))
    refused(ValueError, r"same T and N; got \(6, 2, 1\) and \(6, 3\)", Chunks, xs, np.zeros((6, 3)), 2)
    refused(ValueError, "K must be at least 1", Chunks, xs, xs, 0)
    it = iter(Chunks(xs, xs, 2))
    next(it)
    refused(ValueError, r"chunk\.carry\(state\) must be called", next, it)


# ------------------------------------------------------------------------------------------------------ early stopping


@pytest.mark.parametrize(("mode", "sign"), [("min", 1), ("max", -1)])
def test_early_stopping_waits_for_patience_evaluations(mode, sign):
    stop = early_stopping("v", 2, mode=mode)
    history = History()
    answers = []
    for k, value in enumerate([5, 3, 4, 2, 2.5, 2, 1, 1, 1]):
        history.metrics.setdefault("v", []).append((k, sign * value))
        answers.append(stop(history))
    assert answers == [False, False, False, False, False, True, False, False, True]
    improving = History(metrics={"v": [(k, sign * value) for k, value in enumerate([np.nan, 5, 4, 3])]})
    assert not stop(improving), "what is better than NaN is better"
    assert stop(History(metrics={"v": [(k, sign * value) for k, value in enumerate([5, np.nan, np.nan])]}))
    with pytest.raises(KeyError, match="no metric 'w'"):
        early_stopping("w", 2)(history)


def test_early_stopping_ends_a_training_and_stays_ended_on_resuming(tmp_path):
    options = {"evaluate": lambda m: {"v": 1.0}, "stop": early_stopping("v", 2), "checkpoint": tmp_path / "run.npz"}
    history = fit("gru", setting(), 40, **options)
    assert history.stopped and history.steps == 12
    assert fit("gru", setting(), 40, **options) == history
