"""What the tests of the pages share: the built book on a local server, and a browser that reaches nothing else."""

from __future__ import annotations

import json
import os
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import browser as chromium
import pytest
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def end_headers(self) -> None:
        """Every visit is a first one."""
        self.send_header("Cache-Control", "no-store")
        super().end_headers()


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


# Chromium finds no other host. To stop each request and look at it would take a tenth more of the processor's time.
ALONE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"


@pytest.fixture(scope="session")
def browser(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One headless Chromium for the whole run, with fonts of ours."""
    import fonts  # takes what the library's tests do not need

    path = chromium.find()
    if path is None:
        pytest.fail(chromium.ADVICE)
    env = os.environ | fonts.environment(tmp_path_factory.mktemp("fonts"), other=pytestconfig.option.other_fonts)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=[*chromium.ARGUMENTS, ALONE], env=env)
        yield started
        started.close()


@dataclass
class Visit:
    """A page in a window of its own, and what it did there."""

    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)  # every address that it loaded

    def open(self) -> None:
        """Load the page."""
        self.page.goto(self.url)

    def set_theme(self, theme: str) -> None:
        """Switch to light or dark, as the reader's button does."""
        self.page.evaluate(
            "t => { document.documentElement.dataset.mode = t; document.documentElement.dataset.theme = t }", theme
        )


@pytest.fixture(scope="session")
def windows(browser: Browser) -> Callable[..., list[Page]]:
    """The open windows that no visit holds, by their options. A new window takes longer than most tests."""
    idle: dict[str, list[Page]] = defaultdict(list)
    return lambda **options: idle[json.dumps(options, sort_keys=True)]


# A window that was used before keeps nothing of it: every page is met for the first time.
FORGET = "try { localStorage.clear(); sessionStorage.clear() } catch { /* a frame that has none */ }"


@pytest.fixture(scope="session")
def reader(browser: Browser, windows: Callable[..., list[Page]]) -> Callable[[str, int], AbstractContextManager[Visit]]:
    """A visit to a page of the book, in a window so wide: ``with reader(url, width) as visit``.

    Requests to other hosts are noted, and so is what goes wrong.
    """

    @contextmanager
    def reader(url: str, width: int) -> Iterator[Visit]:
        options = {"viewport": {"width": width, "height": 900}, "reduced_motion": "reduce"}
        idle = windows(forgets=True, **options)
        if idle:
            page = idle.pop()
            page.goto("about:blank")  # what the page before still had to say is said before anybody listens again
        else:
            page = browser.new_context(**options).new_page()
            page.add_init_script(FORGET)
        visit = Visit(page, url)

        own = ("data:", "blob:", "file:" if url.startswith("file:") else f"http://{urlsplit(url).netloc}/")
        note = visit.complaints.append

        def see(asked: str) -> None:
            visit.asked.append(asked)
            if not asked.startswith(own):
                visit.foreign.append(asked)

        listeners = {
            "console": lambda m: m.type in ("error", "warning") and note(f"{m.type}: {m.text}"),
            "pageerror": lambda error: note(f"uncaught: {error}"),
            "request": lambda r: see(r.url),
            "requestfailed": lambda r: note(f"failed: {r.url}"),
            "response": lambda r: r.status >= 400 and note(f"{r.status}: {r.url}"),
        }
        for event, listener in listeners.items():
            page.on(event, listener)
        yield visit
        for event, listener in listeners.items():
            page.remove_listener(event, listener)
        page.set_viewport_size(options["viewport"])
        idle.append(page)

    return reader


# ------------------------------------------------------------------------------ explorers, each on a page of its own


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the book's extension would put beside a page, for every explorer."""
    from gru_book.widgets import EXPLORERS
    from gru_book.widgets._modules import classic, styles

    folder = tmp_path_factory.mktemp("pages")
    host = ROOT / "book" / "_ext" / "afm_host.js"
    (folder / "afm_host.js").write_text(host.read_text("utf-8"), "utf-8")
    for name in EXPLORERS:
        (folder / f"{name}.js").write_text(classic(name), "utf-8")
        (folder / f"{name}.css").write_text(styles(name, tokens=True), "utf-8")
    return folder


# All is where it would be and can be used, but it is not painted: that takes a tenth of the processor's time. What axe
# finds, and a shift of the layout, is said only of what is painted.
UNSEEN = "html{opacity:0}"


@pytest.fixture(scope="session")
def visits(
    browser: Browser, windows: Callable[..., list[Page]], folder: Path
) -> Callable[[str], AbstractContextManager[Callable[..., Page]]]:
    """Ways to open pages that hold explorers. ``with visits(name) as visit`` fails at the end if a page complained
    or asked another host, and gives the windows back.
    """
    from gru_book.widgets import GateExplorer

    files = (folder / f"{number}.html" for number in count())

    @contextmanager
    def visits(name: str) -> Iterator[Callable[..., Page]]:
        taken, complaints, expected = [], [], []
        listeners = {
            "pageerror": lambda error: complaints.append(f"exception: {error}"),
            "console": lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None,
            "request": lambda r: None if r.url.startswith(("file:", "data:")) else complaints.append(r.url),
        }

        def visit(
            *explorers: object,
            viewport: dict[str, int] | None = None,
            before: str = "",
            after: str = "",
            anchor: str = "",
            dark: bool = False,
            scripts: tuple[str, ...] | None = None,
            seen: bool = False,
            expect: tuple[str, ...] | list[str] = (),
            **options: object,
        ) -> Page:
            given = explorers or (GateExplorer(),)
            modules = tuple(dict.fromkeys(e.module for e in given if not isinstance(e, str)))
            body = "".join(e if isinstance(e, str) else e.to_html() for e in given)
            content = f"<h1>Explorer</h1>{before}{body}{after}"
            theme = "dark" if dark else "light"
            live = options.get("java_script_enabled", True)

            options["viewport"] = viewport or {"width": 1280, "height": 900}
            idle = windows(**options)
            page = idle.pop() if idle else browser.new_context(**options).new_page()
            taken.append((page, idle, options["viewport"]))
            expected.extend(expect)
            page.set_default_timeout(5000)
            for event, listener in listeners.items():
                page.on(event, listener)

            file = next(files)
            scripts = scripts or ("afm_host.js", *(f"{module}.js" for module in modules))
            tags = "".join(f'<script defer src="{script}"></script>' for script in scripts)
            sheets = "".join(f'<link rel="stylesheet" href="{module}.css">' for module in modules)
            file.write_text(
                f'<!doctype html><html lang="en" data-theme="{theme}"><meta charset="utf-8">'
                '<meta name="viewport" content="width=device-width, initial-scale=1"><title>An explorer</title>'
                f"{sheets}<style>{'' if seen else UNSEEN}body{{margin:0;color:var(--gru-ink);background:"
                "var(--gru-paper)}a{color:inherit}main{max-width:46rem;margin:0 auto;padding:1rem}</style>"
                f"<main>{content}</main>{tags}</html>",
                "utf-8",
            )
            page.bring_to_front()  # behind another page there are no frames
            page.goto(f"{file.as_uri()}{anchor}")
            if live and not expect:
                all_live = "[...document.querySelectorAll('[data-afm]')].every(e => 'live' in e.dataset)"
                if not page.evaluate(all_live):
                    page.wait_for_function(all_live)
            return page

        yield visit
        for page, idle, size in taken:
            if page.viewport_size != size:
                page.set_viewport_size(size)
            page.mouse.up()
            page.mouse.move(0, 0)
            page.emulate_media(media="null")  # the answers to these come after all complaints
            for event, listener in listeners.items():
                page.remove_listener(event, listener)
            idle.append(page)
        unexpected = [c for c in complaints if not any(re.search(pattern, c) for pattern in expected)]
        assert unexpected == []

    return visits


@pytest.fixture
def visit(
    visits: Callable[[str], AbstractContextManager[Callable[..., Page]]], request: pytest.FixtureRequest
) -> Iterator[Callable[..., Page]]:
    """Open a page for this test alone."""
    with visits(request.node.name) as visit:
        yield visit


@pytest.fixture(scope="session")
def inside(browser: Browser) -> Callable[[str], Callable[..., object]]:
    """The functions of a module without a page: ``inside("reach")("reach", state)`` runs reach of reach.mjs."""
    from gru_book.widgets._modules import assemble

    @cache
    def inside(name: str) -> Callable[..., object]:
        page = browser.new_page()
        page.add_script_tag(content=assemble(f"{name}.mjs").replace("export default", "const exported ="))
        return lambda function, *arguments: page.evaluate(f"given => ({function})(...given)", list(arguments))

    return inside


@pytest.fixture(scope="session")
def maths(inside: Callable[[str], Callable[..., object]]) -> Callable[..., object]:
    """The functions of gru-math.mjs: call(name, *arguments)."""
    return inside("gru-math")
