"""The scheduling cycle of a composite pod group: its groups are tried one after the other, down to their pods.

A composite group is tried in its domains like any group. In each domain its groups are tried in turn, each in the
domains that it has within that one; those that are placed stay on their nodes while the next are tried. In the end a
failure is passed down: no group keeps its place if one above it failed.
"""

from __future__ import annotations

from dataclasses import field, replace

from kschedweb.engine.cycle.binding import BindingCycle
from kschedweb.engine.cycle.group_placement import DomainTry, GroupPlacement
from kschedweb.engine.cycle.group_search import DomainSearchResult, GroupSearch, report_placement
from kschedweb.engine.framework.groups import Domain, GroupCycle, GroupRoom, Progress
from kschedweb.engine.framework.status import Code, Status, error, unschedulable
from kschedweb.engine.objects.podgroup import PodGroup
from kschedweb.engine.state.group_tree import GroupTree
from kschedweb.engine.validation.golang import quote
from kschedweb.engine.values import dataclass


@dataclass(slots=True)
class CompositeSearch(GroupSearch):
    """The search for a place for ``tree``, whose root is ``group``; ``pods`` are those of all its groups."""

    tree: GroupTree = field(kw_only=True)

    def _try_domain(self, domain: Domain) -> DomainTry:
        """Try the groups one after the other in a domain, then take their pods back."""
        framework, children = self._framework, self.tree.children
        cycle = GroupCycle(self.scheduler.snapshot, self.group, self.pods)
        progress = Progress(0, len(children))
        status = framework.placement_feasible(cycle, progress)
        child_tries: list[tuple[PodGroup, DomainTry]] = []
        assumed: list[BindingCycle] = []
        try:
            for child in children:
                if status.code in (Code.ERROR, Code.UNSCHEDULABLE):
                    break
                # A group that is placed stays there while those after it are tried.
                if (
                    child_tries
                    and child_tries[-1][1].status.ok
                    and (failure := self._assume_group(child_tries[-1][1], assumed))
                ):
                    group = child_tries[-1][0]
                    status = self._name_failed_child(
                        group, f"failed to assume child {group.key} subtree in snapshot: {failure}"
                    )
                    break
                final = self._search_child(child, domain)
                child_tries.append((child.group, final))
                if final.status.code is Code.ERROR:
                    status = self._name_failed_child(child.group, final.status.message)
                    break
                progress = progress.advance(scheduled=final.status.ok)
                status = framework.placement_feasible(cycle, progress)
        finally:
            self._take_back(assumed)
        if status.code in (Code.WAIT, Code.UNSCHEDULABLE):
            status = self._refuse(*status.reasons).with_plugin(status.plugin)
        placed = tuple(
            placement for _, final in child_tries if final.status.ok for placement in final.placements if placement.node
        )
        return DomainTry(domain, status, placed, children=tuple(child_tries))

    def _search_child(self, child: GroupTree, domain: Domain) -> DomainTry:
        """Return the chosen domain of a group below, or the failure that it reports."""
        lead = self.pods[0] if self.lead is None else self.lead
        search: GroupSearch
        if child.group.is_composite:
            search = CompositeSearch(
                self.scheduler,
                child.group,
                child.all_pods,
                self.request,
                self.rules,
                self.ranking,
                lead=lead,
                tree=child,
            )
        else:
            search = GroupSearch(
                self.scheduler, child.group, child.pods, self.request, self.rules, self.ranking, lead=lead
            )
        result = search.search_domains(domain)
        return replace(result.final, tries=tuple(result.tries))

    def _assume_group(self, final: DomainTry, assumed: list[BindingCycle]) -> str:
        """Put the pods of a placed group on their nodes; return why that fails, "" if it does not."""
        pod_by_key = {pod.key: pod for pod in self.pods}
        for placement in final.placements:
            if placement.node:
                stands = self._assume_pod(placement, pod_by_key[placement.pod], assumed)
                if not stands.node:
                    return stands.message
        return ""

    def _name_failed_child(self, child: PodGroup, message: str) -> Status:
        return error(
            f"composite pod group {quote(self.group.name)} evaluation failed due to child {quote(child.name)} error: "
            f"{message}"
        )

    # The results that groups and pods report.

    def _conclude(self, result: DomainSearchResult, status: Status, room: GroupRoom | None) -> GroupPlacement:
        final_by_group = {self.group.entity: result.final, **result.final.list_groups()}
        statuses: dict[str, Status] = {}
        _pass_down_failures(self.tree, final_by_group, None, statuses)
        searched = dict(statuses)
        if room is not None:
            statuses = {entity: _add_room(status_below, room) for entity, status_below in statuses.items()}
        parts = [
            self._report_part(part, final_by_group, searched[part.group.entity], statuses[part.group.entity], room)
            for part in self.tree.walk()
        ]
        placement_by_pod = {placement.pod: placement for part in parts for placement in part.placements}
        return replace(
            parts[0],
            status=status,
            placements=tuple(placement_by_pod[pod.key] for pod in self.pods),
            tries=tuple(result.tries),
            scores=tuple(result.scores),
            blocking=next((part.blocking for part in parts if part.blocking), ""),
            domain=result.final.domain.name if result.final.status.ok else "",
            parts=tuple(parts[1:]),
        )

    @staticmethod
    def _report_part(
        part: GroupTree, final_by_group: dict[str, DomainTry], searched: Status, status: Status, room: GroupRoom | None
    ) -> GroupPlacement:
        group_try = final_by_group.get(part.group.entity)
        final = DomainTry(Domain.none(), searched) if group_try is None else replace(group_try, status=searched)
        if group_try is not None and group_try.status != searched:
            # The failure of a group above took the place of its own result.
            final = replace(final, is_refused_outright=False)
        placement_by_pod = {placement.pod: placement for placement in final.placements}
        return GroupPlacement(
            part.group,
            status,
            tuple(
                report_placement(part.group, pod, placement_by_pod.get(pod.key), final, status, room)
                for pod in part.pods
            ),
            searched,
            tries=() if group_try is None else group_try.tries,
            room=room,
            blocking=next(
                (pod.key for pod in part.pods if (placed := placement_by_pod.get(pod.key)) and not placed.node), ""
            ),
            domain=final.domain.name if searched.ok else "",
        )


def _pass_down_failures(
    tree: GroupTree,
    final_by_group: dict[str, DomainTry],
    failed: tuple[PodGroup, Status] | None,
    statuses: dict[str, Status],
) -> None:
    """Fill in the status of each group of a tree, where ``failed`` is the nearest group above that failed."""
    final = final_by_group.get(tree.group.entity)
    status = None if final is None else final.status
    is_error = status is not None and status.code is Code.ERROR
    if failed is not None and (status is None or status.ok or (failed[1].code is Code.ERROR and not is_error)):
        status = _name_failed_ancestor(*failed)
    else:
        # A group is left out only after one above it failed.
        assert status is not None
        failed = failed if status.ok else (tree.group, status)
    statuses[tree.group.entity] = status
    for child in tree.children:
        _pass_down_failures(child, final_by_group, failed, statuses)


def _name_failed_ancestor(group: PodGroup, status: Status) -> Status:
    ancestor = f"ancestor composite pod group {quote(group.name)}"
    if status.code is Code.ERROR:
        return error(f"{ancestor} encountered an error")
    return unschedulable(f"{ancestor} is unschedulable").with_plugin(status.plugin)


def _add_room(status: Status, room: GroupRoom) -> Status:
    """Return the status of a group after room was looked for."""
    if room.status.code is Code.ERROR:
        return room.status
    if not room.status.message:
        return status
    return replace(status, reasons=(*status.reasons, room.status.message))
