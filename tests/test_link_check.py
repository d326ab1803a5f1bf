"""External links: a DOI is asked of its registry, an address of its host; one that is gone makes the command fail."""

from __future__ import annotations

import runpy
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from builds import sphinx

ROOT = Path(__file__).resolve().parents[1]


def test_a_doi_is_asked_of_the_registry() -> None:
    ask = runpy.run_path(str(ROOT / "book" / "_ext" / "link_check.py"))["ask_the_registry"]
    assert (
        ask(None, "https://doi.org/10.1162/neco.1997.9.8.1735")
        == "https://doi.org/api/handles/10.1162/neco.1997.9.8.1735"
    )
    assert ask(None, "https://doi.org/10.1000/a<b>") == "https://doi.org/api/handles/10.1000/a%3Cb%3E"
    assert ask(None, "https://arxiv.org/abs/1406.1078") is None


class Host(BaseHTTPRequestHandler):
    """A host that has one page."""

    def do_HEAD(self) -> None:
        self.send_response(200 if self.path == "/here" else 404)
        self.end_headers()

    do_GET = do_HEAD

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.mark.parametrize(("path", "code"), [("here", 0), ("gone", 1)])
def test_a_link_that_is_gone_fails_the_check(path: str, code: int, tmp_path: Path) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Host)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (tmp_path / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(ROOT / 'book' / '_ext')!r})\nextensions = ['link_check']\n", "utf8"
    )
    address = f"http://127.0.0.1:{server.server_port}/{path}"
    (tmp_path / "index.rst").write_text(f"Title\n=====\n\n`link <{address}>`_\n", "utf8")
    done = sphinx("-b", "linkcheck", str(tmp_path), str(tmp_path / "out"))
    server.shutdown()
    server.server_close()
    assert done.returncode == code, done.stdout + done.stderr
    assert ("broken" in done.stdout) == bool(code)
