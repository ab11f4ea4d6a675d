"""Any moment of any history: what is made of the lines equals the objects as they were kept directly."""

from __future__ import annotations

import copy
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.clusters.flight import selectors, services, storage
from kschedweb.clusters.flight.flight import SETTLE, Flight
from kschedweb.clusters.flight.models import FlightRecorder, Segment, Stretch
from kschedweb.clusters.flight.patches import difference, patched
from kschedweb.clusters.following.reflector import Bookmark, Changed, Listed, Message, Removed
from kschedweb.clusters.models import Cluster, Source
from kschedweb.web.errors import NotFound

Json = dict[str, Any]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(allow_nan=False, allow_infinity=False) | st.text("aé"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
KINDS = ("Node", "Pod")
SECOND = 1_000_000


@given(VALUES, VALUES)
def test_a_patch_leads_from_one_value_to_the_other(old: Any, new: Any) -> None:
    patch = difference(old, new)
    made = copy.deepcopy(old) if patch is None else patched(copy.deepcopy(old), patch)
    assert repr(_sorted(made)) == repr(_sorted(new))  # repr tells 1 from True and 1.0


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(one) for one in value] if isinstance(value, list) else value


@pytest.fixture
def cluster() -> Cluster:
    return _cluster()


def thing(kind: str, number: int, value: Any) -> Json:
    return {"kind": kind, "metadata": {"name": f"{kind}-{number}", "namespace": "a"}, "spec": value}


NEWS = st.lists(
    st.tuples(
        st.integers(0, 3),  # tenths of a second since the news before
        st.sampled_from(("change", "change", "change", "gone", "list", "break", "bookmark", "keep", "full")),
        st.sampled_from(KINDS),
        st.integers(0, 3),
        VALUES,
    ),
    max_size=40,
)


@pytest.mark.django_db
@settings(max_examples=100)
@given(news=NEWS)
def test_any_moment_equals_the_state_that_was_kept_directly(news: list[Any]) -> None:
    Cluster.objects.all().delete()
    recorded = _cluster()
    flight, now = Flight(recorded, "me", KINDS, "started"), SECOND
    kept: dict[str, dict[str, Json]] = {kind: {} for kind in KINDS}
    states: list[tuple[int, list[Json]]] = []
    unsure: list[tuple[int, int]] = []  # times in which somebody could not hear
    deaf: dict[str, int] = {}
    heard = dict.fromkeys(KINDS, 0)

    def hear(kind: str, message: Message) -> None:
        flight.take(now, message)
        if kind in deaf:
            unsure.append((deaf.pop(kind), now))
        heard[kind] = now

    for kind in KINDS:
        hear(kind, Listed(kind, [], "1", "start"))
    for tenths, what, kind, number, value in news:
        now += tenths * SECOND // 10
        one = thing(kind, number, value)
        name = one["metadata"]["name"]
        if what == "change":
            kept[kind][name] = one
            hear(kind, Changed(kind, copy.deepcopy(one)))
        elif what == "gone" and name in kept[kind]:
            hear(kind, Removed(kind, kept[kind].pop(name)))
        elif what == "list":
            unsure.append((heard[kind], now))
            hear(kind, Listed(kind, copy.deepcopy(list(kept[kind].values())), "1", "expired"))
        elif what == "break":
            deaf.setdefault(kind, heard[kind])
            flight.broken(now, kind, "cut")
        elif what == "bookmark":
            hear(kind, Bookmark(kind, "1"))
        elif what == "full" and flight.tape is not None:
            flight.tape._full(now)
        elif what == "keep":
            now += SETTLE
            flight.keep(now)
        states.append((now, copy.deepcopy([*kept["Node"].values(), *kept["Pod"].values()])))
    flight.end("over")
    flight.keep(now)
    unsure += [(began, now) for began in deaf.values()]
    for at, state in {at: state for at, state in states}.items():
        moment = selectors.moment_of(at)
        try:
            found = selectors.objects_at(recorded, moment)
        except NotFound:
            continue
        assert not any(first < at < last for first, last in unsure)
        assert {_key(one): repr(_sorted(one)) for one in found} == {_key(one): repr(_sorted(one)) for one in state}


def _key(one: Json) -> tuple[str, str]:
    return one["kind"], one["metadata"]["name"]


def _cluster() -> Cluster:
    made = Cluster.objects.create(name="recorded", source=Source.TOKEN)
    FlightRecorder.objects.create(cluster=made, on=True, holder="me")
    return made


def flown(cluster: Cluster, *, at: int = SECOND) -> Flight:
    """A recorder that heard two nodes, and records from two seconds on."""
    flight = Flight(cluster, "me", KINDS, "started")
    flight.take(at, Listed("Node", [thing("Node", number, {}) for number in range(2)], "1", "start"))
    flight.take(at, Listed("Pod", [], "1", "start"))
    flight.keep(at + SETTLE)
    for kind in KINDS:
        flight.take(at + SETTLE, Bookmark(kind, "2"))
    flight.keep(at + SETTLE)
    return flight


def asked(cluster: Cluster, at: int) -> list[str]:
    return [one["metadata"]["name"] for one in selectors.objects_at(cluster, selectors.moment_of(at))]


@pytest.mark.django_db
def test_a_moment_is_known_only_up_to_where_every_watch_was_heard(cluster: Cluster) -> None:
    flight = flown(cluster)
    flight.take(5 * SECOND, Changed("Pod", thing("Pod", 1, {})))
    flight.keep(6 * SECOND)
    with pytest.raises(NotFound, match="recorded up to 1970-01-01 00:00:02.000 UTC"):
        asked(cluster, 5 * SECOND)
    flight.take(7 * SECOND, Bookmark("Node", "2"))
    flight.keep(8 * SECOND)
    assert asked(cluster, 5 * SECOND) == ["Node-0", "Node-1", "Pod-1"]
    assert asked(cluster, 5 * SECOND - 1) == ["Node-0", "Node-1"]
    with pytest.raises(NotFound, match="begins at"):
        asked(cluster, SECOND)


@pytest.mark.django_db
def test_a_gap_is_told_with_its_times_and_nothing_is_answered_for_it(cluster: Cluster) -> None:
    flight = flown(cluster)
    for kind in KINDS:
        flight.take(3 * SECOND, Bookmark(kind, "2"))
    flight.broken(9 * SECOND, "Pod", "connection reset")
    flight.take(20 * SECOND, Changed("Pod", thing("Pod", 7, {})))
    flight.keep(22 * SECOND)
    for kind in KINDS:
        flight.take(23 * SECOND, Bookmark(kind, "2"))
    flight.keep(23 * SECOND)
    (gap,) = selectors.gaps(cluster)
    assert (selectors.micros(gap.began), selectors.micros(gap.until or gap.began)) == (3 * SECOND, 22 * SECOND)
    assert gap.reason == "the watch of Pod objects was interrupted: connection reset"
    for at in (3 * SECOND + 1, 10 * SECOND, 22 * SECOND - 1):
        with pytest.raises(NotFound, match="in a gap of the recording"):
            asked(cluster, at)
    assert asked(cluster, 3 * SECOND) == ["Node-0", "Node-1"]
    assert asked(cluster, 22 * SECOND) == ["Node-0", "Node-1", "Pod-7"]


@pytest.mark.django_db
def test_who_lost_the_recorder_writes_nothing_more(cluster: Cluster) -> None:
    flight = flown(cluster)
    FlightRecorder.objects.update(holder="another")
    flight.take(3 * SECOND, Changed("Pod", thing("Pod", 1, {})))
    before = Segment.objects.count(), Stretch.objects.values_list("until").get()
    with pytest.raises(storage.Lost):
        flight.keep(4 * SECOND)
    assert (Segment.objects.count(), Stretch.objects.values_list("until").get()) == before


@pytest.mark.django_db
def test_the_ring_ends_where_a_full_segment_begins(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "LEAST_BETWEEN", 0)
    flight = flown(cluster)
    for second in range(3, 9):
        for kind in KINDS:
            flight.take(second * SECOND, Changed(kind, thing(kind, second, {"big": "x" * 400})))
        flight.keep(second * SECOND)
    FlightRecorder.objects.update(days=1)
    assert services.ring_end(now=86_400 + 5.5) > 0
    with pytest.raises(NotFound, match="begins at"):
        asked(cluster, 3 * SECOND)
    assert asked(cluster, int(5.5 * SECOND))[-1] == "Pod-5"
    assert "Pod-8" in asked(cluster, 8 * SECOND)
    assert services.ring_end(now=86_400 + 5.5) == 0


@pytest.mark.django_db
def test_the_ring_stays_below_its_size(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "LEAST_BETWEEN", 0)
    flight = flown(cluster)
    for second in range(3, 9):
        for kind in KINDS:
            flight.take(second * SECOND, Changed(kind, thing(kind, second, {})))
        flight.keep(second * SECOND)
    monkeypatch.setattr(services, "_old_delete", lambda *_: 0)
    FlightRecorder.objects.update(limit_mib=0)
    services.ring_end()
    assert Segment.objects.filter(full=True).count() == 1  # what the next changes stand on
    assert asked(cluster, 8 * SECOND)[-1] == "Pod-8"


@pytest.mark.django_db
def test_what_waits_for_the_database_is_stored_later_without_a_gap(cluster: Cluster) -> None:
    flight = flown(cluster)
    for second in range(3, 60):
        for kind in KINDS:
            flight.take(second * SECOND, Changed(kind, thing(kind, second % 4, second)))
    flight.keep(60 * SECOND)
    assert selectors.gaps(cluster) == []
    found = selectors.objects_at(cluster, selectors.moment_of(30 * SECOND) + timedelta(milliseconds=1))
    assert {one["spec"] for one in found if one["kind"] == "Pod"} == {27, 28, 29, 30}
