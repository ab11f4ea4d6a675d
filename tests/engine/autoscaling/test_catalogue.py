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
    found = []
    for number in range(draw(st.integers(1, 4))):
        cpu = draw(st.sampled_from(["1", "2", "8"]))
        raw = {
            "name": f"t{number}",
            "capacity": {"cpu": cpu},
            "overhead": {"cpu": draw(st.sampled_from(["0", "1500m"]))},
        }
        found.append(InstanceType.from_json({**raw, "offerings": draw(st.lists(offerings(), min_size=1, max_size=4))}))
    return found


@st.composite
def wanted(draw: st.DrawFn) -> Requirements:
    found = Requirements()
    for key, values in ((ZONE, ZONES), (CAPACITY_TYPE, KINDS)):
        operator = draw(st.sampled_from(["In", "NotIn", "Exists", ""]))
        if operator:
            listed = draw(st.lists(st.sampled_from(values), min_size=1)) if operator != "Exists" else []
            found.add([new_requirement(key, operator, listed)])
    return found


@given(types(), wanted(), st.sampled_from([0, 900, 5000]))
def test_columns_say_what_each_type_says(sold: list[InstanceType], asked: Requirements, cpu: int) -> None:
    catalogue = Catalogue(sold)
    meeting, offered, fitting = (
        catalogue.filter_compatible(asked),
        catalogue.filter_offered(asked),
        catalogue.filter_fitting({"cpu": cpu}),
    )
    cheapest, worst = catalogue.find_cheapest(asked), catalogue.worst_launch_prices(asked)
    for place, one in enumerate(sold):
        usable = [each for each in one.offerings if asked.intersects(each.requirements)]
        launchable = [each for each in usable if each.is_launchable]
        assert meeting[place] == one.requirements.intersects(asked)
        assert offered[place] == any(each.available for each in usable)
        assert fitting[place] == (min(one.allocatable.values()) >= 0 and one.allocatable["cpu"] >= cpu)
        assert cheapest[place] == min((each.price for each in launchable), default=inf)
        of_kind = [
            [each.price for each in launchable if each.capacity_type == kind] for kind in reversed(sorted(KINDS))
        ]
        first = next((prices for prices in (of_kind[1], of_kind[0], of_kind[2]) if prices), None)
        assert worst[place] == (NEVER if first is None else max(first))


@given(types(), wanted())
def test_types_come_by_their_price(sold: list[InstanceType], asked: Requirements) -> None:
    catalogue = Catalogue(sold)
    prices = catalogue.find_cheapest(asked)
    listed = [prices[place] for place in catalogue.by_price(catalogue.everything, asked)]
    assert listed == sorted(listed)


def test_values_are_counted_only_as_far_as_they_are_allowed() -> None:
    sold = [
        InstanceType.from_json(
            {"name": name, "capacity": {}, "offerings": [{"zone": zone, "capacityType": "spot", "price": 1}]}
        )
        for name, zone in (("s", "a"), ("t", "b"), ("u", "c"))
    ]
    catalogue = Catalogue(sold)
    asked = Requirements.from_requirements([new_requirement(ZONE, "NotIn", ["c"], 2)])
    assert find_shortfall(catalogue, [0, 1, 2], asked) == (2, {}), "after two types there are two zones"
    assert find_shortfall(catalogue, [0, 2], asked) == (2, {ZONE: 1})
