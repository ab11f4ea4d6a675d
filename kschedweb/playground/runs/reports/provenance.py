"""Words for reports on the input of a run, and on what was simulated and what was not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kschedweb.playground.runs.comparisons import significance
from kschedweb.playground.scenarios import selectors as scenarios
from kschedweb.playground.scenarios.effect import describe_real_use

if TYPE_CHECKING:
    from kschedweb.engine.config import Configuration
    from kschedweb.playground.scenarios.models import ScenarioRevision

SIMULATED = (
    "kube-scheduler's queues: backoff, the flush of pods that wait for long, and which event wakes which pod",
    "every plugin of the policy from PreEnqueue to PostFilter on each try, with kube-scheduler's sampling of nodes and "
    "its order among equal totals",
    "preemption, with the grace period of each pod that has to go",
    "the API server's admission of pods, with quotas and the plugins that the scenario names",
)
CONTROLLED = (
    "taints for nodes in trouble, evictions by taint, a new pod for each evicted one that has a controller, and the "
    "end of pods whose node never was there"
)
OMITTED = (
    "the kubelet, except its admission of pods that name their node: a pod runs as soon as it has its node, without "
    "pulling images, starting containers or failing",
    "the API server and the network: writes take no time and none fails",
    "autoscalers and deschedulers beside those that scenario and run name, and people: nobody else adds, changes or "
    "removes anything",
    "drivers of devices: those that have to be made ready are ready at once",
)
PLACED = {
    "all": "pods of the cluster are placed anew, in the order of their creation; those of DaemonSets and mirror pods "
    "stay",
    "pending": "pods that have a node keep it; those that wait are scheduled",
    "arrivals": "pods that have a node keep it; those that wait are left out",
}


@dataclass(frozen=True)
class BaseCluster:
    """The cluster at the start of a scenario."""

    # Id of the snapshot; "" for an imagined cluster.
    snapshot: str
    cluster: str
    # None for an imagined cluster.
    taken_at: datetime | None

    @property
    def words(self) -> str:
        if self.taken_at is None:
            return "made up: no snapshot of a cluster"
        return f"{self.cluster}, snapshot of {format_moment(self.taken_at)}"


def describe_gates(configurations: Sequence[Configuration]) -> str:
    """Return a sentence on the feature gates that were on."""
    releases = {configuration.release.title: configuration.release for configuration in configurations}
    versions = sorted({release.version for release in releases.values()})
    switched = [title for title, release in sorted(releases.items()) if release.switched]
    changes = f"switched: {'; '.join(switched)}" if switched else "none changed"
    return f"defaults of kube-scheduler {' and '.join(versions)}; {changes}"


def format_moment(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def read_base(revision: ScenarioRevision) -> BaseCluster:
    """Return the cluster at the start of ``revision``."""
    snapshot = revision.snapshot
    if snapshot is not None:
        return BaseCluster(str(snapshot.pk), snapshot.cluster.name, snapshot.taken_at)
    base = revision.document.get("base")
    snapshot_id = str(base.get("snapshot") or "") if isinstance(base, Mapping) else ""
    if not snapshot_id:
        return BaseCluster("", "", None)
    brought = scenarios.load_base(revision)
    return BaseCluster(snapshot_id, brought.cluster, datetime.fromtimestamp(brought.taken_at, UTC))


def describe_placing(document: Mapping[str, Any]) -> str:
    """Return which pods are scheduled."""
    return PLACED.get(str(_run_section(document).get("place") or "all"), "")


def describe_use(document: Mapping[str, Any]) -> str:
    """Return the source of real use."""
    return describe_real_use(document)


def describe_randomness(document: Mapping[str, Any]) -> str:
    """Return what the seed decides."""
    inputs = significance.random_inputs(document)
    return f"it decides {' and '.join(inputs)}" if inputs else "it has no effect, since nothing is random"


def list_simulated(document: Mapping[str, Any]) -> list[str]:
    """Return what was simulated as in a real cluster."""
    return [*SIMULATED, *((CONTROLLED,) if _has_controllers(document) else ())]


def list_omitted(document: Mapping[str, Any], configurations: Sequence[Configuration]) -> list[str]:
    """Return what was not simulated."""
    omissions = list(OMITTED)
    if not _has_controllers(document):
        omissions.append("controllers of nodes and workloads: the scenario switches them off")
    if any(configuration.extenders for configuration in configurations):
        omissions.append("the extenders of the policy: nobody was asked")
    return omissions


def _has_controllers(document: Mapping[str, Any]) -> bool:
    return _run_section(document).get("controllers") is not False


def _run_section(document: Mapping[str, Any]) -> Mapping[str, Any]:
    run = document.get("run")
    return run if isinstance(run, Mapping) else {}
