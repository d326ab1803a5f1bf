"""book/_ext/content_policy.py: what a page may load and run. What the built pages do under it is in test_book.py."""

from __future__ import annotations

import content_policy
import pytest
from bs4 import BeautifulSoup


@pytest.mark.parametrize("served", [False, True])
def test_a_page_has_a_policy_unless_the_server_that_reloads_it_writes_into_it(served: bool) -> None:
    page = BeautifulSoup('<html><head><meta charset="utf-8"/></head><body></body></html>', "html.parser")
    content_policy.state_policy(page, served)
    assert ("Content-Security-Policy" in str(page)) is not served
