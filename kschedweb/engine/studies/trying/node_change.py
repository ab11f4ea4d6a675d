"""Show the effect of losing or adding nodes: run a cluster with its nodes as they are, and changed, under a policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kschedweb.engine.config import Configuration
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.objects.resources import CPU
from kschedweb.engine.state.owners import stays_at_drain
from kschedweb.engine.state.watermarks.table import Watermarks
from kschedweb.engine.studies.compare.pairs import pair_pods
from kschedweb.engine.studies.document.parts import PENDING, AddNodes, RemoveNodes, ScenarioChange
from kschedweb.engine.studies.gate.gate import Progress, play_policy, prepared_of, wrap_progress
from kschedweb.engine.studies.play.outcome import RunOutcome
from kschedweb.engine.studies.play.successors import last_node
from kschedweb.engine.studies.prepare.changes import zone_of
from kschedweb.engine.studies.prepare.prepared import PreparedScenario
from kschedweb.engine.studies.trying.policy_effect import GAINED, LOST, MOVED
from kschedweb.engine.values import dataclass


@dataclass(frozen=True)
class NodeChange:
    """Nodes that a cluster loses at once, and copies of a node that it gets."""

    # Names of nodes.
    lost: tuple[str, ...] = ()
    # Name of the node that is copied; "" if none are added.
    like: str = ""
    added: int = 0
    # Zones of the copies, used in turn; empty: the zone of `like`.
    zones: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.lost and not self.added

    def list_steps(self) -> tuple[ScenarioChange, ...]:
        """Return the changes of a scenario that do this at its beginning.

        Nodes are added first, since the copied node may be among the lost ones.
        """
        steps = []
        if self.added:
            steps.append(ScenarioChange(0.0, AddNodes(count=self.added, like=self.like, zones=self.zones), "add"))
        if self.lost:
            steps.append(ScenarioChange(0.0, RemoveNodes(nodes=self.lost), "lose"))
        return tuple(steps)


@dataclass(frozen=True)
class PodPlace:
    """A pod whose node changes; "" stands for no node."""

    pod: str
    before: str
    after: str
    # The scheduler's message if the pod ends without a node.
    message: str = ""

    @property
    def kind(self) -> str:
        if not self.before:
            return GAINED
        return MOVED if self.after else LOST


@dataclass(frozen=True)
class NodeLoad:
    """A node before and after; it is missing on one side if it is lost or added."""

    name: str
    # "" for none.
    zone: str
    # Percent of allocatable CPU that is requested; None if the node is missing, or has no CPU.
    before: float | None
    after: float | None


@dataclass(frozen=True)
class NodeChangeEffect:
    """The pods and nodes after a change. Bound pods keep their nodes; pods of lost nodes are scheduled again if a
    controller replaces them."""

    # Names of the nodes that are lost, and of those that are added.
    lost: tuple[str, ...]
    added: tuple[str, ...]
    # Pods whose nodes change, in the order of their arrival, without those that belong to their node.
    pods: tuple[PodPlace, ...]
    # The number of pods without a node.
    pending_before: int
    pending_after: int
    # "namespace/name" of pods on lost nodes that no controller replaces.
    unreplaced: tuple[str, ...]
    # The nodes of before, then the added ones.
    nodes: tuple[NodeLoad, ...]

    def count(self, kind: str) -> int:
        """Return the number of ``pods`` of a kind: GAINED, LOST or MOVED."""
        return sum(place.kind == kind for place in self.pods)


def play_node_change(
    objects: Sequence[Json],
    configuration: Configuration,
    change: NodeChange,
    progress: Progress,
    *,
    now: float | None = None,
    utilisation: Watermarks | None = None,
) -> NodeChangeEffect:
    """Run the cluster of ``objects`` with and without ``change`` under one policy, and return the effect.

    ``progress`` gets the progress, and may raise to end the work. Raise DocumentError with the path "lose" or "add" if
    the change is impossible, and "scenario" if the cluster cannot be simulated.
    """

    def prepare(steps: tuple[ScenarioChange, ...]) -> PreparedScenario:
        return prepared_of(objects, place=PENDING, now=now, utilisation=utilisation, changes=steps)

    prepared, changed = prepare(()), prepare(change.list_steps())
    before = play_policy(prepared, configuration, wrap_progress(progress, "Nodes as they are"))
    after = play_policy(changed, configuration, wrap_progress(progress, "Nodes changed"))
    lost = frozenset(change.lost)
    lost_pods = [pod for raw in objects if raw.get("kind") == "Pod" and (pod := Pod.from_json(raw)).node_name in lost]
    belonging = frozenset(pod.key for pod in lost_pods if stays_at_drain(pod))
    names_before = set(before.nodes)
    return NodeChangeEffect(
        lost=tuple(dict.fromkeys(change.lost)),
        added=tuple(name for name in after.nodes if name not in names_before),
        pods=tuple(place for place in _list_places(before, after) if place.pod not in belonging),
        pending_before=len(before.pending),
        pending_after=len(after.pending),
        unreplaced=tuple(pod.key for pod in lost_pods if pod.controller is None and pod.key not in belonging),
        nodes=tuple(_list_loads(before, after, (*prepared.objects, *changed.objects))),
    )


def _list_places(before: RunOutcome, after: RunOutcome) -> Iterator[PodPlace]:
    for pair in pair_pods(before, after).listed:
        nodes = last_node(before, pair.before), last_node(after, pair.after)
        if nodes[0] != nodes[1]:
            code = -1 if nodes[1] else int(after.message[pair.after])
            yield PodPlace(pair.pod, *nodes, after.texts[code] if code >= 0 else "")


def _list_loads(before: RunOutcome, after: RunOutcome, objects: Sequence[Json]) -> Iterator[NodeLoad]:
    zones = {str(raw["metadata"]["name"]): zone_of(raw) for raw in objects if raw.get("kind") == "Node"}
    loads = _percents_by_node(before), _percents_by_node(after)
    for name in dict.fromkeys([*before.nodes, *after.nodes]):
        yield NodeLoad(name, zones.get(name, ""), *(percents.get(name) for percents in loads))


def _percents_by_node(outcome: RunOutcome) -> dict[str, float | None]:
    shares = outcome.requested_shares([outcome.end], CPU)[-1].tolist()
    # NaN is not equal to itself.
    percents = (round(100.0 * share, 1) if share == share else None for share in shares)
    return dict(zip(outcome.nodes, percents, strict=True))
