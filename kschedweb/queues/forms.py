"""The forms of the pages about queues."""

from __future__ import annotations

from django import forms

from kschedweb.queues.queries import MOST_PODS, AdmissionQuery
from kschedweb.web.form_fields import AmountsField, QuantityField
from kschedweb.web.translating import gettext_lazy as _

# Minutes: a month.
LONGEST_RUN = 43_200


class ForecastForm(forms.Form):
    """Run time of jobs, for a forecast."""

    run_minutes = forms.IntegerField(
        label=_("Jobs run for (minutes)"),
        required=False,
        min_value=1,
        max_value=LONGEST_RUN,
        help_text=_("Without it finished workloads tell."),
    )


class AdmissionForm(ForecastForm):
    """The question whether a workload would get quota."""

    queue = forms.CharField(
        label=_("LocalQueue"),
        required=False,
        max_length=317,
        widget=forms.TextInput(
            attrs={"list": "local-queues", "autocomplete": "off", "spellcheck": "false", "class": "wide"}
        ),
        help_text=_("As namespace/name. Leave empty to take the manifest's own."),
    )
    manifest = forms.CharField(
        label=_("Manifest"),
        required=False,
        max_length=32_000,
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false", "class": "code"}),
        help_text=_("YAML or JSON of a Job, CronJob, JobSet, Pod, StatefulSet or Workload."),
    )
    pods = forms.IntegerField(label=_("Or this many pods"), required=False, min_value=1, max_value=MOST_PODS)
    cpu = QuantityField("CPU", _("CPU that each pod requests, such as 2 or 500m."), "500m")
    memory = QuantityField(
        _("Memory"), _("Memory that each pod requests, such as 1Gi. A plain number is bytes."), "1Gi"
    )
    other = AmountsField(
        _("Other resources"), _("Such as nvidia.com/gpu=1, several with spaces between."), "nvidia.com/gpu=1"
    )
    priority = forms.IntegerField(label=_("Priority"), required=False, min_value=-(2**31), max_value=2**31 - 1)
    workload = forms.CharField(
        label=_("Or a workload of the cluster"),
        required=False,
        max_length=320,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", "class": "wide"}),
        help_text=_("As namespace/name."),
    )
    settings = forms.CharField(
        label=_("With other quotas"),
        required=False,
        max_length=2000,
        widget=forms.TextInput(attrs={"spellcheck": "false", "class": "wide"}),
        help_text=_("Such as team-b/on-demand/cpu/nominal=60, several with commas between."),
    )

    field_order = ("queue", "manifest", "pods", "cpu", "memory", "other", "priority", "workload", "settings")

    @property
    def is_submitted(self) -> bool:
        """True if the form asks about any workload."""
        return any(self.data.get(name) for name in ("ask", "manifest", "cpu", "memory", "other", "workload"))

    def to_query(self) -> AdmissionQuery:
        data = self.cleaned_data
        amounts = [(name, data[name]) for name in ("cpu", "memory") if data[name]]
        return AdmissionQuery(
            data["workload"].strip(),
            data["manifest"].strip(),
            data["queue"].strip(),
            data["pods"] or 1,
            (*amounts, *data["other"]),
            data["priority"] or 0,
            data["settings"].strip(),
            data["run_minutes"],
        )
