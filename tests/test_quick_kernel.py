"""tools/quick_kernel.py: kernels that share their imports and nothing else."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import alone
import pytest
import quick_kernel
from jupyter_client.manager import start_new_kernel

Ask = Callable[[str], str]

linux = pytest.mark.skipif(sys.platform != "linux", reason="kernels start like any other there")


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Path], tuple[Ask, Callable[[], None]]]]:
    """Start the kernel `alone` in a folder: a way to ask it, and one to end it."""
    assert alone.JUPYTER.is_dir(), "Run `python tools/alone.py`, as `make test` does."
    monkeypatch.setenv("JUPYTER_PATH", str(alone.JUPYTER))
    running = []

    def start(folder: Path) -> tuple[Ask, Callable[[], None]]:
        manager, client = start_new_kernel(kernel_name=alone.NAME, cwd=str(folder))
        running.append((manager, client))

        def ask(code: str) -> str:
            said: list[str] = []
            client.execute_interactive(
                code, timeout=60, output_hook=lambda message: said.append(message["content"].get("text", ""))
            )
            return "".join(said).strip()

        return ask, lambda: manager.shutdown_kernel(now=True)

    yield start
    for manager, client in running:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


@linux
def test_two_kernels_share_a_server_and_no_names(kernels, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (first, _), (second, _) = kernels(tmp_path), kernels(tmp_path / "b")
    assert first("a = 1; import os, numpy; numpy.a = 1; os.environ['A'] = '1'; print(os.getcwd())") == str(tmp_path)
    assert second("import os, numpy; print(os.path.basename(os.getcwd()))") == "b"
    assert second("print('a' in globals(), hasattr(numpy, 'a'), 'A' in os.environ)") == "False False False"
    parents = {ask("print(os.getppid())") for ask in (first, second)}
    assert len(parents) == 1 and parents != {str(os.getpid())}
    assert second("print(__import__('gru_lib').__file__)").startswith(str(alone.KERNEL))


@linux
def test_a_kernel_that_is_ended_leaves_nothing(kernels, tmp_path: Path) -> None:
    ask, end = kernels(tmp_path)
    process = Path("/proc") / ask("import os; print(os.getpid())")
    assert process.exists()
    end()
    for _ in range(100):
        if not process.exists():
            return
        time.sleep(0.05)
    pytest.fail("the kernel lives on")


def test_other_variables_have_another_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that choose NumPy's kernels do; those that differ between two kernels do not."""
    usual = quick_kernel.name()
    monkeypatch.setenv("JPY_SESSION_NAME", "other")
    monkeypatch.setenv("PYTEST_CURRENT_TEST", "other")
    assert quick_kernel.name() == usual
    monkeypatch.setenv("OPENBLAS_CORETYPE", "SandyBridge")
    assert quick_kernel.name() != usual


def test_where_nothing_forks_the_kernel_starts_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(quick_kernel, "start", started.append)
    quick_kernel.main(["-f", "a.json"])
    assert started == [["-f", "a.json"]]


@linux
def test_the_server_ends_when_nobody_asks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(quick_kernel, "PATIENCE", 0.1)
    monkeypatch.setattr(quick_kernel, "MODULES", ())
    monkeypatch.setattr(quick_kernel.signal, "signal", lambda *_: None)
    monkeypatch.setenv("MPLBACKEND", "agg")  # put back afterwards
    begun = time.monotonic()
    quick_kernel.serve()
    assert list(tmp_path.iterdir()) == []
    assert time.monotonic() - begun < 5
