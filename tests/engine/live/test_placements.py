"""The live loop places pods as the real scheduler did, and as a simulation of the same events does."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine.config import EMPTY, default_document
from kschedweb.engine.controllers.admission import admit_pod
from kschedweb.engine.live import BindPod, LiveLoop, ReportPod
from kschedweb.engine.releases import RELEASES, load
from kschedweb.engine.simulation import (
    NodeChanges,
    NodeJoins,
    PodArrives,
    PodLeaves,
    Simulation,
    SimulationEvent,
    SimulationSettings,
)
from tests.conformance.record import read, release_of_line
from tests.engine.builders import node, pod
from tests.engine.live.loops import live, versioned
from tests.engine.live.store import Store
from tests.support import tiers

NOW, END = 1_700_000_000.0, 900.0
SIMPLE = {"preempt", "watermarks"}


def comparable(scenario: dict) -> bool:
    """Return whether the live loop treats the scenario's pods as the reference does, which binds nothing."""
    config = scenario.get("config") or {}
    pods = scenario.get("pending") or []
    finished = [raw for raw in scenario.get("objects") or [] if (raw.get("status") or {}).get("phase")]
    special = ("volumes", "resourceClaims", "schedulingGates")
    return not (
        any(scenario.get(key) for key in SIMPLE)
        or config.get("extenders")
        or finished
        or any(raw["spec"].get(key) for raw in pods for key in special)
        or any((raw.get("status") or {}).get("nominatedNodeName") for raw in pods)
        or any(raw["metadata"].get("deletionTimestamp") for raw in pods)
    )


def placements(scenario: dict, release: str) -> list[tuple[str, str, str]]:
    """(pod, node, message) of the pods one after the other, up to the first for which others would have to go."""
    loaded = load(EMPTY if scenario.get("config") is None else scenario["config"], RELEASES[release])
    assert loaded.configuration is not None
    loop = LiveLoop(loaded.configuration)
    for raw in scenario.get("objects") or []:
        loop.apply_object(raw["kind"], raw, NOW)
    decisions = []
    for raw in scenario.get("pending") or []:
        loop.apply_object("Pod", raw, NOW)
        key = f"{raw['metadata'].get('namespace') or 'default'}/{raw['metadata']['name']}"
        intents = [intent for intent in loop.step(NOW) if isinstance(intent, BindPod | ReportPod)]
        assert [intent.pod.key for intent in intents] == [key]
        if isinstance(intents[0], BindPod):
            decisions.append((key, intents[0].node, ""))
            continue
        decision = intents[0].decision
        assert decision is not None
        message = (
            decision.message.removesuffix(f" {decision.post_filter}") if decision.post_filter else decision.message
        )
        decisions.append((key, "", message))
        if decision.nominated:
            break
    return decisions


def test_pods_are_placed_as_the_real_scheduler_placed_them() -> None:
    compared = 0
    for line in read("schedule.jsonl.xz"):
        scenario = line["scenario"]
        if line["ask"] != "schedule" or "error" in line["expected"] or not comparable(scenario):
            continue
        placed = placements(scenario, release_of_line(line))
        expected = [
            (placement["pod"], placement.get("node", ""), placement.get("message", ""))
            for placement in line["expected"]["placements"] or ()
        ]
        assert placed == expected[: len(placed)], scenario["name"]
        compared += len(placed)
    assert compared > 500


# The same events, in a simulation and live.

TIMES = st.floats(0, 600).map(lambda time: round(time, 1))
REQUESTS = st.sampled_from([{"cpu": "1"}, {"cpu": "2", "memory": "1Gi"}, {"cpu": "4"}, {}])
SPREAD = [
    {
        "maxSkew": 1,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
]
WISHES: list[dict[str, Any]] = [{}, {"topologySpreadConstraints": SPREAD}, {"nodeSelector": {"disk": "ssd"}}]
SPECS = st.sampled_from(WISHES)


@st.composite
def arrivals(draw: st.DrawFn) -> list[SimulationEvent]:
    events: list[SimulationEvent] = []
    for number in range(draw(st.integers(1, 14))):
        raw = pod(f"p{number}", requests=draw(REQUESTS), labels={"app": "web"}, **draw(SPECS))
        raw["spec"]["terminationGracePeriodSeconds"] = 0
        at = draw(TIMES)
        events.append(PodArrives(at, raw))
        if draw(st.booleans()):
            events.append(PodLeaves(at + draw(st.sampled_from([0.5, 60.0, 200.0])), f"default/p{number}"))
    return events


LABELS = st.sampled_from([{"disk": "ssd"}, {}])
CHANGES = st.lists(
    st.one_of(
        st.builds(NodeJoins, TIMES, st.just(node("d", labels={"disk": "ssd"}))),
        st.builds(
            NodeChanges,
            TIMES,
            st.sampled_from("abc"),
            st.sampled_from([{"disk": "ssd"}, {}]),
            unschedulable=st.booleans(),
        ),
    ),
    max_size=6,
    unique_by=lambda event: "d" if isinstance(event, NodeJoins) else str(id(event)),
)


class Played:
    """A live loop to which the same happens; ``bound`` holds (time, pod, node) of its bindings."""

    def __init__(self, events: list[SimulationEvent], configuration: Any, simulation: Simulation) -> None:
        self.store, self.loop, self.cluster = Store(), LiveLoop(configuration), simulation.world.cluster
        self.bound: list[tuple[float, str, str]] = []
        for name in "abc":
            self.store.put(node(name))
        self._hear(0.0)
        coming, now = list(events), 0.0
        while (next_time := self._next(coming, now)) is not None and next_time <= END:
            now = next_time
            while coming and coming[0].time <= now:
                self._happen(coming.pop(0))
            self._hear(now)
            self._work(now)

    def _next(self, coming: list[SimulationEvent], now: float) -> float | None:
        due = self.loop.next_time(now)
        times = [event.time for event in coming[:1]] + ([max(due, now)] if due is not None else [])
        return min(times, default=None)

    def _hear(self, now: float) -> None:
        for kind in ("Node", "Pod"):
            while self.store.streams.get(kind):
                assert self.store.deliver(self.loop, kind, now) == []

    def _happen(self, event: SimulationEvent) -> None:
        match event:
            case PodArrives(pod=dict() as raw):
                self.store.put(admit_pod(raw, self.cluster))
            case PodLeaves(pod=key):
                self.store.delete("Pod", key)
            case NodeJoins(node=raw):
                self.store.put(raw)
            case NodeChanges(node=name, labels=labels, unschedulable=cordoned):

                def write(raw: dict[str, Any]) -> None:
                    raw["metadata"]["labels"].update(labels or {})
                    raw["spec"]["unschedulable"] = cordoned

                self.store.change("Node", f"/{name}", write)

    def _work(self, now: float) -> None:
        while True:
            for intent in self.loop.step(now):
                if isinstance(intent, BindPod):
                    assert self.store.bind(intent) == ""
                    self.loop.on_bound(intent.pod.uid, now)
                    self.bound.append((now, intent.pod.key, intent.node))
            self._hear(now)
            if not self.loop.is_ready:
                return


@settings(max_examples=tiers.count(25, 200), deadline=None)
@given(arrivals(), CHANGES)
def test_a_simulation_of_the_same_events_comes_to_the_same(
    pods: list[SimulationEvent], other_events: list[SimulationEvent]
) -> None:
    configuration = load(default_document()).configuration
    assert configuration is not None
    events = sorted(pods + other_events, key=lambda event: event.time)
    simulation = Simulation(
        [node(name) for name in "abc"],
        configuration,
        events,
        SimulationSettings(cycle=0.0, sample=END, controllers=False),
    )
    simulated = [(binding.time, binding.pod, binding.node) for binding in simulation.run(END).bound]
    assert Played(events, configuration, simulation).bound == simulated


def test_versioned_objects_are_told_apart() -> None:
    loop = live()
    loop.apply_object("Node", versioned(node("a")), NOW)
    loop.apply_object("Node", versioned(node("a", unschedulable=True)), NOW)  # the same version: nothing new
    assert not loop.snapshot.unschedulable.any()
    loop.apply_object("Node", versioned(node("a", unschedulable=True), 2), NOW)
    assert loop.snapshot.unschedulable.all()
