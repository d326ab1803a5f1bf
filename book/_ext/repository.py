"""Buttons that lead to the project's repository, on every page, once it is known where that is.

``repository.url`` in ``_config.yml`` says it. While it is empty, a build in GitHub's CI takes the repository that it
runs in, so a fork need not write its address; any other build has none, and no page names a repository. With an address
each page gets buttons to the repository, to an issue about the page and to the page's source. A chapter's source is its
text in ``book_text``, from which its notebook is made. On GitHub each chapter also gets buttons that open its edition
on Colab and Binder, from the branch `NOTEBOOKS`, to which the workflow pushes what ``tools/hosted.py`` makes.
"""

from __future__ import annotations

import os
import re
from typing import Any

from chapter_numbers import is_chapter
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError

from gru_lib import __version__ as VERSION

NOTEBOOKS = "notebooks"
GITHUB = "https://github.com/"
EDIT = {"github.com": "edit", "gitlab.com": "-/edit"}  # the part of an address between repository and branch
FORM = "page.yml"  # in .github/ISSUE_TEMPLATE: a mistake on a page
NAME = {"github.com": "GitHub", "gitlab.com": "GitLab"}
SOURCE = (
    "{{ file_name.replace('book/', 'book_text/').replace('.ipynb', '.md')"
    " if file_name.endswith('.ipynb') else file_name }}"
)


def address(url: str) -> str:
    """The address in ``_config.yml``, or, if that is empty, of the repository on GitHub whose CI builds this."""
    name = os.environ.get("GITHUB_REPOSITORY", "")
    server = os.environ.get("GITHUB_SERVER_URL") or GITHUB
    if url or not name or server.rstrip("/") + "/" != GITHUB:
        return url
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise ExtensionError(f"GITHUB_REPOSITORY must be like somebody/gru-book; got {name!r}")
    return GITHUB + name


def buttons(url: str, branch: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The theme's options and the templates' variables for a repository at `url`; none if it is empty."""
    if not url:
        return {"repository_url": ""}, {}
    match = re.fullmatch(r"https://(github\.com|gitlab\.com)/[\w.-]+/[\w.-]+", url)
    if match is None:
        raise ExtensionError(f"repository.url must be like https://github.com/somebody/gru-book; got {url!r}")
    host = match[1]
    options = {
        "repository_url": url,
        "use_repository_button": True,
        "use_issues_button": True,
        "use_edit_page_button": True,
    }
    edit = {"edit_page_provider_name": NAME[host], "edit_page_url_template": f"{url}/{EDIT[host]}/{branch}/{SOURCE}"}
    return options, edit


def wheel(url: str) -> str:
    """Where the host has the library's wheel; empty without a host that has it."""
    return f"{url}/raw/{NOTEBOOKS}/gru_lib-{VERSION}-py3-none-any.whl" if url.startswith(GITHUB) else ""


def launchers(url: str, edition: str) -> list[dict[str, str]]:
    """The buttons that open an edition from a repository at `url`; none if it is not on GitHub."""
    if not url.startswith(GITHUB):
        return []
    name = url.removeprefix(GITHUB)
    places = {
        "Colab": f"https://colab.research.google.com/github/{name}/blob/{NOTEBOOKS}/{edition}",
        "Binder": f"https://mybinder.org/v2/gh/{name}/{NOTEBOOKS}?urlpath=lab/tree/{edition}",
    }
    # An icon of the font, not the theme's logos: those stand on grey plates in dark.
    button = {"type": "link", "icon": "fas fa-cloud"}
    return [button | {"text": place, "tooltip": f"Run it on {place}", "url": link} for place, link in places.items()]


def offer_launch(app: Sphinx, pagename: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Give a chapter's page the buttons that open its edition."""
    url = app.config.html_theme_options["repository_url"]
    if is_chapter(pagename) and (found := launchers(url, f"{pagename.rpartition('/')[2]}.ipynb")):
        group = {"type": "group", "label": "launch-buttons", "icon": "fas fa-rocket", "tooltip": "Run this chapter"}
        context["header_buttons"].insert(0, group | {"buttons": found})


def mend_buttons(app: Sphinx, pagename: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Let the theme's buttons show icons of the font that pages have, and the button for an issue open the form."""
    url = app.config.html_theme_options["repository_url"]
    for group in context["header_buttons"]:
        for button in (group, *group.get("buttons", ())):
            if button.get("icon", "").startswith("fab "):  # the host's mark would take a font of 118 KB
                button["icon"] = "fas fa-code-branch"
            if button.get("label") == "source-issues-button" and url.startswith(GITHUB):
                button["url"] = f"{url}/issues/new?template={FORM}&page={pagename}"


def add_buttons(_app: Sphinx, config: Config) -> None:
    """Set what `buttons` says of the project's address."""
    theme = config.html_theme_options
    options, variables = buttons(address(theme.get("repository_url", "")), theme.get("repository_branch", "main"))
    theme.update(options)
    config.html_context.update(variables)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("config-inited", add_buttons)
    app.connect("html-page-context", offer_launch, priority=900)
    app.connect("html-page-context", mend_buttons, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
