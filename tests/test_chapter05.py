"""What chapter 5 and its pages say beside their cells: code and equations, mistakes, the explorer, PyTorch."""

import inspect
import re

import numpy as np
import pytest
from helpers import ROOT, cells_of, run_box

from gru_lib import gradcheck, gru_backward, gru_forward, gru_init, gru_step, gru_step_backward, results
from gru_lib.widgets import BPTTExplorer
from gru_lib.widgets.bptt import BPTT

T, N, D, H = 4, 3, 2, 4


def text_of(name):
    return (ROOT / "book_text" / f"{name}.md").read_text("utf8")


def test_the_numbers_beside_the_code_are_those_of_its_equations():
    labels = re.findall(r"^\$\$ \(([\w-]+)\)$", text_of("05-gru-backward"), re.M)
    (cell,) = [c for c in cells_of("05-gru-backward") if c.startswith("def step_backward")]
    beside = {line.split("=")[0].strip(): re.findall(r"\(5\.(\d+)\)", line) for line in cell.splitlines()}
    named = {
        name: [labels[int(k) - 1].removeprefix("eq-bwd-") for k in found] for name, found in beside.items() if found
    }
    assert named == {
        "da_z": ["dz", "daz"],
        "da_n": ["dn", "dan"],
        "dq": ["dq"],
        "da_r": ["dr", "dar"],
        "dx": ["dx"],
        "dh_prev": ["dhprev"],
        "grads": ["params"],
    }


def test_every_line_of_the_table_of_code_is_in_the_library():
    page = "\n".join(cells_of("05b-other-conventions", "markdown"))
    table = page.split(":name: tab-bwd-code")[1].split("```")[0]
    quoted = [code.removesuffix(" + …") for code in re.findall(r"`([^`{}]+ = [^`]+)`", table)]
    source = inspect.getsource(gru_step_backward)
    assigned = re.sub(r"g\.(\w+)\[:\], g\.\w+\[:\](?:, g\.\w+\[:\])? = ([^,]+),.*", r"g.\1[:] = \2", source)
    assert len(quoted) == 12
    for code in quoted:
        assert code in source or code in assigned, code


# -------------------------------------------------------------------------------------------------------- the explorer


def terms_of(preset="chapter", out1=0.0):
    """The four terms at each of the explorer's steps, {3: [kept, z, r, q], …}, by the library."""
    s, p = BPTTExplorer().state(), gru_init(np.random.default_rng(0), 1, 1)
    for key in (key for key in s if key.startswith(("W_", "b_"))):
        getattr(p, key)[:] = s[key]
    for gate, bias in BPTT["presets"][preset].items():  # a preset fixes a gate by its bias
        for key, value in ((f"W_x{gate}", 0), (f"W_h{gate}", 0), (f"b_{gate}", bias)):
            getattr(p, key)[:] = value
    h, caches, found, dh = np.array([[s["h0"]]]), [], {}, 0.0
    for t in (1, 2, 3):
        h, cache = gru_step([[s[f"x{t}"]]], h, p)
        caches.append(cache)
    for t, out in ((3, 1.0), (2, 0.0), (1, out1)):
        dh += out
        _, h_prev, r, not_r, z, not_z, n, _ = (a.item() for a in caches[t - 1])
        da_z, dq = dh * (h_prev - n) * z * not_z, dh * not_z * (1 - n * n) * p.W_hn.item()
        found[t] = [dh * z, da_z * p.W_hz.item(), dq * h_prev * r * not_r * p.W_hr.item(), dq * r]
        dh = sum(found[t])
    return found


def test_the_explorers_questions_are_answered_as_it_computes():
    page = text_of("05-gru-backward")
    chapter = terms_of()
    for terms in chapter.values():
        assert max(np.abs(terms)) == terms[0]
    assert f"added to {sum(chapter[2]):.4f}" in page
    kept = terms_of("open")
    assert f"and {sum(kept[1]):.3f} of the gradient arrives" in page
    assert all(max(np.abs(terms[1:])) < 1e-3 for terms in kept.values())
    for terms in terms_of("shut").values():
        assert max(np.abs(terms[:2])) < 1e-2 * max(np.abs(terms))
    for terms in terms_of("reset").values():
        assert max(np.abs(terms[2:])) < 1e-2 * max(np.abs(terms))


def test_page_5e_sums_up_the_terms_of_its_step():
    """It is the explorer's first step, for a gradient of 1."""
    terms = terms_of()
    first = [f"{term / sum(terms[2]):.4f}".replace("-", "−") for term in terms[1]]
    assert "the four ways contribute {}, {}, {} and {} to".format(*first) in text_of("05e-five-rules")


# ---------------------------------------------------------------------------------------- trained with a wrong gradient


def test_most_trainings_with_a_term_left_out_end_as_the_page_says():
    ends = [(term, right[9] == 136) for term, _, right in results.load("wrong_gradients")["terms"]]
    solved = {term: sum(end for name, end in ends if name == term) for term, _ in ends}
    assert [sum(name == term for name, _ in ends) for term in solved] == [20] * 5
    assert solved.pop("nothing") == 20
    page = text_of("05-gru-backward")
    assert f"Without the way through $r$, {solved.pop('through r')} of 20 trainings still ended with every" in page
    assert f"without each of the others at least {min(solved.values())} did" in page


# ------------------------------------------------------------------------------------------------------------- PyTorch


@pytest.mark.frameworks("torch")
def test_what_the_page_says_of_pytorch_holds():
    import torch

    run_box("05c-checking-gradients")
    defaults = inspect.signature(torch.autograd.gradcheck).parameters
    said = text_of("05c-checking-gradients")
    for name in ("eps", "atol", "rtol"):
        assert f"`{name}={defaults[name].default}`" in said
    net, xs = torch.nn.GRU(2, 4).double(), torch.randn(3, 1, 2).double()
    net(xs)[0].sum().backward()
    once = net.bias_ih_l0.grad.clone()
    net(xs)[0].sum().backward()
    assert torch.allclose(net.bias_ih_l0.grad, 2 * once)  # it adds
    assert torch.allclose(net.bias_ih_l0.grad[:8], net.bias_hh_l0.grad[:8])  # two biases, one gradient: r and z


# ---------------------------------------------------------------------------------------------- the formulas of ai-edu


def test_the_formulas_of_ai_edu_give_the_librarys_gradients():
    """Equations (8) to (24) of section 20.3, as they stand: z is the share written, no biases."""
    rng = np.random.default_rng(6)
    p = gru_init(rng, D, H, convention="write", bias=False)
    xs, h0 = rng.normal(size=(T, N, D)), rng.uniform(-1, 1, (N, H))
    dhs, dh_T = rng.normal(size=(T, N, H)), rng.normal(size=(N, H))
    hs, _, tape = gru_forward(xs, h0, p)
    states = [h0, *hs]
    theirs, dxs, from_next = p.zeros_like(), np.zeros_like(xs), dh_T
    for t in reversed(range(T)):
        x, h_prev, z, r, n = xs[t], states[t], *(tape.gate(gate)[t] for gate in "zrn")
        delta = dhs[t] + from_next
        d_z = delta * (n - h_prev) * z * (1 - z)  # (8)
        d_n = delta * z * (1 - n**2)  # (9)
        d_r = (d_n @ p.W_hn.T) * h_prev * r * (1 - r)  # (10)
        theirs.W_hn[:] += (r * h_prev).T @ d_n  # (11), summed over t: (17)
        theirs.W_xn[:] += x.T @ d_n  # (12), (18)
        theirs.W_hr[:] += h_prev.T @ d_r  # (13), (19)
        theirs.W_xr[:] += x.T @ d_r  # (14), (20)
        theirs.W_hz[:] += h_prev.T @ d_z  # (15), (21)
        theirs.W_xz[:] += x.T @ d_z  # (16), (22)
        from_next = delta * (1 - z) + (d_n @ p.W_hn.T) * r + d_r @ p.W_hr.T + d_z @ p.W_hz.T  # (23), second line
        dxs[t] = d_n @ p.W_xn.T + d_r @ p.W_xr.T + d_z @ p.W_xz.T  # (24)
    lib_dxs, lib_dh0, lib_grads = gru_backward(dhs, dh_T, tape, p)
    np.testing.assert_allclose(theirs.flat, lib_grads.flat, rtol=0, atol=1e-12)
    np.testing.assert_allclose(dxs, lib_dxs, rtol=0, atol=1e-12)
    np.testing.assert_allclose(from_next, lib_dh0, rtol=0, atol=1e-12)


# ----------------------------------------------------------------------------- the table of pitfalls, page 5c

ALL = {"xs", "h0", "p.W_x", "p.W_h", "p.b"}


def backward(dhs, dh_T, caches, p, mistake):
    """Backpropagation through time with one of the mistakes of the table."""
    dh, dxs, grads = dh_T, np.empty((T, N, D)), p.zeros_like()
    if mistake == "dh_T forgotten":
        dh = np.zeros_like(dh_T)
    for t in reversed(range(T)):
        dh = dhs[t] if mistake == "outputs only" else dhs[t] + dh
        dxs[t], dh_prev, g = gru_step_backward(dh, caches[t], p)
        _, h_prev, r, not_r, z, not_z, n, _ = caches[t]
        da_z = dh * (h_prev - n) * z * not_z
        da_n = dh * not_z * (1 - n * n)
        da_r = (da_n @ p.W_hn.T) * h_prev * r * not_r
        h = z * h_prev + not_z * n
        if mistake == "bias mean":
            g.b[:] /= N
        elif mistake == "no transpose":
            dh_prev = dh_prev - da_z @ p.W_hz.T + da_z @ p.W_hz
        elif mistake == "h for h_prev":
            g.W_hr[:], g.W_hz[:], g.W_hn[:] = h.T @ da_r, h.T @ da_z, (r * h).T @ da_n
        elif mistake == "h_prev for q":
            g.W_hn[:] = h_prev.T @ da_n
        grads.flat[:] = g.flat if mistake == "overwritten" else grads.flat + g.flat
        dh = dh_prev
    if mistake == "mean of a mean":
        dxs, dh = dxs / N, dh / N
        grads.flat[:] /= N
    return dxs, dh, grads


def run(mistake, seed=0, last_state=True):
    rng = np.random.default_rng(seed)
    p = gru_init(rng, D, H)
    p.flat[:] = rng.normal(0, 0.8, p.size)
    xs, h0, dhs = rng.normal(size=(T, N, D)), rng.uniform(-1, 1, (N, H)), rng.normal(size=(T, N, H))
    dh_T = rng.normal(size=(N, H)) if last_state else np.zeros((N, H))

    def loss(xs, h0, p):
        hs, h_T, _ = gru_forward(xs, h0, p)
        return (dhs * hs).sum() + (dh_T * h_T).sum()

    h, caches = h0, []
    for x in xs:
        h, cache = gru_step(x, h, p)
        caches.append(cache)
    dxs, dh0, grads = backward(dhs, dh_T, caches, p, mistake)
    report = gradcheck(loss, {"xs": xs, "h0": h0, "p": p}, {"xs": dxs, "h0": dh0, "p": grads})
    return report, (xs, h0, p, loss), (dxs, dh0, grads)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("mistake", "wrong"),
    [
        (None, set()),
        ("bias mean", {"p.b"}),
        ("no transpose", ALL),
        ("h for h_prev", {"p.W_h"}),
        ("h_prev for q", {"p.W_h"}),
        ("outputs only", ALL),
        ("dh_T forgotten", ALL),
        ("overwritten", {"p.W_x", "p.W_h", "p.b"}),
        ("mean of a mean", ALL),
    ],
)
def test_each_pitfall_shows_where_the_table_says(mistake, wrong, seed):
    report, _, _ = run(mistake, seed)
    assert set(report.wrong(1e-3 if wrong else 1e-12)) == wrong


def test_taking_h_prev_for_q_spoils_the_columns_of_n_only():
    right, wrong = run(None)[2][2], run("h_prev for q")[2][2]
    assert np.array_equal(right.W_hr, wrong.W_hr) and np.array_equal(right.W_hz, wrong.W_hz)
    assert np.abs(right.W_hn - wrong.W_hn).max() > 1e-3


def test_reading_outputs_only_leaves_the_last_input_right_when_dh_T_is_zero():
    right, wrong = run(None, last_state=False)[2][0], run("outputs only", last_state=False)[2][0]
    np.testing.assert_array_equal(right[-1], wrong[-1])
    assert all(np.abs(right[t] - wrong[t]).max() > 1e-3 for t in range(T - 1))


def test_dividing_twice_is_off_by_the_factor_N():
    right, wrong = run(None)[2][2], run("mean of a mean")[2][2]
    np.testing.assert_allclose(wrong.flat * N, right.flat, rtol=1e-14)
