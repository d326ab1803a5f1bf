"""What a release holds, made into ``_build/release``: ``python tools/release.py [TAG]``.

The wheel and the sdist, the built book as a zip that opens from disk and as a PDF, and the notebooks. With a tag, the
version must be the tag's, and CHANGELOG.md and CITATION.cff must have a date. The book has to be built before.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from gru_lib import __version__ as VERSION

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))
import repository  # noqa: E402

OUT = ROOT / "_build" / "release"
HTML = ROOT / "_build" / "html"
NOTEBOOKS = "notebooks/gru-book-notebooks.zip"  # in the built book: every chapter as a notebook to run


def faults(tag: str, root: Path = ROOT) -> Iterator[str]:
    """What of the project's files forbids a release under a tag. That they agree is held by tests/test_project.py."""
    if tag != f"v{VERSION}":
        yield f"the tag is {tag}, and gru_lib.__version__ is {VERSION}: the tag must be v{VERSION}"
    if not re.search(rf"^## {re.escape(VERSION)}, \d{{4}}-\d\d-\d\d$", (root / "CHANGELOG.md").read_text("utf8"), re.M):
        yield f"CHANGELOG.md has no heading '## {VERSION}, <date>'"
    if not re.search(r"^date-released: \d{4}-\d\d-\d\d$", (root / "CITATION.cff").read_text("utf8"), re.M):
        yield "CITATION.cff has no date-released"


def run(*command: str) -> None:
    """Run a Python program in the project's folder, and stop where it fails."""
    subprocess.run([sys.executable, *command], cwd=ROOT, check=True)


def from_elsewhere(readme: str, url: str, site: str, tag: str) -> str:
    """The README with links that lead to a repository at `url`, and those to chapters to where they read well."""
    if site or url.startswith(repository.GITHUB):
        chapter = rf"{site}/book/\1.html" if site else rf"{url}/blob/{repository.NOTEBOOKS}/\1.ipynb"
        readme = re.sub(r"(?<=\]\()book_text/(\d[\w-]+)\.md", chapter, readme)
    readme = re.sub(r'(?<=src=")(?!https?:)|(?<=srcset=")(?!https?:)', f"{url}/raw/{tag}/", readme)
    return re.sub(r"(?<=\]\()(?!https?:|#)", f"{url}/blob/{tag}/", readme)


@contextmanager
def for_the_index(tag: str | None, root: Path = ROOT) -> Iterator[None]:
    """PyPI shows the README, where relative links lead nowhere, and the project's addresses: in CI both are whole."""
    files = readme, project = root / "README.md", root / "pyproject.toml"
    own = [file.read_bytes() for file in files]
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf8"))
    url = repository.address(config["repository"]["url"])
    site = (config["html"]["baseurl"] or os.environ.get("SITE_ADDRESS", "")).rstrip("/")
    if tag and url:
        readme.write_text(from_elsewhere(own[0].decode(), url, site, tag), "utf8", newline="\n")
        named = {"Book": site, "Source": url, "Issues": f"{url}/issues", "Changelog": f"{url}/blob/{tag}/CHANGELOG.md"}
        lines = [f'{name} = "{place}"\n' for name, place in named.items() if place]
        project.write_text("".join([own[1].decode(), "\n[project.urls]\n", *lines]), "utf8", newline="\n")
    try:
        yield
    finally:
        for file, content in zip(files, own, strict=True):
            file.write_bytes(content)


def pack(folder: Path, name: str) -> None:
    """Zip a folder into the release, under its name."""
    top = OUT / name
    shutil.copytree(folder, top)
    shutil.make_archive(str(top), "zip", OUT, name)
    shutil.rmtree(top)


def main(tag: str | None) -> None:
    """Make every file of the release."""
    if tag and (found := list(faults(tag))):
        sys.exit("No release: " + "; ".join(found) + ".")
    for name in ("index.html", NOTEBOOKS):
        if not (HTML / name).is_file():
            sys.exit(f"There is no _build/html/{name}. Run `python tools/do.py book` first.")
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    with for_the_index(tag), TemporaryDirectory() as copy:  # setuptools leaves files of a build beside the sources
        shutil.copytree(ROOT / "gru_book", copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        for folder in (".", copy):
            run("-m", "build", "--quiet", "--no-isolation", folder, "--outdir", str(OUT))
    pack(HTML, f"gru-book-{VERSION}")
    shutil.copyfile(HTML / NOTEBOOKS, OUT / f"gru-book-{VERSION}-notebooks.zip")
    run("tools/pdf.py", str(OUT / f"gru-book-{VERSION}.pdf"))
    for file in sorted(OUT.iterdir()):
        print(f"{file.stat().st_size / 1e6:6.1f} MB  {file.name}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
