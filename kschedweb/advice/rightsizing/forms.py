"""What the pages and REST calls of Right-size are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms

from kschedweb.advice.rightsizing import words
from kschedweb.advice.rightsizing.exporting import FORMS, KUBECTL, MODES
from kschedweb.advice.rightsizing.sizing import METHODS, ORDERS, VPA, arranged
from kschedweb.web.errors import ApplicationError, FieldProblem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kschedweb.advice.rightsizing.sizing import Size

ORDERINGS = sorted([*ORDERS, *(f"-{name}" for name in ORDERS)])
SHOWN = {
    "less": lambda one: one.known and (one.cpu.saved > 0 or one.memory.saved > 0),
    "more": lambda one: one.known and (one.cpu.saved < 0 or one.memory.saved < 0),
    "unknown": lambda one: not one.known,
}


class SizesForm(forms.Form):
    """The filters of the list. All fields have defaults."""

    namespace = forms.CharField(required=False, max_length=63)
    search = forms.CharField(label="Workload or container contains", required=False, max_length=253)
    show = forms.ChoiceField(label="Show", choices=list(words.SHOWN.items()), required=False)
    method = forms.ChoiceField(label="Recommend", choices=[(one, words.NAMES[one]) for one in METHODS], required=False)

    @property
    def method_asked(self) -> str:
        return str(self.cleaned_data.get("method") or VPA)

    def narrowed(self, listed: Iterable[Size], ordering: str = "", workloads: Sequence[str] = ()) -> list[Size]:
        """The lines that are asked for; ``workloads`` are "namespace/Kind/name", all where there are none.

        Raises ``ApplicationError`` where one is not there.
        """
        found, given = list(listed), self.cleaned_data
        if workloads:
            there = {one.workload for one in found}
            if gone := [name for name in workloads if name not in there]:
                raise ApplicationError.at("workloads", f"There is no workload {gone[0][:300]} with containers.")
            chosen = set(workloads)
            found = [one for one in found if one.workload in chosen]
        if space := given.get("namespace"):
            found = [one for one in found if one.namespace == space]
        if text := str(given.get("search") or "").strip().lower():
            found = [one for one in found if text in one.name.lower()]
        if show := given.get("show"):
            found = [one for one in found if SHOWN[show](one)]
        return arranged(found, ordering)


class ExportForm(SizesForm):
    """The file that is asked for."""

    form = forms.ChoiceField(choices=[(one, one) for one in FORMS], required=False)
    mode = forms.ChoiceField(choices=[(one, one) for one in MODES], required=False)

    @property
    def file(self) -> tuple[str, str]:
        """The form of the file, and the update mode of autoscalers."""
        return str(self.cleaned_data["form"] or KUBECTL), str(self.cleaned_data["mode"] or MODES[0])


def read(form: type[Any], given: Mapping[str, Any]) -> Any:
    """The form of ``given``, which is valid. Raises ``ApplicationError`` with the fields."""
    made = form(given)
    if made.is_valid():
        return made
    problems: list[FieldProblem] = [
        {"path": name, "message": " ".join(str(one) for one in said)} for name, said in made.errors.items()
    ]
    raise ApplicationError("Something that was asked is not known here.", errors=problems)
