"""A release has the version of its tag, a date, and every file that it promises; workflows make it."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import do
import pytest
import release
import yaml

import gru_lib

ROOT = Path(__file__).resolve().parents[1]
VERSION = gru_lib.__version__
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def project(folder: Path, changelog: str, citation: str) -> Path:
    (folder / "CHANGELOG.md").write_text(f"# Changelog\n\n## {changelog}\n", "utf8")
    (folder / "CITATION.cff").write_text(f"cff-version: 1.2.0\n{citation}\n", "utf8")
    return folder


def test_a_dated_version_may_be_released_under_its_own_tag(tmp_path: Path) -> None:
    root = project(tmp_path, f"{VERSION}, 2027-01-31", "date-released: 2027-01-31")
    assert list(release.faults(f"v{VERSION}", root)) == []


def test_another_tag_and_missing_dates_are_faults(tmp_path: Path) -> None:
    root = project(tmp_path, f"{VERSION}, not yet released", "message: cite")
    faults = list(release.faults("v99", root))
    assert faults == [
        f"the tag is v99, and gru_lib.__version__ is {VERSION}: the tag must be v{VERSION}",
        f"CHANGELOG.md has no heading '## {VERSION}, <date>'",
        "CITATION.cff has no date-released",
    ]


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A built book of one page, and programs that leave a file where they were asked to."""
    (tmp_path / "html" / "notebooks").mkdir(parents=True)
    (tmp_path / "html" / "index.html").write_text("<p>book", "utf8")
    (tmp_path / "html" / release.NOTEBOOKS).write_bytes(b"notebooks")
    monkeypatch.setattr(release, "HTML", tmp_path / "html")
    monkeypatch.setattr(release, "OUT", tmp_path / "out")

    def run(*command: str) -> None:
        target = Path(command[-1])
        names = ("a.whl", "a.tar.gz") if command[:2] == ("-m", "build") else ("",)
        for name in names:
            (target / name if name else target).write_bytes(b"made")

    monkeypatch.setattr(release, "run", run)
    return tmp_path


def test_a_release_holds_wheel_sdist_book_pdf_and_notebooks(built: Path) -> None:
    release.main(None)
    book = f"gru-book-{VERSION}"
    wanted = {"a.whl", "a.tar.gz", f"{book}.zip", f"{book}.pdf", f"{book}-notebooks.zip"}
    assert {path.name for path in (built / "out").iterdir()} == wanted
    assert f"{book}/index.html" in zipfile.ZipFile(built / "out" / f"{book}.zip").namelist()


def test_without_notebooks_there_is_no_release(built: Path) -> None:
    (built / "html" / release.NOTEBOOKS).unlink()
    with pytest.raises(SystemExit, match=r"There is no _build/html/notebooks/gru-book-notebooks\.zip"):
        release.main(None)


def test_a_tag_that_is_not_the_version_is_refused(built: Path) -> None:
    with pytest.raises(SystemExit, match="the tag is v99"):
        release.main("v99")


def test_on_the_package_index_the_links_of_the_readme_lead_to_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_REPOSITORY", "a/b")
    file = tmp_path / "README.md"
    file.write_bytes((ROOT / "README.md").read_bytes())
    with release.readme_for_the_index("v1", file):
        text = file.read_text("utf8")
    assert file.read_bytes() == (ROOT / "README.md").read_bytes()
    links = re.findall(r'(?:\]\(|src="|srcset=")([^)"]*)', text)
    here = {re.sub(r"^https://github\.com/a/b/(?:blob|raw)/v1/", "", link) for link in links}
    assert all(link.startswith("https://") for link in links) and len(here) > 4
    assert {link for link in here if not (ROOT / link).is_file()} == set()
    assert 'src="https://github.com/a/b/raw/v1/.github/reader-light.svg"' in text


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_commands_that_there_are_and_end_runs_that_are_overtaken(workflow: Path) -> None:
    text = workflow.read_text("utf8")
    told = yaml.safe_load(text)
    assert "concurrency" in told and told["permissions"] == {"contents": "read"}
    assert all("timeout-minutes" in job or "environment" in job for job in told["jobs"].values())
    assert set(re.findall(r"tools/do\.py (\w+)", text)) <= set(do.COMMANDS)
    # One version of every action in all workflows, named by its major version, for dependabot to raise.
    uses = {use for path in WORKFLOWS for use in re.findall(r"uses: (\S+)", path.read_text("utf8"))}
    assert len({use.partition("@")[0] for use in uses}) == len(uses)
    assert all(re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v1)", use) for use in uses)


def test_a_tag_makes_a_release_and_every_week_the_links_are_asked() -> None:
    # YAML reads the key `on` as true.
    told = {path.stem: yaml.safe_load(path.read_text("utf8")) for path in WORKFLOWS}
    assert told["release"][True]["push"]["tags"] == ["v*"]
    assert "tools/do.py release" in str(told["release"]["jobs"]["build"]["steps"])
    assert "schedule" in told["weekly"][True] and "tools/do.py links" in str(told["weekly"]["jobs"])
    assert ".ci/run" in str(told["weekly"]["jobs"])
    assert "schedule" in told["frameworks"][True] and "pytest --frameworks" in str(told["frameworks"]["jobs"])


def test_dependabot_watches_packages_and_actions() -> None:
    told = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text("utf8"))
    assert {update["package-ecosystem"] for update in told["updates"]} == {"pip", "npm", "github-actions"}
    assert all((ROOT / update["directory"].lstrip("/")).is_dir() for update in told["updates"])
