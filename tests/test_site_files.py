"""What stands around the pages of a site, built with an address and without one: a book of two pages."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit
from xml.etree import ElementTree

import page_checks
import pytest
import site_files
from builds import sphinx
from page_checks import value
from sphinx.errors import ExtensionError

ROOT = Path(__file__).resolve().parents[1]
ADDRESS = "https://somebody.github.io/gru-book/"
CONF = """
import sys
sys.path.insert(0, {extensions!r})
extensions = ["myst_parser", "sphinxext.opengraph", "site_files"]
html_theme, html_title, html_static_path = "basic", "A book", {static!r}
html_baseurl, html_favicon, root_doc = {address!r}, {favicon!r}, "book/intro"
myst_enable_extensions = ["attrs_block"]


def setup(app):
    app.connect("build-finished", lambda app, _: __import__("site_files").write_files(app), priority=600)
"""
LEDE = "What it learns: to keep “h”, & when 1 < 2."


def git(folder: Path, *arguments: str, day: str = "2024-02-29") -> None:
    """Run git, on a day."""
    identity = {f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    dates = {f"GIT_{who}_DATE": f"{day}T12:00:00+0000" for who in ("AUTHOR", "COMMITTER")}
    subprocess.run(["git", *arguments], cwd=folder, env=os.environ | identity | dates, check=True)


def write(folder: Path, address: str = "") -> None:
    """Write the small book."""
    (folder / "book").mkdir(exist_ok=True)
    (folder / "book" / "intro.md").write_text(
        f"# Front\n\n{{.gru-lede}}\n{LEDE}\n\n```{{toctree}}\n01-gates\n```\n", "utf8"
    )
    (folder / "book" / "01-gates.md").write_text(f"# Gates\n\n{'A gate multiplies. ' * 20}\n\nThe end.\n", "utf8")
    static = ROOT / "book" / "_static"
    conf = CONF.format(
        extensions=str(ROOT / "book" / "_ext"),
        static=[str(static)],
        address=address,
        favicon=str(static / "favicon.svg"),
    )
    (folder / "conf.py").write_text(conf, "utf8")


def build(folder: Path, address: str = "") -> Path:
    """Write the small book and build it; the folder of its pages."""
    write(folder, address)
    again(folder)
    return folder / "out"


def again(folder: Path) -> str:
    """Build the small book as it stands; what is said."""
    done = sphinx("-n", "-W", str(folder), str(folder / "out"))
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def unhosted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The book without an address, in no repository."""
    return build(tmp_path_factory.mktemp("unhosted"))


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The book with an address, in a repository."""
    folder = tmp_path_factory.mktemp("hosted")
    write(folder)
    git(folder, "init", "-q")
    git(folder, "add", "book/01-gates.md")
    git(folder, "commit", "-q", "-m", "gates")
    return build(folder, ADDRESS)


def head(page: Path) -> dict[str, str]:
    """What a page's head says to other programs: its meta elements and its canonical link."""
    soup = page_checks.parse(page)
    found = {value(m, "property") or value(m, "name"): value(m, "content") for m in soup.css("meta[content]")}
    return found | {value(link, "rel"): value(link, "href") for link in soup.css("link[rel=canonical]")}


def test_page_describes_itself_by_its_lede(unhosted: Path) -> None:
    said = head(unhosted / "book" / "intro.html")
    assert said["description"] == said["og:description"] == LEDE
    assert (said["og:title"], said["og:site_name"]) == ("Front", "A book")


def test_page_without_a_lede_describes_itself_by_the_beginning(unhosted: Path) -> None:
    said = head(unhosted / "book" / "01-gates.html")["description"]
    assert said.startswith("A gate multiplies.")
    assert said.endswith(" …")
    assert 150 < len(said) <= 202


def test_without_an_address_no_page_names_a_site(unhosted: Path) -> None:
    assert not (unhosted / "sitemap.xml").exists()
    assert (unhosted / "robots.txt").read_text("utf8") == "User-agent: *\nAllow: /\n"
    for page in unhosted.rglob("*.html"):
        assert not {"canonical", "og:url", "og:image"} & set(head(page))


def test_with_an_address_every_page_says_its_own(hosted: Path) -> None:
    for name in ("book/intro.html", "book/01-gates.html"):
        said = head(hosted / name)
        assert said["canonical"] == said["og:url"] == ADDRESS + name
        assert (hosted / said["og:image"].removeprefix(ADDRESS)).is_file()
        assert said["twitter:card"] == "summary_large_image"
        assert said["og:image:alt"]


def test_the_variable_says_the_address_where_the_configuration_is_silent(tmp_path: Path) -> None:
    write(tmp_path)
    arguments = ("-q", str(tmp_path), str(tmp_path / "out"))
    assert sphinx(*arguments, SITE_ADDRESS=ADDRESS.rstrip("/")).returncode == 0  # so GitHub says it
    assert head(tmp_path / "out" / "book" / "intro.html")["canonical"] == ADDRESS + "book/intro.html"
    assert "SITE_ADDRESS must be like https://" in sphinx(*arguments, SITE_ADDRESS="a.github.io").stderr


def test_sitemap_lists_every_page(hosted: Path) -> None:
    tree = ElementTree.parse(hosted / "sitemap.xml")
    pages = [e.text for e in tree.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")]
    assert pages == [f"{ADDRESS}book/01-gates.html", f"{ADDRESS}book/intro.html"]
    assert f"Sitemap: {ADDRESS}sitemap.xml" in (hosted / "robots.txt").read_text("utf8")


@pytest.mark.parametrize(("where", "root"), [("unhosted", "/"), ("hosted", "/gru-book/")])
def test_page_for_wrong_addresses_works_at_any_depth(where: str, root: str, request: pytest.FixtureRequest) -> None:
    out = request.getfixturevalue(where)
    page = page_checks.parse(out / "404.html")
    links = {value(e, "href") or value(e, "src") for e in page.css("[href], [src]")}
    inside = {urlsplit(link).path for link in links if not urlsplit(link).netloc and not link.startswith("#")}
    assert all(link.startswith(root) for link in inside)
    pages = inside - {root, f"{root}search.html"}  # which are of Jupyter Book and of search_index.py
    assert {link for link in pages if not (out / link.removeprefix(root)).is_file()} == set()
    assert {f"{root}book/intro.html", f"{root}search.html"} <= inside
    assert "canonical" not in head(out / "404.html")


def test_day_of_the_last_change_comes_from_git_alone(hosted: Path, unhosted: Path) -> None:
    assert "2024-02-29" in (hosted / "book" / "01-gates.html").read_text("utf8")
    for page in (hosted / "book" / "intro.html", unhosted / "book" / "01-gates.html"):  # not committed; no repository
        assert "ast updated" not in page.read_text("utf8")


@pytest.mark.parametrize("address", ["somebody.github.io/", "https://somebody.github.io/gru-book"])
def test_half_an_address_is_refused(address: str) -> None:
    with pytest.raises(ExtensionError, match=f"html.baseurl must be like https://.*; got '{address}'"):
        site_files.set_address(None, SimpleNamespace(html_baseurl=address))
