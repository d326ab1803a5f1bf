"""GRUs with a gate less. What all cells have in common is in test_cell.py."""

import numpy as np
import pytest
from helpers import randomised, rng

from gru_book.cells import ablated_gru_init, ablated_gru_step
from gru_lib import sigmoid

D, H, N = 2, 4, 3


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("convention", ["keep", "write"])
@pytest.mark.parametrize("ablation", ["no_reset", "no_update", "shared"])
def test_step_follows_the_equations_with_the_gate_taken_away(ablation, convention, after, bias):
    options = {"ablation": ablation, "convention": convention, "reset_after": after, "bias": bias}
    p = randomised(ablated_gru_init(rng(), D, H, **options), rng())
    x, h_prev = rng().normal(size=(N, D)), rng().normal(size=(N, H))
    b = p.b if bias else np.zeros(2 * H)
    b_hn = p.b_hn if bias and after else 0
    gate = sigmoid(x @ p.W_x[:, :H] + h_prev @ p.W_h[:, :H] + b[:H])
    r = 1 if ablation == "no_reset" else gate
    keep = {"keep": gate, "write": 1 - gate}[convention] if ablation != "no_update" else 0
    past = r * (h_prev @ p.W_hn + b_hn) if after else (r * h_prev) @ p.W_hn
    n = np.tanh(x @ p.W_xn + past + b[H:])
    h, _ = ablated_gru_step(x, h_prev, p)
    np.testing.assert_allclose(h, keep * h_prev + (1 - keep) * n, rtol=0, atol=1e-14)


def test_an_ablated_gru_has_one_gate_less_to_learn():
    for ablation, gate in [("no_reset", "z"), ("no_update", "r"), ("shared", "r"), ("shared", "z")]:
        p = ablated_gru_init(rng(), D, H, ablation=ablation)
        assert p.size == 2 * H * (D + H + 1)
        getattr(p, f"W_x{gate}")[:] = 5
        np.testing.assert_array_equal(p.W_x[:, :H], 5)
    with pytest.raises(AttributeError, match="'AblatedGRUParams' object has no attribute 'W_xr'"):
        _ = ablated_gru_init(rng(), D, H, ablation="no_reset").W_xr
