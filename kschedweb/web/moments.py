"""Moments on pages: shown in the person's zone with UTC beside, and read in either.

An address with a moment without an offset names its zone in ``zone``; without that it is UTC. So a link means the same
to everybody.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, available_timezones

from django import forms
from django.utils import timezone

from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

# The browser's zone; frame/moment-inputs.ts writes it.
COOKIE = "zone"
PARAMETER = "zone"
# Limits of moments that a form takes: beyond them dates overflow in some zone.
EARLIEST, LATEST = datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC)
INVALID = _(
    "Write a date and a time, such as 2026-11-20T09:00, with an offset such as Z or +09:00 where it is another zone."
)
# Moments that an input offers: words, and hours ago.
OFFERED = ((_("Now"), 0), (_("1 hour ago"), 1), (_("6 hours ago"), 6), (_("24 hours ago"), 24), (_("7 days ago"), 168))


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    return frozenset(available_timezones())


def zone_named(name: str) -> ZoneInfo | None:
    """Return the zone of this name; ``None`` if there is none."""
    return ZoneInfo(name) if name in zone_names() else None


class ZoneMiddleware:
    """Shows pages in the zone of the person's settings, else of their browser, else in UTC. REST is in UTC."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path.startswith("/api/"):
            return self.get_response(request)
        chosen = zone_named(getattr(request.user, "time_zone", "")) or zone_named(request.COOKIES.get(COOKIE, ""))
        with timezone.override(chosen):
            return self.get_response(request)


def read_moment(text: str, zone: str = "") -> datetime | date | None:
    """Read a moment in UTC, or a day; ``None`` if ``text`` is neither. Without an offset it is in ``zone``, else in
    UTC.
    """
    text = text.strip()
    try:
        if len(text) <= 10:
            return date.fromisoformat(text)
        # A "+" in an address that nobody encoded arrives as a space.
        moment = datetime.fromisoformat(f"{text[:10]}T{text[11:].replace(' ', '+')}")
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone_named(zone) or UTC)
        return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def format_moment(moment: datetime, *, seconds: bool = True) -> str:
    """Return "2026-11-20 18:00:00 (09:00:00 UTC)" in the current zone, with the date of UTC if it differs."""
    clock = "%H:%M:%S" if seconds else "%H:%M"
    local_time, utc = timezone.localtime(moment), moment.astimezone(UTC)
    if local_time.utcoffset() == utc.utcoffset():
        return f"{utc:%Y-%m-%d {clock}} UTC"
    utc_text = f"{utc:{clock}}" if local_time.date() == utc.date() else f"{utc:%Y-%m-%d {clock}}"
    return f"{local_time:%Y-%m-%d {clock}} ({utc_text} UTC)"


def day_start(day: date, zone: str = "") -> datetime:
    """Return the beginning of ``day`` in ``zone``, by default in UTC."""
    return datetime.combine(day, time.min, zone_named(zone) or UTC).astimezone(UTC)


class MomentInput(forms.DateTimeInput):
    """The browser's own input for a date and a time in the person's zone, with UTC beside. It offers usual moments."""

    template_name = "parts/moment_input.html"
    input_type = "datetime-local"

    def __init__(self, *, is_end: bool = False, attrs: Mapping[str, Any] | None = None) -> None:
        super().__init__(attrs={"step": 60, "data-manual": "", **(attrs or {})})
        self.is_end = is_end

    def value_from_datadict(self, data: Mapping[str, Any], files: Any, name: str) -> datetime | str | None:
        """Return a moment in UTC. A day is its beginning, or with ``is_end`` its end. Other text is returned
        unchanged.
        """
        text, zone = data.get(name), str(data.get(PARAMETER) or "")
        if not isinstance(text, str) or not text.strip():
            return text
        moment = read_moment(text, zone)
        if moment is None or isinstance(moment, datetime):
            return moment or text
        try:
            return day_start(moment + timedelta(days=1 if self.is_end else 0), zone)
        except OverflowError:
            return text

    def format_value(self, value: Any) -> str | None:
        if isinstance(value, datetime) and EARLIEST <= value < LATEST:
            return timezone.localtime(value).strftime("%Y-%m-%dT%H:%M")
        return None

    def get_context(self, name: str, value: Any, attrs: Any) -> dict[str, object]:
        context = super().get_context(name, value, attrs)
        moment = value if isinstance(value, datetime) and EARLIEST <= value < LATEST else None
        now = timezone.localtime().replace(second=0)
        listed = f"{(attrs or {}).get('id') or name}-offered"
        context["widget"]["attrs"]["list"] = listed
        context["widget"] |= {
            "listed": listed,
            # Once in a form.
            "carries_zone": not self.is_end,
            "utc": moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M") if moment else "",
            "zone": timezone.get_current_timezone_name(),
            "offered": [
                (words, (now.astimezone(UTC) - timedelta(hours=ago)).astimezone(now.tzinfo).strftime("%Y-%m-%dT%H:%M"))
                for words, ago in OFFERED
            ],
        }
        return context


class MomentField(forms.DateTimeField):
    """A moment in UTC."""

    default_error_messages = {"invalid": INVALID, "far": _("Choose a time between 2000 and 2100.")}

    def __init__(self, *, is_end: bool = False, **options: Any) -> None:
        super().__init__(**{"widget": MomentInput(is_end=is_end), "required": False, **options})

    def prepare_value(self, value: Any) -> Any:
        # The widget shows it in the person's zone.
        return value

    def to_python(self, value: Any) -> datetime | None:
        moment = read_moment(value) if isinstance(value, str) and value.strip() else value
        if moment is None and value:
            raise forms.ValidationError(self.error_messages["invalid"], code="invalid")
        if not isinstance(moment, datetime):
            return super().to_python(moment or None)
        if not EARLIEST <= moment < LATEST:
            raise forms.ValidationError(self.error_messages["far"], code="far")
        return moment
