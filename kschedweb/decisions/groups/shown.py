"""The answer about a group as its page shows it: plain data, which a job may have kept."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from kschedweb.decisions.groups.tables import DomainRow, MemberRow, domains, members
from kschedweb.decisions.groups.words import headline
from kschedweb.decisions.parts import Headline

if TYPE_CHECKING:
    from kschedweb.decisions.groups.case import GroupCase

MOST_DOMAINS, MOST_VICTIMS = 100, 200  # on the page; REST has all


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
class Room:
    """Whether evictions would make room; of the ``count`` victims the first are listed, and REST has all."""

    made: bool
    message: str
    violations: int
    count: int
    victims: list[VictimRow]


@dataclass(frozen=True)
class GroupShown:
    """``facts`` are those of the PodGroup, empty where there is none; ``off`` the gates that it needs and has not.

    ``note`` is about gates that are on here alone. ``tried`` says whether it is scheduled as a group; ``blocking`` is
    the first of its ``members`` without a node.
    """

    answer: Headline
    state: str
    facts: dict[str, Any]
    pending: int
    release: str
    remark: str
    off: list[str]
    note: str
    tried: bool
    freed: list[str]
    members: list[MemberRow]
    blocking: MemberRow | None
    domains: list[DomainRow]
    domain_count: int
    room: Room | None

    @property
    def by_domain(self) -> bool:
        return self.domain_count > 1 or any(one.name for one in self.domains)

    @property
    def scored(self) -> bool:
        return any(one.score is not None for one in self.domains)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def read(cls, data: dict[str, Any]) -> GroupShown:
        """Read what ``to_dict`` gave, as JSON keeps it."""
        blocking, room = data["blocking"], data["room"]
        return cls(
            **data
            | {
                "answer": Headline(**data["answer"]),
                "members": list(map(_member, data["members"])),
                "blocking": None if blocking is None else _member(blocking),
                "domains": [DomainRow(**one) for one in data["domains"]],
                "room": room and Room(**room | {"victims": [VictimRow(**one) for one in room["victims"]]}),
            }
        )


def _member(data: dict[str, Any]) -> MemberRow:
    return MemberRow(**data | {"gates": tuple(data["gates"])})


def shown(case: GroupCase) -> GroupShown:
    """What the page of ``case`` shows."""
    standing, found, rules = case.standing, case.found, case.rules
    group, release = standing.group, rules.configuration.release
    listed, tried = members(case), domains(case)
    facts = {} if group is None else {
        "min_count": group.min_count,
        "topology_key": group.topology_key,
        "priority": group.priority,
        "disrupted_whole": group.disrupted_whole,
    }  # fmt: skip
    return GroupShown(
        answer=headline(case),
        state=standing.state.value,
        facts=facts,
        pending=len(standing.pending),
        release=release.version,
        remark=release.remark,
        off=list(rules.off),
        note=rules.note,
        tried=found is not None,
        freed=case.freed,
        members=listed,
        blocking=next((row for row in listed if found is not None and row.key == found.blocking), None),
        domains=tried[:MOST_DOMAINS],
        domain_count=len(tried),
        room=_room(case),
    )


def _room(case: GroupCase) -> Room | None:
    room = None if case.found is None else case.found.room
    if room is None:
        return None
    victims = [
        VictimRow(pod.namespace, pod.name, pod.node_name, pod.scheduling_group, pod.priority)
        for pod in room.victims[:MOST_VICTIMS]
    ]
    return Room(room.status.ok, room.status.message, room.violations, len(room.victims), victims)
