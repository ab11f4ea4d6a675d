"""docs/architecture.md and its pages: the names and tests in them exist, and each page is short."""

from __future__ import annotations

import re
from pkgutil import resolve_name

import pytest

from tests.conftest import ROOT
from tests.support.documents import DOCS, links, missing_tests

TEXT = (DOCS / "architecture.md").read_text(encoding="utf-8")
CHAPTERS = dict(re.findall(r"^## (.*)\n((?:(?!## ).*\n)*)", TEXT, re.MULTILINE))
PAGES = sorted((DOCS / "architecture").glob("*.md"))
ROOM = re.compile(r"^- ((?:`[\w/.]+`(?:, )?)+): (.*)$", re.MULTILINE)


def test_the_request_goes_through_functions_that_exist() -> None:
    names = re.findall(r"`((?:\w+\.)+\w+)`", CHAPTERS["One request"])
    assert len(names) > 12
    for name in names:
        assert callable(resolve_name(f"kschedweb.{name}")), name


def test_each_invariant_has_its_test() -> None:
    invariants = re.findall(r"^\d+\. (.*)$", CHAPTERS["Ten things that always hold"], re.MULTILINE)
    assert len(invariants) == 10
    assert all(re.search(r"`\S+\.py::test_\w+`$", invariant) for invariant in invariants)
    assert missing_tests(TEXT) == []


@pytest.mark.parametrize(("document", "folder"), [("site", "kschedweb"), ("engine-rooms", "kschedweb/engine")])
def test_rooms_hold_the_modules_that_are_named(document: str, folder: str) -> None:
    text = (DOCS / "architecture" / f"{document}.md").read_text(encoding="utf-8")
    rooms = [(re.findall(r"`([^`]+)`", names), description) for names, description in ROOM.findall(text)]
    assert len(rooms) > 25
    for names, description in rooms:
        paths = [ROOT / folder / name for name in names]
        assert all(path.exists() for path in paths), names
        folders = [path if path.is_dir() else path.parent for path in paths]
        for module in re.findall(r"`([\w/]+(?:\.py|/))`", description):
            assert any((place / module).exists() for place in folders), f"{names}: {module}"


def test_every_package_is_on_the_map() -> None:
    rows = re.findall(r"^\| (`.*?) \|", CHAPTERS["The map"], re.MULTILINE)
    mapped_packages = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    packages = {path.parent.name for path in (ROOT / "kschedweb").glob("*/__init__.py")}
    assert mapped_packages == packages


def test_pages_are_short_and_linked() -> None:
    link_targets = {target for target, _ in links(DOCS / "architecture.md")}
    assert [page.name for page in PAGES if page not in link_targets] == []
    long = [page.name for page in PAGES if len(page.read_text(encoding="utf-8").splitlines()) > 150]
    assert long == []
