"""The forms of Right-size, for pages and REST."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms

from kschedweb.advice.rightsizing import words
from kschedweb.advice.rightsizing.exports import FORMS, KUBECTL, MODES
from kschedweb.advice.rightsizing.sizing import METHODS, ORDERS, VPA, sort_sizes
from kschedweb.web.errors import ApplicationError, FieldProblem
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kschedweb.advice.rightsizing.sizing import ContainerSize

ORDERINGS = sorted([*ORDERS, *(f"-{name}" for name in ORDERS)])
SHOW_FILTERS = {
    "less": lambda size: size.has_history and (size.cpu.saved > 0 or size.memory.saved > 0),
    "more": lambda size: size.has_history and (size.cpu.saved < 0 or size.memory.saved < 0),
    "unknown": lambda size: not size.has_history,
}


class SizesForm(forms.Form):
    """The filters of the list. All fields have defaults."""

    namespace = forms.CharField(required=False, max_length=63)
    search = forms.CharField(label=_("Workload or container contains"), required=False, max_length=253)
    show = forms.ChoiceField(label=_("Show"), choices=list(words.SHOW_LABELS.items()), required=False)
    method = forms.ChoiceField(
        label=_("Recommend"),
        choices=[(method_name, words.NAMES[method_name]) for method_name in METHODS],
        required=False,
    )

    @property
    def method_asked(self) -> str:
        return str(self.cleaned_data.get("method") or VPA)

    def filter_sizes(
        self, listed: Iterable[ContainerSize], ordering: str = "", workloads: Sequence[str] = ()
    ) -> list[ContainerSize]:
        """Return the lines that match; ``workloads`` are "namespace/Kind/name", empty for all.

        Raises ``ApplicationError`` if one does not exist.
        """
        sizes, data = list(listed), self.cleaned_data
        if workloads:
            workload_names = {size.workload for size in sizes}
            if missing := [name for name in workloads if name not in workload_names]:
                raise ApplicationError.at("workloads", f"There is no workload {missing[0][:300]} with containers.")
            chosen = set(workloads)
            sizes = [size for size in sizes if size.workload in chosen]
        if space := data.get("namespace"):
            sizes = [size for size in sizes if size.namespace == space]
        if text := str(data.get("search") or "").strip().lower():
            sizes = [size for size in sizes if text in size.name.lower()]
        if show := data.get("show"):
            sizes = [size for size in sizes if SHOW_FILTERS[show](size)]
        return sort_sizes(sizes, ordering)


class ExportForm(SizesForm):
    """The choice of a file."""

    form = forms.ChoiceField(choices=[(name, name) for name in FORMS], required=False)
    mode = forms.ChoiceField(choices=[(name, name) for name in MODES], required=False)

    @property
    def file(self) -> tuple[str, str]:
        """Return the form of the file, and the update mode of autoscalers."""
        return str(self.cleaned_data["form"] or KUBECTL), str(self.cleaned_data["mode"] or MODES[0])


def read_form(form: type[Any], data: Mapping[str, Any]) -> Any:
    """Return the valid form of ``data``. Raise ``ApplicationError`` with the fields."""
    bound_form = form(data)
    if bound_form.is_valid():
        return bound_form
    problems: list[FieldProblem] = [
        {"path": name, "message": " ".join(str(message) for message in messages)}
        for name, messages in bound_form.errors.items()
    ]
    raise ApplicationError("Something that was asked is not known here.", errors=problems)
