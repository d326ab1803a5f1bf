"""The convention switch (chapter 10): every number stands where the library's converters put it."""

import re

import numpy as np
import pytest
from explorers import PHONE, at_point, layout_of, put, state_in
from traitlets import TraitError

from gru_lib import convert, gru_forward, gru_init
from gru_lib.widgets import ConventionExplorer
from gru_lib.widgets.convention import CONVENTION, D, H

LAYOUTS = {layout["id"]: layout for layout in CONVENTION["layouts"]}
BARE = ("ai-edu", "goldberg")  # they have no biases
RESETS = ("before", "after")


def filled(numbers, reset, *, bias=True):
    """A GRU with these numbers, by name."""
    p = gru_init(np.random.default_rng(0), D, H, reset_after=reset == "after", bias=bias)
    for name, rows in numbers.items():
        if (name[0] == "W" or bias) and (name != "b_hn" or p.reset_after):
            getattr(p, name)[...] = rows if name[0] == "W" else rows[0]
    return p


def written(layout, p):
    """The arrays of one layout, by the name they have there."""
    if layout == "ours":
        return {"W_x": p.W_x, "W_h": p.W_h, "b": p.b} | ({"b_hn": p.b_hn} if p.reset_after else {})
    if layout == "torch":
        return convert.to_torch([[p]])
    if layout == "keras":
        return dict(zip(("kernel", "recurrent_kernel", "bias"), convert.to_keras([p]), strict=True))
    if layout == "onnx":
        W, R, B = convert.to_onnx([p])
        return {"W": W, "R": R} | ({} if B is None else {"B": B})
    return convert.to_source(p, layout)


def test_weights_come_from_their_seed():
    rng = np.random.default_rng(CONVENTION["seed"])
    for name, rows in CONVENTION["weights"].items():
        size = np.shape(rows)
        np.testing.assert_array_equal(rows, np.round(rng.choice([-1, 1], size) * rng.uniform(0.2, 1, size), 2), name)


@pytest.mark.parametrize("reset", RESETS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_places_are_those_of_the_converters(layout, reset):
    """Number the weights 1, 2, 3 ... and convert: what comes out says where each went, and whether it was negated."""
    count, numbered = 1, {}
    for name, rows in CONVENTION["weights"].items():
        numbered[name] = np.arange(count, count + np.size(rows)).reshape(np.shape(rows))
        count += np.size(rows)
    try:
        arrays = written(layout, filled(numbered, reset, bias=layout not in BARE))
    except ValueError as error:
        assert "The two are not equivalent" in str(error)
        assert reset not in CONVENTION["places"][layout]
        return
    places = CONVENTION["places"][layout][reset]
    assert list(places) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(np.ravel(places[name]), np.ravel(array), name)
        if array.ndim == 1:
            assert LAYOUTS[layout]["axes"].get(name) == "k" and 1 in np.shape(places[name])
        else:
            assert array.shape[-2:] == np.shape(places[name])
            assert array.shape[:-2] == ((1,) if LAYOUTS[layout]["axes"].get(name) == "0ij" else ())


@pytest.mark.parametrize("reset", RESETS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_each_layout_says_of_itself_is_so(layout, reset):
    places, said = CONVENTION["places"][layout], LAYOUTS[layout]
    if reset in places:
        negated = any(place < 0 for rows in places[reset].values() for row in rows for place in row)
        assert negated == (said["convention"] == "write")
        first = {"ours": "W_x", "torch": "weight_ih_l0", "keras": "kernel", "onnx": "W", "ai-edu": "U"}
        rows = places[reset][first.get(layout, next(iter(places[reset])))]
        assert said["transposed"] == (abs(rows[0][1] - rows[0][0]) == H), "next in the row: the next input, not unit"


def ours(reset, convention="keep"):
    """The GRU of the explorer, in our layout."""
    return convert.with_convention(filled(CONVENTION["weights"], reset), convention)


@pytest.mark.parametrize("convention", ["keep", "write"])
@pytest.mark.parametrize("reset", RESETS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_javascript_writes_the_arrays_that_the_library_writes(inside, layout, reset, convention):
    shown = ConventionExplorer(reset=reset, convention=convention)
    got = inside("convention")(
        """(id, s) => Object.fromEntries(Object.entries(PLACES[id][s.reset] ?? {}).map(([name, rows]) =>
      [name, rows.map(row => row.map(place => numberAt(LAYOUTS.find(l => l.id === id), place, s)))]))""",
        layout,
        shown.state(),
    )
    if not got:
        with pytest.raises(ValueError, match="not equivalent"):
            written(layout, ours(reset, convention))
        return
    p = ours(reset, convention)
    if layout in BARE:
        p = convert.with_convention(filled(CONVENTION["weights"], reset, bias=False), convention)
    for name, array in written(layout, p).items():
        np.testing.assert_allclose(np.ravel(got[name]), np.ravel(array), rtol=0, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("reset", RESETS)
def test_it_is_one_gru_in_all_layouts(reset):
    """Read back, every layout computes what ours computes."""
    xs = np.random.default_rng(0).normal(size=(10, 4, D))
    wanted = gru_forward(xs, None, ours(reset))[0]
    p = ours(reset, "write")
    back = [p, convert.from_keras(convert.to_keras([p]), "gru", reset_after=reset == "after")[0]]
    back += convert.from_onnx(*convert.to_onnx([p]), cell="gru", linear_before_reset=int(reset == "after"))
    if reset == "after":
        back += convert.from_torch(convert.to_torch([[p]]), "gru")[0]
    else:
        back += [convert.from_source(convert.to_source(p, name), name) for name in ("d2l", "ng")]
    for q in back:
        np.testing.assert_allclose(gru_forward(xs, None, q)[0], wanted, rtol=0, atol=1e-12)


@pytest.fixture(scope="module")
def marked(inside):
    """The marked number by our name, and where each layout has it: {address, v}, or None."""
    script = """s => ({
      ours: picked(s), places: Object.fromEntries(LAYOUTS.map(layout => [layout.id, find(layout, s)])),
    })"""
    return lambda **state: inside("convention")(script, ConventionExplorer(**state).state())


def test_default_shows_all_four_choices(marked):
    """Negated in two, transposed in two, another block in two, and nowhere in PyTorch."""
    places = marked()["places"]
    number = places["ours"]["v"]
    assert [name for name, place in places.items() if place is None] == ["torch"]
    assert [name for name, place in places.items() if place and place["v"] == -number] == ["ai-edu", "goldberg"]
    assert places["onnx"]["address"] == "R[0, 0, 1]" and places["ng"]["address"] == "W_az[0, 1]"
    assert places["keras"]["address"] == "recurrent_kernel[1, 0]"


def test_bias_inside_the_gate_has_a_place_of_its_own(marked):
    within = marked(gate="n", part="b", row=1, column=1, reset="after")
    assert (within["ours"]["name"], within["ours"]["column"]) == ("b_hn", 1)
    places = within["places"]
    assert places["torch"]["address"] == "bias_hh_l0[5]" and places["keras"]["address"] == "bias[1, 5]"
    outside = marked(gate="n", part="b", row=1, column=1, reset="before")
    assert outside["ours"]["name"] == "b_n", "reset before has one bias"
    assert outside["places"]["ai-edu"] is None, "no biases there"


def at_number(page, layout, array, row, column):
    """The place on the page of a number of a layout."""
    L, nth = layout_of(page, CONVENTION), list(LAYOUTS).index(layout)
    base = nth % L["columns"] * L["slot"][0], nth // L["columns"] * L["slot"][1]
    x, y = (
        b + o + CONVENTION["cell"] * (a + k + 0.5)
        for b, o, a, k in zip(base, CONVENTION["origin"], LAYOUTS[layout]["at"][array], (column, row), strict=True)
    )
    return at_point(page, ".ex-maps", x, y)


def test_press_on_a_number_marks_it_everywhere(visit):
    page = visit(ConventionExplorer(reset="after"))
    page.mouse.click(*at_number(page, "torch", "weight_ih_l0", 5, 2))  # candidate, unit 1, from input 2
    state = state_in(page, "convention")
    assert (state["gate"], state["part"], state["row"], state["column"]) == ("n", "W_x", 2, 1)
    assert page.locator(".ex-frame").count() == 4, "in ours, PyTorch, Keras and ONNX"
    page.mouse.click(*at_number(page, "onnx", "B", 0, 11))
    state = state_in(page, "convention")
    assert (state["gate"], state["part"], state["row"], state["column"]) == ("n", "b", 1, 1)
    page.locator(".ex-say", has_text="b_hn[1]").wait_for()
    before = state_in(page, "convention")
    page.mouse.click(*at_number(page, "onnx", "B", 0, 6))  # a zero beside b_z: it is none of our numbers
    assert state_in(page, "convention") == before


def test_finger_marks_a_number(visit):
    page = visit(ConventionExplorer(), viewport=PHONE, has_touch=True)
    page.locator(".ex-maps").scroll_into_view_if_needed()
    page.evaluate("scrollTo(0, 500)")
    page.touchscreen.tap(*at_number(page, "ai-edu", "U", 4, 1))
    state = state_in(page, "convention")
    assert (state["gate"], state["part"], state["row"], state["column"]) == ("r", "W_x", 1, 1)


def test_radio_buttons_answer_the_keyboard(visit):
    page = visit(ConventionExplorer())
    page.locator("input[data-choice=gate]:checked").focus()
    page.keyboard.press("ArrowRight")
    assert state_in(page, "convention")["gate"] == "n"
    page.locator("input[data-choice=reset]:checked").focus()
    page.keyboard.press("ArrowRight")
    assert state_in(page, "convention")["reset"] == "after"
    assert page.locator(".ex-none").count() > 0
    assert "resets before only:" in page.locator(".ex-maps").text_content()


def test_row_slider_ends_where_the_array_ends(visit):
    page = visit(ConventionExplorer(row=2))
    row = page.locator("input[data-key=row]")
    assert (row.get_attribute("max"), row.input_value()) == ("1", "1"), "W_h has two rows"
    put(page, {"part": "W_x"})
    assert (row.get_attribute("max"), row.input_value()) == ("2", "2")
    put(page, {"part": "b"})
    assert row.is_disabled()
    put(page, {"gate": "n", "reset": "after"})
    assert row.is_enabled() and row.input_value() == "1"


def test_our_own_convention_turns_only_our_own_signs(visit):
    page = visit(ConventionExplorer())
    before = [g.inner_html() for g in page.locator(".ex-maps > g").all()]
    page.locator("label", has_text=re.compile("^written$")).click()
    after = [g.inner_html() for g in page.locator(".ex-maps > g").all()]
    marks = [
        [re.findall('<path class="([^"]*)" d="([^"]*)"', html) for html in (a, b)]
        for a, b in zip(before, after, strict=True)
    ]
    assert [a != b for a, b in marks] == [True] + [False] * 7
    page.locator(".ex-say", has_text="It is negated in Keras, ONNX, D2L and Ng's notes").wait_for()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gate": "h"}, r"gate must be one of 'r', 'z', 'n'; got 'h'"),
        ({"row": 3}, r"row must be a number in \[0, 2\]; got 3"),
        ({"column": 0.5}, "column must be a whole number; got 0.5"),
        ({"reset": True}, "reset must be one of 'before', 'after'; got True"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(TraitError, match=message):
        ConventionExplorer(**arguments)
