"""The moving picture of the README is what the explorer draws; ``python tools/readme_picture.py`` draws it anew."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import readme_picture
from playwright.sync_api import Browser
from test_stills import unlike

ROOT = Path(__file__).resolve().parents[1]
FILES = {theme: readme_picture.OUT / f"reader-{theme}.svg" for theme in readme_picture.THEMES}
MOST = 400_000  # bytes of both


@pytest.mark.parametrize("theme", FILES)
def test_stored_picture_is_what_the_explorer_draws(theme: str, browser: Browser) -> None:
    stored = FILES[theme].read_text("utf8")
    assert unlike(stored, readme_picture.svg(browser, theme)) == "", "run `python tools/readme_picture.py`"


@pytest.mark.parametrize("theme", FILES)
def test_picture_plays_in_an_img_and_rests_where_nothing_may_move(theme: str, browser: Browser) -> None:
    """What is seen of it: letter by letter, or at once the whole word with what is said of it."""
    file = FILES[theme]
    story = ElementTree.parse(file).findtext("{http://www.w3.org/2000/svg}title")
    seen = "[...document.querySelectorAll('text')].filter(t => getComputedStyle(t).visibility === 'visible')"
    told = f"{seen}.map(t => t.textContent).join(' ').replaceAll('\u00a0', ' ')"
    for motion, begins in (("no-preference", False), ("reduce", True)):
        context = browser.new_context(reduced_motion=motion)
        page = context.new_page()
        page.goto(file.as_uri())
        page.evaluate("document.getAnimations().forEach(a => { a.pause(); a.currentTime = 0; })")
        assert (" ".join(story.split()) in " ".join(page.evaluate(told).split())) == begins
        page.evaluate("document.getAnimations().forEach(a => a.finish())")
        assert " ".join(story.split()) in " ".join(page.evaluate(told).split())
        context.close()


def test_pictures_are_small_and_ask_nobody() -> None:
    texts = [file.read_text("utf8") for file in FILES.values()]
    assert sum(len(text.encode()) for text in texts) <= MOST
    for text in texts:
        assert not re.search(r"<script|href|@import|url\(", text)


def test_readme_shows_both_and_says_what_they_say() -> None:
    readme = (ROOT / "README.md").read_text("utf8")
    dark, light = re.search(r'prefers-color-scheme: dark\)" srcset="([^"]+)">\s*<img src="([^"]+)"', readme).groups()
    assert {"dark": ROOT / dark, "light": ROOT / light} == FILES
    told = re.search(r'<img [^>]*alt="([^"]+)"', readme)[1]
    for file in FILES.values():
        story = ElementTree.parse(file).findtext("{http://www.w3.org/2000/svg}title")
        assert told.endswith(" ".join(story.split()))
