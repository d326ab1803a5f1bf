"""The language model: the page computes and writes what the library does, and shows what the reader asks for."""

import gzip
import json

import numpy as np
import pytest
from explorers import at_point, put, random_explorer, state_in
from traitlets import TraitError

from experiments import language_model
from gru_lib import gru_step
from gru_lib.models.language_model import lm_bits, lm_init, lm_logits
from gru_lib.ops import log_softmax
from gru_lib.tasks.text import english
from gru_lib.widgets import LanguageExplorer
from gru_lib.widgets._modules import classic
from gru_lib.widgets.language import LANGUAGE, NET, read_net, trained

LENGTH = LANGUAGE["limits"]["at"][1]

READ = """((net, tokens) => {
  const m = readLanguageNet(net);
  let h = new Float64Array(m.H);
  return tokens.map((token) => {
    const { r, z, h: now, a } = languageStep(token, h, m);
    h = now;
    return { r: [...r], z: [...z], h: [...now], a: [...a] };
  });
})"""


def test_javascript_step_equals_the_library(maths):
    tokens = english().encode('The "while" statement is used for\n   repeated execution').tolist()
    m = trained()
    logits, _ = lm_logits(m, np.array(tokens)[:, None])
    h = np.zeros((1, m.rnn.H))
    for t, got in enumerate(maths(READ, NET, tokens)):
        h, cache = gru_step(m.embed.E[None, tokens[t]], h, m.rnn)
        wanted = {"r": cache.r[0], "z": cache.z[0], "h": h[0], "a": logits[t, 0]}
        for name, array in wanted.items():
            np.testing.assert_allclose(got[name], array, rtol=0, atol=1e-12, err_msg=f"{name} {t}")


def tempered(a, temperature):
    """softmax(a / temperature) without the unknown character; temperature 0 is all on the largest."""
    a = np.where(np.arange(len(a)) == 0, -np.inf, a)
    if temperature == 0:
        return (np.arange(len(a)) == a.argmax()).astype(float)
    return np.exp(log_softmax(a / temperature))


@pytest.mark.parametrize("temperature", [0, 0.05, 0.7, 1, 2])
def test_javascript_temperature_is_the_softmax_and_picks_by_its_shares(maths, temperature):
    rng = np.random.default_rng(0)
    for _ in range(5):
        a = rng.normal(size=30) * 5
        p = np.array(maths("tempered", a.tolist(), temperature, 0))
        np.testing.assert_allclose(p, tempered(a, temperature), rtol=0, atol=1e-12)
        assert p[0] == 0 and p.sum() == pytest.approx(1, abs=1e-12)
        for u in rng.random(3):
            assert maths("pick", p.tolist(), u) == int((np.cumsum(p) > u).argmax())


def test_draws_are_even_and_do_not_repeat_between_seeds(maths):
    script = "(seeds, places) => seeds.map(seed => places.map(place => uniform(seed, place)))"
    u = np.array(maths(script, list(range(1, 100)), list(range(LENGTH))))
    assert u.min() >= 0 and u.max() < 1 and len(np.unique(u)) == u.size
    assert np.abs(np.histogram(u, bins=20, range=(0, 1))[0] / u.size - 0.05).max() < 0.005
    assert abs(np.corrcoef(u[:, :-1].ravel(), u[:, 1:].ravel())[0, 1]) < 0.02


WRITE = """state => {
  const run = begin(state, null);
  writeOn(run, 1e9);
  return { given: run.given, tokens: run.tokens, shown: run.steps.map(step => step[state.show][state.unit - 1]) };
}"""


@pytest.fixture(scope="module")
def write(inside):
    """What the page writes on a prefix to its end, and what the unit shown held after each character."""
    return lambda **state: inside("language")(WRITE, LanguageExplorer(**state).state())


@pytest.mark.parametrize("seed", range(2))
def test_the_page_writes_what_the_librarys_model_gives(write, maths, seed):
    shown = random_explorer("language", seed, prefix="for i in range(", show="h")
    run = write(**shown.state())
    tokens = np.array(run["tokens"])
    logits, _ = lm_logits(trained(), tokens[:LENGTH, None])
    assert english().decode(tokens[: run["given"]]) == shown.prefix and len(tokens) == LENGTH + 1
    for t in range(run["given"] - 1, LENGTH):
        u = maths("uniform", shown.seed, t + 1 - run["given"])
        assert tokens[t + 1] == (np.cumsum(tempered(logits[t, 0], shown.temperature)) > u).argmax(), t


def test_the_net_is_worth_what_it_says_it_is():
    text = english()
    assert NET["vocabulary"] == text.vocabulary
    bits = lm_bits(trained().astype(np.float32), text.encode(text.validation))
    assert bits == pytest.approx(NET["bits"]["8 bits"], abs=0.002)
    assert abs(NET["bits"]["8 bits"] - NET["bits"]["float32"]) < 0.005


def test_a_page_with_the_net_stays_light():
    assert len(gzip.compress(classic("language").encode())) < 200_000


def test_rounding_keeps_every_weight_within_half_a_step():
    W = np.random.default_rng(0).normal(size=(20, 7)) * np.arange(1, 8)
    stored = language_model.rounded(W)
    net = {"V": 20, "D": 7, "H": 1, "arrays": {}}
    shapes = {name: a.shape for name, a in lm_init(np.random.default_rng(0), 20, 7, 1).items()}
    net["arrays"] = {n: {"shape": list(s), "values": np.zeros(s).tolist()} for n, s in shapes.items()}
    net["arrays"]["embed.E"] = json.loads(json.dumps(stored))
    assert (np.abs(read_net(net).embed.E - W) <= 0.5001 * np.array(stored["scale"])).all()


def written(page, nth=0):
    """Wait until the nth explorer has written to its end."""
    page.wait_for_function(
        "([nth, n]) => Number(document.querySelectorAll('.ex-lines')[nth].dataset.written) === n",
        arg=[nth, LENGTH],
        timeout=20_000,
    )


def test_the_reader_types_and_the_model_writes_on(visit, write):
    page = visit(LanguageExplorer())
    page.locator("input[type=text]").fill("A string is ")
    written(page)
    assert state_in(page, "language")["prefix"] == "A string is "
    shown = page.evaluate("[...document.querySelectorAll('.ex-lines .ex-given')].map(t => t.textContent).join('')")
    assert shown.replace("\u00a0", " ") == "A string is "
    whole = page.evaluate(
        "[...document.querySelectorAll('.ex-lines text[x*=\" \"]')].map(t => t.textContent).join('')"
    ).replace("\u00a0", " ")
    text = english().decode(np.array(write(prefix="A string is ")["tokens"])).replace("\n", "↵")
    assert len(whole) > 150 and text.startswith(whole[:150])


def test_a_line_break_is_typed_as_an_arrow(visit):
    page = visit(LanguageExplorer())
    page.locator("input[type=text]").fill("Note:↵↵")
    assert state_in(page, "language")["prefix"] == "Note:\n\n"
    put(page, {"prefix": "a\nb"})
    assert page.locator("input[type=text]").input_value() == "a↵b"


def test_a_press_frames_a_character(visit):
    page = visit(LanguageExplorer())
    written(page)
    layout = LANGUAGE["layout"]["wide"]
    page.mouse.click(*at_point(page, ".ex-lines", layout["left"] + 4.5 * layout["step"], layout["top"]))
    assert state_in(page, "language")["at"] == 5
    assert page.locator(".ex-now").text_content().startswith('character 5\u2003"')


def test_the_prefix_may_stand_in_a_link(visit):
    page = visit(
        LanguageExplorer(anchor="lm"), before='<p><a href="#lm?prefix=See%20section%20&amp;unit=7">see</a></p>'
    )
    page.locator("a", has_text="see").first.click()
    assert {k: state_in(page, "language")[k] for k in ("prefix", "unit")} == {"prefix": "See section ", "unit": 7}


def test_default_shows_a_unit_that_follows_quotation_marks(write):
    prefix = 'an "inner" word and "another one" here'
    h = np.array(write(prefix=prefix)["shown"][: len(prefix)])
    quoted = np.array([prefix[: i + 1].count('"') % 2 == 1 for i in range(len(prefix))])
    assert abs(h[quoted].mean() - h[~quoted].mean()) > 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"prefix": "a" * 101}, "prefix must be a text of at most 100 characters; got"),
        ({"prefix": 3}, "prefix must be a text of at most 100 characters; got 3"),
        ({"unit": 193}, r"unit must be a number in \[1, 192\]; got 193"),
        ({"temperature": -1}, r"temperature must be a number in \[0, 2\]; got -1"),
        ({"show": "n"}, "show must be one of 'r', 'z', 'h'; got 'n'"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(TraitError, match=message):
        LanguageExplorer(**arguments)


def test_chapter_16_says_what_it_writes(inside):
    text = english()

    def written(**state):
        run = inside("language")(
            "state => { const run = begin(state, null); writeOn(run, 1e9); return run.tokens; }",
            LanguageExplorer(**state).state(),
        )
        return text.decode(run)

    own, cool, hot = (written(**LANGUAGE["presets"][preset]) for preset in ("own", "cool", "hot"))
    assert "*" * 100 in cool and "*" * 100 not in own and "*" * 10 not in hot
    assert written(prefix='The "if', temperature=0.6, seed=5).startswith('The "if" statement')
    assert written(prefix="The if", temperature=0.6, seed=5).startswith("The ifformed")
