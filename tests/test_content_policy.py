"""book/_ext/content_policy.py: what a page may load and run. What the built pages do under it is in test_book.py."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.request import urlopen

import content_policy

from conftest import Visit


def test_a_served_page_may_be_reloaded_and_runs_nothing_else(
    reader: Callable[[str, int], AbstractContextManager[Visit]], tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    allowed = f'<meta content="{content_policy.policy([], address)}" http-equiv="Content-Security-Policy"/>'
    injected = "<article><script>document.title = 'injected'</script></article>"
    page = f'<html lang="en"><head><meta charset="utf-8"/>{allowed}</head><body>{injected}</body></html>'
    (tmp_path / "page.html").write_text(page, "utf8")
    command = ("-m", "sphinx_autobuild", "--no-initial", "--port", address.rpartition(":")[2], str(tmp_path))
    with subprocess.Popen([sys.executable, *command, str(tmp_path)], stdout=subprocess.DEVNULL) as server:
        try:
            while True:
                with contextlib.suppress(OSError), urlopen(f"http://{address}/page.html"):
                    break
                assert server.poll() is None
                time.sleep(0.05)
            with reader(f"http://{address}/page.html", 1280) as visit:
                sockets: list[object] = []
                visit.page.on("websocket", lambda opened: sockets.append(opened))
                visit.open()
                assert visit.page.title() != "injected"
                assert len(sockets) == len(visit.complaints) == 1 and "Policy" in visit.complaints[0]
        finally:
            server.terminate()
