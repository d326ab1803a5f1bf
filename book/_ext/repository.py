"""Buttons that lead to the project's repository, on every page, once it is known where that is.

``repository.url`` in ``_config.yml`` says it. While it is empty, a build in GitHub's CI takes the repository that it
runs in, so a fork need not write its address; any other build has none, and no page names a repository. With an
address each page gets buttons to the repository, to an issue about the page and to the page's source, and the role
``{repository}`` links its words to it. A chapter's source is its text in ``book_text``, from which its notebook is
made. On GitHub each chapter also gets buttons that open its notebook on Colab and Binder, from the branch
`NOTEBOOKS`, to which the workflow pushes what ``tools/notebooks_to_host.py`` makes.
"""

from __future__ import annotations

import os
import re
from typing import Any

from chapter_numbers import is_chapter
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxRole

from gru_lib import __version__ as VERSION

NOTEBOOKS = "notebooks"
GITHUB = "https://github.com/"
FORM = "page.yml"  # in .github/ISSUE_TEMPLATE: a mistake on a page


def address(url: str) -> str:
    """The address in ``_config.yml``, or, if that is empty, of the repository on GitHub whose CI builds this."""
    name = os.environ.get("GITHUB_REPOSITORY", "")
    server = os.environ.get("GITHUB_SERVER_URL") or GITHUB
    if url or not name or server.rstrip("/") + "/" != GITHUB:
        return url
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise ExtensionError(f"GITHUB_REPOSITORY must be like somebody/gru-book; got {name!r}")
    return GITHUB + name


def sources(url: str, branch: str, page: str, file: str) -> list[tuple[str, str]]:
    """The buttons of a page for a repository at `url`, where its source is `file`; none if there is no repository."""
    if not url:
        return []
    match = re.fullmatch(r"https://(github|gitlab)\.com/[\w.-]+/[\w.-]+", url)
    if match is None:
        raise ExtensionError(f"repository.url must be like https://github.com/somebody/gru-book; got {url!r}")
    place = url if match[1] == "github" else f"{url}/-"
    issue = f"template={FORM}&page={page}" if place == url else f"issue[title]={page}"
    if file.endswith(".ipynb"):
        file = file.replace("book/", "book_text/").replace(".ipynb", ".md")
    edit = [("Edit this page", f"{place}/edit/{branch}/{file}")] if file else []
    released = ("Releases, with a PDF of the book", f"{place}/releases")
    return [("Repository", url), released, ("Report a mistake", f"{place}/issues/new?{issue}"), *edit]


def wheels(url: str) -> list[str]:
    """Where the host has the wheels of `gru_lib` and `gru_book`; none without a host that has them."""
    names = (f"{name}-{VERSION}-py3-none-any.whl" for name in ("gru_lib", "gru_book"))
    return [f"{url}/raw/{NOTEBOOKS}/{name}" for name in names] if url.startswith(GITHUB) else []


def launchers(url: str, notebook: str) -> list[tuple[str, str]]:
    """The buttons that open a notebook from a repository at `url`; none if it is not on GitHub."""
    if not url.startswith(GITHUB):
        return []
    name = url.removeprefix(GITHUB)
    return [
        ("Colab", f"https://colab.research.google.com/github/{name}/blob/{NOTEBOOKS}/{notebook}"),
        ("Binder", f"https://mybinder.org/v2/gh/{name}/{NOTEBOOKS}?urlpath=lab/tree/{notebook}"),
    ]


def add_buttons(app: Sphinx, pagename: str, _template: str, context: dict[str, Any], doctree: Any) -> None:
    """Give a page its buttons, and a chapter's those that open its notebook."""
    url, file = app.config.gru_repository, str(app.env.doc2path(pagename, base=False)) if doctree else ""
    context["gru_source"] = sources(url, app.config.gru_branch, pagename, file)
    context["gru_run"] = launchers(url, f"{pagename.rpartition('/')[2]}.ipynb") if is_chapter(pagename) else []


class Repository(SphinxRole):
    """``{repository}`` with words: they lead to the repository, once it is known where that is."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Return a link, or the words alone."""
        url = self.config.gru_repository
        return [nodes.reference("", self.text, refuri=url) if url else nodes.inline("", self.text)], []


def find(_app: Sphinx, config: Config) -> None:
    """Take the address from where Jupyter Book puts it for its theme."""
    config.gru_repository = address(config.html_theme_options.get("repository_url", ""))
    config.gru_branch = config.html_theme_options.get("repository_branch", "main")
    sources(config.gru_repository, "", "", "")  # or it is refused


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    for name in ("gru_repository", "gru_branch"):
        app.add_config_value(name, "", "env")
    app.add_role("repository", Repository())
    app.connect("config-inited", find)
    app.connect("html-page-context", add_buttons)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
