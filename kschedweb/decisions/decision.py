"""The contents of the decision page under a profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.decisions import arithmetic
from kschedweb.decisions.devices.inspecting import inspected
from kschedweb.decisions.devices.tables import tables
from kschedweb.decisions.presentation import Presentation
from kschedweb.decisions.presenters import presenter
from kschedweb.decisions.presenters.noderesourcesfit import shortages

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case
    from kschedweb.decisions.devices.tables import DevicesOnNode
    from kschedweb.decisions.parts import Arithmetic
    from kschedweb.decisions.words import Reading, RejectionReason, Shortage
    from kschedweb.engine import Status
    from kschedweb.engine.state.columns import Ints


class Decision(Presentation):
    """The presentation of a profile's decision."""

    case: Case

    def notes(self) -> list[str]:
        remark = self.case.scheduler.configuration.release.remark
        return [remark] if remark else []

    def missing(self) -> list[str]:
        return filters_missing(self.case)

    def worked(self, node: int, plugin: str) -> Arithmetic:
        return arithmetic.explain(self, self.case, node, plugin)

    def read(self, node: int, status: Status) -> Reading:
        return presenter(status.plugin).reading(self.case.snapshot, self.case.pod, node, status)

    def shortages(self, node: int) -> list[Shortage]:
        return shortages(self.case.snapshot, self.case.pod, node)

    def devices(self, node: int) -> DevicesOnNode | None:
        told = inspected(self.case, node)
        return None if told is None else tables(self.case.snapshot.names[node], told)

    def kinds(self, plugin: str) -> Ints | None:
        return presenter(plugin).kinds(self.case.snapshot, self.case.pod)

    def in_group(self, key: str, node: int, count: int) -> str:
        status = self.explanation.verdict_at(node)
        assert status is not None
        of_kind = presenter(status.plugin).of_kind(self.case.snapshot, self.case.pod, node)
        return of_kind or super().in_group(key, node, count)

    def summary(self, reason: RejectionReason) -> str:
        return presenter(reason.plugin).in_short(self.case.pod, reason.text, reason.about)


def filters_missing(case: Case) -> list[str]:
    """The extenders that have not been called, because pages call no other server, and unevaluated filters."""
    profiles = case.scheduler.configuration.profiles
    profile = next(item for item in profiles if item.scheduler_name == case.pod.scheduler_name)
    known = {plugin.name for plugin in case.scheduler.framework(case.pod).points.filter}
    missing = [ref.name for ref in profile.points.get("filter", ()) if ref.name not in known]
    return missing + [f"extender {url}" for url in case.explanation.unasked]
