"""Every measure has one group, and what says nearly the same lies below one that leads."""

from __future__ import annotations

from kschedweb.engine.studies.measure.groups import GROUPS, group_of, lead, rank
from kschedweb.engine.studies.measure.objectives import known

NAMES = [one.name for one in known(["cpu", "memory", "nvidia.com/gpu"])]


def test_every_measure_belongs_to_one_group_and_every_group_has_some() -> None:
    for name in NAMES:
        assert [group for group in GROUPS if name.startswith(group.stems)] == [group_of(name)]
    assert {group_of(name).name for name in NAMES} == {group.name for group in GROUPS}
    assert [group.name for group in GROUPS] == ["run", "disruption", "balance", "cost", "speed"]
    assert [rank(name) for name in NAMES] == sorted(rank(name) for name in NAMES)


def test_what_leads_is_a_measure_of_the_same_group_that_leads_itself() -> None:
    for name in NAMES:
        assert lead(name) in NAMES
        assert lead(lead(name)) == lead(name)
        assert group_of(lead(name)) == group_of(name)
    below = [name for name in NAMES if lead(name) == "skew_nvidia.com/gpu"]
    assert sorted(below) == [f"{kind}_nvidia.com/gpu{end}" for kind in ("skew", "spread") for end in ("", "_end")]
    assert lead("use_hottest_cpu") == "use_hottest_cpu"
