"""A release has the version of its tag, a date, and every file that it promises."""

from __future__ import annotations

import re
import shutil
import tomllib
import zipfile
from pathlib import Path

import do
import pytest
import release

import gru_lib

ROOT = Path(__file__).resolve().parents[1]
VERSION = gru_lib.__version__


def project(folder: Path, changelog: str, citation: str) -> Path:
    (folder / "CHANGELOG.md").write_text(f"# Changelog\n\n## {changelog}\n", "utf8")
    (folder / "CITATION.cff").write_text(f"cff-version: 1.2.0\n{citation}\n", "utf8")
    return folder


def test_a_dated_version_may_be_released_under_its_own_tag_alone(tmp_path: Path) -> None:
    root = project(tmp_path, f"{VERSION}, 2027-01-31", "date-released: 2027-01-31")
    assert list(release.faults(f"v{VERSION}", root)) == []
    assert len(list(release.faults("v99", project(tmp_path, f"{VERSION}, not yet released", "message: cite")))) == 3


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
        kind = "a" if "." in command else "b"
        names = (f"{kind}.whl", f"{kind}.tar.gz") if command[:2] == ("-m", "build") else ("",)
        for name in names:
            (target / name if name else target).write_bytes(b"made")

    monkeypatch.setattr(release, "run", run)
    return tmp_path


def test_a_release_holds_wheels_sdists_book_pdf_and_notebooks(built: Path) -> None:
    release.main(None)
    book = f"gru-book-{VERSION}"
    wanted = {"a.whl", "a.tar.gz", "b.whl", "b.tar.gz", f"{book}.zip", f"{book}.pdf", f"{book}-notebooks.zip"}
    assert {path.name for path in (built / "out").iterdir()} == wanted
    assert f"{book}/index.html" in zipfile.ZipFile(built / "out" / f"{book}.zip").namelist()


@pytest.mark.parametrize(("site", "chapter"), [
    ("", r"https://github\.com/a/b/blob/notebooks/([\w-]+)\.ipynb"),
    ("https://a/b", r"https://a/b/book/([\w-]+)\.html"),
])  # fmt: skip
def test_on_the_package_index_links_lead_to_the_repository_and_chapters_to_where_they_read_well(
    site: str, chapter: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_REPOSITORY", "a/b")
    monkeypatch.setenv("SITE_ADDRESS", site)
    files = [Path(shutil.copy(ROOT / name, tmp_path)) for name in ("README.md", "pyproject.toml")]
    with release.for_the_index("v1", tmp_path):
        text, project = (file.read_text("utf8") for file in files)
    assert [file.read_bytes() for file in files] == [(ROOT / file.name).read_bytes() for file in files]
    links = [link for link in re.findall(r'(?:\]\(|src="|srcset=")([^)"]*)', text) if not link.startswith("#")]
    here = {re.sub(r"^https://github\.com/a/b/(?:blob|raw)/v1/", "", link) for link in links}
    here = {re.sub(chapter, r"book_text/\1.md", link) for link in here}
    assert all(link.startswith("https://") for link in links) and len(here) > 4
    assert {link for link in here if not (ROOT / link).is_file()} == set()
    assert len(re.findall(chapter, text)) == 3
    assert 'src="https://github.com/a/b/raw/v1/.github/reader-light.svg"' in text
    urls = tomllib.loads(project)["project"]["urls"]
    assert (urls["Source"], urls.get("Book")) == ("https://github.com/a/b", site or None)


def test_workflows_run_commands_that_there_are() -> None:
    texts = [path.read_text("utf8") for path in (ROOT / ".github" / "workflows").glob("*.yml")]
    assert {"release", "links", "lint"} <= set(re.findall(r"tools/do\.py (\w+)", "".join(texts))) <= set(do.COMMANDS)
