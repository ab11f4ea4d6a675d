"""The page of a group as plain data, which a job may have stored."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from kschedweb.decisions.groups.tables import (
    DomainRow,
    MemberRow,
    TreeRow,
    build_domain_rows,
    build_member_rows,
    build_tree_rows,
)
from kschedweb.decisions.groups.words import build_headline
from kschedweb.decisions.page_parts import Headline
from kschedweb.engine.json_types import Json

if TYPE_CHECKING:
    from kschedweb.decisions.groups.case import GroupCase

# On the page; REST has all.
MOST_DOMAINS, MOST_VICTIMS = 100, 200
# Of the tree, and of each group of it.
MOST_GROUPS, MOST_DOMAINS_OF_GROUP = 100, 20


@dataclass(frozen=True)
class VictimRow:
    """A pod that would be evicted."""

    namespace: str
    name: str
    node: str
    group: str
    priority: int

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True)
class EvictionRoom:
    """The result of preemption for a group."""

    # True if evictions would make room.
    made: bool
    message: str
    # Violations of PodDisruptionBudgets.
    violations: int
    # Number of victims, of which the first ones are listed.
    count: int
    victims: list[VictimRow]


@dataclass(frozen=True)
class GroupPage:
    """The contents of a group's page."""

    answer: Headline
    state: str
    # Facts of the PodGroup, empty if it does not exist.
    facts: Json
    pending: int
    release: str
    remark: str
    # Feature gates that the group needs and the policy leaves off.
    off: list[str]
    # A sentence about gates that are on only here, "" for none.
    note: str
    # True if it is scheduled as a group.
    tried: bool
    # Claims whose devices would be released.
    freed: list[str]
    members: list[MemberRow]
    # The first member without a node.
    blocking: MemberRow | None
    domains: list[DomainRow]
    domain_count: int
    room: EvictionRoom | None
    # The groups of the tree that it is part of; empty if it is alone.
    tree: list[TreeRow]
    group_count: int

    @property
    def by_domain(self) -> bool:
        return self.domain_count > 1 or any(domain.name for domain in self.domains)

    @property
    def scored(self) -> bool:
        return any(domain.score is not None for domain in self.domains)

    def to_dict(self) -> Json:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Json) -> GroupPage:
        """Read what ``to_dict`` returned, after a round trip through JSON."""
        blocking, room = data["blocking"], data["room"]
        return cls(
            **data
            | {
                "answer": Headline(**data["answer"]),
                "members": list(map(_read_member, data["members"])),
                "blocking": None if blocking is None else _read_member(blocking),
                "domains": [DomainRow(**domain) for domain in data["domains"]],
                "tree": list(map(_read_tree_row, data["tree"])),
                "room": room
                and EvictionRoom(**room | {"victims": [VictimRow(**victim) for victim in room["victims"]]}),
            }
        )


def _read_member(data: Json) -> MemberRow:
    return MemberRow(**data | {"gates": tuple(data["gates"])})


def _read_tree_row(data: Json) -> TreeRow:
    return TreeRow(**data | {"domains": [DomainRow(**domain) for domain in data["domains"]]})


def build_group_page(case: GroupCase) -> GroupPage:
    """Build the page of ``case``."""
    group_status, placement, rules = case.group_status, case.placement, case.rules
    group, release = group_status.group, rules.configuration.release
    listed, domain_rows, tree_rows = build_member_rows(case), build_domain_rows(case), build_tree_rows(case)
    facts = {} if group is None else {
        "min_count": group.min_count,
        "topology_key": group.topology_key,
        "priority": group.priority,
        "disrupted_whole": group.disrupted_whole,
        "parent": group.parent.partition("/")[2],
    }  # fmt: skip
    return GroupPage(
        answer=build_headline(case),
        state=group_status.state.value,
        facts=facts,
        pending=len(group_status.pending),
        release=release.version,
        remark=release.remark,
        off=list(rules.off),
        note=rules.note,
        tried=placement is not None,
        freed=case.freed,
        members=listed,
        blocking=next((row for row in listed if placement is not None and row.key == placement.blocking), None),
        domains=domain_rows[:MOST_DOMAINS],
        domain_count=len(domain_rows),
        room=_build_room(case),
        tree=[replace(row, domains=row.domains[:MOST_DOMAINS_OF_GROUP]) for row in tree_rows[:MOST_GROUPS]],
        group_count=len(tree_rows),
    )


def _build_room(case: GroupCase) -> EvictionRoom | None:
    room = None if case.placement is None else case.placement.room
    if room is None:
        return None
    victims = [
        VictimRow(pod.namespace, pod.name, pod.node_name, pod.scheduling_group, pod.priority)
        for pod in room.victims[:MOST_VICTIMS]
    ]
    return EvictionRoom(room.status.ok, room.status.message, room.violations, len(room.victims), victims)
