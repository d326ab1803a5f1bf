"""The language model: the page computes and writes what the library does, and shows what the reader asks for."""

import gzip
import json

import numpy as np
import pytest
from test_explorer_family import PHONE, WIDE, put, random_explorer, state_in
from traitlets import TraitError

from experiments import language_model
from gru_lib.models.language_model import lm_bits, lm_logits
from gru_lib.tasks.text import english
from gru_lib.widgets import LanguageExplorer
from gru_lib.widgets._modules import classic
from gru_lib.widgets.language import LANGUAGE, LENGTH, NET, _pick, tempered, trained, uniform, write

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
    run = write(english().decode(tokens), 1.0, 1)
    logits, _ = lm_logits(trained(), np.array(tokens)[:, None])
    for t, (got, wanted) in enumerate(zip(maths(READ, NET, tokens), run.steps, strict=False)):
        for name, array in wanted.items():
            np.testing.assert_allclose(got[name], array, rtol=0, atol=1e-12, err_msg=f"{name} {t}")
        np.testing.assert_allclose(got["a"], logits[t, 0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("temperature", [0, 0.05, 0.7, 1, 2])
def test_javascript_temperature_and_draws_equal_python(maths, temperature):
    rng = np.random.default_rng(0)
    for seed in range(5):
        a = rng.normal(size=30) * 5
        p = tempered(a, temperature)
        np.testing.assert_allclose(maths("tempered", a.tolist(), temperature, 0), p, rtol=0, atol=1e-12)
        assert p[0] == 0 and p.sum() == pytest.approx(1, abs=1e-12)
        for place in (0, 1, 399):
            u = uniform(seed, place)
            assert maths("uniform", seed, place) == u and 0 <= u < 1
            assert maths("pick", p.tolist(), u) == _pick(p, u)


def test_draws_are_even_and_do_not_repeat_between_seeds():
    u = np.array([[uniform(seed, place) for place in range(LENGTH)] for seed in range(1, 100)])
    assert len(np.unique(u)) == u.size
    assert np.abs(np.histogram(u, bins=20, range=(0, 1))[0] / u.size - 0.05).max() < 0.005
    assert abs(np.corrcoef(u[:, :-1].ravel(), u[:, 1:].ravel())[0, 1]) < 0.02


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
    from gru_lib.models.language_model import lm_init
    from gru_lib.widgets.language import read_net

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


@pytest.mark.parametrize("viewport", [WIDE, PHONE], ids=["wide", "phone"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_still_picture_is_what_the_explorer_draws(visit, viewport, lang):
    stills = [LanguageExplorer(lang=lang), *(random_explorer("language", seed, lang=lang) for seed in range(3))]
    page = visit(*stills, viewport=viewport)
    for nth, still in enumerate(stills):
        written(page, nth)
        pairs = page.evaluate(
            """([nth, still]) => {
          const live = document.querySelectorAll('[data-afm]')[nth];
          const host = new DOMParser().parseFromString(still, 'text/html');
          const slim = live.firstChild.classList.contains('ex-slim');
          const pairs = [
            [host.querySelector('.ex-only-' + (slim ? 'slim' : 'wide')).innerHTML,
             live.querySelector('.ex-lines').innerHTML],
          ];
          if (!slim) { // the sentence is that of the wide drawing
            pairs.push([host.querySelector('.ex-say').textContent, live.querySelector('.ex-say').textContent]);
          }
          return pairs;
        }""",
            [nth, still.to_html()],
        )
        for python, javascript in pairs:
            assert python == javascript


def test_the_reader_types_and_the_model_writes_on(visit):
    page = visit(LanguageExplorer())
    page.locator("input[type=text]").fill("A string is ")
    written(page)
    assert state_in(page, "language")["prefix"] == "A string is "
    shown = page.evaluate("[...document.querySelectorAll('.ex-lines .ex-given')].map(t => t.textContent).join('')")
    assert shown.replace("\u00a0", " ") == "A string is "
    whole = page.evaluate(
        "[...document.querySelectorAll('.ex-lines text[x*=\" \"]')].map(t => t.textContent).join('')"
    ).replace("\u00a0", " ")
    text = LanguageExplorer(prefix="A string is ").value["text"].replace("\n", "↵")
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
    box, L = page.locator(".ex-lines").bounding_box(), LANGUAGE["layout"]["wide"]
    zoom = box["width"] / L["W"]
    page.mouse.click(box["x"] + zoom * (L["left"] + 4.5 * L["step"]), box["y"] + zoom * L["top"])
    assert state_in(page, "language")["at"] == 5
    assert page.locator(".ex-now").text_content().startswith('character 5\u2003"')


def test_the_prefix_may_stand_in_a_link(visit):
    page = visit(
        LanguageExplorer(anchor="lm"), before='<p><a href="#lm?prefix=See%20section%20&amp;unit=7">see</a></p>'
    )
    page.locator("a", has_text="see").first.click()
    assert {k: state_in(page, "language")[k] for k in ("prefix", "unit")} == {"prefix": "See section ", "unit": 7}


def test_default_shows_a_unit_that_follows_quotation_marks():
    value = LanguageExplorer(prefix='an "inner" word and "another one" here').value
    h = np.array(value["shown"][:38])
    inside = np.array([value["text"][: i + 1].count('"') % 2 == 1 for i in range(38)])
    assert abs(h[inside].mean() - h[~inside].mean()) > 0.5


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
