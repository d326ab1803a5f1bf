"""Buttons that lead to the project's repository, on every page, once ``_config.yml`` says where it is.

``repository.url`` there is the one place for the address. While it is empty no page names a repository. With an address
each page gets buttons to the repository, to an issue about the page and to the page's source, and each notebook one
that opens it on Binder. A chapter's source is its text in ``book_text``, from which its notebook is made.
"""

from __future__ import annotations

import re
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError

EDIT = {"github.com": "edit", "gitlab.com": "-/edit"}  # the part of an address between repository and branch
NAME = {"github.com": "GitHub", "gitlab.com": "GitLab"}
SOURCE = (
    "{{ file_name.replace('book/', 'book_text/').replace('.ipynb', '.md')"
    " if file_name.endswith('.ipynb') else file_name }}"
)


def buttons(url: str, branch: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The theme's options and the templates' variables for a repository at `url`; none if it is empty."""
    if not url:
        return {"repository_url": "", "launch_buttons": {}}, {}
    match = re.fullmatch(r"https://(github\.com|gitlab\.com)/[\w.-]+/[\w.-]+", url)
    if match is None:
        raise ExtensionError(f"repository.url must be like https://github.com/somebody/gru-book; got {url!r}")
    host = match[1]
    options = {
        "use_repository_button": True,
        "use_issues_button": True,
        "use_edit_page_button": True,
        "launch_buttons": {"notebook_interface": "jupyterlab", "binderhub_url": "https://mybinder.org"},
    }
    edit = {
        "edit_page_provider_name": NAME[host],
        "edit_page_url_template": f"{url}/{EDIT[host]}/{branch}/{SOURCE}",
    }
    return options, edit


def add_buttons(_app: Sphinx, config: Config) -> None:
    """Set what `buttons` says of the address in ``_config.yml``."""
    theme = config.html_theme_options
    options, variables = buttons(theme.get("repository_url", ""), theme.get("repository_branch", "main"))
    theme.update(options)
    config.html_context.update(variables)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("config-inited", add_buttons)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
