"""The contents of the decision page under a profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.decisions import arithmetic
from kschedweb.decisions.devices.inspection import inspect_devices
from kschedweb.decisions.devices.tables import build_tables
from kschedweb.decisions.presentation import Presentation
from kschedweb.decisions.presenters import get_presenter
from kschedweb.engine.studies.fixes.shortages import find_resource_shortages

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case
    from kschedweb.decisions.devices.tables import DevicesOnNode
    from kschedweb.decisions.page_parts import Arithmetic
    from kschedweb.decisions.words import RejectionReason, VerdictReading
    from kschedweb.engine import Status
    from kschedweb.engine.state.columns import Ints
    from kschedweb.engine.studies.fixes.shortages import ResourceShortage


class Decision(Presentation):
    """The presentation of a profile's decision."""

    case: Case

    def list_notes(self) -> list[str]:
        remark = self.case.scheduler.configuration.release.remark
        return [remark] if remark else []

    def missing(self) -> list[str]:
        return filters_missing(self.case)

    def compute_arithmetic(self, node: int, plugin: str) -> Arithmetic:
        return arithmetic.explain_score(self, self.case, node, plugin)

    def explain_verdict(self, node: int, status: Status) -> VerdictReading:
        return get_presenter(status.plugin).reading(self.case.snapshot, self.case.pod, node, status)

    def list_shortages(self, node: int) -> list[ResourceShortage]:
        return find_resource_shortages(self.case.snapshot, self.case.pod, node)

    def devices_on_node(self, node: int) -> DevicesOnNode | None:
        inspection = inspect_devices(self.case, node)
        return None if inspection is None else build_tables(self.case.snapshot.names[node], inspection)

    def kinds(self, plugin: str) -> Ints | None:
        return get_presenter(plugin).kinds(self.case.snapshot, self.case.pod)

    def in_group(self, key: str, node: int, count: int) -> str:
        status = self.explanation.verdict_at(node)
        assert status is not None
        of_kind = get_presenter(status.plugin).of_kind(self.case.snapshot, self.case.pod, node)
        return of_kind or super().in_group(key, node, count)

    def summarize_reason(self, reason: RejectionReason) -> str:
        return get_presenter(reason.plugin).in_short(self.case.pod, reason.text, reason.fact)


def filters_missing(case: Case) -> list[str]:
    """Return the extenders, which pages do not call, and the filters that are not simulated."""
    profiles = case.scheduler.configuration.profiles
    profile = next(item for item in profiles if item.scheduler_name == case.pod.scheduler_name)
    filter_names = {plugin.name for plugin in case.scheduler.framework(case.pod).points.filter}
    missing = [ref.name for ref in profile.points.get("filter", ()) if ref.name not in filter_names]
    return missing + [f"extender {url}" for url in case.explanation.unasked]
