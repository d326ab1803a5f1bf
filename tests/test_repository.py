"""The project's address: the buttons that it switches on, and what they open."""

from __future__ import annotations

import ast
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import hosted
import jinja2
import nbformat
import page_checks
import pytest
import theme_style
import yaml
from builds import Done, sphinx
from docutils import nodes
from docutils.utils import new_document
from fontTools.ttLib import TTFont
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from reader_editions import write_whole
from repository import FORM, NOTEBOOKS, add_buttons, offer_launch
from sphinx.config import Config
from sphinx.errors import ExtensionError
from sphinx.util.matching import get_matching_files

ROOT = Path(__file__).resolve().parents[1]
URL = "https://github.com/a/b"
CHAPTERS = sorted(path.stem for path in (ROOT / "book").glob("[0-9]*.ipynb"))
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "book.yml").read_text("utf8"))["jobs"]


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


def test_without_an_address_no_page_has_a_button_to_a_repository() -> None:
    config = page_buttons("")
    assert not [name for name, value in config.html_theme_options.items() if name != "repository_branch" and value]
    assert config.html_context == {"default_mode": "auto"}
    assert launch("", "book/04-gru-forward") == []


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


@pytest.mark.parametrize("environment", [{}, {"GITHUB_REPOSITORY": "a/b", "GITHUB_SERVER_URL": "https://a.example"}])
def test_elsewhere_they_have_none(environment: dict[str, str], tmp_path: Path) -> None:
    assert small_book(tmp_path, **environment).returncode == 0
    assert hosts_named(tmp_path) == set()


def test_a_repository_that_is_none_is_refused(tmp_path: Path) -> None:
    done = small_book(tmp_path, GITHUB_REPOSITORY="gru-book")
    assert done.returncode and "GITHUB_REPOSITORY must be like somebody/gru-book; got 'gru-book'" in done.stderr


@pytest.mark.parametrize(
    ("host", "edit"), [("https://github.com/a/b", "edit/main/"), ("https://gitlab.com/a/b", "-/edit/main/")]
)
def test_with_an_address_every_page_has_buttons_and_a_chapter_is_edited_in_its_text(host: str, edit: str) -> None:
    config = page_buttons(host)
    on = {name for name, value in config.html_theme_options.items() if value is True}
    assert on == {"use_repository_button", "use_issues_button", "use_edit_page_button"}
    template = jinja2.Template(config.html_context["edit_page_url_template"])
    chapter, page = (template.render(file_name=f) for f in ("book/04-gru-forward.ipynb", "book/notation.md"))
    assert chapter == f"{host}/{edit}book_text/04-gru-forward.md"
    assert page == f"{host}/{edit}book/notation.md"


@pytest.mark.parametrize(
    "url", ["gru-book", "http://github.com/a/b", "https://github.com/a", "https://example.com/a/b"]
)
def test_an_address_that_the_buttons_cannot_use_is_refused(url: str) -> None:
    with pytest.raises(ExtensionError, match=r"repository\.url must be like https://github\.com/"):
        page_buttons(url)


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


def test_the_font_and_the_style_sheet_have_the_icons_of_the_buttons() -> None:
    (group,) = launch(URL, "book/04-gru-forward")
    icons = {each["icon"].rpartition(" ")[2] for each in (group, *group["buttons"])}
    style = (theme_style.THEME / theme_style.STYLE).read_text("utf8")
    with_them, without = (theme_style.icons(theme_style.without_unused(style, used)) for used in (icons, set()))
    found = with_them - without
    assert len(found) == len(icons) and found <= TTFont(theme_style.THEME / theme_style.FONT).getBestCmap().keys()


# ----------------------------------------------------------------------------------------------------------- the branch


@pytest.mark.parametrize("url", [URL, "https://gitlab.com/a/b", ""])
def test_the_first_cell_of_an_edition_installs_a_wheel_that_is_on_the_branch(
    url: str, branch: Path, tmp_path: Path
) -> None:
    title = nodes.section("", nodes.title("", "The GRU"), ids=["the-gru"])
    page = new_document("04")
    page += title
    config = SimpleNamespace(html_theme_options=page_buttons(url).html_theme_options, gru_solutions="folded")
    config.html_baseurl, config.html_title, config.maths_macros = "", "A book", {}
    env = SimpleNamespace(toc_fignumbers={}, doc2path=lambda docname: ROOT / f"{docname}.ipynb")
    app = SimpleNamespace(config=config, env=env, outdir=tmp_path / "html", builder=SimpleNamespace(format="html"))
    write_whole(app, page, "book/04-gru-forward")
    first = nbformat.read(tmp_path / "editions" / "04-gru-forward.ipynb", as_version=4).cells[1].source
    asked = Requirement(re.search(r'^# %pip install "(.+)"$', first, re.M)[1])
    if url != URL:
        assert asked.url is None
        return
    address, _, file = asked.url.rpartition("/")
    assert address == f"{URL}/raw/{NOTEBOOKS}"
    with zipfile.ZipFile(branch / file) as wheel:
        metadata = wheel.read(next(n for n in wheel.namelist() if n.endswith("/METADATA"))).decode()
    assert asked.extras <= set(re.findall(r"^Provides-Extra: (.+)$", metadata, re.M))


def packages(text: str) -> dict[str, str]:
    """What a lock says of each package: version, marker and hashes."""
    parts = re.findall(r"^(\S+?)(==.*\n(?: .*\n)*)", text, re.M)
    return {name: "".join(said for one, said in parts if one == name) for name, _ in parts}


def test_binder_installs_the_wheel_and_a_part_of_the_lock_with_a_python_that_is_tested(branch: Path) -> None:
    text = (branch / "binder" / "requirements.txt").read_text("utf8")
    part, lock = packages(text), packages((ROOT / "requirements.lock").read_text("utf8"))
    assert part.items() <= lock.items() and 10 < len(part) < len(lock) / 2
    file, digest = re.search(r"^\./(\S+) --hash=sha256:(\w+)\n\Z", text, re.M).groups()
    assert hashlib.sha256((branch / file).read_bytes()).hexdigest() == digest
    python = (branch / "binder" / "runtime.txt").read_text("utf8").strip().removeprefix("python-")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["project"]
    assert f"Programming Language :: Python :: {python}" in project["classifiers"]


def imports(code: str) -> set[str]:
    """The packages that a piece of code imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found |= {each.name.partition(".")[0] for each in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(node.module.partition(".")[0])
    return found - set(sys.stdlib_module_names)


def test_what_binder_installs_holds_all_that_notebooks_import_and_all_that_this_needs(branch: Path) -> None:
    code = [
        c.source for p in branch.glob("*.ipynb") for c in nbformat.read(p, as_version=4).cells if c.cell_type == "code"
    ]
    from_where = metadata.packages_distributions()
    used = {canonicalize_name(package) for name in set().union(*map(imports, code)) for package in from_where[name]}
    assert {"gru-lib", "numpy", "matplotlib"} <= used
    there = {"gru-lib", *packages((branch / "binder" / "requirements.txt").read_text("utf8"))}
    assert used - there == set()
    # pip installs nothing without a hash, so nothing may be left for it to find.
    asked = [Requirement(each) for name in there for each in metadata.requires(name) or ()]
    where = hosted.BINDER | {"extra": ""}
    needed = {canonicalize_name(r.name) for r in asked if r.marker is None or r.marker.evaluate(where)}
    assert needed - there == set()


def test_the_wheel_holds_no_time_so_the_same_project_gives_the_same_branch(branch: Path) -> None:
    (wheel,) = branch.glob("*.whl")
    assert {entry.date_time[:3] for entry in zipfile.ZipFile(wheel).infolist()} == {(1980, 1, 1)}


def test_the_workflow_makes_the_branch_after_the_book_and_pushes_it_before_the_pages() -> None:
    made = [step.get("run", step.get("with", {}).get("path")) for step in WORKFLOW["test"]["steps"]]
    folder = hosted.OUT.relative_to(ROOT).as_posix()
    order = [made.index(each) for each in (".ci/run", ".venv/bin/python tools/hosted.py", folder)]
    assert order == sorted(order)
    steps = WORKFLOW["test"]["steps"]
    asked = next(step for step in steps if step.get("uses", "").startswith("actions/configure-pages@"))
    assert steps[made.index(".ci/run")]["env"] == {"SITE_ADDRESS": f"${{{{ steps.{asked['id']}.outputs.base_url }}}}"}
    assert asked["continue-on-error"] and WORKFLOW["test"]["permissions"]["pages"] == "read"
    given = next(step["with"] for step in WORKFLOW["test"]["steps"] if step.get("with", {}).get("path") == folder)
    *_, taken, push, pages = WORKFLOW["publish"]["steps"]
    assert taken["with"] == {"name": given["name"], "path": folder}
    assert push["run"] == f".ci/notebooks {folder}"
    assert pages["uses"].startswith("actions/deploy-pages@")
    assert WORKFLOW["publish"]["permissions"]["contents"] == "write"


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


def test_an_environment_in_the_project_is_no_part_of_the_book(tmp_path: Path) -> None:
    """Whatever its name: what pip and npm bring has pages too."""
    for page in ("env/lib/python3/site-packages/a/README.md", "env/node_modules/b/README.md", "book/a.md"):
        (tmp_path / page).parent.mkdir(parents=True)
        (tmp_path / page).touch()
    excluded = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))["exclude_patterns"]
    assert list(get_matching_files(tmp_path, ["**.md"], excluded)) == ["book/a.md"]
