"""Names and explanations of families of measures, which share a chart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.utils.translation import gettext

from kschedweb.engine.studies.measure.registry import FAMILIES, family_of
from kschedweb.engine.studies.measure.spec import Family


@dataclass(frozen=True)
class ShownFamily:
    """A family of the engine's measures, with its name and explanation."""

    family: Family

    @property
    def name(self) -> str:
        return self.family.name

    @property
    def group(self) -> str:
        """The group of measures under which its chart is shown."""
        return self.family.group.name

    @property
    def label(self) -> str:
        return gettext(self.family.label)

    @property
    def help(self) -> str:
        return gettext(self.family.help)

    def has_measure(self, measure: str) -> bool:
        return family_of(measure) == self.family


def present_families(measures: Iterable[str]) -> list[ShownFamily]:
    """Return the families with at least one of ``measures``, in order."""
    names = {family_of(name) for name in measures}
    return [ShownFamily(family) for family in FAMILIES if family in names]
