"""Filter of the list of recordings, on the page and over REST."""

from __future__ import annotations

import django_filters

from kschedweb.playground.recordings.models import Recording
from kschedweb.web.filtering import MomentFilter
from kschedweb.web.translating import gettext_lazy as _


class RecordingFilter(django_filters.FilterSet):  # type: ignore[misc]
    cluster = django_filters.CharFilter(field_name="cluster__name", label=_("Cluster"), max_length=63)

    since = MomentFilter(field_name="created_at", label=_("Started from"))
    until = MomentFilter(field_name="created_at", label=_("Started before"), is_end=True)

    class Meta:
        model = Recording
        fields: list[str] = []
