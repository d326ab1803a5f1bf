"""What chapter 5 and its pages say beside their cells: code and equations, mistakes, the explorer, PyTorch."""

import inspect
import re

import numpy as np
import pytest
from helpers import ROOT, cells_of, names_of, run_box

from gru_book.widgets import BPTTExplorer
from gru_book.widgets.bptt import BPTT
from gru_lib import gradcheck, gru_backward, gru_forward, gru_init, gru_step, gru_step_backward, numeric_gradient

T, N, D, H = 4, 3, 2, 4


def text_of(name):
    return (ROOT / "book_text" / f"{name}.md").read_text("utf8")


def table_of(name, label):
    """The cells of a table in the text, row by row."""
    (body,) = re.findall(rf"^```{{table}}[^\n]*\n:name: {label}\n\n(.*?)^```$", text_of(name), re.M | re.S)
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in body.strip().splitlines()[2:]]


def bare(formula):
    """A formula without colours, indices of time and spaces."""
    formula = re.sub(r"\\g([xhrzn])(?:\[(_\{?[\w-]+\}?)\])?", r"\1\2", formula)
    formula = re.sub(r"\\underbrace\{(.*?)\}_\{\d:\\ \\text\{[a-z ]*\}( [zrq])?\}", r"\1", formula)
    formula = re.sub(r"\\(?:begin|end)\{aligned\}|\\tex[a-z]+|\\tfrac|[$&\\,. ]|\{\}|_\{?t(?:-1)?\}?|\n", "", formula)
    return formula.replace("\\", "")


CODE = [  # of each row of the ten lines: what the function has, in this order
    "dz = dh * (h_prev - n)",
    "da_z = dz * z * not_z",
    "dn = dh * not_z",
    "da_n = dn * (1 - n * n)",
    "dq = da_n @ p.W_hn.T",
    "dr = dq * h_prev",
    "da_r = dr * r * not_r",
    "dx = da_r @ p.W_xr.T + da_z @ p.W_xz.T + da_n @ p.W_xn.T",
    "dh_prev = dh * z + da_z @ p.W_hz.T + da_r @ p.W_hr.T + dq * r",
    "grads = p.zeros_like()",
]


def test_each_row_of_the_ten_lines_is_its_equation_and_the_function_has_them_in_the_same_order():
    (cell,) = [c for c in cells_of("05-gru-backward") if c.startswith("def step_backward")]
    rows = table_of("05-gru-backward", "tab-bwd-lines")
    assert len(rows) == 10
    for label, formula in rows:
        label = re.search(r"`(eq-bwd-\w+)`", label)[1]
        start = text_of("05-gru-backward").split(f"$$ ({label})")[0]
        for part in formula.split("$, $"):
            assert bare(part) in bare(start[start.rindex("\n\n$$\n") :]), label
    body = [line.strip() for line in cell.split("\n")]
    assert body[3 : 3 + len(CODE)] == CODE
    for row, line in zip(rows[:-1], CODE, strict=False):  # dz for \gd{z}, and so on
        assert bare(row[1].split(" = ")[0]).removeprefix("gd").strip("{}").replace("_", "") in (
            line.split(" = ")[0].removeprefix("d").replace("_", "").replace("hprev", "h"),
        ), line


THERE = {  # a line of the table of other conventions, on the right, in NumPy
    r"$(1 - z_t) \odot h_{t-1}$ ${} + z_t \odot n_t$": "(1 - z) * h_prev + z * n",
    r"$\gd{h_t} \odot (n_t - h_{t-1})$": "dh * (n - h_prev)",
    r"$\gd{h_t} \odot z_t$": "dh * z",
    r"$\gd{h_t} \odot (1 - z_t)$": "dh * (1 - z)",
    r"$h_{t-1} W_{hn} + b_{hn}$": "h_prev @ p.W_hn + p.b_hn",
    r"$x_t W_{xn} + r_t \odot s_t + b_n$": "x @ p.W_xn + r * s + p.b_n",
    r"$\gd{a_n} \odot r_t$": "da_n * r",
    r"$\gd{a_n} \odot s_t$": "da_n * s",
    r"$h_{t-1}^\top \gd{s}$": "h_prev.T @ ds",
    r"$\sum_m \gd{s,m}$": "ds.sum(axis=0)",
    r"$\gd{s}\, W_{hn}^\top$": "ds @ p.W_hn.T",
}


def test_a_step_made_of_the_lines_for_other_conventions_is_the_librarys():
    lines = {name: THERE[there] for name, _, there in table_of("05-gru-backward", "tab-bwd-other") if "$" in there}
    assert len(lines) == len(THERE)
    rng = np.random.default_rng(0)
    p = gru_init(rng, D, H, convention="write", reset_after=True)
    p.flat[:] = rng.normal(0, 0.8, p.size)
    x, h_prev, dh = rng.normal(size=(N, D)), rng.uniform(-1, 1, (N, H)), rng.normal(size=(N, H))
    h, cache = gru_step(x, h_prev, p)
    _, dh_prev, grads = gru_step_backward(dh, cache, p)
    at = {"np": np, "x": x, "h_prev": h_prev, "dh": dh, "p": p, "r": cache.r, "z": cache.z}
    at["s"] = eval(lines["$q_t$, there $s_t$"], at)
    at["n"] = np.tanh(eval(lines["$a_n$"], at))
    np.testing.assert_allclose(eval(lines["$h_t$"], at), h, atol=1e-13)
    at["da_n"] = eval(lines[r"$\gd{n}$"], at) * (1 - at["n"] ** 2)
    at["ds"] = eval(lines[r"$\gd{q}$, there $\gd{s}$"], at)
    da_z = eval(lines[r"$\gd{z}$"], at) * cache.z * (1 - cache.z)
    da_r = eval(lines[r"$\gd{r}$"], at) * cache.r * (1 - cache.r)
    ends = eval(lines[r"term 1 of $\gd{h_{t-1}}$"], at) + eval(lines[r"term 4 of $\gd{h_{t-1}}$"], at)
    pairs = (ends + da_z @ p.W_hz.T + da_r @ p.W_hr.T, dh_prev), (eval(lines[r"$\gd{W_{hn}}$"], at), grads.W_hn)
    for mine, library in (*pairs, (eval(lines[r"$\gd{b_{hn}}$"], at), grads.b_hn), (da_z.sum(axis=0), grads.b_z)):
        np.testing.assert_allclose(mine, library, atol=1e-13)


# -------------------------------------------------------------------------------------------------------- the explorer


def explored():
    """The explorer's first state, and its unit."""
    s, p = BPTTExplorer().state(), gru_init(np.random.default_rng(0), 1, 1)
    for key in (key for key in s if key.startswith(("W_", "b_"))):
        getattr(p, key)[:] = s[key]
    return s, p


def terms_of(preset="chapter"):
    """The four terms at each of the explorer's steps, {3: [kept, z, r, q], …}, by the library."""
    s, p = explored()
    for gate, bias in BPTT["presets"][preset].items():  # a preset fixes a gate by its bias
        for key, value in ((f"W_x{gate}", 0), (f"W_h{gate}", 0), (f"b_{gate}", bias)):
            getattr(p, key)[:] = value
    h, caches, found, dh = np.array([[s["h0"]]]), [], {}, 0.0
    for t in (1, 2, 3):
        h, cache = gru_step([[s[f"x{t}"]]], h, p)
        caches.append(cache)
    for t, out in ((3, 1.0), (2, 0.0), (1, 0.0)):
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
    s, p = explored()
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


@pytest.mark.parametrize(("gate", "value", "says"), [("z", 0, "(a) "), ("r", 0, "(b) "), ("z", 1, "term 1 is all")])
def test_the_terms_that_remain_with_a_gate_at_its_end_are_those_that_the_page_names(gate, value, says):
    page = text_of("05-gru-backward").split(":label: sol-bwd-open")[1] if value == 0 else text_of("05-gru-backward")
    remain = re.search(rf"^.*?{re.escape(says)}.*?^(?:Terms (\d) and (\d) remain)", page, re.M | re.S)
    named = {int(k) for k in remain.groups()} if value == 0 else {1}
    gone, _ = silenced(gate, value)
    assert gone == {1, 2, 3, 4} - named


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


def test_if_one_unit_alone_keeps_its_gradient_still_collects_from_the_others():
    for seed in range(20):
        p, x, h_prev, dh = gru_and_step(seed=seed)
        p.b_z[1] = 60
        h, cache = gru_step(x, h_prev, p)
        off = gru_step_backward(dh, cache, p)[1] - dh
        assert np.abs(h - h_prev)[:, 1].max() < 1e-12 and np.abs(off)[:, 1].max() > 1e-2


# ------------------------------------------------------------------------------------------------------------- PyTorch


@pytest.mark.frameworks("torch")
def test_what_the_page_says_of_pytorch_holds():
    import torch

    run_box("05-gru-backward")
    defaults = inspect.signature(torch.autograd.gradcheck).parameters
    said = text_of("05c-checking-gradients")
    for name in ("eps", "atol", "rtol"):
        assert f"`{name}={defaults[name].default}`" in said
    names = run_box("05c-checking-gradients")
    for scale, atol, found in ((1e-4, 1e-5, False), (1e-6, 1e-5, True), (1e-6, 0, False)):
        for seed in range(12):
            torch.manual_seed(seed)
            names["net"] = torch.nn.GRU(2, 4).double()
            names["scale"], at = scale, (torch.randn(6, 3, 2).double().requires_grad_(), *names["net"].parameters())
            assert torch.autograd.gradcheck(names["loss"], at, atol=atol, raise_exception=False) == found
    net, xs = torch.nn.GRU(2, 4).double(), torch.randn(3, 1, 2).double()
    net(xs)[0].sum().backward()
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


# ------------------------------------------------------------------------------------------------ limits, and the check


def test_which_gate_at_its_end_passes_the_gradient_on_whole_as_the_page_names_it():
    """The update gate, kept open by its bias; with the reset gate open the gradient is changed as before."""
    page = text_of("05-gru-backward")
    assert "With every $z$ near 1, term 1 passes the gradient on whole" in page
    assert r"As $z_t \to 1$ in all units, $\gd{a_z}$ and $\gd{n}$ go to zero" in page
    for gate, whole in (("b_z", True), ("b_r", False)):
        p, x, h_prev, dh = gru_and_step()
        getattr(p, gate)[:] = 40
        _, cache = gru_step(x, h_prev, p)
        _, dh_prev, grads = gru_step_backward(dh, cache, p)
        assert np.allclose(dh_prev, dh, atol=1e-12) == whole
        assert (np.abs(grads.b_z).max() < 1e-12) == (np.abs(grads.b_n).max() < 1e-12) == whole
        # δ of a_z and of the candidate are 0 if z is open, and not if r is


def test_gradcheck_stops_where_the_complex_step_loses_the_slope():
    """The first two of the page's table and what it names below, though nothing is wrong but the way to measure."""
    cells = cells_of("05c-checking-gradients")
    names = names_of([cells[0], *(c for part in ("def slope", "def central", "CASES =") for c in cells if part in c)])
    cases = list(names["CASES"].items())
    cases += [(f.__name__, (lambda v, f=f: f([v, 1, 4]), 3.0)) for f in (np.linalg.norm, np.std)]
    for name, (f, v) in cases:
        at, given = {"v": np.array([v])}, {"v": np.ones(1)}
        if name.startswith("max"):
            assert gradcheck(lambda v, f=f: f(v[0]), at, given).worst < 1e-12, name
        else:
            with pytest.raises(ValueError, match="does not see"):
                gradcheck(lambda v, f=f: f(v[0]), at, given)


def test_gradcheck_stops_for_a_penalty_that_the_page_names_and_misses_a_smaller_one():
    v = np.ones(1)
    for penalty, found in ((0.01, None), (1e-6, 0)):
        at = lambda v, c=penalty: (v**2 + c * np.abs(v)).sum(), {"v": v}, {"v": 2 * v}
        if found is None:
            with pytest.raises(ValueError, match="does not see"):
                gradcheck(*at)
        else:
            assert gradcheck(*at).worst == found


def test_right_and_spoiled_gradients_lie_apart_as_the_page_says():
    cells = cells_of("05c-checking-gradients")
    rows = names_of([cells[0], next(c for c in cells if "def worst" in c)])["rows"]
    assert max(rows["right, complex step"]) < 1e-14
    assert max(rows["right, central"]) < 1e-8
    assert min(rows["a term missing, complex step"] + rows["a term missing, central"]) > 0.1
