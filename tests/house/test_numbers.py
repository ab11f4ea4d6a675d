"""Pages write numbers in one way, 5,000, and what programs read of them without separators."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from typing import TYPE_CHECKING

import pytest
from django.conf.locale.en import formats
from django.utils.formats import reset_format_cache

from kschedweb.clusters.services import sandbox_connect
from tests.support import addresses, seed
from tests.support.sandbox import told

if TYPE_CHECKING:
    from django.test import Client
    from pytest_django import Settings as DjangoSettings

    from kschedweb.accounts.models import User

# Attributes that people read, or hear read aloud.
READ = {"title", "alt", "placeholder", "content", "data-announce", "data-label"}
SEPARATED = re.compile(r"\d,\d")
# A number that needs a separator: no part of a name, a date, a fraction, a version or an address.
BARE = re.compile(r"(?<![\w.,:/@%+\-–#…])\d{4,}(?![\w:/@\-]|\.\d)")
# What kube-scheduler says is quoted as it says it.
SAID = re.compile(r"\d+/\d+ nodes are available|^\d+ Insufficient")
YEAR = re.compile(r"(19|20)\d\d")
QUOTED = {"code", "pre", "script", "style", "textarea", "time", "option", "kbd", "title"}  # not the page's own words


class Reader(HTMLParser):
    """The attributes that programs read, and the words of the page itself."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.attributes: list[str] = []
        self.words: list[str] = []
        self._quoted = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._quoted += tag in QUOTED
        self.attributes += [
            f'{tag} {name}="{value}"'
            for name, value in attrs
            if value and name not in READ and not name.startswith("aria-")
        ]

    def handle_endtag(self, tag: str) -> None:
        self._quoted -= tag in QUOTED

    def handle_data(self, data: str) -> None:
        if not self._quoted and data.strip():
            self.words.append(" ".join(data.split()))


def visited(client: Client, places: addresses.Places) -> Iterator[tuple[str, Reader]]:
    for name, path in addresses.pages(places).items():
        if name == "live-pod" and not places.live:
            continue
        answer = client.get(path, follow=True)
        assert answer.status_code == 200, path
        yield name, Reader(answer.content.decode())


@pytest.fixture
def sites(admin: User, settings: DjangoSettings, sandbox_address: str) -> None:
    told(settings, sandbox_address)
    sandbox_connect()
    settings.JOBS_WAITING = 10_000


@pytest.mark.usefixtures("sites")
def test_what_programs_read_has_no_separators(
    admin: User, client_as: Callable[[str], Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each digit has a group of its own here, so that small numbers tell as well as large ones."""
    places, client = seed.everything(20, admin, "default/seed"), client_as("admin")
    monkeypatch.setattr(formats, "NUMBER_GROUPING", 1)
    reset_format_cache()
    try:
        found = {
            name: [one for one in page.attributes if SEPARATED.search(one)] for name, page in visited(client, places)
        }
    finally:
        reset_format_cache()
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


@pytest.mark.usefixtures("sites")
def test_what_people_read_has_separators(admin: User, client_as: Callable[[str], Client]) -> None:
    nodes = 1_200
    seed.imported("large", seed.cluster(nodes, 12 * nodes), admin)
    seed.measured("large", [f"node-{number:05d}" for number in range(nodes)], hours=1)
    places = addresses.Places(cluster="large", fitting="default/pending-00000", stuck="default/stuck")
    pages = dict(visited(client_as("admin"), places))
    found = {
        name: [
            word
            for word in page.words
            for bare in BARE.findall(word)
            if not YEAR.fullmatch(bare) and not SAID.search(word)
        ]
        for name, page in pages.items()
    }
    assert {name: wrong for name, wrong in found.items() if wrong} == {}
    assert "1,200" in " ".join(pages["overview"].words)
