"""Moments: what an input and an address say, in which zone, and how they are written."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from django import forms
from django.http import QueryDict
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.accounts.models import User
from kschedweb.web import moments
from tests.support.html import elements, text

ZONES = ["UTC", "Europe/Berlin", "Asia/Kolkata", "America/St_Johns", "Pacific/Chatham"]
NINE = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "zone", "moment"),
    [
        ("2026-11-20T09:00", "", NINE),
        ("2026-11-20 09:00", "", NINE),
        ("2026-11-20T10:00", "Europe/Berlin", NINE),
        ("2026-11-20T09:00:00Z", "Europe/Berlin", NINE),
        ("2026-11-20T18:00+09:00", "Europe/Berlin", NINE),
        ("2026-11-20T18:00 09:00", "", NINE),  # a + that nobody encoded
        ("2026-11-20T09:00", "Mars/Olympus", NINE),
        ("2026-11-20", "Asia/Tokyo", date(2026, 11, 20)),
    ],
)
def test_an_offset_wins_over_the_zone_and_without_either_it_is_utc(
    text: str, zone: str, moment: datetime | date
) -> None:
    assert moments.read_moment(text, zone) == moment


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01T00:00", "0001-01-01T00:00+23:00", "2026-11-20T25:00"])
def test_what_is_no_moment_is_none(text: str) -> None:
    assert moments.read_moment(text) is None


@pytest.mark.parametrize(
    ("zone", "words"),
    [
        ("UTC", "2026-11-20 09:00:00 UTC"),
        ("Europe/Berlin", "2026-11-20 10:00:00 (09:00:00 UTC)"),
        ("Pacific/Auckland", "2026-11-20 22:00:00 (09:00:00 UTC)"),
        ("Pacific/Kiritimati", "2026-11-20 23:00:00 (09:00:00 UTC)"),
        ("America/Los_Angeles", "2026-11-20 01:00:00 (09:00:00 UTC)"),
    ],
)
def test_a_moment_is_written_in_the_zone_with_utc_beside(zone: str, words: str) -> None:
    with timezone.override(ZoneInfo(zone)):
        assert moments.format_moment(NINE) == words


def test_the_other_day_is_written_too() -> None:
    with timezone.override(ZoneInfo("America/Los_Angeles")):
        assert moments.format_moment(datetime(2026, 11, 20, 3, tzinfo=UTC), seconds=False) == (
            "2026-11-19 19:00 (2026-11-20 03:00 UTC)"
        )


class PeriodForm(forms.Form):
    since = moments.MomentField()
    until = moments.MomentField(is_end=True)


@given(
    st.datetimes(datetime(2000, 1, 3), datetime(2099, 12, 1)).map(
        lambda moment: moment.replace(second=0, microsecond=0, tzinfo=UTC)
    ),
    st.sampled_from(ZONES),
)
def test_what_an_input_shows_is_the_moment_that_it_sends(moment: datetime, zone: str) -> None:
    """But for the hour that a clock passes twice, of which the input means the first."""
    with timezone.override(ZoneInfo(zone)):
        shown_value = moments.MomentInput().format_value(moment)
    assert shown_value is not None
    form = PeriodForm(QueryDict(f"since={shown_value}&zone={zone}"))
    assert form.is_valid()
    local_moment = moment.astimezone(ZoneInfo(zone))
    assert form.cleaned_data["since"] == moment if not local_moment.fold else form.cleaned_data["since"] < moment


def test_a_day_is_its_beginning_or_its_end_in_the_zone() -> None:
    form = PeriodForm(QueryDict("since=2026-11-20&until=2026-11-20&zone=Asia/Tokyo"))
    assert form.is_valid()
    assert form.cleaned_data == {
        "since": datetime(2026, 11, 19, 15, tzinfo=UTC),
        "until": datetime(2026, 11, 20, 15, tzinfo=UTC),
    }


@pytest.mark.parametrize("text", ["soon", "2026-11-31", "1999-01-01T00:00", "2100-01-01T00:00"])
def test_what_is_no_moment_is_said_at_the_field(text: str) -> None:
    form = PeriodForm(QueryDict(f"since={text}"))
    assert list(form.errors) == ["since"]
    assert "since" in str(form["since"])  # and it can be shown again


def test_pages_are_in_the_zone_of_the_person_else_of_the_browser(viewer: User) -> None:
    client = Client()
    client.force_login(viewer)

    def zone() -> str:
        box, _ = elements(client.get("/approvals/history/"), ".moment")
        return str(box["data-zone"])

    assert zone() == "UTC"
    client.cookies["zone"] = "Asia/Kolkata"
    assert zone() == "Asia/Kolkata"
    User.objects.filter(pk=viewer.pk).update(time_zone="Europe/Berlin")
    assert zone() == "Europe/Berlin"
    client.cookies["zone"] = "../../etc/passwd"
    User.objects.filter(pk=viewer.pk).update(time_zone="")
    assert zone() == "UTC"


def test_rest_stays_in_utc(viewer: User) -> None:
    client = Client()
    client.force_login(viewer)
    client.cookies["zone"] = "Asia/Kolkata"
    client.post("/tokens/", {"name": "one", "scope": "view", "days": 1})
    (token,) = client.get("/api/v1/tokens/").json()["results"]
    assert token["created_at"].endswith("Z")
    assert "UTC)" in text(client.get("/tokens/"))
