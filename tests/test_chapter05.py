"""What chapter 5 and its pages say beside their cells: code and equations, mistakes, the explorer, PyTorch."""

import inspect
import math
import re
import tracemalloc

import numpy as np
import pytest
from helpers import ROOT, cells_of, run_box

from experiments import wrong_gradients
from gru_book import results
from gru_book.widgets import BPTTExplorer
from gru_book.widgets.bptt import BPTT
from gru_lib import gradcheck, gru_backward, gru_forward, gru_init, gru_step, gru_step_backward, numeric_gradient

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
    assert f"the next step {sum(chapter[2]):.4f}" in page
    kept = terms_of("open")
    assert f"and {sum(kept[1]):.3f} of the gradient arrives" in page
    assert all(max(np.abs(terms[1:])) < 1e-3 for terms in kept.values())
    for terms in terms_of("shut").values():
        assert max(np.abs(terms[:2])) < 1e-2 * max(np.abs(terms))
    for terms in terms_of("reset").values():
        assert max(np.abs(terms[2:])) < 1e-2 * max(np.abs(terms))


# -------------------------------------------------------------------------------------------------- one unit in numbers


def unit():
    """The chapter's unit: what its step computes, forward and back, by the names that its lines have."""
    s = BPTTExplorer().state()
    p = gru_init(np.random.default_rng(0), 1, 1)
    for key in (key for key in s if key.startswith(("W_", "b_"))):
        getattr(p, key)[:] = s[key]
    h, cache = gru_step([[s["x1"]]], [[s["h0"]]], p)
    _, _, grads = gru_step_backward([[1.0]], cache, p)
    _, h_prev, r, _, z, not_z, n, q = (a.item() for a in cache)
    da_r, da_z, da_n = (getattr(grads, f"b_{gate}").item() for gate in "rzn")
    dq = da_n * s["W_hn"]
    forward = {"\\gr": r, "\\gz": z, "q": q, "\\gn": n, "\\gh": h.item()}
    back = {"z": h_prev - n, "a_z": da_z, "n": not_z, "a_n": da_n, "q": dq, "r": dq * h_prev, "a_r": da_r}
    return forward, back


def test_the_unit_is_carried_forward_and_back_as_it_computes():
    """Each line's sum is right, to the four places it has, and is what the library has for the quantity above it."""
    page = text_of("05-gru-backward")
    forward, back = unit()
    lines = re.search(r"\\begin\{aligned\}\n(\\gr &=.*?)\\end", page, re.S)[1].replace("\\\\\n&=", "=")
    for line in lines.strip().split("\\\\\n"):
        name, *sides = (part.strip(" &") for part in line.split("="))
        assert float(sides[-1].strip("\\ ")) == pytest.approx(forward.pop(name), abs=5e-5), line
    assert not forward
    found = re.findall(
        r"^\\gd\{(\w+)\} = [^\n]*\n\$\$ \(eq-bwd-\w+\)\n\n\*Our unit:\* \$([^=$]+) = ([-\d.]+)\$\.$", page, re.M
    )
    assert [name for name, _, _ in found] == ["z", "a_z", "n", "a_n", "q", "r", "a_r"]
    for name, left, right in found:
        assert float(right) == pytest.approx(back[name], abs=5e-5), name
        assert eval(left.replace(r"\cdot", "*")) == pytest.approx(float(right), abs=2e-4), name


def test_which_ways_push_the_units_state_up():
    kept, by_z, by_r, by_q = terms_of()[1]
    assert min(kept, by_z) > 0 > max(by_r, by_q)
    page = text_of("05-gru-backward")
    assert "Ways 1 and 2 push the state up, 3 and 4 pull it down" in page
    assert "- [x] 1, kept, and 2, through $z$" in page


# ------------------------------------------------------------------------------- words for the gates, against the cells


def gru_and_step(N=3, D=2, H=4, seed=0):
    rng = np.random.default_rng(seed)
    p = gru_init(rng, D, H)
    p.flat[:] = rng.normal(size=p.size)
    return p, rng.normal(size=(N, D)), rng.uniform(-1, 1, (N, H)), rng.normal(size=(N, H))


def silenced(gate, value):
    """Which of the four terms, and which arrays' gradients, are 0 if a gate stands at `value`."""
    p, x, h_prev, dh = gru_and_step()
    getattr(p, f"b_{gate}")[:] = 1e9 if value else -1e9
    _, cache = gru_step(x, h_prev, p)
    _, _, grads = gru_step_backward(dh, cache, p)
    _, _, r, not_r, z, not_z, n, _ = cache
    da_z, dq = dh * (h_prev - n) * z * not_z, (dh * not_z * (1 - n * n)) @ p.W_hn.T
    terms = [dh * z, da_z @ p.W_hz.T, (dq * h_prev * r * not_r) @ p.W_hr.T, dq * r]
    names = [f"{kind}{g}" for g in "rzn" for kind in ("W_x", "W_h", "b_")]
    return (
        {k for k, term in enumerate(terms, 1) if np.abs(term).max() < 1e-300},
        {name for name in names if np.abs(getattr(grads, name)).max() < 1e-300},
    )


@pytest.mark.parametrize(
    ("gate", "value", "says"),
    [
        ("z", 0, "With $z$ near 0, terms 1 and 2 go: term 1 has the factor $z$, and term 2 has the slope $z(1 - z)$"),
        ("r", 0, "With $r$ near 0, terms 4 and 3 go: term 4 has the factor $r$, and term 3 the slope $r(1 - r)$"),
        ("z", 1, "With $z$ near 1, term 1 is all there is"),
    ],
)
def test_the_terms_that_go_with_a_gate_are_those_that_the_page_names(gate, value, says):
    page = text_of("05-gru-backward")
    assert says in page
    gone, _ = silenced(gate, value)
    named = {int(k) for k in re.findall(r"terms (\d) and (\d) go", says)[0]} if value == 0 else {2, 3, 4}
    assert gone == named


def test_the_arrays_that_fall_silent_with_r_are_those_that_the_solution_names():
    _, silent = silenced("r", 0)
    page = text_of("05-gru-backward")
    sentence = re.search(r"By \{eq\}`eq-bwd-params`, (.*?) get nothing since .*?, and (.*?) gets nothing", page)
    named = {f"W_{i}" if kind == "W" else f"b_{i}" for part in sentence.groups() for kind, i in GROUP.findall(part)}
    assert named == silent


GROUP = re.compile(r"\b([Wb])_\{?(\w+)\}?")


def test_constant_gates_lose_the_terms_and_arrays_that_the_open_exercise_names():
    """r and z held as they are: their pre-activations get no gradient."""
    page = text_of("05-gru-backward")
    (lost,) = re.findall(r"^Terms 2 and 3 are lost, and with .*? the gradients of (.*)\.$", page, re.M)
    named = {f"{kind}_{i}" for kind, i in GROUP.findall(lost)}
    p, x, h_prev, dh = gru_and_step()
    _, cache = gru_step(x, h_prev, p)
    _, dh_prev, _ = gru_step_backward(dh, cache, p)

    def loss(h_prev, p):
        n = np.tanh(x @ p.W_xn + (cache.r * h_prev) @ p.W_hn + p.b_n)
        return (dh * (cache.z * h_prev + cache.not_z * n)).sum()

    constant = numeric_gradient(loss, {"h_prev": h_prev, "p": p})
    grads = p.zeros_like()
    grads.W_x[:], grads.W_h[:], grads.b[:] = (constant[f"p.{name}"] for name in ("W_x", "W_h", "b"))
    names = [f"{kind}{gate}" for gate in "rzn" for kind in ("W_x", "W_h", "b_")]
    assert {name for name in names if not np.any(getattr(grads, name))} == named
    dq = (dh * cache.not_z * (1 - cache.n**2)) @ p.W_hn.T
    np.testing.assert_allclose(constant["h_prev"], dh * cache.z + dq * cache.r, rtol=0, atol=1e-12)
    assert np.abs(constant["h_prev"] - dh_prev).max() > 1e-2


# ---------------------------------------------------------------------------------------- trained with a wrong gradient


def test_trainings_with_a_term_left_out_end_as_the_page_says():
    stored, terms = results.load("wrong_gradients"), ("nothing", "kept", "through z", "through r", "through q")
    pairs = {term: [right[9] == 136 for name, _, right in stored["terms"] if name == term] for term in terms}
    assert {len(found) for found in pairs.values()} == {20}
    solved = {term: sum(found) for term, found in pairs.items()}
    page = text_of("05-gru-backward")
    assert solved.pop("nothing") == 20
    assert f"With a wrong one, {min(solved.values())} to {max(solved.values())} of the twenty still end with" in page
    signs = {
        (term, T): [row[-1] for row in stored["gap"] if row[:2] == [term, T]] for term in terms for T in (3, 6, 12, 24)
    }
    assert {len(found) for found in signs.values()} == {20}
    far = {term: sum(share >= 0.95 for share in signs.pop((term, 24))) for term in terms}
    assert (far["nothing"], far["through q"]) == (7, 14)
    assert "7 of twenty learn, and without the way through $q$ 14" in page
    longer = [share for *_, share in stored["gap, longer"]]
    assert sum(share >= 0.95 for share in longer) == 15 and "trained three times as long, 15 learn" in page
    kept = signs.pop(("kept", 12))
    assert min(min(found) for found in signs.values()) >= 0.95
    assert sum(share >= 0.95 for share in kept) == 8 and "eight of the twenty networks that train without it" in page
    assert sum(share < 0.6 for share in kept) == 10 and "half of the twenty end near a coin's 50 %" in page


@pytest.mark.parametrize(("term", "T", "seed"), [("kept", 12, 3), ("through z", 3, 1)])
def test_a_stored_training_on_the_first_sign_is_made_again(term, T, seed):
    stored = {tuple(row[:3]): row[3] for row in results.load("wrong_gradients")["gap"]}
    assert wrong_gradients.train_gap(term, T, seed) == stored[term, T, seed]


# ------------------------------------------------------------------------------------------------------------ the cost


def test_memory_is_there_before_backward_begins_and_blocks_take_less():
    """The page's table, at another size: tracemalloc sees NumPy's arrays."""
    page = {"np": np, "gru_step": gru_step}
    for cell in cells_of("05-gru-backward"):
        if re.match(r"def (step_backward|backward|forward)\(", cell.lstrip()):
            exec(cell, page)
    rng = np.random.default_rng(0)
    p, h0 = gru_init(rng, 16, 64), np.zeros((32, 64))
    xs, dhs = rng.normal(size=(200, 32, 16)), np.zeros((200, 32, 64))
    tracemalloc.start()
    _, caches = page["forward"](xs, h0, p)
    before = tracemalloc.get_traced_memory()[0]
    page["backward"](dhs, h0, caches, p)
    peak = tracemalloc.get_traced_memory()[1]
    del caches, _
    tracemalloc.reset_peak()
    start = tracemalloc.get_traced_memory()[0]
    page["backward_in_blocks"](xs, h0, dhs, h0, p, 5)
    less = tracemalloc.get_traced_memory()[1] - start
    tracemalloc.stop()
    assert before > 0.9 * peak
    assert less < 0.2 * peak


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


# ------------------------------------------------------------------------------------------------- rounding, page 5c


def test_a_sum_is_off_by_no_more_than_the_box_says_in_any_order():
    assert f"{(0.1 + 0.2) + 0.3 - (0.1 + (0.2 + 0.3)):.0e}" == "1e-16"
    rng = np.random.default_rng(0)
    for _ in range(200):
        x = rng.permutation(rng.normal(size=50))
        total = 0.0
        for value in x:
            total += value
        assert abs(total - math.fsum(x)) <= 49 * 2.0**-53 * np.abs(x).sum()


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


# --------------------------------------------------------------------- common mistakes, and what each leaves in a check

ALL = {"xs", "h0", "p.W_x", "p.W_h", "p.b"}


def backward(dhs, dh_T, caches, p, mistake):
    """Backpropagation through time with one mistake."""
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
def test_each_mistake_shows_in_its_own_arrays(mistake, wrong, seed):
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


def test_central_differences_lose_the_digits_of_a_gradient_that_has_faded_and_the_complex_step_does_not():
    """An untrained GRU with a loss at the end: the gradient of h_0 over 5 and over 40 steps."""
    worst = {}
    for T in (5, 40):
        rng = np.random.default_rng(0)
        p = gru_init(rng, 3, 5)
        xs, h0, direction = rng.normal(size=(T, 2, 3)), rng.normal(size=(2, 5)), rng.normal(size=(2, 5))
        dh0 = gru_backward(None, direction, gru_forward(xs, h0, p)[2], p)[1]

        def loss(h0, xs=xs, p=p, direction=direction):
            return (gru_forward(xs, h0, p)[1] * direction).sum()

        for method in ("central", "complex"):
            worst[T, method] = gradcheck(loss, {"h0": h0}, {"h0": dh0}, method=method).worst
    assert worst[5, "central"] < 1e-7 and worst[40, "central"] > 1e-4
    assert max(worst[5, "complex"], worst[40, "complex"]) < 1e-12


def test_the_complex_step_gives_the_slope_beside_a_corner():
    rng = np.random.default_rng(0)
    W, x, w, eps = rng.normal(size=(5, 5)) / 2, rng.normal(size=5), rng.normal(size=5), 1e-30

    def end(h):
        for _ in range(7):
            a = h @ W + x
            h = np.where(a.real > 0, a, 0)
        return h @ w

    h0, back, states = rng.normal(size=5), w, []
    h = h0
    for _ in range(7):
        a = h @ W + x
        states.append(a > 0)
        h = np.where(a > 0, a, 0)
    for on in reversed(states):
        back = (back * on) @ W.T
    step = [end(h0 + 1j * eps * row).imag / eps for row in np.eye(5)]
    np.testing.assert_allclose(step, back, rtol=1e-13)


def test_which_gate_at_its_end_passes_the_gradient_on_whole_as_the_page_names_it():
    """The update gate, kept open by its bias; with the reset gate open the gradient is changed as before."""
    page = text_of("05-gru-backward")
    assert "With $z$ near 1, term 1 passes the gradient on whole" in page
    assert r"Then $\gd{a_z}$ and $\gd{n}$ go to zero" in page
    rng = np.random.default_rng(0)
    x, h_prev, dh = (rng.normal(size=(N, size)) for size in (D, H, H))
    for gate, whole in (("b_z", True), ("b_r", False)):
        p = gru_init(rng, D, H)
        getattr(p, gate)[:] = 40
        _, cache = gru_step(x, h_prev, p)
        _, dh_prev, grads = gru_step_backward(dh, cache, p)
        assert np.allclose(dh_prev, dh, atol=1e-12) == whole
        assert (np.abs(grads.b_z).max() < 1e-12) == (np.abs(grads.b_n).max() < 1e-12) == whole
        # δ of a_z and of the candidate are 0 if z is open, and not if r is
