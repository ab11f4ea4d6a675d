"""Any moment of any history: what is made of the lines equals the objects as they were kept directly."""

from __future__ import annotations

import copy
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.clusters.flight import selectors, services, storage
from kschedweb.clusters.flight.models import FlightRecorder, Segment, Stretch
from kschedweb.clusters.flight.stretches import SETTLE, Flight
from kschedweb.clusters.flight.track import apply_patch, make_patch
from kschedweb.clusters.following.reflector import Bookmark, Changed, Listed, Message, Removed
from kschedweb.clusters.models import Cluster, ClusterSource
from kschedweb.engine.json_types import Json
from kschedweb.web.errors import NotFound

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(allow_nan=False, allow_infinity=False) | st.text("aé"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
KINDS = ("Node", "Pod")
SECOND = 1_000_000


@given(VALUES, VALUES)
def test_a_patch_leads_from_one_value_to_the_other(old: Any, new: Any) -> None:
    patch = make_patch(old, new)
    patched = copy.deepcopy(old) if patch is None else apply_patch(copy.deepcopy(old), patch)
    assert repr(_sorted(patched)) == repr(_sorted(new))  # repr tells 1 from True and 1.0


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


@pytest.fixture
def cluster() -> Cluster:
    return _cluster()


def thing(kind: str, number: int, value: Any) -> Json:
    return {"kind": kind, "metadata": {"name": f"{kind}-{number}", "namespace": "a"}, "spec": value}


NEWS = st.lists(
    st.tuples(
        st.integers(0, 3),  # tenths of a second since the news before
        st.sampled_from(
            ("change", "change", "change", "remove", "relist", "cut", "bookmark", "bookmark", "keep", "full")
        ),
        st.sampled_from(KINDS),
        st.integers(0, 3),
        VALUES,
    ),
    max_size=40,
)


class RecordedCluster:
    """A cluster, and what a recorder makes of what it hears of it."""

    def __init__(self) -> None:
        Cluster.objects.all().delete()
        self.cluster, self.now = _cluster(), SECOND
        self.flight = Flight(self.cluster, "me", KINDS, "started")
        self.kept: dict[str, dict[str, Json]] = {kind: {} for kind in KINDS}
        self.states: dict[int, dict[tuple[str, str], str]] = {}
        self.unsure: list[tuple[int, int]] = []  # times in which somebody could not hear
        self.deaf: dict[str, int] = {}
        self.heard = dict.fromkeys(KINDS, 0)
        for kind in KINDS:
            self.hear(Listed(kind, [], "1", "start"))

    def hear(self, message: Message) -> None:
        self.flight.take_news(self.now, message)
        if message.kind in self.deaf:
            self.unsure.append((self.deaf.pop(message.kind), self.now))
        self.heard[message.kind] = self.now

    def change(self, kind: str, obj: Json) -> None:
        self.kept[kind][obj["metadata"]["name"]] = obj
        self.hear(Changed(kind, copy.deepcopy(obj)))

    def remove(self, kind: str, obj: Json) -> None:
        if (last := self.kept[kind].pop(obj["metadata"]["name"], None)) is not None:
            self.hear(Removed(kind, last))

    def relist(self, kind: str, obj: Json) -> None:
        self.unsure.append((self.heard[kind], self.now))
        self.hear(Listed(kind, copy.deepcopy([*self.kept[kind].values()]), "1", "expired"))

    def cut(self, kind: str, obj: Json) -> None:
        self.deaf.setdefault(kind, self.heard[kind])
        self.flight.note_broken(self.now, kind, "cut")

    def bookmark(self, kind: str, obj: Json) -> None:
        self.hear(Bookmark(kind, "1"))

    def full(self, kind: str, obj: Json) -> None:
        if self.flight.tape is not None:
            self.flight.tape._begin_full(self.now)

    def keep(self, kind: str, obj: Json) -> None:
        self.now += SETTLE
        self.flight.store_known(self.now)

    def end(self) -> None:
        self.flight.end_stretch("over")
        self.flight.store_known(self.now)
        self.unsure += [(start, self.now) for start in self.deaf.values()]

    def remember(self) -> None:
        objects = [obj for kind in self.kept.values() for obj in kind.values()]
        self.states[self.now] = _compared(objects)


@pytest.mark.django_db
@settings(max_examples=100)
@given(news=NEWS)
def test_any_moment_equals_the_state_that_was_kept_directly(news: list[Any]) -> None:
    recorded = RecordedCluster()
    for tenths, action, kind, number, value in news:
        recorded.now += tenths * SECOND // 10
        getattr(recorded, action)(kind, thing(kind, number, value))
        recorded.remember()
    recorded.end()
    for at, state in recorded.states.items():
        try:
            objects = selectors.objects_at(recorded.cluster, selectors.moment_of(at))
        except NotFound:
            continue
        assert not any(first < at < last for first, last in recorded.unsure)
        assert _compared(objects) == state


def _compared(objects: list[Json]) -> dict[tuple[str, str], str]:
    return {_key(obj): repr(_sorted(obj)) for obj in objects}


def _key(obj: Json) -> tuple[str, str]:
    return obj["kind"], obj["metadata"]["name"]


def _cluster() -> Cluster:
    cluster = Cluster.objects.create(name="recorded", source=ClusterSource.TOKEN)
    FlightRecorder.objects.create(cluster=cluster, on=True, holder="me")
    return cluster


def flown(cluster: Cluster, *, at: int = SECOND) -> Flight:
    """A recorder that heard two nodes, and records from two seconds on."""
    flight = Flight(cluster, "me", KINDS, "started")
    flight.take_news(at, Listed("Node", [thing("Node", number, {}) for number in range(2)], "1", "start"))
    flight.take_news(at, Listed("Pod", [], "1", "start"))
    flight.store_known(at + SETTLE)
    for kind in KINDS:
        flight.take_news(at + SETTLE, Bookmark(kind, "2"))
    flight.store_known(at + SETTLE)
    return flight


def list_names_at(cluster: Cluster, at: int) -> list[str]:
    return [obj["metadata"]["name"] for obj in selectors.objects_at(cluster, selectors.moment_of(at))]


@pytest.mark.django_db
def test_a_moment_is_known_only_up_to_where_every_watch_was_heard(cluster: Cluster) -> None:
    flight = flown(cluster)
    flight.take_news(5 * SECOND, Changed("Pod", thing("Pod", 1, {})))
    flight.store_known(6 * SECOND)
    with pytest.raises(NotFound, match=r"recorded up to 1970-01-01 00:00:02\.000 UTC"):
        list_names_at(cluster, 5 * SECOND)
    flight.take_news(7 * SECOND, Bookmark("Node", "2"))
    flight.store_known(8 * SECOND)
    assert list_names_at(cluster, 5 * SECOND) == ["Node-0", "Node-1", "Pod-1"]
    assert list_names_at(cluster, 5 * SECOND - 1) == ["Node-0", "Node-1"]
    with pytest.raises(NotFound, match="begins at"):
        list_names_at(cluster, SECOND)


@pytest.mark.django_db
def test_a_gap_is_told_with_its_times_and_nothing_is_answered_for_it(cluster: Cluster) -> None:
    flight = flown(cluster)
    for kind in KINDS:
        flight.take_news(3 * SECOND, Bookmark(kind, "2"))
    flight.note_broken(9 * SECOND, "Pod", "connection reset")
    flight.take_news(20 * SECOND, Changed("Pod", thing("Pod", 7, {})))
    flight.store_known(22 * SECOND)
    for kind in KINDS:
        flight.take_news(23 * SECOND, Bookmark(kind, "2"))
    flight.store_known(23 * SECOND)
    (gap,) = selectors.list_gaps(cluster)
    assert (selectors.to_micros(gap.start), selectors.to_micros(gap.end or gap.start)) == (3 * SECOND, 22 * SECOND)
    assert gap.reason == "the watch of Pod objects was interrupted: connection reset"
    for at in (3 * SECOND + 1, 10 * SECOND, 22 * SECOND - 1):
        with pytest.raises(NotFound, match="in a gap of the recording"):
            list_names_at(cluster, at)
    assert list_names_at(cluster, 3 * SECOND) == ["Node-0", "Node-1"]
    assert list_names_at(cluster, 22 * SECOND) == ["Node-0", "Node-1", "Pod-7"]


@pytest.mark.django_db
def test_who_lost_the_recorder_writes_nothing_more(cluster: Cluster) -> None:
    flight = flown(cluster)
    FlightRecorder.objects.update(holder="another")
    flight.take_news(3 * SECOND, Changed("Pod", thing("Pod", 1, {})))
    before = Segment.objects.count(), Stretch.objects.values_list("until").get()
    with pytest.raises(storage.RecorderLost):
        flight.store_known(4 * SECOND)
    assert (Segment.objects.count(), Stretch.objects.values_list("until").get()) == before


@pytest.mark.django_db
def test_the_ring_ends_where_a_full_segment_begins(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "LEAST_BETWEEN", 0)
    flight = flown(cluster)
    for second in range(3, 9):
        for kind in KINDS:
            flight.take_news(second * SECOND, Changed(kind, thing(kind, second, {"big": "x" * 400})))
        flight.store_known(second * SECOND)
    FlightRecorder.objects.update(days=1)
    assert services.ring_end(now=86_400 + 5.5) > 0
    with pytest.raises(NotFound, match="begins at"):
        list_names_at(cluster, 3 * SECOND)
    assert list_names_at(cluster, int(5.5 * SECOND))[-1] == "Pod-5"
    assert "Pod-8" in list_names_at(cluster, 8 * SECOND)
    assert services.ring_end(now=86_400 + 5.5) == 0


@pytest.mark.django_db
def test_the_ring_stays_below_its_size(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "LEAST_BETWEEN", 0)
    flight = flown(cluster)
    for second in range(3, 9):
        for kind in KINDS:
            flight.take_news(second * SECOND, Changed(kind, thing(kind, second, {})))
        flight.store_known(second * SECOND)
    monkeypatch.setattr(services, "_old_delete", lambda *_: 0)
    FlightRecorder.objects.update(limit_mib=0)
    services.ring_end()
    assert Segment.objects.filter(full=True).count() == 1  # what the next changes stand on
    assert list_names_at(cluster, 8 * SECOND)[-1] == "Pod-8"


@pytest.mark.django_db
def test_what_waits_for_the_database_is_stored_later_without_a_gap(cluster: Cluster) -> None:
    flight = flown(cluster)
    for second in range(3, 60):
        for kind in KINDS:
            flight.take_news(second * SECOND, Changed(kind, thing(kind, second % 4, second)))
    flight.store_known(60 * SECOND)
    assert selectors.list_gaps(cluster) == []
    objects = selectors.objects_at(cluster, selectors.moment_of(30 * SECOND) + timedelta(milliseconds=1))
    assert {obj["spec"] for obj in objects if obj["kind"] == "Pod"} == {27, 28, 29, 30}
