"""The beam as a tree (chapter 19): the search of the page is the library's, and each tree shows its point."""

import itertools

import numpy as np
import pytest
from traitlets import TraitError

from gru_lib.decode import beam_search, greedy
from gru_lib.ops import log_softmax
from gru_lib.widgets import BeamExplorer
from gru_lib.widgets.beam import BEAM

SEARCH = """states => states.map(s => {
  const c = search(s);
  const seen = c.nodes.filter(n => n.level && c.followed.has(n.text.slice(0, -1))).length;
  const { best, greedy, exact } = c;
  return { best: [best.text, best.logProb, best.score], greedy, exact: [exact.text, exact.logProb, exact.score], seen };
})"""


@pytest.fixture(scope="module")
def found(inside):
    """What the page finds in each of these states."""
    return lambda *states: inside("beam")(SEARCH, [BeamExplorer(**state).state() for state in states])


@pytest.mark.parametrize("tree", BEAM["trees"])
def test_page_finds_what_the_library_finds(found, tree):
    states = [{"tree": tree, "width": width, "alpha": alpha} for width in (1, 2, 3, 9) for alpha in (0.0, 0.7, 2.0)]
    for state, got in zip(states, found(*states), strict=True):
        explorer = BeamExplorer(**state)
        (text, *numbers), seen = explorer.value["best"], explorer.value["seen"]
        assert (got["best"][0], got["seen"]) == (text, seen)
        np.testing.assert_allclose(got["best"][1:], numbers, rtol=1e-12)
        by_greedy = greedy(explorer.step, None, 0, end=BEAM["trees"][tree]["end"], max_steps=BEAM["depth"])
        assert got["greedy"]["logProb"] == pytest.approx(float(by_greedy.log_prob), rel=1e-12)


def test_javascript_log_softmax_equals_python(inside):
    rng = np.random.default_rng(0)
    for a in (*rng.normal(0, 3, (5, 7)), np.array([800.0, 0.0, -800.0]), np.array([40.0, 0.0, 0.0]), np.zeros(4)):
        got = inside("search")("logSoftmax", a.tolist())
        np.testing.assert_allclose(got, log_softmax(a), rtol=1e-14, atol=1e-12)


TREE = """(table, options) => beamSearch((state, token) => {
  const past = state === null ? '' : state + token;
  return [table[past], past];
}, null, 0, options)"""


def random_table(rng, V, depth):
    """Log-probabilities after every prefix of fewer than `depth` tokens, as text."""
    prefixes = ["".join(map(str, p)) for n in range(depth) for p in itertools.product(range(V), repeat=n)]
    return {prefix: log_softmax(rng.normal(0, 1.5, V)).tolist() for prefix in prefixes}


@pytest.mark.parametrize("alpha", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("end", [None, 2])
def test_javascript_beam_equals_python(inside, end, alpha):
    rng = np.random.default_rng(7)
    for width in (1, 2, 3, 5, 40):
        table = random_table(rng, 3, 4)

        def step(state, token, table=table):
            past = "" if state is None else state + str(int(token))
            return np.array(table[past]), past

        wanted = beam_search(step, None, 0, width=width, end=end, max_steps=4, alpha=alpha)
        options = {"width": width, "end": end, "maxSteps": 4, "alpha": alpha}
        got = inside("search")(TREE, table, options)
        assert [tuple(one["tokens"]) for one in got] == [one.tokens for one in wanted]
        assert [one["ended"] for one in got] == [one.ended for one in wanted]
        for key, name in (("logProb", "log_prob"), ("score", "score")):
            np.testing.assert_allclose(
                [one[key] for one in got], [getattr(one, name) for one in wanted], rtol=1e-13, atol=1e-12
            )


def test_probabilities_of_every_node_sum_to_one():
    for tree in BEAM["trees"].values():
        assert all(np.isclose(sum(p), 1, rtol=0, atol=1e-12) and min(p) > 0 for p in tree["next"].values())


def test_widest_beam_is_exhaustive_search(found):
    states = [{"tree": tree, "width": 9, "alpha": alpha} for tree in BEAM["trees"] for alpha in (0.0, 0.5, 1.0, 2.0)]
    for each in found(*states):
        assert each["best"][0] == each["exact"][0]
        np.testing.assert_allclose(each["best"][1:], each["exact"][1:], rtol=1e-12)


def test_beam_of_one_is_greedy(found):
    for each in found(*({"tree": tree, "width": 1} for tree in BEAM["trees"])):
        assert each["best"][0] == each["greedy"]["text"]


def test_each_tree_shows_its_point(found):
    one, two = found({"tree": "greedy", "width": 1}, {"tree": "greedy", "width": 2})
    assert two["best"][1] > one["best"][1] + 0.5
    lost, wider = found({"tree": "overtaken", "width": 2}, {"tree": "overtaken", "width": 3})
    assert lost["best"][1] < lost["greedy"]["logProb"] - 0.5
    assert wider["best"][0] == lost["greedy"]["text"]
    short = found(*({"tree": "short", "width": k, "alpha": a} for k, a in ((2, 0.0), (3, 0.0), (3, 1.0))))
    assert [len(each["best"][0]) for each in short] == [3, 1, 3]


def test_default_shows_the_point(found):
    (each,) = found({})
    assert each["best"][0] == each["exact"][0] != each["greedy"]["text"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tree": "oak"}, "tree must be one of 'greedy', 'overtaken', 'short'; got 'oak'"),
        ({"width": 0}, r"width must be a number in \[1, 9\]; got 0"),
        ({"alpha": -1}, r"alpha must be a number in \[0, 2\]; got -1"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(TraitError, match=message):
        BeamExplorer(**arguments)
