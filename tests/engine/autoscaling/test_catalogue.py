"""A catalogue answers for all types at once what each type answers for itself."""

from __future__ import annotations

from math import inf
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine.autoscaling.offers.catalogue import NEVER, Catalogue
from kschedweb.engine.autoscaling.offers.instance_types import InstanceType
from kschedweb.engine.autoscaling.offers.labels import CAPACITY_TYPE
from kschedweb.engine.autoscaling.offers.min_values import find_shortfall
from kschedweb.engine.autoscaling.offers.requirements import Requirements, new_requirement

ZONE = "topology.kubernetes.io/zone"
ZONES, KINDS = ("a", "b", "c"), ("on-demand", "spot", "reserved")


@st.composite
def offerings(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(KINDS))
    reserved = {"reservationID": "r", "reservationCapacity": draw(st.integers(0, 1))} if kind == "reserved" else {}
    price, available = draw(st.sampled_from([0.0, 0.1, 0.5, 2.0])), draw(st.booleans())
    return {
        "zone": draw(st.sampled_from(ZONES)),
        "capacityType": kind,
        "price": price,
        "available": available,
        **reserved,
    }


@st.composite
def types(draw: st.DrawFn) -> list[InstanceType]:
    instance_types = []
    for number in range(draw(st.integers(1, 4))):
        cpu = draw(st.sampled_from(["1", "2", "8"]))
        raw = {
            "name": f"t{number}",
            "capacity": {"cpu": cpu},
            "overhead": {"cpu": draw(st.sampled_from(["0", "1500m"]))},
        }
        instance_types.append(
            InstanceType.from_json({**raw, "offerings": draw(st.lists(offerings(), min_size=1, max_size=4))})
        )
    return instance_types


@st.composite
def requirement_sets(draw: st.DrawFn) -> Requirements:
    requirement_set = Requirements()
    for key, values in ((ZONE, ZONES), (CAPACITY_TYPE, KINDS)):
        operator = draw(st.sampled_from(["In", "NotIn", "Exists", ""]))
        if operator:
            listed = draw(st.lists(st.sampled_from(values), min_size=1)) if operator != "Exists" else []
            requirement_set.add([new_requirement(key, operator, listed)])
    return requirement_set


@given(types(), requirement_sets(), st.sampled_from([0, 900, 5000]))
def test_columns_say_what_each_type_says(sold: list[InstanceType], wanted_requirements: Requirements, cpu: int) -> None:
    catalogue = Catalogue(sold)
    meeting, offered, fitting = (
        catalogue.filter_compatible(wanted_requirements),
        catalogue.filter_offered(wanted_requirements),
        catalogue.filter_fitting({"cpu": cpu}),
    )
    cheapest, worst = catalogue.find_cheapest(wanted_requirements), catalogue.worst_launch_prices(wanted_requirements)
    for place, instance_type in enumerate(sold):
        usable = [
            offering for offering in instance_type.offerings if wanted_requirements.intersects(offering.requirements)
        ]
        launchable = [offering for offering in usable if offering.is_launchable]
        assert meeting[place] == instance_type.requirements.intersects(wanted_requirements)
        assert offered[place] == any(offering.available for offering in usable)
        assert fitting[place] == (
            min(instance_type.allocatable.values()) >= 0 and instance_type.allocatable["cpu"] >= cpu
        )
        assert cheapest[place] == min((offering.price for offering in launchable), default=inf)
        of_kind = [
            [offering.price for offering in launchable if offering.capacity_type == kind]
            for kind in reversed(sorted(KINDS))
        ]
        first = next((prices for prices in (of_kind[1], of_kind[0], of_kind[2]) if prices), None)
        assert worst[place] == (NEVER if first is None else max(first))


@given(types(), requirement_sets())
def test_types_come_by_their_price(sold: list[InstanceType], wanted_requirements: Requirements) -> None:
    catalogue = Catalogue(sold)
    prices = catalogue.find_cheapest(wanted_requirements)
    listed = [prices[place] for place in catalogue.by_price(catalogue.everything, wanted_requirements)]
    assert listed == sorted(listed)


def test_values_are_counted_only_as_far_as_they_are_allowed() -> None:
    sold = [
        InstanceType.from_json(
            {"name": name, "capacity": {}, "offerings": [{"zone": zone, "capacityType": "spot", "price": 1}]}
        )
        for name, zone in (("s", "a"), ("t", "b"), ("u", "c"))
    ]
    catalogue = Catalogue(sold)
    wanted_requirements = Requirements.from_requirements([new_requirement(ZONE, "NotIn", ["c"], 2)])
    assert find_shortfall(catalogue, [0, 1, 2], wanted_requirements) == (2, {}), "after two types there are two zones"
    assert find_shortfall(catalogue, [0, 2], wanted_requirements) == (2, {ZONE: 1})
