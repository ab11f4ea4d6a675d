"""The browser harness notices what it is there to notice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.browser import watch

if TYPE_CHECKING:
    from playwright.sync_api import Page

POLICY = "default-src 'none'; script-src 'nonce-good'"


@pytest.mark.parametrize(
    ("body", "expected_problem"),
    [
        ("<p>calm</p>", ""),
        ("<script nonce=good>console.error('broken')</script>", "console: broken"),
        ("<script nonce=good>throw Error('thrown')</script>", "uncaught: thrown"),
        ("<script>console.log('inline')</script>", "CSP violation"),
        ("<img src=https://elsewhere.example/x.png>", "CSP violation"),
    ],
)
def test_problem_of_a_page_is_noticed(page: Page, body: str, expected_problem: str) -> None:
    origin = "http://kschedweb.test"
    problems: list[str] = []

    def answer(route: Any) -> None:
        route.fulfill(
            body=f"<!doctype html>{body}", headers={"Content-Security-Policy": POLICY, "Content-Type": "text/html"}
        )

    page.route(f"{origin}/**", answer)
    watch(page, origin, problems)
    page.goto(f"{origin}/")
    page.wait_for_timeout(100)
    assert any(expected_problem in problem for problem in problems) if expected_problem else not problems
