from __future__ import annotations

from kschedweb.engine.autoscaling.cluster.pod_constraints import PodConstraints, read_pod_constraints
from tests.engine.autoscaling.building import needs, wanting

SPREAD = {"topologyKey": "z", "maxSkew": 1, "labelSelector": {}}


def steps(wants: PodConstraints, prefers: bool) -> list[PodConstraints]:
    constraints_by_step = [wants]
    while (fewer := constraints_by_step[-1].relax(prefers)) is not None:
        constraints_by_step.append(fewer)
    return constraints_by_step


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
    first, *relaxed = steps(read_pod_constraints({"affinity": affinity, "topologySpreadConstraints": spreads}), True)
    assert [term.key for term in first.preferred_affinity] == ["heavy", "light"]
    assert set(first.requirements) == {"a", "c"}
    assert set(first.strict_requirements) == {"a"}
    remaining = [
        (
            len(constraints.required or ()),
            len(constraints.preferred_affinity),
            len(constraints.preferred),
            len(constraints.spreads),
        )
        for constraints in relaxed
    ]
    assert remaining == [
        (1, 2, 1, 3),
        (1, 1, 1, 3),
        (1, 0, 1, 3),
        (1, 0, 0, 3),
        (1, 0, 0, 2),
        (1, 0, 0, 1),
        (1, 0, 0, 1),
    ]
    assert "b" in relaxed[0].requirements, "the first required term went first"
    assert [spread.when for spread in relaxed[4].spreads] == ["ScheduleAnyway", "DoNotSchedule"], (
        "the last took its place"
    )
    assert len(relaxed[-1].tolerations) == 1, "in the end taints that only prefer are tolerated"


def test_what_becomes_of_wishes_is_worked_out_once() -> None:
    wants = read_pod_constraints({"affinity": wanting(needs("c", "Exists"), preferred=True)})
    assert wants.relax(False) is wants.relax(False)
    assert wants.relax(False) is not None
