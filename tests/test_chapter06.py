"""What chapter 6 says beside its cells: each suspect differs in one place, each row of its table is a real pattern."""

import ast
import contextlib
import difflib
import io

import numpy as np
import pytest
from helpers import box, cells_of, names_of, result, run_box

from experiments import wrong_gradients
from gru_lib import gru_step, gru_step_backward

GROUPS = {"n": {"W_xn", "W_hn", "b_n"}, "z": {"W_xz", "W_hz", "b_z"}, "r": {"W_xr", "W_hr", "b_r"}}
STATE = {"xs", "h0"}
ALL = set().union(STATE, *GROUPS.values())


def definitions():
    """The chapter's functions and constants that need no training: every cell up to the first that loads results."""
    code = cells_of("06-find-the-bug")
    code = code[: next(i for i, source in enumerate(code) if "results.load" in source)]
    return [source for source in code if "plt.show" not in source]


@pytest.fixture(scope="module")
def page():
    """The names that the page's cells define."""
    return names_of(definitions())


def source_of(name):
    for cell in definitions():
        for node in ast.parse(cell).body:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return ast.get_source_segment(cell, node).splitlines()[1:]
    raise KeyError(name)


def marks(page, its_step, its_backward, T, seed=0):
    pairs = page["compare"](its_step, its_backward, T, seed=seed)
    return {name: page["mark"](*pair) for name, pair in pairs.items()}


def wrong(found):
    return {name for name, mark in found.items() if mark != "."}


@pytest.mark.parametrize(
    ("name", "lines"),
    [("step_1", 1), ("step_2", 1), ("step_3", 1), ("backward_4", 1), ("backward_5", 3), ("backward_6", 1)],
)
def test_each_suspect_is_the_right_function_but_for_a_line(name, lines):
    right = source_of("step" if name.startswith("step") else "step_backward")
    changed = [line for line in difflib.ndiff(right, source_of(name)) if line.startswith("+ ")]
    assert len(changed) == lines


@pytest.mark.parametrize("seed", range(3))
def test_each_suspect_has_the_pattern_that_its_diagnosis_reads(page, seed):
    n, z, r = GROUPS.values()
    patterns = {"right": (set(), set()), "1": (z | STATE, ALL), "2": (r | STATE, ALL), "3": (z | r | STATE, ALL)}
    patterns |= {"4": ({"h0"}, ALL), "5": (n | z | r | STATE, ALL), "6": ({"W_hn"}, {"W_hn"})}
    for name, cell in page["SUSPECTS"].items():
        found = [marks(page, *cell, T, seed) for T in (1, 3)]
        assert tuple(map(wrong, found)) == patterns[name], name
        if name == "5":
            assert {found[0][a] for a in z} == {"-1"}


# Each row of the table of symptoms that no suspect stands for: a change of step_backward, and the pattern at T = 1.
ROWS = {
    "slope of n": ("* (1 - n**2)", "", ALL - GROUPS["z"]),
    "slope of z": ("(h_prev - n) * z * (1 - z)", "(h_prev - n)", GROUPS["z"] | STATE),
    "slope of r": ("h_prev * r * (1 - r)", "h_prev", GROUPS["r"] | STATE),
    "bias mean": (".sum(0)", ".mean(0)", {"b_n", "b_z", "b_r"}),
    "input": (" + da_n @ p.W_xn.T", "", {"xs"}),
    "transpose": ("h_prev.T @ da_z", "da_z.T @ h_prev", {"W_hz"}),
}


@pytest.mark.parametrize("row", ROWS)
def test_each_other_row_of_the_table_is_a_pattern_at_one_step(page, row):
    old, new, pattern = ROWS[row]
    source = "\n".join(["def changed(dh, cache, p):", *source_of("step_backward")])
    assert old in source
    names = dict(page)
    exec(source.replace(old, new), names)
    found = marks(page, page["step"], names["changed"], 1)
    assert wrong(found) == pattern
    if row == "bias mean":
        assert {found[name] for name in pattern} == {"0.3"}


def test_one_factor_on_everything_is_a_mean_in_the_loss(page):
    def divided(dh, cache, p):
        dx, dh_prev, g = page["step_backward"](dh / page["N"], cache, p)
        return dx, dh_prev, g

    assert set(marks(page, page["step"], divided, 1).values()) == {"0.3"}


def marks_with_loop(page, old, new):
    """The marks at one and at three steps, with the page's loop over time changed."""
    source = "\n".join(["def backward(dhs, caches, p, step_backward):", *source_of("backward")])
    assert old in source
    names = dict(page)
    exec(source.replace(old, new), names)
    compare = "\n".join(["def compare(step, step_backward, T, seed=0, start=1.0, b_r=None):", *source_of("compare")])
    exec(compare, names)
    return [marks(names, page["step"], page["step_backward"], T) for T in (1, 3)]


def test_a_loop_that_forgets_the_next_step_is_right_at_one_step_and_wrong_at_three(page):
    one, three = map(wrong, marks_with_loop(page, "dh_out + dh,", "dh_out,"))
    assert one == set()
    assert three >= ALL - {"xs"}


def test_a_loop_that_overwrites_the_sums_has_right_inputs_and_states(page):
    one, three = map(wrong, marks_with_loop(page, "grads.flat[:] += g.flat", "grads.flat[:] = g.flat"))
    assert (one, three) == (set(), ALL - STATE)


def test_suspect_1_with_its_update_gate_mended_still_has_a_wrong_initial_state(page):
    def mended(dh, cache, p):
        dx, dh_prev, g = page["step_backward"](dh, cache, p)
        x, h_prev, _, z, _, _ = cache
        change = dh * (0 - h_prev) * z * (1 - z)  # at the first step the input before is 0
        g.W_xz[:] += x.T @ change
        g.W_hz[:] += h_prev.T @ change
        g.b_z[:] += change.sum(0)
        return dx + change @ p.W_xz.T, dh_prev + change @ p.W_hz.T, g

    assert wrong(marks(page, page["step_1"], mended, 1)) == {"h0"}


def test_a_backward_that_computes_q_again_from_the_new_state_gets_one_array_more_wrong_than_suspect_3(page):
    def again(dh, cache, p):
        x, h, r, z, _, n = cache
        return page["step_backward"](dh, (x, h, r, z, r * h, n), p)

    found = wrong(marks(page, page["step_3"], again, 1))
    assert found == wrong(marks(page, page["step_3"], page["step_backward"], 1)) | {"W_hn"}


@pytest.mark.parametrize(("part", "name", "seed"), [("terms", "through z", 3), ("suspects", "2", 0)])
def test_stored_trainings_are_what_the_script_makes(part, name, seed):
    train, _, _ = wrong_gradients.PARTS[part]
    assert train(name, seed, steps=200) == result("wrong_gradients", part, name, seed)[:2]


def test_without_square_shapes_suspect_1_stops_by_itself_but_not_with_one_input(page):
    rng = np.random.default_rng(0)
    for D, H, stops in ((3, 4, True), (1, 4, False)):
        p = page["gru_init"](rng, D, H)
        args = rng.normal(size=(2, D)), rng.normal(size=(2, H)), p, rng.normal(size=(2, D))
        with pytest.raises(ValueError, match="broadcast") if stops else contextlib.nullcontext():
            assert page["step_1"](*args)[0].shape == (2, H)


def test_the_right_functions_are_the_library(page):
    rng = np.random.default_rng(1)
    p = page["gru_init"](rng, 2, 3)
    p.flat[:] = rng.normal(size=p.size)
    x, h_prev, dh = rng.normal(size=(4, 2)), rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
    h, cache = page["step"](x, h_prev, p, None)
    wanted, library_cache = gru_step(x, h_prev, p)
    np.testing.assert_allclose(h, wanted, rtol=0, atol=1e-14)
    dx, dh_prev, g = page["step_backward"](dh, cache, p)
    wanted_dx, wanted_dh, wanted_g = gru_step_backward(dh, library_cache, p)
    for mine, other in ((dx, wanted_dx), (dh_prev, wanted_dh), (g.flat, wanted_g.flat)):
        np.testing.assert_allclose(mine, other, rtol=0, atol=1e-13)


@pytest.mark.frameworks("torch")
def test_pytorch_passes_suspect_2_as_the_page_shows():
    run_box("06-find-the-bug")
    right = box("06-find-the-bug")[0].replace("(xr + hr)[:, :1]", "(xr + hr)")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(right, "<page>", "exec"), {})
    assert printed.getvalue() == "True\nTrue\n"  # a gate for each unit is PyTorch's cell
