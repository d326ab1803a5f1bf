"""tools/browser.py: the browser that is there is found; else one is asked for, in order; else there is advice."""

from __future__ import annotations

from pathlib import Path

import browser
import pytest


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder, all that is on the path; installers note that they were asked, and install nothing."""
    for name in ("python", "apt-get"):
        program(tmp_path, name, f"echo {name} $1 >> {tmp_path / 'asked'}")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setattr(browser, "playwrights_own", lambda: None)
    monkeypatch.setattr(browser.sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(browser.os, "geteuid", lambda: 0)
    (tmp_path / "sh").symlink_to("/bin/sh")
    return tmp_path


def program(folder: Path, name: str, body: str = "exit 0") -> str:
    """Write a script."""
    (folder / name).write_text(f"#!/bin/sh\n{body}\n", "utf8")
    (folder / name).chmod(0o755)
    return str(folder / name)


def test_the_one_that_is_named_comes_first_and_then_the_one_without_windows(
    machine: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program(machine, "chromium")
    shell, mine = program(machine, "chromium-headless-shell"), program(machine, "mine")
    assert browser.find() == shell
    monkeypatch.setenv("CHROMIUM", mine)
    browser.main()
    assert mine in capsys.readouterr().out
    monkeypatch.setenv("CHROMIUM", "/nowhere")
    with pytest.raises(SystemExit, match="CHROMIUM=/nowhere is no program"):
        browser.main()
    assert not (machine / "asked").exists()


def test_the_package_is_asked_for_before_playwright_and_advice_given_where_neither_comes(machine: Path) -> None:
    with pytest.raises(SystemExit, match="sudo apt-get install chromium-headless-shell"):
        browser.main()
    assert (machine / "asked").read_text("utf8").splitlines() == ["apt-get update", "apt-get install", "python -m"]


def test_who_is_not_root_gets_what_playwright_downloads(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser.os, "geteuid", lambda: 1000)
    program(machine, "python", f"echo > {machine}/chrome; /bin/chmod +x {machine}/chrome")
    browser.main()
    assert not (machine / "asked").exists()
