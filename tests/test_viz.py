"""Figures: their colours are the page's, and can be told apart from paper."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from gru_book import viz
from gru_lib.train import History

sys.path.insert(0, str(Path(__file__).parents[1] / "book" / "_ext"))

import themed_svg

TOKENS = Path(viz.__file__).parent / "widgets" / "gru-tokens.css"


def draw(path: Path) -> str:
    """A small figure with every role, saved as the book saves it."""
    with mpl.rc_context():
        viz.use_style()
        import matplotlib.pyplot as plt

        fig, ax = plt.subplots()
        for i, role in enumerate(viz.ROLE):
            ax.plot([0, 1], [i, i], **viz.ROLE[role])
            viz.label(ax, 1, i, f"${role}$", role)
        ax.plot([0, 1], [7, 7], **viz.MUTED)
        ax.set(title="Every role", xlabel="step")
        fig.savefig(path, metadata={"Date": None})
        plt.close(fig)
    return path.read_text("utf8")


def test_figures_have_the_light_colours_of_the_page() -> None:
    block = TOKENS.read_text("utf8").split(":root {", 1)[1].split("}", 1)[0]
    light = dict(re.findall(r"--gru-([\w-]+): (#[0-9A-F]{6});", block))
    assert {name: light[name] for name in viz.COLOURS} == viz.COLOURS


def test_same_figure_gives_the_same_file(tmp_path: Path) -> None:
    assert draw(tmp_path / "a.svg") == draw(tmp_path / "b.svg")


def test_every_colour_of_a_themed_figure_follows_the_page(tmp_path: Path) -> None:
    svg = themed_svg.themed(draw(tmp_path / "a.svg"), alt="Seven level lines.", prefix="p")
    for role in viz.ROLE:
        assert f"var(--gru-{role}, {viz.COLOURS[role]})" in svg
    assert re.findall(r"#[0-9a-fA-F]{6}\b", re.sub(r"var\(--gru-\w+, #[0-9A-F]{6}\)", "", svg)) == []


def test_themed_figures_share_no_id_and_keep_their_links(tmp_path: Path) -> None:
    source = draw(tmp_path / "a.svg")
    seen: set[str] = set()
    for prefix in ("p", "q"):
        root = ElementTree.fromstring(themed_svg.themed(source, alt="Seven level lines.", prefix=prefix))
        ids = {e.get("id") for e in root.iter()} - {None}
        used = {h.removeprefix("#") for e in root.iter() if (h := e.get("href"))}
        used |= set(re.findall(r"url\(#([^)]+)\)", ElementTree.tostring(root, encoding="unicode")))
        assert used and used <= ids
        assert not seen & ids
        seen |= ids


def test_themed_figure_is_an_image_with_its_alternative_text(tmp_path: Path) -> None:
    alt = 'Lines at 0 to 7, the "last" < 8.'
    root = ElementTree.fromstring(themed_svg.themed(draw(tmp_path / "a.svg"), alt=alt, prefix="p", classes=["wide"]))
    assert (root.get("role"), root.get("aria-label"), root.get("class")) == ("img", alt, "gru-fig wide")
    assert not [e.tag for e in root.iter() if e.tag.endswith(("}style", "}metadata", "}title"))]


def test_figures_have_a_background_except_for_the_books_own_pages(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """In a dark notebook, ink on nothing cannot be read."""
    for value, painted in (("", True), ("bare", False)):
        monkeypatch.setenv("GRU_FIGURES", value)
        assert ("fill: #fbfbfa" in draw(tmp_path / "figure.svg")) == painted


# --------------------------------------------------------------------------------------------------------- tables


TABLE = {"who": ["GRU", "counting <4>", "none"], "right, %": [(70.53, 0.61), 76.4, None], "steps": [1000, -4, 20]}


def test_a_table_is_read_row_by_row_with_its_points_below_each_other():
    text = repr(viz.table(TABLE, digits=1, best={"right, %": max}))
    assert text.splitlines() == [
        "who             right, %    steps",
        "GRU           70.5 ± 0.6     1000",
        "counting <4>        76.4 *     −4",
        "none                   –       20",
    ]


def test_a_table_of_a_page_names_its_rows_and_marks_the_best(monkeypatch):
    monkeypatch.setenv("GRU_FIGURES", "bare")
    html = viz.table(TABLE, digits=1, best={"right, %": max})._repr_html_()
    root = ElementTree.fromstring(html)
    assert [th.text for th in root.iter("th") if th.get("scope") == "row"] == TABLE["who"]
    assert [th.get("class") for th in root.iter("th") if th.get("scope") == "col"] == ["gru-words", None, None]
    assert [strong.text for strong in root.iter("strong")] == ["76.4"]
    monkeypatch.delenv("GRU_FIGURES")
    assert "<style>" in viz.table(TABLE)._repr_html_() and "<style>" not in html


@pytest.mark.parametrize(("call", "message"), [
    (lambda: viz.table([1, 2]), "table: columns must be a Mapping"),
    (lambda: viz.table({}), "table: columns must have as many cells each; got none"),
    (lambda: viz.table({"a": [1], "b": []}), "table: columns must have as many cells each; got 'a' 1, 'b' 0"),
    (lambda: viz.table({"a": [1]}, best={"b": max}), "table: best must name headers, 'a'; got 'b'"),
    (lambda: viz.table({"a": [1]}, digits=-1), "table: digits must be at least 0; got -1"),
    (lambda: viz.mean_interval([1.0]), r"mean_interval: values must be 2 to 10, .* got shape \(1,\)"),
    (lambda: viz.seeds(None, [1, 2], [[1.0]], ""), r"seeds: runs must have shape \(K, len\(x\)\) = \(K, 2\)"),
    (lambda: viz.marks(None, ["a"], ["b"], [1]), r"marks: found must have shape \(1, 1\); got \(1,\)"),
])  # fmt: skip
def test_what_a_table_or_a_figure_cannot_show_is_named(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_an_interval_contains_the_mean_as_often_as_it_says():
    rng = np.random.default_rng(0)
    for n in (2, 5, 10, 50):
        means = np.array([viz.mean_interval(rng.normal(size=n)) for _ in range(4000)])
        assert np.mean(np.abs(means[:, 0]) < means[:, 1]) == pytest.approx(0.95, abs=0.012)  # three standard errors


def test_history_is_drawn_against_the_steps_in_the_books_style_and_leaves_the_readers_alone():
    history = History([3.0, 2.0, 1.0], [0.3, 0.2, 0.1], {"loss": [(2, 2.5), (3, 1.5)], "right": [(3, 0.9)]})
    before = dict(plt.rcParams)
    axes = viz.history(history)
    assert [ax.get_title(loc="left") for ax in axes] == ["loss", "right"] and axes[-1].get_xlabel() == "step"
    found = [[line.get_xydata().tolist() for line in ax.get_lines()] for ax in axes]
    assert found == [[[[1, 3], [2, 2], [3, 1]], [[2, 2.5], [3, 1.5]]], [[[3, 0.9]]]]
    assert [text.get_text() for text in axes[0].texts] == ["each batch", "evaluated"] and not axes[1].texts
    assert all(line.get_marker() == "o" for ax in axes for line in ax.get_lines()), "one value is seen"
    assert not axes[0].spines["top"].get_visible() and dict(plt.rcParams) == before
    (norm,) = viz.history(history, "grad_norm")
    assert norm.get_lines()[0].get_ydata().tolist() == [0.3, 0.2, 0.1]
    plt.close("all")
    with pytest.raises(ValueError, match=r"history: names must be one of 'loss', 'grad_norm', 'right'; got 'x'"):
        viz.history(History([1.0], [1.0], {"right": [(1, 0.9)]}), "x")
    with pytest.raises(ValueError, match="must have at least one step; it has none"):
        viz.history(History())
