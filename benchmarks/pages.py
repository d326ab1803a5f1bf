"""Weight, speed and stability of the built pages in a headless Chromium, and the time of a build.
Then how long each part of the last `make test` took.

`measure` prints a table and returns the numbers. For each page of `_build/html`:

- weight: every response of a first visit, gzipped one by one as a web server would, in KB of 1,000 bytes;
- alive: from the start of the visit until the page is read and every explorer answers;
- set: until the last task that blocks the page for more than 50 ms is over. Formulas are there from the first.
  Both at full speed and with the processor slowed to a quarter;
- shift: the cumulative layout shift of the visit (below 0.1 is good);
- drag: for each explorer, one input event of a slider: handlers, style and layout, without painting. The worst
  slider's median of 30.
"""

from __future__ import annotations

import gzip
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from benchmarks import parts

ROOT = Path(__file__).resolve().parents[1]
HTML = ROOT / "_build" / "html"
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}

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
SETTLED = """() => document.readyState === "complete"
  && [...document.querySelectorAll("[data-afm]")].every((el) => "live" in el.dataset)"""
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


def measure() -> dict[str, Any]:
    """Measure every page and two builds; print as it goes.

    Raises
    ------
    SystemExit
        If there is no built book, or no browser.
    """
    if not (HTML / "index.html").is_file():
        raise SystemExit("bench: there is no built book in _build/html. Run `make book` first.")
    sys.path.insert(0, str(ROOT / "tools"))
    import browser as chromium
    from playwright.sync_api import sync_playwright

    path = chromium.find()
    if path is None:
        raise SystemExit(f"bench: {chromium.ADVICE}")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(HTML)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    pages = sorted(p.name for p in (HTML / "book").glob("*.html"))
    found = {}
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(chromium.ARGUMENTS))
        print("\nPages of the built book, headless Chromium, fresh visits")
        heads = ("KB", "alive ms", "at CPU/4", "set ms", "at CPU/4", "shift", "on phone")
        print(f"{'page':34}" + "".join(f"{head:>10}" for head in heads) + "  drag ms")
        for name in pages:
            url = f"http://127.0.0.1:{server.server_port}/book/{name}"
            row = found[name.removesuffix(".html")] = _page(started, url)
            drags = ", ".join(f"{explorer} {ms:.1f}" for explorer, ms in row["drag_ms"].items())
            times = "".join(f"{row[key]:10.0f}" for key in ("kb", "alive_ms", "alive_slow_ms", "set_ms", "set_slow_ms"))
            shifts = f"{row['shift']:10.3f}{row['shift_phone']:10.3f}"
            print(f"{name.removesuffix('.html'):34}{times}{shifts}  {drags}", flush=True)
        started.close()
    server.shutdown()
    server.server_close()
    builds = _builds()
    print(f"jupyter-book build with the stored outputs: {builds[0]:.0f} s, again {builds[1]:.0f} s")
    print(*parts.last(), sep="\n")
    return {"pages": found, "build_s": builds}


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
    page.wait_for_function(SETTLED)
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
