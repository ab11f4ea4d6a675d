"""The form of a source: a text field for each figure's query, filled from a preset and tested separately."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext

from kschedweb.clusters.forms import SecretTextarea
from kschedweb.watermarks.figures import (
    CONTAINER,
    FIGURES,
    KIND_WORDS,
    NODE,
    RESOURCE_WORDS,
    RESOURCES,
    STATISTICS,
    WORDS,
)
from kschedweb.watermarks.models import Authentication, SourceKind, Unit, WatermarkSource
from kschedweb.watermarks.presets import PRESETS, Preset
from kschedweb.watermarks.report_text import describe_result
from kschedweb.watermarks.source_settings import LONGEST_QUERY, NUMBERS, SourceSettings
from kschedweb.web.errors import ApplicationError
from kschedweb.web.translating import gettext_lazy as _

KEEP = _("Empty: the stored one stays.")


def _number_field(name: str, label: str, help_text: str) -> forms.IntegerField:
    row = WatermarkSource._meta.get_field(name)
    limits = {check.code: check.limit_value for check in row.validators}  # type: ignore[union-attr]
    return forms.IntegerField(
        label=label, min_value=limits["min_value"], max_value=limits["max_value"], help_text=help_text
    )


class SourceForm(forms.Form):
    """The settings of a source. Secrets are never sent back to the browser."""

    kind = forms.ChoiceField(label=_("Figures come from"), choices=SourceKind.choices, widget=forms.RadioSelect)
    address = forms.CharField(
        label=_("Address"),
        required=False,
        max_length=500,
        widget=forms.TextInput(attrs={"placeholder": "https://prometheus.example.com", "spellcheck": "false"}),
        help_text=_(
            "Where /api/v1/query is served, with a path before it where there is one. http:// is "
            "accepted without credentials only."
        ),
    )
    authentication = forms.ChoiceField(label=_("Credentials"), choices=Authentication.choices)
    token = forms.CharField(
        label=_("Bearer token"),
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=KEEP,
    )
    username = forms.CharField(
        label=_("User name"),
        required=False,
        max_length=253,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        help_text=KEEP,
    )
    password = forms.CharField(
        label=_("Password"),
        required=False,
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=KEEP,
    )
    ca = forms.CharField(
        label=_("Certificate authority"),
        required=False,
        widget=SecretTextarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text=_("PEM. Empty: the stored one stays, else those of this system."),
    )
    forget_ca = forms.BooleanField(label=_("Forget the stored certificate authority"), required=False)
    node_label = forms.CharField(
        label=_("Label that names a node"),
        required=False,
        max_length=100,
        help_text=_("Its value may be a node's name or address, with or without a port."),
    )
    unit = forms.ChoiceField(
        label=_("Unit of the nodes' figures"),
        choices=Unit.choices,
        help_text=_("Figures are stored in percent of allocatable, in any unit they come."),
    )
    interval = _number_field("interval", _("Interval in seconds"), _("From 30 to 3,600."))
    keep_hours = _number_field("keep_hours", _("Keep as collected, in hours"), _("From 2 to 168."))
    keep_days = _number_field("keep_days", _("Keep 5-minute values, in days"), _("From 2 to 60."))
    keep_long_days = _number_field("keep_long_days", _("Keep hourly values, in days"), _("From 2 to 730."))
    force = forms.BooleanField(label=_("Save even though the test fails"), required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for figure in FIGURES:
            self.fields[figure.field] = forms.CharField(
                label=WORDS[figure.statistic].capitalize(),
                required=False,
                max_length=LONGEST_QUERY,
                widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
            )
        # Results of a test, by field.
        self.test_results: dict[str, str] = {}
        self.warnings: dict[str, list[str]] = {}

    @property
    def settings(self) -> SourceSettings:
        """The entered settings of a valid form."""
        values = {
            name: value for name, value in self.cleaned_data.items() if name in SourceSettings.__dataclass_fields__
        }
        return SourceSettings(queries={str(figure): self.cleaned_data[figure.field] for figure in FIGURES}, **values)

    def show_report(self, report: Mapping[str, Any]) -> None:
        """Put the results of a test at their fields."""
        for figure in FIGURES:
            query = report["queries"].get(str(figure))
            if query and not query["error"]:
                self.test_results[figure.field] = describe_result(str(figure), query)
                self.warnings[figure.field] = query["warnings"]

    def add_service_errors(self, error: ApplicationError) -> None:
        """Show a service's errors at their fields, and the others above the form."""
        for item in error.errors:
            self.add_error(self._field_of(item["path"]), item["message"])
        if not error.errors:
            self.add_error(None, error.detail)

    def _field_of(self, path: str) -> str | None:
        if path == "credentials":
            chosen = self.cleaned_data.get("authentication")
            secrets = {Authentication.BEARER.value: "token", Authentication.BASIC.value: "password"}
            return secrets.get(str(chosen), "authentication")
        name = path.removeprefix("queries.").replace("/", "_")
        return name if name in self.fields else None

    def groups(self) -> list[dict[str, object]]:
        """Return the fields of queries for the template, grouped by kind and resource."""
        return [
            {
                "label": f"{KIND_WORDS[kind]} {RESOURCE_WORDS[resource]}",
                "help": _kind_help(kind),
                "rows": [
                    {
                        "field": self[figure.field],
                        "found": self.test_results.get(figure.field, ""),
                        "warnings": self.warnings.get(figure.field, ()),
                    }
                    for figure in FIGURES
                    if (figure.kind, figure.resource) == (kind, resource)
                ],
            }
            for kind in STATISTICS
            for resource in RESOURCES
        ]


def _kind_help(kind: str) -> str:
    if kind == NODE:
        return ""
    if kind == CONTAINER:
        return gettext("By namespace, pod and container; Right-size recommends requests from it.")
    return gettext("By namespace and pod; a workload's figure is the mean of its pods.")


def form_of(source: WatermarkSource) -> SourceForm:
    """Return the form with stored settings, or with the first preset if there are none."""
    plain = ("kind", "address", "authentication", "node_label", "unit", *NUMBERS)
    initial = {name: getattr(source, name) for name in plain}
    queries = source.queries
    if not queries and not source.address:
        preset = next(iter(PRESETS.values()))
        initial |= {"node_label": preset.node_label, "unit": preset.unit}
        queries = preset.queries
    return SourceForm(initial=initial | {figure.field: queries.get(str(figure), "") for figure in FIGURES})


def with_preset(data: Mapping[str, str], preset: Preset) -> SourceForm:
    """Return the posted form with the queries of ``preset``."""
    filled = dict(data) | {"node_label": preset.node_label, "unit": preset.unit}
    filled |= {figure.field: preset.queries[str(figure)] for figure in FIGURES}
    return SourceForm(initial=filled)
