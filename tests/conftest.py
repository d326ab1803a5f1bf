"""What the tests of the pages share: the built book on a local server, and a browser that reaches nothing else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import browser as chromium
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="session")
def built_book() -> Path:
    """The folder of the built book."""
    if not (HTML / "index.html").is_file():
        pytest.fail("There is no built book in _build/html. Run `make book` first.")
    return HTML


@pytest.fixture(scope="session")
def book_url(built_book: Path) -> Iterator[str]:
    """The built book over http, such as ``http://127.0.0.1:40001``."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(built_book)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One headless Chromium for the whole run."""
    path = chromium.find()
    if path is None:
        pytest.fail(chromium.ADVICE)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(chromium.ARGUMENTS))
        yield started
        started.close()


@dataclass
class Visit:
    """A page in a window of its own, and what it did there."""

    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def open(self) -> None:
        """Load the page and wait until its maths is set."""
        self.page.goto(self.url)
        self.page.wait_for_function(
            "!window.MathJax || (MathJax.startup && MathJax.startup.promise && document.readyState === 'complete')"
        )
        self.page.evaluate("window.MathJax && MathJax.startup.promise")

    def set_theme(self, theme: str) -> None:
        """Switch to light or dark, as the reader's button does."""
        self.page.evaluate(
            "t => { document.documentElement.dataset.mode = t; document.documentElement.dataset.theme = t }", theme
        )


def watch(context: BrowserContext, url: str) -> Visit:
    """A new page for ``url`` that blocks and notes every request to another host, and notes what goes wrong."""
    page = context.new_page()
    visit = Visit(page, url)

    def guard(route: Route) -> None:
        if urlsplit(route.request.url).netloc == urlsplit(url).netloc:
            route.continue_()
        else:
            visit.foreign.append(route.request.url)
            route.abort()

    context.route(lambda requested: not requested.startswith(("data:", "blob:")), guard)
    page.on("console", lambda m: m.type in ("error", "warning") and visit.complaints.append(f"{m.type}: {m.text}"))
    page.on("pageerror", lambda error: visit.complaints.append(f"uncaught: {error}"))
    page.on("requestfailed", lambda r: visit.complaints.append(f"failed: {r.url}"))
    page.on("response", lambda r: r.status >= 400 and visit.complaints.append(f"{r.status}: {r.url}"))
    return visit
