"""The library as a stranger's type checker sees it. mypy reads this file with its own (``files`` in pyproject.toml).

`assert_type` fails where a function has lost its types. A line with an ignore holds a mistake: if the checker no longer
sees it, the ignore is unused, and that is an error too.
"""

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import gru_lib
from gru_book import check
from gru_lib import convert
from gru_lib.decode import Hypothesis
from gru_lib.train import History

Array = NDArray[Any]
rng = np.random.default_rng(0)
xs = rng.normal(size=(5, 3, 2))

p = gru_lib.gru_init(rng, D=2, H=4)
assert_type(p, gru_lib.GRUParams)
assert_type(p.flat, Array)
assert_type(gru_lib.load("p.npz", p), gru_lib.GRUParams)
gru_lib.gru_init(rng, D=2, H=4, reset=True)  # type: ignore[call-arg]

gru_lib.GRU()  # type: ignore[attr-defined]

hs, h_T, tape = gru_lib.gru_forward(xs, None, p, lengths=[5, 4, 2])
assert_type(hs, Array)
dxs, dh0, grads = gru_lib.gru_backward(hs, None, tape, p)
assert_type(grads, gru_lib.GRUParams)
h, cache = gru_lib.gru_step([[0.0, 1.0]], np.zeros((1, 4)), p)
assert_type(gru_lib.gru_step_backward(h, cache, p), tuple[Array, Array, gru_lib.GRUParams])

q = gru_lib.lstm_init(rng, 2, 4)
state, lstm_cache = gru_lib.lstm_step(xs[0], gru_lib.LSTMState(h, h), q)
assert_type(state, gru_lib.LSTMState)
gru_lib.gru_forward(xs, None, q)  # type: ignore[arg-type]
gru_lib.lstm_step(xs[0], h, q)  # type: ignore[arg-type]

two = gru_lib.stack(p, gru_lib.bidirectional(p, p))
assert_type(gru_lib.stack_forward(xs, None, two)[0], Array)
out = gru_lib.linear_init(rng, 4, 1)
y, kept = gru_lib.linear_forward(hs, out)
assert_type(gru_lib.linear_backward(y, kept, out), tuple[Array, gru_lib.ops.LinearParams])
assert_type(gru_lib.bce_with_logits(y, np.ones_like(y)).dlogits, Array)

adam = gru_lib.Adam(p, lr=1e-3)
assert_type(gru_lib.clip_by_global_norm(grads, 1.0), float)
assert_type(gru_lib.train(p, lambda p, batch: (0.0, p), [xs], adam, steps=1), History)
assert_type(gru_lib.gradcheck(lambda p: 0.0, p, grads).worst, float)
assert_type(convert.to_torch([[p]]), dict[str, Array])
gru_lib.train(p, lambda p, batch: (0.0, p), [xs], adam, steps=0.5)  # type: ignore[arg-type]


def step(state: Array, tokens: Array) -> tuple[Array, Array]:
    return state, state


assert_type(gru_lib.beam_search(step, h, 0, end=1, max_steps=3, width=2), list[Hypothesis])
assert_type(check.gru_step(gru_lib.gru_step, reset_after=True), check.Result)
check.sigmoid()  # type: ignore[call-arg]
