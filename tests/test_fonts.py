"""The fonts of the tests' browser."""

from __future__ import annotations

import fonts
import pytest
from playwright.sync_api import Browser

from conftest import ROOT

TOKENS = (ROOT / "gru_lib" / "widgets" / "gru-tokens.css").read_text("utf8")


@pytest.mark.fonts
def test_a_page_finds_the_fonts_of_the_run_and_none_of_the_machine(
    browser: Browser, request: pytest.FixtureRequest
) -> None:
    names = fonts.OTHER if request.config.option.other_fonts else fonts.DEJAVU
    wanted = [names["serif"], names["sans-serif"], names["monospace"], fonts.CHINESE]
    page = browser.new_page()
    lines = [f"<p style='font-family: var(--gru-{kind})'>h</p>" for kind in ("serif", "sans", "mono")]
    page.set_content(f"<style>{TOKENS}</style>{''.join(lines)}<p lang='zh' style='font-family: var(--gru-sans)'>门</p>")
    devtools = page.context.new_cdp_session(page)
    devtools.send("DOM.enable")
    devtools.send("CSS.enable")
    root = devtools.send("DOM.getDocument")["root"]["nodeId"]
    nodes = devtools.send("DOM.querySelectorAll", {"nodeId": root, "selector": "p"})["nodeIds"]
    found = [devtools.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"] for node in nodes]
    page.close()
    assert [[font["familyName"] for font in used] for used in found] == [[name] for name in wanted]
