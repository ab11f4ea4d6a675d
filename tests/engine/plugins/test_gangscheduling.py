"""GangScheduling: who may enter the queue, and who waits at Permit."""

from __future__ import annotations

from typing import Any

import pytest

from kschedweb.engine import Pod, Snapshot
from kschedweb.engine.framework.events import ObjectChange
from kschedweb.engine.framework.groups import GroupCycle, Progress
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.status import Code
from kschedweb.engine.plugins.gangscheduling import GangScheduling
from tests.engine.builders import node, pod
from tests.engine.gangs import group, member, members, read_group

PLUGIN = GangScheduling({})


def entering(member_pod: dict, *objects: dict) -> str:
    snapshot = Snapshot.from_objects([*objects, member_pod])
    return PLUGIN.pre_enqueue(Pod.from_json(member_pod), snapshot.objects).message


def test_a_pod_without_a_group_is_none_of_its_business() -> None:
    assert entering(pod("p")) == ""


def test_a_pod_waits_for_its_group() -> None:
    assert entering(member("p")) == 'waiting for pods\'s pod group "gang" to appear in scheduling queue'


def test_a_gang_waits_until_enough_pods_are_there_on_a_node_or_not() -> None:
    few = "waiting for minCount pods from a gang to appear in scheduling queue"
    assert entering(member("p"), group("gang", 3), member("q")) == few
    assert entering(member("p"), node("a"), group("gang", 3), member("q"), member("r", on="a")) == ""
    assert entering(member("p"), group("gang", None)) == ""


@pytest.mark.parametrize(
    ("progress", "code", "message"),
    [
        ((3, 0), Code.SUCCESS, ""),
        ((1, 2), Code.WAIT, "minCount (3) is not yet satisfied: 1 scheduled, 2 remaining"),
        ((1, 1), Code.UNSCHEDULABLE, "minCount (3) cannot be satisfied: 1 scheduled, 1 remaining"),
    ],
)
def test_it_says_whether_the_number_can_be_reached(progress: tuple[int, int], code: Code, message: str) -> None:
    status = PLUGIN.placement_feasible(GroupCycle(Snapshot(), read_group("gang", 3), []), Progress(*progress))
    assert (status.code, status.message) == (code, message)


def permitted(*objects: dict, last: str) -> tuple[Any, tuple[str, ...]]:
    snapshot = Snapshot.from_objects([node("a"), *objects])
    cycle = Cycle(snapshot, snapshot.get_pod(f"default/{last}"))
    status, seconds = PLUGIN.permit(cycle, "a")
    return (status.code, status.message, seconds), cycle.allows.get("GangScheduling", ())


def test_a_pod_waits_at_permit_until_the_last_lets_all_go_on() -> None:
    first, second = members(2, on="a")
    waits = (Code.WAIT, "waiting for minCount pods from a gang to be scheduled", 300.0)
    assert permitted(group("gang"), first, last="gang-0") == (waits, ())
    both = (Code.SUCCESS, "", 0.0)
    assert permitted(group("gang"), first, second, last="gang-1") == (both, ("default/gang-0", "default/gang-1"))


def test_pods_of_no_gang_do_not_wait() -> None:
    assert permitted(group("gang", None), member("p", on="a"), last="p") == ((Code.SUCCESS, "", 0.0), ())
    assert permitted(pod("p", on="a"), last="p") == ((Code.SUCCESS, "", 0.0), ())


def test_without_its_group_a_pod_fails() -> None:
    (code, message, _), _ = permitted(member("p", on="a"), last="p")
    assert (code, message.startswith("failed to get podGroup default/gang: ")) == (Code.ERROR, True)


def test_pods_and_groups_that_come_and_a_lower_number_wake_the_gang() -> None:
    hints = {hint.event.name: hint.hint for hint in PLUGIN.events()}
    cluster, waiting = Snapshot().objects, Pod.from_json(member("p"))

    def helps(event: str, old: Any, new: Any) -> bool:
        hint = hints[event]
        assert hint is not None
        return hint(waiting, ObjectChange(old, new, cluster))

    for event in ("UnschedulablePodAdd", "AssignedPodAdd"):
        assert helps(event, None, Pod.from_json(member("q")))
        assert not helps(event, None, Pod.from_json(member("q", "other")))
    assert helps("PodGroupAdd", None, read_group("gang"))
    assert not helps("PodGroupAdd", None, read_group("other"))
    assert helps("PodGroupUpdate", read_group("gang", 3), read_group("gang", 2))
    assert not helps("PodGroupUpdate", read_group("gang", 2), read_group("gang", 3))
    assert not helps("PodGroupUpdate", read_group("gang", 3), read_group("gang", None))
