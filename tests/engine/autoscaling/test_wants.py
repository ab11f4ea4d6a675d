from __future__ import annotations

from kschedweb.engine.autoscaling.cluster.pod_constraints import PodConstraints, read_pod_constraints
from tests.engine.autoscaling.building import needs, wanting

SPREAD = {"topologyKey": "z", "maxSkew": 1, "labelSelector": {}}


def steps(wants: PodConstraints, prefers: bool) -> list[PodConstraints]:
    found = [wants]
    while (fewer := found[-1].relax(prefers)) is not None:
        found.append(fewer)
    return found


def test_preferences_are_given_up_in_the_order_of_the_original() -> None:
    terms = [needs("a", "In", "1"), needs("b", "In", "1")]
    affinity = {
        **wanting(*terms),
        "podAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": weight, "podAffinityTerm": {"topologyKey": key, "labelSelector": {}}}
                for weight, key in ((1, "light"), (9, "heavy"))
            ]
        },
    }
    affinity["nodeAffinity"] |= wanting(needs("c", "Exists"), preferred=True)["nodeAffinity"]
    spreads = [{**SPREAD, "whenUnsatisfiable": when} for when in ("ScheduleAnyway", "DoNotSchedule", "ScheduleAnyway")]
    first, *others = steps(read_pod_constraints({"affinity": affinity, "topologySpreadConstraints": spreads}), True)
    assert [one.key for one in first.preferred_affinity] == ["heavy", "light"]
    assert set(first.requirements) == {"a", "c"}
    assert set(first.strict_requirements) == {"a"}
    left = [
        (len(one.required or ()), len(one.preferred_affinity), len(one.preferred), len(one.spreads)) for one in others
    ]
    assert left == [(1, 2, 1, 3), (1, 1, 1, 3), (1, 0, 1, 3), (1, 0, 0, 3), (1, 0, 0, 2), (1, 0, 0, 1), (1, 0, 0, 1)]
    assert "b" in others[0].requirements, "the first required term went first"
    assert [one.when for one in others[4].spreads] == ["ScheduleAnyway", "DoNotSchedule"], "the last took its place"
    assert len(others[-1].tolerations) == 1, "in the end taints that only prefer are tolerated"


def test_what_becomes_of_wishes_is_worked_out_once() -> None:
    wants = read_pod_constraints({"affinity": wanting(needs("c", "Exists"), preferred=True)})
    assert wants.relax(False) is wants.relax(False)
    assert wants.relax(False) is not None
