"""Weight, speed and stability of the built pages in a headless Chromium, and the time of a build.

`measure` prints a table and returns the numbers. For each page of `_build/html`:

- weight: every response of a first visit, gzipped one by one as a web server would, in KB of 1,000 bytes;
- alive: from the start of the visit until the page is read and every explorer answers;
- set: until the last task that blocks the page for more than 50 ms is over. Formulas are there from the first.
  Both at full speed and with the processor slowed to a quarter;
- shift: the cumulative layout shift of the visit (below 0.1 is good);
- drag: for each explorer, one input event of a slider: handlers, style and layout, without painting. The worst
  slider's median of 30.

``python -m benchmarks.pages`` measures the pages with an explorer alone, against what they may weigh and take. With the
folders of several builds, such as ``before/_build/html _build/html``, it sets them side by side, in turns.
"""

from __future__ import annotations

import argparse
import gzip
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}

MOST_KB, LANGUAGE_KB = 170, 330  # tests/test_book.py holds the pages to them
MOST_MS, MOST_SLOW_MS = 400, 1500

# Runs before the page's own scripts: layout shifts and long tasks as the browser reports them.
WATCH = """
window.bench = { shift: 0, busy: 0 };
new PerformanceObserver((list) => {
  for (const e of list.getEntries()) if (!e.hadRecentInput) bench.shift += e.value;
}).observe({ type: "layout-shift", buffered: true });
new PerformanceObserver((list) => {
  for (const e of list.getEntries()) bench.busy = Math.max(bench.busy, e.startTime + e.duration);
}).observe({ type: "longtask", buffered: true });
"""
# Asked by the page itself: to ask again and again from outside needs an eval, which the pages' policy forbids.
SETTLED = """() => new Promise((done) => {
  const ask = () => document.readyState === "complete"
    && [...document.querySelectorAll("[data-afm]")].every((el) => "live" in el.dataset) ? done() : setTimeout(ask, 20);
  ask();
})"""
TIMES = """async () => {
  await new Promise((done) => setTimeout(done, 300));  // observers report late
  const [visit] = performance.getEntriesByType("navigation");
  const alive = performance.getEntriesByType("mark").filter((m) => m.name.startsWith("afm-ready:"));
  const live = Math.max(0, ...alive.map((m) => m.startTime));
  const ready = visit.domContentLoadedEventEnd;
  return { alive: Math.max(live, ready), set: Math.max(live, ready, bench.busy), shift: bench.shift };
}"""
DRAG = """el => [...el.querySelectorAll("input[type=range]")].map((slider) => {
  const { min, max, value } = slider;
  const took = [];
  for (let i = 0; i < 30; i++) {
    slider.value = Number(min) + (Number(max) - Number(min)) * ((i * 7) % 30) / 29;
    const start = performance.now();
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    el.getBoundingClientRect();  // style and layout now, not with the next frame
    took.push(performance.now() - start);
  }
  slider.value = value;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  return took.sort((a, b) => a - b)[15];
})"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A built book on a local server.

    Raises
    ------
    SystemExit
        If there is no built book.
    """
    if not (folder / "index.html").is_file():
        raise SystemExit(f"bench: there is no built book in {folder}. Run `make book` first.")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@contextmanager
def started() -> Iterator[Any]:
    """A headless Chromium.

    Raises
    ------
    SystemExit
        If there is none.
    """
    sys.path.insert(0, str(ROOT / "tools"))
    import browser as chromium
    from playwright.sync_api import sync_playwright

    path = chromium.find()
    if path is None:
        raise SystemExit(f"bench: {chromium.ADVICE}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(chromium.ARGUMENTS))
        yield browser
        browser.close()


def measure() -> dict[str, Any]:
    """Measure every page and two builds; print as it goes."""
    pages = sorted(p.name for p in (HTML / "book").glob("*.html"))
    found = {}
    with served(HTML) as address, started() as browser:
        print("\nPages of the built book, headless Chromium, fresh visits")
        heads = ("KB", "alive ms", "at CPU/4", "set ms", "at CPU/4", "shift", "on phone")
        print(f"{'page':34}" + "".join(f"{head:>10}" for head in heads) + "  drag ms")
        for name in pages:
            row = found[name.removesuffix(".html")] = _page(browser, f"{address}/book/{name}")
            drags = ", ".join(f"{explorer} {ms:.1f}" for explorer, ms in row["drag_ms"].items())
            times = "".join(f"{row[key]:10.0f}" for key in ("kb", "alive_ms", "alive_slow_ms", "set_ms", "set_slow_ms"))
            shifts = f"{row['shift']:10.3f}{row['shift_phone']:10.3f}"
            print(f"{name.removesuffix('.html'):34}{times}{shifts}  {drags}", flush=True)
    builds = _builds()
    print(f"jupyter-book build with the stored outputs: {builds[0]:.0f} s, again {builds[1]:.0f} s")
    return {"pages": found, "build_s": builds}


def with_explorers(folder: Path) -> list[str]:
    """The pages of a built book that run an explorer."""
    return sorted(p.stem for p in (folder / "book").glob("*.html") if "/afm_host.js" in p.read_text("utf8"))


def compare(folders: list[Path], turns: int) -> None:
    """Print weight and times until alive of the pages with an explorer, for each build, and what is too much.

    The best of the turns: other work on the machine only adds. The builds take turns, so that it adds to all of them.
    """
    print(f"{'page':34}" + "".join(f"{head:>10}" for _ in folders for head in ("KB", "alive ms", "at CPU/4", "shift")))
    with ExitStack() as open_, started() as browser:
        addresses = [open_.enter_context(served(folder)) for folder in folders]
        for name in with_explorers(folders[-1]):
            rows: list[dict[str, float]] = [{} for _ in folders]
            for _ in range(turns):
                for row, address in zip(rows, addresses, strict=True):
                    url, weights = f"{address}/book/{name}.html", []
                    plain = _visit(browser, url, DESK, weights=weights)
                    slow = _visit(browser, url, DESK, slower=4)
                    row["kb"] = sum(weights) / 1000
                    row["alive"] = min(row.get("alive", 1e9), plain["alive"])
                    row["slow"] = min(row.get("slow", 1e9), slow["alive"])
                    row["shift"] = max(row.get("shift", 0.0), plain["shift"], slow["shift"])
            cells = "".join(f"{r['kb']:10.0f}{r['alive']:10.0f}{r['slow']:10.0f}{r['shift']:10.3f}" for r in rows)
            most = LANGUAGE_KB if "language-model" in name else MOST_KB
            last = rows[-1]
            much = (last["kb"] > most, last["alive"] > MOST_MS, last["slow"] > MOST_SLOW_MS)
            said = [word for word, is_so in zip(("heavy", "late", "late on a slow one"), much, strict=True) if is_so]
            print(f"{name:34}{cells}  {', '.join(said)}", flush=True)


def _page(browser: Any, url: str) -> dict[str, Any]:
    """One page: its weight and drags from a first visit, the times from three visits each."""
    weights: list[int] = []
    first = _visit(browser, url, DESK, weights=weights)
    plain = [_visit(browser, url, DESK) for _ in range(3)]
    slow = [_visit(browser, url, DESK, slower=4) for _ in range(3)]
    phone = _visit(browser, url, PHONE)
    return {
        "kb": sum(weights) / 1000,
        "alive_ms": statistics.median(v["alive"] for v in plain),
        "alive_slow_ms": statistics.median(v["alive"] for v in slow),
        "set_ms": statistics.median(v["set"] for v in plain),
        "set_slow_ms": statistics.median(v["set"] for v in slow),
        "shift": max(v["shift"] for v in plain),
        "shift_phone": phone["shift"],
        "drag_ms": first["drag"],
    }


def _visit(
    browser: Any, url: str, size: dict[str, int], *, slower: int = 1, weights: list[int] | None = None
) -> dict[str, Any]:
    context = browser.new_context(viewport=size)
    context.add_init_script(WATCH)
    page = context.new_page()
    responses: list[Any] = []
    page.on("response", lambda response: responses.append(response))
    if slower > 1:
        context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": slower})
    page.goto(url)
    page.evaluate(SETTLED)
    times = page.evaluate(TIMES)
    if weights is not None:
        weights += [len(gzip.compress(r.body(), 6)) for r in responses if r.status == 200]
        worst: dict[str, float] = {}
        for el in page.query_selector_all("[data-afm]"):
            name = el.get_attribute("data-afm")
            worst[name] = max([worst.get(name, 0.0), *el.evaluate(DRAG)])
        times["drag"] = {name: ms for name, ms in worst.items() if ms}
    context.close()
    return times


def _builds() -> list[float]:
    """Seconds of a build from scratch, and of one more."""
    taken = []
    with tempfile.TemporaryDirectory() as out:
        for _ in range(2):
            start = time.perf_counter()
            subprocess.run(
                [Path(sys.executable).parent / "jupyter-book", "build", ".", "-q", "--path-output", out],
                cwd=ROOT,
                check=True,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            taken.append(time.perf_counter() - start)
    return taken


if __name__ == "__main__":
    reader = argparse.ArgumentParser(description="Weight of the pages with an explorer, and time until it is alive.")
    reader.add_argument("folders", nargs="*", type=Path, default=[HTML], help="built books, such as _build/html")
    reader.add_argument("--turns", type=int, default=5)
    asked = reader.parse_args()
    compare(asked.folders, asked.turns)
