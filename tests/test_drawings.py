"""The drawings of the cells: in the page's colours, inside their frame, and in both forms on a page."""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Browser

from gru_book.drawings import CELLS, STAGES, cell_drawing
from gru_book.viz import COLOURS

sys.path.insert(0, str(Path(__file__).parents[1] / "book" / "_ext"))

import themed_svg

GROWTH = [(name, slim) for name in STAGES for slim in (False, True)]
FORMS = [(name, slim) for name in CELLS for slim in (False, True)]
SVG = "{http://www.w3.org/2000/svg}"


def numbers(text: str) -> list[float]:
    return [float(value) for value in re.findall(r"-?\d+(?:\.\d+)?", text)]


def points(element: ElementTree.Element) -> list[tuple[float, float]]:
    """The corners of an element, as far as they are stated."""
    if element.tag in (f"{SVG}path", f"{SVG}polygon"):
        values = numbers(element.get("d") or element.get("points", ""))
        return list(zip(values[::2], values[1::2], strict=True))
    x, y = (float(element.get(name, element.get(f"c{name}", "nan"))) for name in "xy")
    return [(x, y), (x + float(element.get("width", 0)), y + float(element.get("height", 0)))]


@pytest.mark.parametrize(("name", "slim"), FORMS)
def test_a_drawing_stays_inside_its_frame_and_in_the_colours_of_the_page(name: str, slim: bool) -> None:
    svg = cell_drawing(name, slim=slim).svg
    root = ElementTree.fromstring(svg)
    _, _, width, height = numbers(root.get("viewBox", ""))
    corners = [point for element in root.iter() if element.tag in _SHAPES for point in points(element)]
    assert all(0 <= x <= width and 0 <= y <= height for x, y in corners)
    assert len(corners) > 20
    assert set(re.findall(r"#[0-9A-Fa-f]{6}\b", svg)) <= set(COLOURS.values())


def test_a_drawing_has_a_light_plate_in_a_dark_notebook_and_none_on_a_page() -> None:
    svg, plate = cell_drawing("gru").svg, f"background: {COLOURS['paper']}"
    assert ElementTree.fromstring(svg).get("style") == plate
    assert "background" not in themed_svg.themed(svg, alt="", prefix="f")


_SHAPES = {f"{SVG}{kind}" for kind in ("path", "polygon", "rect", "circle", "text")}


def places(name: str, slim: bool, upto: int | None) -> set[tuple[str, ...]]:
    """What is drawn and where, whatever its colour and its width."""
    found = set()
    for element in ElementTree.fromstring(cell_drawing(name, upto=upto, slim=slim).svg).iter():
        if element.tag in _SHAPES:
            plate = element.tag == f"{SVG}rect" and element.get("stroke") is None
            size = () if plate else (element.get("height", ""),)
            found.add((element.tag, str(points(element)[0] if not element.get("d") else element.get("d")), *size))
    return found


@pytest.mark.parametrize(("name", "slim"), GROWTH)
def test_a_stage_adds_to_the_one_before_and_moves_nothing(name: str, slim: bool) -> None:
    grown = [places(name, slim, upto) for upto in range(1, len(STAGES[name]) + 1)]
    for before, after in pairwise(grown):
        assert before < after
    assert grown[-1] == places(name, slim, None)
    heights = [
        numbers(cell_drawing(name, upto=k, slim=slim).svg.split('viewBox="')[1].split('"')[0])[3] for k in (1, None)
    ]
    assert heights[0] <= heights[1]
    assert name != "update" or heights[0] < heights[1] / 2  # a line alone leaves no room below


# Texts that cover one another (a line is higher than its letters: 6 px are let be), and texts that leave the frame.
# What a stage draws again, in colour, lies on itself.
CROWDED = """() => {
  const frame = document.querySelector("svg").getBoundingClientRect();
  const texts = [...document.querySelectorAll("text")].map((e) => [e.textContent, e.getBoundingClientRect()]);
  const out = texts.filter(([, b]) => b.left < frame.left || b.right > frame.right).map(([text]) => text);
  texts.forEach(([text, a], i) => texts.slice(i + 1).forEach(([other, b]) => {
    const over = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (text !== other && over > 0 && down > 6) out.push(`${text} / ${other}`);
  }));
  return out;
}"""


@pytest.mark.parametrize("slim", [False, True])
def test_no_text_lies_on_another_or_leaves_the_frame(browser: Browser, slim: bool) -> None:
    page = browser.new_page()
    try:
        for name in CELLS:
            page.set_content(cell_drawing(name, slim=slim).svg)
            assert page.evaluate(CROWDED) == [], name
    finally:
        page.close()


@pytest.mark.parametrize("name", STAGES)
def test_what_is_new_has_colour_and_the_rest_is_quiet(name: str) -> None:
    quiet = {COLOURS[role] for role in ("edge", "muted", "paper", "track")}
    before: set[tuple[str, str]] = set()
    for upto in range(1, len(STAGES[name]) + 1):
        svg = cell_drawing(name, upto=upto).svg
        assert set(re.findall(r"#[0-9A-F]{6}\b", svg)) - quiet, upto
        drawn = {(e.get("d", ""), e.get("stroke", "")) for e in ElementTree.fromstring(svg).iter(f"{SVG}path")}
        old = {d for d, _ in before}
        assert {stroke for d, stroke in drawn if d in old} <= quiet, upto
        before = drawn


def test_a_themed_drawing_follows_the_page_and_keeps_its_size() -> None:
    svg = themed_svg.themed(cell_drawing("gru").svg, alt="A GRU.", prefix="p", classes=["gru-wide"])
    assert re.findall(r"#[0-9a-fA-F]{6}\b", re.sub(r"var\(--gru-[\w-]+, #[0-9A-F]{6}\)", "", svg)) == []
    assert "'STIX Two Math', var(--gru-math)" in svg and "var(--gru-sans)" in svg and "data-cell" not in svg
    assert "ℎ" in svg and "italic" not in svg  # sloping letters are those of the formulas
    root = ElementTree.fromstring(svg)
    assert (root.get("class"), root.get("style")) == ("gru-fig gru-wide", "max-width:668px")


@pytest.mark.parametrize(("inches", "style"), [(3.9, "max-width:374px;min-width:0"), (6.8, "max-width:653px")])
def test_only_a_figure_drawn_for_a_phone_may_shrink(inches: float, style: str) -> None:
    points = 72 * inches
    source = f'<svg xmlns="{themed_svg.SVG}" width="{points}pt" height="90pt" viewBox="0 0 {points} 90"/>'
    assert ElementTree.fromstring(themed_svg.themed(source, alt="", prefix="p")).get("style") == style
