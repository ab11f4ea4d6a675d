"""The form that switches annotations on and off."""

from __future__ import annotations

from typing import Any

from django import forms

from kschedweb.watermarks.annotations.selectors import time_zones
from kschedweb.watermarks.models import Annotating
from kschedweb.web.translating import gettext_lazy as _


class AnnotatingForm(forms.ModelForm):  # type: ignore[type-arg]
    remove = forms.BooleanField(
        label=_("Take away what was written in a form that is off now"),
        required=False,
        help_text=_("A job removes those annotations from every node and workload, and no others."),
    )

    class Meta:
        model = Annotating
        fields = ("own", "crane", "time_zone", "rate", "renew")
        labels = {
            "own": _("kschedweb's own form, on nodes and workloads"),
            "crane": _("crane-scheduler's form, on nodes"),
            "time_zone": _("Time zone of crane's texts"),
            "rate": _("Requests a second, at most"),
            "renew": _("Renew after (seconds)"),
        }
        help_texts = {
            "own": _(
                "One annotation each, <code>watermarks.kschedweb.dev/use</code>: percent of allocatable on a node, "
                "cores and bytes a pod on a workload."
            ),
            "crane": _(
                "<code>cpu_usage_avg_5m</code> and its like, and <code>node_hot_value</code>. Only where crane's own "
                "annotator does not run."
            ),
            "time_zone": _(
                "The one that crane-scheduler runs in. Its texts end in a Z, but are local time: "
                "Asia/Shanghai, unless TZ says otherwise."
            ),
            "rate": _("From 1 to 200. A busy cluster also slows kschedweb down."),
            "renew": _(
                "A figure that hardly changes is written again after this time, so that it does not "
                "look stale. From 60 to 86,400."
            ),
        }

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["time_zone"] = forms.ChoiceField(
            label=self.fields["time_zone"].label,
            help_text=self.fields["time_zone"].help_text,
            choices=[(name, name) for name in time_zones()],
        )
