"""tools/browser.py on a machine made for the test: a folder of small scripts that stand for the programs."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import browser
import pytest

Program = Callable[..., Path]
WORKS, FAILS = "exit 0", "echo 'install the snap'; exit 1"


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Put a script on the path, which holds nothing else: ``program(name, body)`` is where it stands."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setattr(browser, "playwrights_own", lambda: None)

    def make(name: str, body: str) -> Path:
        path = folder / name
        path.write_text(f"#!/bin/sh\n{body}\n", "utf8")
        path.chmod(0o755)
        return path

    # Python, asked for `-m playwright install chromium`: no network here, unless a test says otherwise.
    monkeypatch.setattr(browser.sys, "executable", str(make("python", FAILS)))
    return make


def brings(folder: Path, name: str, said: Path) -> str:
    """The body of an installer: it notes what it was asked for and puts a browser on the path."""
    return f"echo \"$@\" >> {said}\nprintf '#!/bin/sh\\nexit 0\\n' > {folder / name}\n/bin/chmod +x {folder / name}"


def test_chromium_on_the_path_is_found(program: Program) -> None:
    path = program("chromium", WORKS)
    assert browser.find() == str(path)


def test_the_one_without_windows_comes_first(program: Program) -> None:
    program("chromium", WORKS)
    path = program("chromium-headless-shell", WORKS)
    assert browser.find() == str(path)


def test_one_that_does_not_start_is_passed_over(program: Program) -> None:
    program("chromium-browser", FAILS)
    path = program("google-chrome", WORKS)
    assert browser.find() == str(path)


def test_named_one_comes_first_and_is_not_replaced(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    program("chromium", WORKS)
    named = program("mine", WORKS)
    monkeypatch.setenv("CHROMIUM", str(named))
    assert browser.find() == str(named)
    monkeypatch.setenv("CHROMIUM", str(named.parent / "nowhere"))
    assert browser.find() is None
    with pytest.raises(SystemExit, match=r"CHROMIUM=.*nowhere does not start"):
        browser.main()


def test_playwrights_own_is_found(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(program("headless_shell", WORKS))
    monkeypatch.setattr(browser, "playwrights_own", lambda: path)
    assert browser.find() == path


def test_nothing_is_installed_where_there_is_one(
    program: Program, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = program("chromium", WORKS)
    program("python", f": > {tmp_path / 'asked'}")
    browser.main()
    assert str(path) in capsys.readouterr().out
    assert not (tmp_path / "asked").exists()


def test_playwright_is_asked_first(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    program("python", brings(tmp_path / "bin", "chrome", tmp_path / "said"))
    program("apt-get", f": > {tmp_path / 'apt'}")
    browser.main()
    assert (tmp_path / "said").read_text("utf8") == "-m playwright install chromium\n"
    assert not (tmp_path / "apt").exists()


@pytest.mark.parametrize("package", ["chromium-headless-shell", "chromium"])
def test_root_gets_the_package_that_there_is(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    unknown = f'case "$*" in install*) case "$*" in *" {package}") ;; *) exit 100 ;; esac ;; esac'
    program("apt-get", f"{unknown}\n{brings(tmp_path / 'bin', package, tmp_path / 'said')}")
    browser.main()
    said = (tmp_path / "said").read_text("utf8").splitlines()
    assert [line.split()[0] for line in said] == ["update", "install"]
    assert said[-1].endswith(f" {package}")


@pytest.mark.parametrize("user", [0, 1000], ids=["root without a package", "not root"])
def test_advice_is_given_where_nothing_helps(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: int
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    program("apt-get", f": > {tmp_path / 'apt'}; exit 100")
    with pytest.raises(SystemExit, match="sudo apt-get install chromium"):
        browser.main()
    assert (tmp_path / "apt").exists() == (user == 0)
