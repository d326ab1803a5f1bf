"""The project's address: the buttons that it switches on, and what they open."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tomllib
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hosted
import jinja2
import page_checks
import pytest
import yaml
from builds import Done, sphinx
from edition_cells import install
from packaging.requirements import Requirement
from repository import FORM, NOTEBOOKS, add_buttons, address, offer_launch, wheel
from sphinx.config import Config
from sphinx.errors import ExtensionError

ROOT = Path(__file__).resolve().parents[1]
URL = "https://github.com/a/b"
CHAPTERS = sorted(path.stem for path in (ROOT / "book").glob("[0-9]*.ipynb"))


def page_buttons(url: str) -> Config:
    """The configuration of the book with the repository at an address."""
    config = Config({"html_theme": "sphinx_book_theme"})
    config.html_theme_options = {"repository_url": url, "repository_branch": "main"}
    config.html_context = {"default_mode": "auto"}
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("GITHUB_REPOSITORY", raising=False)
        add_buttons(None, config)
    return config


def launch(url: str, page: str) -> list[dict[str, Any]]:
    """The groups of buttons that a page gets to run it."""
    context: dict[str, Any] = {"header_buttons": []}
    offer_launch(SimpleNamespace(config=page_buttons(url)), page, "", context, None)
    return context["header_buttons"]


@pytest.fixture(scope="module")
def branch(built_book: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the workflow puts on the branch of the notebooks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hosted, "EDITIONS", built_book / "notebooks")
        patch.setattr(hosted, "OUT", tmp_path_factory.mktemp("hosted"))
        patch.delenv("SOURCE_DATE_EPOCH", raising=False)
        hosted.main()
        return hosted.OUT


# ---------------------------------------------------------------------------------------------------------- the buttons


CONF = f"""
import sys
sys.path[:0] = [{str(ROOT / "book" / "_ext")!r}, {str(ROOT)!r}]
extensions = ["myst_parser", "repository"]
html_theme, root_doc = "sphinx_book_theme", "book/04-gru-forward"
html_theme_options = {{"repository_url": "", "repository_branch": "main"}}
"""


def small_book(folder: Path, **environment: str) -> Done:
    """Build a book of one chapter that has no address in its configuration."""
    (folder / "book").mkdir()
    (folder / "book" / "04-gru-forward.md").write_text("# The GRU\n", "utf8")
    (folder / "conf.py").write_text(CONF, "utf8")
    return sphinx("-q", str(folder), str(folder / "out"), **environment)


def hosts_named(folder: Path) -> set[str]:
    """The links from the small book's page to where a project is hosted or run."""
    page = page_checks.parse(folder / "out" / "book" / "04-gru-forward.html")
    links = {page_checks.value(link, "href") for link in page.css("a[href]")}
    return {link for link in links if re.search("github|gitlab|colab|binder", link)}


def test_in_the_ci_of_a_fork_the_pages_have_its_buttons(tmp_path: Path) -> None:
    done = small_book(tmp_path, GITHUB_REPOSITORY="some-body/fork", GITHUB_SERVER_URL="https://github.com")
    assert done.returncode == 0, done.stderr
    fork = "https://github.com/some-body/fork"
    assert hosts_named(tmp_path) == {
        fork,
        f"{fork}/issues/new?template={FORM}&page=book/04-gru-forward",
        f"{fork}/edit/main/book/04-gru-forward.md",
        "https://colab.research.google.com/github/some-body/fork/blob/notebooks/04-gru-forward.ipynb",
        "https://mybinder.org/v2/gh/some-body/fork/notebooks?urlpath=lab/tree/04-gru-forward.ipynb",
    }
    form = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / FORM).read_text("utf8"))
    assert "page" in {field["id"] for field in form["body"]}, "which the address fills in"
    assert "fab " not in (tmp_path / "out" / "book" / "04-gru-forward.html").read_text("utf8")


def test_elsewhere_they_have_none(tmp_path: Path) -> None:
    assert small_book(tmp_path, GITHUB_REPOSITORY="a/b", GITHUB_SERVER_URL="https://a.example").returncode == 0
    assert hosts_named(tmp_path) == set()


def test_with_an_address_on_gitlab_every_page_has_buttons_and_a_chapter_is_edited_in_its_text() -> None:
    config = page_buttons("https://gitlab.com/a/b")
    on = {name for name, value in config.html_theme_options.items() if value is True}
    assert on == {"use_repository_button", "use_issues_button", "use_edit_page_button"}
    template = jinja2.Template(config.html_context["edit_page_url_template"])
    chapter = template.render(file_name="book/04-gru-forward.ipynb")
    assert chapter == "https://gitlab.com/a/b/-/edit/main/book_text/04-gru-forward.md"


@pytest.mark.parametrize("url", ["gru-book", "https://github.com/a", "https://example.com/a/b"])
def test_an_address_that_the_buttons_cannot_use_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ExtensionError, match=r"repository\.url must be like https://github\.com/"):
        page_buttons(url)
    monkeypatch.setenv("GITHUB_REPOSITORY", "gru-book")
    with pytest.raises(ExtensionError, match="GITHUB_REPOSITORY must be like somebody/gru-book; got 'gru-book'"):
        address("")


def test_every_button_of_a_chapter_opens_a_file_that_is_on_the_branch(branch: Path) -> None:
    for name in CHAPTERS:
        (group,) = launch(URL, f"book/{name}")
        colab, binder = (button["url"] for button in group["buttons"])
        of, _, file = colab.partition("https://colab.research.google.com/github/")[2].partition(f"/{NOTEBOOKS}/")
        assert (of, file) == ("a/b/blob", f"{name}.ipynb")
        of, _, file = binder.partition("https://mybinder.org/v2/gh/")[2].partition(f"/{NOTEBOOKS}?urlpath=lab/tree/")
        assert (of, file) == ("a/b", f"{name}.ipynb")
        assert (branch / file).is_file()


def test_only_chapters_have_them_and_only_on_github_which_runs_the_workflow() -> None:
    assert launch(URL, "book/notation") == launch("https://gitlab.com/a/b", "book/04-gru-forward") == []


# ----------------------------------------------------------------------------------------------------------- the branch


def test_the_first_cell_of_an_edition_installs_a_wheel_that_is_on_the_branch(branch: Path) -> None:
    asked = Requirement(re.search(r'^# %pip install "(.+)"$', install(wheel(URL)), re.M)[1])
    place, _, file = asked.url.rpartition("/")
    assert place == f"{URL}/raw/{NOTEBOOKS}"
    with zipfile.ZipFile(branch / file) as built:
        metadata = built.read(next(n for n in built.namelist() if n.endswith("/METADATA"))).decode()
        assert {entry.date_time[:3] for entry in built.infolist()} == {(1980, 1, 1)}, "the same project, the same bytes"
    assert asked.extras <= set(re.findall(r"^Provides-Extra: (.+)$", metadata, re.M))
    assert wheel("https://gitlab.com/a/b") == wheel("") == ""


def packages(text: str) -> dict[str, str]:
    """What a lock says of each package: version, marker and hashes."""
    parts = re.findall(r"^(\S+?)(==.*\n(?: .*\n)*)", text, re.M)
    return {name: "".join(said for one, said in parts if one == name) for name, _ in parts}


def test_binder_installs_the_wheel_and_a_part_of_the_lock_with_a_python_that_is_tested(branch: Path) -> None:
    text = (branch / "binder" / "requirements.txt").read_text("utf8")
    part, lock = packages(text), packages((ROOT / "requirements.lock").read_text("utf8"))
    assert part.items() <= lock.items() and len(part) < len(lock) / 2
    assert {"numpy", "matplotlib", "anywidget"} <= part.keys()
    file, digest = re.search(r"^\./(\S+) --hash=sha256:(\w+)\n\Z", text, re.M).groups()
    assert hashlib.sha256((branch / file).read_bytes()).hexdigest() == digest
    python = (branch / "binder" / "runtime.txt").read_text("utf8").strip().removeprefix("python-")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["project"]
    assert f"Programming Language :: Python :: {python}" in project["classifiers"]


@pytest.mark.skipif(os.name == "nt" or not shutil.which("git"), reason="the workflow runs it on Linux")
def test_the_branch_is_one_commit_that_keeps_earlier_wheels_and_changes_only_with_its_files(tmp_path: Path) -> None:
    def git(*command: str) -> str:
        done = subprocess.run(("git", *command), cwd=tmp_path / "work", capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def push(**files: str) -> str:
        folder = tmp_path / "work" / "made"
        shutil.rmtree(folder, ignore_errors=True)
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, "utf8")
        subprocess.run([ROOT / ".ci" / "notebooks", "made"], cwd=tmp_path / "work", check=True, capture_output=True)
        return git("ls-remote", "origin", f"refs/heads/{NOTEBOOKS}").partition("\t")[0]

    (tmp_path / "work").mkdir()
    git("init", "-q", "--bare", str(tmp_path / "host"))
    git("init", "-q")
    git("remote", "add", "origin", (tmp_path / "host").as_uri())
    (tmp_path / "work" / "source.md").write_text("of the main branch", "utf8")
    git("add", "source.md")
    push(**{"lib-1.whl": "1", "lib-2.whl": "old", "04.ipynb": "old", "05.ipynb": "gone"})
    files = {"lib-2.whl": "new", "04.ipynb": "new", "binder/requirements.txt": "lock"}
    pushed = push(**files)
    git("fetch", "-q", "origin", NOTEBOOKS)
    assert git("rev-list", "--count", pushed) == "1"
    there = git("ls-tree", "-r", "--name-only", pushed).split()
    assert {name: git("show", f"{pushed}:{name}") for name in there} == files | {"lib-1.whl": "1"}
    assert push(**files) == pushed
