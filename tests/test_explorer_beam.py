"""The beam as a tree (chapter 18): the search of the page is the library's, and each tree shows its point."""

import itertools

import numpy as np
import pytest
from test_explorer_family import PHONE, WIDE, random_explorer
from traitlets import TraitError

from gru_lib.decode import beam_search, greedy
from gru_lib.ops import log_softmax
from gru_lib.widgets import BeamExplorer
from gru_lib.widgets._modules import assemble
from gru_lib.widgets.beam import BEAM, DEPTH


@pytest.fixture(scope="module")
def search(browser):
    """A page that holds search.mjs and nothing else."""
    page = browser.new_page()
    page.add_script_tag(content=assemble("search.mjs"))
    yield page
    page.close()


def test_javascript_log_softmax_equals_python(search):
    rng = np.random.default_rng(0)
    for a in (*rng.normal(0, 3, (5, 7)), np.array([800.0, 0.0, -800.0]), np.array([40.0, 0.0, 0.0]), np.zeros(4)):
        got = search.evaluate("a => logSoftmax(a)", a.tolist())
        np.testing.assert_allclose(got, log_softmax(a), rtol=1e-14, atol=1e-12)


TREE = """([table, V, options]) => beamSearch((state, token) => {
  const past = state === null ? '' : state + token;
  return [table[past], past];
}, null, 0, options)"""


def random_table(rng, V, depth):
    """Log-probabilities after every prefix of fewer than `depth` tokens, as text."""
    prefixes = ["".join(map(str, p)) for n in range(depth) for p in itertools.product(range(V), repeat=n)]
    return {prefix: log_softmax(rng.normal(0, 1.5, V)).tolist() for prefix in prefixes}


@pytest.mark.parametrize("alpha", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("end", [None, 2])
def test_javascript_beam_equals_python(search, end, alpha):
    rng = np.random.default_rng(7)
    for width in (1, 2, 3, 5, 40):
        table = random_table(rng, 3, 4)

        def step(state, token, table=table):
            past = "" if state is None else state + str(int(token))
            return np.array(table[past]), past

        wanted = beam_search(step, None, 0, width=width, end=end, max_steps=4, alpha=alpha)
        options = {"width": width, "end": end, "maxSteps": 4, "alpha": alpha}
        got = search.evaluate(TREE, [table, 3, options])
        assert [tuple(one["tokens"]) for one in got] == [one.tokens for one in wanted]
        assert [one["ended"] for one in got] == [one.ended for one in wanted]
        for key, name in (("logProb", "log_prob"), ("score", "score")):
            np.testing.assert_allclose(
                [one[key] for one in got], [getattr(one, name) for one in wanted], rtol=1e-13, atol=1e-12
            )


def test_probabilities_of_every_node_sum_to_one():
    for tree in BEAM["trees"].values():
        assert all(np.isclose(sum(p), 1, rtol=0, atol=1e-12) and min(p) > 0 for p in tree["next"].values())


def test_widest_beam_is_exhaustive_search():
    for tree in BEAM["trees"]:
        for alpha in (0, 0.5, 1, 2):
            value = BeamExplorer(tree=tree, width=9, alpha=alpha).value
            assert value["best"][0] == value["exact"][0]
            np.testing.assert_allclose(value["best"][1:], value["exact"][1:], rtol=1e-12)


def test_beam_of_one_is_greedy():
    for tree in BEAM["trees"]:
        value = BeamExplorer(tree=tree, width=1).value
        assert value["best"][0] == value["greedy"][0]


def test_each_tree_shows_its_point():
    by_width = {k: BeamExplorer(tree="greedy", width=k).value for k in (1, 2)}
    assert by_width[2]["best"][1] > by_width[1]["best"][1] + 0.5
    lost = BeamExplorer(tree="overtaken", width=2).value
    assert lost["best"][1] < lost["greedy"][1] - 0.5
    assert BeamExplorer(tree="overtaken", width=3).value["best"][0] == lost["greedy"][0]
    lengths = [len(BeamExplorer(tree="short", width=k, alpha=a).value["best"][0]) for k, a in ((2, 0), (3, 0), (3, 1))]
    assert lengths == [3, 1, 3]


def test_default_shows_the_point():
    value = BeamExplorer().value
    assert value["best"][0] == value["exact"][0] != value["greedy"][0]


def test_greedy_of_the_explorer_is_the_librarys():
    explorer = BeamExplorer(tree="short")
    found = greedy(explorer.step, None, 0, end=2, max_steps=DEPTH)
    assert explorer.value["greedy"][1] == float(found.log_prob)


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_still_picture_is_what_the_explorer_draws(visit, viewport, lang):
    stills = [BeamExplorer(**state, lang=lang) for state in BEAM["presets"].values()]
    stills += [random_explorer("beam", seed, lang=lang) for seed in range(5)]
    page = visit(*stills, viewport=viewport)
    for nth, still in enumerate(stills):
        pairs = page.evaluate(
            """([nth, still]) => {
          const live = document.querySelectorAll('[data-afm]')[nth];
          const host = new DOMParser().parseFromString(still, 'text/html');
          const size = live.firstChild.classList.contains('ex-slim') ? 'slim' : 'wide';
          return [
            [host.querySelector('.ex-only-' + size).innerHTML, live.querySelector('.ex-tree').innerHTML],
            [host.querySelector('.ex-say').textContent, live.querySelector('.ex-say').textContent],
          ];
        }""",
            [nth, still.to_html()],
        )
        for python, javascript in pairs:
            assert python == javascript


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
