"""The parameters of recorded use, for pages and REST: figure, time and nodes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.functional import lazy
from django.utils.text import capfirst
from django.utils.translation import gettext

from kschedweb.watermarks.figures import NODE_STATISTICS, WORDS, WORKLOAD_STATISTICS
from kschedweb.watermarks.usage.query import UsageQuery
from kschedweb.web.moments import MomentField
from kschedweb.web.translating import gettext_lazy as _

# Seconds.
RANGES = {"1h": 3600, "6h": 6 * 3600, "24h": 24 * 3600, "7d": 7 * 86_400, "14d": 14 * 86_400}
RANGE_WORDS = {
    "1h": _("1 hour"),
    "6h": _("6 hours"),
    "24h": _("24 hours"),
    "7d": _("7 days"),
    "14d": _("14 days"),
}
RESOURCES = {"cpu": "CPU", "memory": _("Memory")}
STATISTICS = {key: capfirst(WORDS[key]) for key in NODE_STATISTICS}
ORDERS = {"use": _("Hottest first"), "name": _("By name")}
DEFAULT = {"resource": "cpu", "statistic": "1h", "range": "24h", "order": "use"}
# Seconds.
LONGEST = 366 * 86_400


def _choice_field(choices: Mapping[str, str], label: str) -> forms.ChoiceField:
    def message() -> str:
        return gettext("Choose one of %(choices)s.") % {"choices": ", ".join(choices)}

    # A field is made once, and read in many languages.
    return forms.ChoiceField(
        choices=list(choices.items()),
        label=label,
        required=False,
        error_messages={"invalid_choice": lazy(message, str)()},
    )


class UsageForm(forms.Form):
    """The filters above every chart. All fields have defaults."""

    resource = _choice_field(RESOURCES, _("Resource"))
    statistic = _choice_field(STATISTICS, _("Statistic"))
    range = _choice_field(RANGE_WORDS, _("Time"))
    to = MomentField(label=_("To"), is_end=True)
    at = MomentField(label=_("At"))
    order = _choice_field(ORDERS, _("Order"))
    search = forms.CharField(label=_("Node name contains"), required=False, max_length=253)
    first = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)
    last = forms.IntegerField(required=False, min_value=1, max_value=1_000_000)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # "from" is a Python keyword, so it cannot be an attribute.
        self.fields["from"] = MomentField(label=gettext("From"))

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        start, end = cleaned.get("from"), cleaned.get("to")
        if start and not end and "to" not in self.errors:
            end = timezone.now()
        if start and end:
            if start >= end:
                self.add_error("to" if cleaned.get("to") else "from", gettext("The time must end after it begins."))
            elif (end - start).total_seconds() > LONGEST:
                self.add_error("from", gettext("At most 366 days are shown at once."))
        return cleaned


class WorkloadForm(UsageForm):
    """The filters for workloads, which have fewer figures."""

    statistic = _choice_field({key: STATISTICS[key] for key in WORKLOAD_STATISTICS}, _("Statistic"))


def build_query(form: UsageForm, now: datetime | None = None) -> UsageQuery:
    """Return the query of ``form``. Invalid fields have their defaults, so that a page can show something."""
    form.is_valid()
    values = {name: value for name, value in form.cleaned_data.items() if value not in ("", None)}
    values = {name: value for name, value in values.items() if name not in form.errors}
    now = now or timezone.now()
    begins, ends = values.get("from"), values.get("to")
    length = timedelta(seconds=RANGES[values.get("range", DEFAULT["range"])])
    end = ends or now
    start = begins or end - length
    return UsageQuery(
        resource=values.get("resource", DEFAULT["resource"]),
        statistic=values.get("statistic", DEFAULT["statistic"]),
        range="" if begins or ends else values.get("range", DEFAULT["range"]),
        start=start,
        end=end,
        at=values.get("at"),
        order=values.get("order", DEFAULT["order"]),
        search=values.get("search", "").replace("\0", "").strip(),
        first=values.get("first", 1),
        last=values.get("last", 0),
    )
