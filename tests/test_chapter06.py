"""What chapter 6 says beside its cells: each suspect differs in one place, each row of its grid is a real pattern."""

import ast
import difflib
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
from helpers import box, cells_of, names_of, run_box

from conftest import ROOT
from gru_book import check
from gru_lib import gru_step, gru_step_backward

PAGE = "06-find-the-bug"
TEXT = (ROOT / "book_text" / f"{PAGE}.md").read_text("utf8")
GROUPS = {"n": {"W_xn", "W_hn", "b_n"}, "z": {"W_xz", "W_hz", "b_z"}, "r": {"W_xr", "W_hr", "b_r"}}
STATE = {"xs", "h0"}
ALL = set().union(STATE, *GROUPS.values())


def definitions():
    """The code cells before the exercises."""
    code = cells_of(PAGE)
    return code[: next(i for i, source in enumerate(code) if "def mystery" in source)]


@pytest.fixture(scope="module")
def page():
    """The names that the page's cells define."""
    names = names_of(definitions())
    plt.close("all")
    return names


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
    patterns = {
        "right": (set(), set()),
        "1": (r | STATE | {"W_hn"}, ALL),
        "2": (r | STATE, ALL),
        "3": (z | r | STATE, ALL),
        "4": ({"h0"}, ALL),
        "5": (n | z | r | STATE, ALL),
        "6": ({"W_hn"}, {"W_hn"}),
    }
    for name, cell in page["SUSPECTS"].items():
        found = [marks(page, *cell, T, seed) for T in (1, 3)]
        assert tuple(map(wrong, found)) == patterns[name], name
        if name == "5":
            assert {found[0][a] for a in z} == {"-1"}


def planted(page, which, *changes):
    """The page's step, step_backward, backward or compare, with pieces of its source replaced."""
    head = next(line for line in "\n".join(definitions()).splitlines() if f"def {which}(" in line)
    source, names = "\n".join([head, *source_of(which)]), dict(page)
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    exec(source, names)
    return names[which]


Z_LINE = "sigmoid_pair(x @ p.W_xz + h_prev @ p.W_hz + p.b_z)"

H_LINE, Q_LINE, N_LINE = "z * h_prev + not_z * n", "q = r * h_prev", "np.tanh(x @ p.W_xn + q @ p.W_hn + p.b_n)"
CACHE = "return h, (x, h_prev,"

# Each row of the grid: the function that is changed, and the changes, in every line that the row names.
ROWS = {
    "da_n, the cache, or tanh in forward": [
        ("step_backward", ("* (1 - n**2)", "")),
        ("step_backward", ("da_n = dh * not_z", "da_n = dh")),
        ("step_backward", ("da_n = dh * not_z", "da_n = dh * z")),
        ("step", (N_LINE, N_LINE.removeprefix("np.tanh"))),
        ("step", ("z, not_z, n, q)", "not_z, z, n, q)")),
    ],
    "another convention of z (5)": [("step", (H_LINE, "not_z * h_prev + z * n"))],
    "forward's line of h: the share of n; or the cache": [
        ("step", ("not_z, n, q)", "not_z, np.arctanh(n), q)")),
        ("step", (H_LINE, "z * h_prev + n")),
        ("step", (H_LINE, "z * h_prev + z * n")),
        ("step", (H_LINE, "z * h_prev")),
    ],
    "da_z, forward's line of z, or of h: the share of h_prev": [
        ("step_backward", ("(h_prev - n) * z * not_z", "(h_prev - n)")),
        ("step_backward", ("(h_prev - n) * z", "h_prev * z")),
        ("step", ("x @ p.W_xz + h_prev @ p.W_hz + p.b_z", "x @ p.W_xz[:, :1] + h_prev @ p.W_hz[:, :1] + p.b_z[:1]")),
        ("step", (H_LINE, "h_prev + not_z * n")),
        ("step", (H_LINE, "not_z * n")),
    ],
    "the cache (3), or forward's line of q or h: another gate": [
        ("step", (H_LINE, "r * h_prev + not_z * n")),
        ("step", (CACHE, "return h, (x, h,")),
        ("step", (Q_LINE, "q = z * h_prev")),
    ],
    "dq, da_r, forward's line of r (2), or of q: r forgotten": [
        ("step", (Q_LINE, "q = h_prev")),
        ("step", ("x @ p.W_xr + h_prev @ p.W_hr + p.b_r", "2 * (x @ p.W_xr + h_prev @ p.W_hr + p.b_r)")),
        ("step_backward", ("h_prev * r * not_r", "h_prev")),
        ("step_backward", ("da_n @ p.W_hn.T\n", "da_n @ p.W_hn\n")),
    ],
    "forward's line of n: what stands beside W_hn (1)": [
        ("step", (" + q @ p.W_hn", "")),
        ("step", ("q @ p.W_hn", "q @ p.W_hr")),
        ("step", ("q @ p.W_hn", "h_prev @ p.W_hn")),
        ("step", ("q @ p.W_hn", "r * (h_prev @ p.W_hn)")),
    ],
    "one array's own line, here that of W_hn (6), or the cache": [
        ("step_backward", ("q.T @ da_n", "h_prev.T @ da_n")),
        ("step_backward", ("q.T @ da_n", "da_n.T @ q")),
        ("step_backward", ("q.T @ da_n", "q.T @ da_z")),
        ("step", ("n, q)", "n, h_prev)")),
    ],
    "dx": [("step_backward", (" + da_n @ p.W_xn.T", ""))],
    "dh_prev (4), or the cache": [
        ("step_backward", (" + da_r @ p.W_hr.T", "")),
        ("step_backward", ("da_z @ p.W_hz.T", "da_z @ p.W_hz")),
        ("step_backward", ("dh_prev = dh * z + ", "dh_prev = ")),
        ("step", ("r, not_r, z, not_z, n, q)", "not_r, r, z, not_z, n, q)")),
    ],
    "any product in forward, here h_prev @ W_hz": [
        ("step", (" + h_prev @ p.W_hz", "")),
        ("step", ("h_prev @ p.W_hz", "h_prev @ p.W_hz.T")),
    ],
    "the loop": [
        ("backward", ("dh_out + dh,", "dh_out,")),
        ("backward", ("dhs[::-1]", "dhs")),
        ("backward", ("caches[::-1]", "caches")),
        ("backward", ("np.array(dxs[::-1])", "np.array(dxs)")),
        ("backward", ("grads.flat[:] += g.flat", "grads.flat[:] = g.flat")),
    ],
}  # fmt: skip


def found_with(page, which, *changes):
    """The marks at one and at three steps of the page's GRU with a mistake planted."""
    names = dict(page)
    names[which] = planted(names, which, *changes)
    names["compare"] = planted(names, "compare")
    return [marks(names, names["step"], names["step_backward"], T) for T in (1, 3)]


def test_the_grid_has_the_rows_that_are_planted(page):
    assert [*page["PATTERNS"]] == [*ROWS]


@pytest.mark.parametrize("row", ROWS)
def test_each_row_of_the_grid_is_the_pattern_of_its_mistakes(page, row):
    drawn, later = page["PATTERNS"][row]
    shown = dict(zip(page["ARRAYS"], drawn.replace(" ", ""), strict=True))
    short = {".": ".", "-1": "-"}
    for which, *changes in ROWS[row]:
        one, three = found_with(page, which, *changes)
        assert {name: short.get(mark, "x") for name, mark in one.items()} == shown
        assert wrong(three) == {"all": ALL, "the same": wrong(one)}.get(later, wrong(three)) != set()


@pytest.mark.parametrize(
    ("right", "slip", "arrays"),
    [
        ("x @ p.W_xz", "x @ p.W_xr", {"W_xz", "W_xr", "xs"}),
        ("h_prev @ p.W_hz", "h_prev @ p.W_hr", {"W_hz", "W_hr", "h0"}),
        ("p.b_z", "p.b_r", {"b_z", "b_r"}),
        ("x @ p.W_xn", "x @ p.W_xz", {"W_xn", "W_xz", "xs"}),
    ],
)
def test_forward_that_takes_one_array_for_the_other_leaves_both_wrong(page, right, slip, arrays):
    assert wrong(found_with(page, "step", (right, slip))[0]) == arrays


def test_a_wrong_factor_in_the_line_of_a_weight_leaves_that_weight_alone_wrong(page):
    mistakes = ("h_prev.T @ da_r, h_prev.T @ da_r", "h_prev.T @ da_r, q.T @ da_z", "h_prev.T @ da_r, da_z.T @ h_prev")
    for mistake in mistakes:
        for found in found_with(page, "step_backward", ("h_prev.T @ da_r, h_prev.T @ da_z", mistake)):
            assert wrong(found) == {"W_hz"}


def test_a_wrong_entry_in_the_cache_can_leave_other_patterns_than_that_of_suspect_3(page):
    right = "(x, h_prev, r, not_r, z, not_z, n, q)"
    entries = (
        "(x, h_prev, r, not_r, not_z, z, n, q)",
        "(x, h_prev, r, not_r, z, not_z, h, q)",
        "(x, h_prev, not_r, r, z, not_z, n, q)",
    )
    found = [wrong(found_with(page, "step", (right, entry))[0]) for entry in entries]
    assert found == [ALL - GROUPS["z"], ALL, {"h0"}]


def test_the_number_in_brackets_is_the_suspect_of_the_row(page):
    for row, (drawn, _) in page["PATTERNS"].items():
        if number := re.search(r"\((\d)\)", row):
            found = marks(page, *page["SUSPECTS"][number[1]], 1)
            shown = dict(zip(page["ARRAYS"], drawn.replace(" ", ""), strict=True))
            assert wrong(found) == {name for name, mark in shown.items() if mark != "."}


ARRAY = r"\$[Wb]_\{?\w+\}?\$|`(?:xs|h0)`"
LIST = re.compile(rf"(?:\b[Gg]roups? )?\$[nzr]\$|{ARRAY}")


def named(words):
    """The arrays that a list names: "groups $z$ and $r$, `xs`"."""
    found = set()
    for item in LIST.findall(words):
        name = re.sub(r"[gG]roups? |[${}`]", "", item)
        found |= GROUPS.get(name, {name})
    return found


def answers():
    """The text of each suspect's answer."""
    return re.findall(r"### Suspect (\d)\n.*?:class: dropdown\n(.*?)\n```\n", TEXT, re.S)


def test_the_groups_and_arrays_that_an_answer_names_are_those_with_a_disc(page):
    assert [number for number, _ in answers()] == [*"123456"]
    for number, text in answers():
        found = marks(page, *page["SUSPECTS"][number], 1)
        (sentence,) = re.findall(r"^At \$T = 1\$ (.*\.)$", text, re.M)
        said = {verdict: set() for verdict in ("right", "wrong")}
        for part in sentence.split(";"):
            for names, verdict in re.findall(r"(.*?) (?:is|are) (right|wrong)\b", part):
                said[verdict] |= named(names)
        assert said == {"wrong": wrong(found), "right": ALL - wrong(found)}, number
        if "$-1$" in sentence:
            (turned,) = re.findall(r"group \$(\w)\$ has the factor", sentence)
            assert {name for name, mark in found.items() if mark == "-1"} == GROUPS[turned]


READS = {  # a sentence on a gate, and what it says of the arrays that are wrong
    r"`da_(\w)` is right": lambda gate, found: not {f"W_x{gate}", f"b_{gate}"} & found,
    r"[Gg]roup \$(\w)\$ (?:never reads|is right)": lambda gate, found: not GROUPS[gate] & found,
    r"[Gg]roup \$(\w)\$ is wrong too": lambda gate, found: GROUPS[gate] <= found,
    r"(?:a|term from) \$\\gd\{a_(\w)\}\$": lambda gate, found: found - STATE == GROUPS[gate],
}


def test_what_an_answer_reads_from_a_group_or_a_da_agrees_with_the_marks(page):
    read = [
        (number, pattern, so(gate, wrong(marks(page, *page["SUSPECTS"][number], 1))))
        for number, text in answers()
        for pattern, so in READS.items()
        for gate in re.findall(pattern, text)
    ]
    assert len(read) >= 6 and [claim for claim in read if not claim[-1]] == []


def line_of(name, start):
    """The line of a function of the page that begins with this."""
    (line,) = [line.strip() for line in source_of(name) if line.strip().startswith(start)]
    return line


def words_at(pattern):
    """What the page's one sentence of this form says."""
    (found,) = re.finditer(pattern, TEXT)
    return found.groups()


NAME = {"reset": "r", "update": "z"}


def test_the_gates_that_the_suspects_answers_name_are_those_of_their_lines(page):
    """The line that a suspect changes, and what the sentence calls it."""
    (gate,) = words_at(r"what goes on through `dq` to group \$(\w)\$")
    assert line_of("step_backward", "da_" + gate).startswith(f"da_{gate} = dq * ")
    (gate,) = words_at(r"A candidate that forgets the (\w+) gate")
    assert line_of("step", "q = ") == f"q = {NAME[gate]} * h_prev"
    gate, letter = words_at(r"The (\w+) gate has one number for all units: \$(\w)\$ is")
    assert (
        NAME[gate] == letter and len({line_of(name, f"{letter}, not_{letter} = ") for name in ("step", "step_2")}) == 2
    )
    letter, da, weight = words_at(r"the term through \$(\w)\$ is missing, `da_(\w) @ p\.W_h(\w)\.T`")
    term = f"da_{letter} @ p.W_h{letter}.T"
    assert letter == da == weight
    assert term in line_of("step_backward", "dh_prev") and term not in line_of("backward_4", "dh_prev")
    (written,) = words_at(r"a text in which \$(\w)\$ is the share \*written\*")
    assert f"dh * not_{written} + " in line_of("backward_5", "dh_prev")
    (turned,) = words_at(r"on the whole of group \$(\w)\$")
    first, second, da = words_at(r"If groups \$(\w)\$ and \$(\w)\$ are right, it is one sign: in `da_(\w)`")
    (read,) = words_at(r"and both read \$(\w)\$: forward")
    assert not re.search(rf"\b{read}\b", line_of("step_backward", "da_r = ").split("=", 1)[1])
    assert turned == da == read and {first, second} == {"n", "r", "z"} - {turned}
    assert all(
        re.search(rf"\b(?:not_)?{read}\b", line_of("step_backward", f"da_{gate} = ").split("=", 1)[1]) for gate in "nz"
    )


def test_the_order_of_the_arrays_is_as_the_page_says(page):
    assert (
        "".join(words_at(r"three parameters in group \$(\w)\$, three in group \$(\w)\$, three in group \$(\w)\$"))
        == "nzr"
    )
    assert [name[-1] for name in page["PARAMETERS"][::3]] == [*"nzr"]


def test_a_state_of_zeros_hides_what_the_answer_to_the_prediction_names(page):
    (gate,) = words_at(r"is zero, right or wrong: \$q\$, \$\\gd\{a_(\w)\}\$, and")
    true = {name: pair[1] for name, pair in page["compare"](page["step"], page["step_backward"], 1, start=0.0).items()}
    zero = {name for name, array in true.items() if not array.any()}
    assert zero == GROUPS[gate] | {"W_hn", "W_hz", "W_hr"}
    passed = [name for name, row in page["found"]["T = 1, h0 = 0, parameters"].items() if not row]
    first, second, third, fourth = words_at(r"So suspects (\d), (\d) and (\d) pass\.\nSuspect (\d) passes because")
    assert passed == ["right", *sorted((first, second, third, fourth))]


def test_da_n_and_da_z_do_not_spoil_each_other_and_da_r_is_made_from_da_n(page):
    one, other = words_at(r"look at groups \$(\w)\$ and \$(\w)\$ first, since their `da` do not spoil each other")
    spoiled, source = words_at(r"because `da_(\w)` is made from `da_(\w)`")
    after = {}
    for gate in "nzr":
        line = next(line for line in source_of("step_backward") if f"da_{gate} = " in line)
        one_step, _ = found_with(page, "step_backward", (line, line + " * 1.5 + 0.1"))
        after[gate] = wrong(one_step)
        assert GROUPS[gate] | STATE <= after[gate]
    assert after[source] == GROUPS[source] | GROUPS[spoiled] | STATE
    assert not after[one] & GROUPS[other] and not after[other] & GROUPS[one]


def test_a_sign_in_forwards_sigma_leaves_the_other_two_groups_right(page):
    one, _ = found_with(page, "step", (Z_LINE, Z_LINE.replace("(", "(-(") + ")"))
    assert wrong(one) == GROUPS["z"] | STATE and {one[name] for name in GROUPS["z"]} == {"-1"}


@pytest.mark.parametrize("gate", "rzn")
def test_what_forward_forgot_is_wrong_with_its_input_alone(page, gate):
    """A bias in every case, a weight if it is a gate's."""
    for found in found_with(page, "step", (f" + p.b_{gate}", "")):
        assert wrong(found) == {f"b_{gate}"}
    for kind, product, given in (("x", "x @ p.W_x{} + ", "xs"), ("h", " + h_prev @ p.W_h{}", "h0")):
        if gate != "n":
            one, _ = found_with(page, "step", (product.format(gate), ""))
            assert wrong(one) == {f"W_{kind}{gate}", given}


def test_the_checker_names_both_mistakes_that_share_a_pattern(page):
    forgets = planted(page, "step", ("q @ p.W_hn", "h_prev @ p.W_hn"))
    for step, words in ((page["step_1"], "acts after the product"), (forgets, "missing from the candidate")):
        assert words in str(check.gru_step(lambda x, h, p, step=step: step(x, h, p)[0]))


def test_the_right_functions_pass_the_bench_with_gates_nearly_at_their_ends(page):
    """A cache with 1 - z by subtraction would lose digits there."""
    raised = planted(page, "compare", ("rng.normal(0, 0.8, p.size)", "rng.normal(0, 0.8, p.size)\n    p.b_z[:] += 15"))
    for T in (1, 3):
        assert {page["mark"](*pair) for pair in raised(page["step"], page["step_backward"], T).values()} == {"."}


def test_the_right_functions_are_the_library(page):
    rng = np.random.default_rng(1)
    p = page["gru_init"](rng, 2, 3)
    p.flat[:] = rng.normal(size=p.size)
    x, h_prev, dh = (rng.normal(size=(4, size)) for size in (2, 3, 3))
    (h, cache), (wanted, library_cache) = (step(x, h_prev, p) for step in (page["step"], gru_step))
    mine, library = page["step_backward"](dh, cache, p), gru_step_backward(dh, library_cache, p)
    for a, b in zip((h, *mine[:2], mine[2].flat), (wanted, *library[:2], library[2].flat), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-13)
    for name, right in (("step", True), ("step_1", False), ("step_2", False)):
        assert check.gru_step(lambda x, h, p, step=page[name]: step(x, h, p)[0]).ok == right, name


IN_TORCH = "def heard", "hs[-1, -1]", "bidirectional=True", "lengths = [3, 5, 2]", "# for the log", "softmax", "Reader"
PACKED = "pack_padded_sequence(xs, lengths, batch_first=True, enforce_sorted=False)"
MENDED = {  # a suspect's part, what its answer says instead, and what is heard then
    "hs[-1, -1]": ("GRU(2, 4)", "GRU(2, 4, batch_first=True)", "0 0 0 0 0\n0 0 0 0 0\n1 1 1 1 1\n"),
    "bidirectional=True": ("hs[:, -1]", "torch.cat([h_T[-2], h_T[-1]], dim=1)", "1 1 1 1 1\n0 0 0 0 0\n0 0 0 0 0\n"),
    "lengths = [3, 5, 2]": ("net(xs)", f"net({PACKED})", "1 1 1 0 0\n0 0 0 0 0\n0 0 0 0 0\n"),
    "# for the log": (
        "total += hs.square().mean()  # for the log\nheard(h, text)",
        "h = h.detach()\n    total += hs.square().mean().item()\nheard(hs, text)",
        "0 0 0 0 0 0 0 0 0 0 1 1 1 1 1\n",
    ),
    "Reader": ("(xs, self.h)", "(xs)", "1 1 1 1 1\n0 0 0 0 0\n0 0 0 0 0\nthe same twice: True\n"),
}


@pytest.mark.frameworks("torch")
def test_the_six_programs_print_what_the_page_shows_and_are_right_once_mended(capsys):
    from torch.nn.utils.rnn import pack_padded_sequence

    names = {}
    for part in IN_TORCH:
        names = run_box("06-find-the-bug", part, **names)
        if part in MENDED:
            old, new, heard = MENDED[part]
            code, _ = box("06-find-the-bug", part)
            assert code.count(old) == 1
            exec(code.replace(old, new), names | {"pack_padded_sequence": pack_padded_sequence})
            assert capsys.readouterr().out == heard, part


@pytest.mark.frameworks("torch")
def test_a_state_that_is_not_detached_between_pieces_stops_the_second_backward():
    import torch

    cell = torch.nn.GRUCell(2, 2)
    h = cell(torch.ones(1, 2), torch.zeros(1, 2))
    h.sum().backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        cell(torch.ones(1, 2), h).sum().backward()


@pytest.mark.frameworks("torch")
def test_a_right_net_looks_deaf_at_300_steps_of_float32_and_in_double_does_not():
    import torch

    for seed in range(3):
        torch.manual_seed(seed)
        net = torch.nn.GRU(2, 4, batch_first=True)
        for dtype, T, fewest, most in (
            (torch.float32, 50, 0, 0),
            (torch.float32, 300, 24, 300),
            (torch.float64, 300, 0, 0),
        ):
            xs = torch.randn(1, T, 2, dtype=dtype, requires_grad=True)
            hs, _ = net.to(dtype)(xs)
            (g,) = torch.autograd.grad(hs[0, -1].sum(), xs)
            assert fewest <= (g == 0).all(dim=-1).sum() <= most


@pytest.mark.frameworks("torch")
def test_heard_takes_the_output_of_an_embedding(capsys):
    import torch

    names = run_box("06-find-the-bug", "def heard")
    xs = torch.nn.Embedding(5, 2)(torch.zeros(3, 5, dtype=torch.long))
    hs, _ = names["net"](xs)
    names["heard"](hs[0, -1], xs)
    assert capsys.readouterr().out == "1 1 1 1 1\n0 0 0 0 0\n0 0 0 0 0\n"
