"""The project's address: the buttons that it switches on, and what they open."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import notebooks_to_host
import page_checks
import pytest
import yaml
from builds import sphinx
from IPython.core.interactiveshell import InteractiveShell
from packaging.requirements import Requirement
from reader_cells import install
from repository import FORM, NOTEBOOKS, address, wheels
from sphinx.errors import ExtensionError

ROOT = Path(__file__).resolve().parents[1]
URL = "https://github.com/a/b"


@pytest.fixture(scope="module")
def branch(built_book: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the workflow puts on the branch of the notebooks."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(notebooks_to_host, "READERS", built_book / "notebooks")
        patch.setattr(notebooks_to_host, "OUT", tmp_path_factory.mktemp("to-host"))
        patch.delenv("SOURCE_DATE_EPOCH", raising=False)
        notebooks_to_host.main()
        return notebooks_to_host.OUT


CONF = f"""
import sys
sys.path[:0] = [{str(ROOT / "book" / "_ext")!r}, {str(ROOT)!r}]
extensions = ["myst_parser", "frame", "repository"]
html_theme, root_doc, templates_path = "basic", "book/04-gru-forward", [{str(ROOT / "book" / "_templates")!r}]
html_theme_options = {{"repository_url": "", "repository_branch": "main"}}
"""
GITHUB, GITLAB = "https://github.com/some-body/fork", "https://gitlab.com/a/b"


@pytest.mark.parametrize(
    ("url", "environment", "links"),
    [
        (
            "",
            {"GITHUB_REPOSITORY": "some-body/fork", "GITHUB_SERVER_URL": "https://github.com"},
            {
                GITHUB,
                f"{GITHUB}/releases",
                f"{GITHUB}/issues/new?template={FORM}&page=book/04-gru-forward",
                f"{GITHUB}/edit/main/book/04-gru-forward.md",
                "https://colab.research.google.com/github/some-body/fork/blob/notebooks/04-gru-forward.ipynb",
                "https://mybinder.org/v2/gh/some-body/fork/notebooks?urlpath=lab/tree/04-gru-forward.ipynb",
            },
        ),
        ("", {"GITHUB_REPOSITORY": "a/b", "GITHUB_SERVER_URL": "https://a.example"}, set()),
        (
            GITLAB,
            {},
            {GITLAB, *(f"{GITLAB}/-/{to}" for to in ("releases", "issues/new", "edit/main/book/04-gru-forward.md"))},
        ),
    ],
    ids=["github's CI", "elsewhere", "gitlab"],
)
def test_a_page_has_the_buttons_of_its_host(
    tmp_path: Path, url: str, environment: dict[str, str], links: set[str]
) -> None:
    (tmp_path / "book").mkdir()
    (tmp_path / "book" / "04-gru-forward.md").write_text("# The GRU\n\nIn {repository}`its folder`.\n", "utf8")
    (tmp_path / "conf.py").write_text(CONF.replace('"repository_url": ""', f'"repository_url": "{url}"'), "utf8")
    done = sphinx("-q", str(tmp_path), str(tmp_path / "out"), **environment)
    assert done.returncode == 0, done.stderr
    page = page_checks.parse(tmp_path / "out" / "book" / "04-gru-forward.html")
    found = {page_checks.value(link, "href") for link in page.css("a[href]")}
    named = {link.partition("?issue[")[0] for link in found if re.search("github|gitlab|colab|binder", link)}
    assert named == links
    in_words = [page_checks.value(a, "href") for a in page.css("a[href]") if a.text() == "its folder"]
    assert "In its folder." in page.text() and in_words == sorted({GITHUB, GITLAB} & links)


def test_the_form_for_issues_takes_the_page_that_the_button_names() -> None:
    form = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / FORM).read_text("utf8"))
    assert "page" in {field["id"] for field in form["body"]}


def test_an_address_that_the_buttons_cannot_use_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_REPOSITORY", "gru-book")
    with pytest.raises(ExtensionError, match="GITHUB_REPOSITORY must be like somebody/gru-book; got 'gru-book'"):
        address("")


def test_the_branch_holds_every_notebook_and_the_wheels_that_its_first_cell_installs(branch: Path) -> None:
    listed = re.findall(r"^- \[\d+[a-z]?\. .+\]\((\S+)\)$", (branch / "README.md").read_text("utf8"), re.M)
    assert listed == sorted(path.name for path in (ROOT / "book").glob("[0-9]*.ipynb"))
    assert all((branch / name).is_file() for name in listed)
    asked = re.search(r"^    %pip install -q (.+)$", install(wheels(URL)), re.M)[1]
    for requirement in map(Requirement, re.findall('"(.+?)"', asked)):
        place, _, file = requirement.url.rpartition("/")
        assert place == f"{URL}/raw/{NOTEBOOKS}" and file.startswith(requirement.name.replace("-", "_"))
        with zipfile.ZipFile(branch / file) as built:
            days = {entry.date_time[:3] for entry in built.infolist()}
        assert days == {(1980, 1, 1)}, "the same project, the same bytes"


def test_the_first_cell_installs_the_wheel_where_the_library_is_not_and_nowhere_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    shell = InteractiveShell()
    shell.register_magic_function(asked.append, magic_name="pip")
    shell.run_cell(install(wheels(URL))).raise_error()
    assert asked == []
    monkeypatch.setitem(sys.modules, "gru_book", None)
    shell.run_cell(install(wheels(URL))).raise_error()
    assert [re.findall(r' @ (.+?)"', line) for line in asked] == [wheels(URL)]


def test_binder_installs_the_wheel_and_a_part_of_the_lock(branch: Path) -> None:
    text, lock = (
        (branch / "binder" / "requirements.txt").read_text("utf8"),
        (ROOT / "requirements.lock").read_text("utf8"),
    )
    part = set(re.findall(r"^(\S+==\S+)", text, re.M))
    assert part < set(re.findall(r"^(\S+==\S+)", lock, re.M))
    assert {"numpy", "matplotlib", "anywidget"} <= {line.partition("==")[0] for line in part}
    ours = re.findall(r"^\./(\S+) --hash=sha256:(\w+)$", text, re.M)
    assert len(ours) == 2
    assert all(hashlib.sha256((branch / file).read_bytes()).hexdigest() == digest for file, digest in ours)
    python = (branch / "binder" / "runtime.txt").read_text("utf8").strip().removeprefix("python-")
    assert f"Programming Language :: Python :: {python}" in (ROOT / "pyproject.toml").read_text("utf8")


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
