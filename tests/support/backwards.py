"""A pytest plugin (``-p tests.support.backwards``): the last test first, as pytest-xdist may deal them out."""

from __future__ import annotations

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.reverse()
