"""The parts of a scenario document. Times are in seconds from the beginning of the scenario."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from kschedweb.engine.autoscaling.document import Karpenter
from kschedweb.engine.controllers.admission import DEFAULT
from kschedweb.engine.controllers.autoscaling.cron import parse_cron
from kschedweb.engine.documents.leaves import DocumentProblem, Faulty
from kschedweb.engine.json_types import Json
from kschedweb.engine.pricing.price_table import PriceTable
from kschedweb.engine.simulation.autoscaling.cluster_look import NodeGroups
from kschedweb.engine.values import dataclass

# Which pods are placed: all pods anew; the pending ones; only those that arrive.
ALL, PENDING, ARRIVALS = "all", "pending", "arrivals"
# Sources of real use.
NONE, WATERMARKS, HISTORY, TRACE = "none", "watermarks", "history", "trace"
# Seconds.
DAY = 86400.0
# Seconds from one round of the descheduler to the next: its own default.
DEFAULT_INTERVAL = 300.0
# Conditions that a kubelet reports besides Ready.
PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")


@dataclass(frozen=True, slots=True)
class ScenarioBase:
    """The cluster at the beginning."""

    # Id of a snapshot; None for an empty cluster.
    snapshot: str | None = None


@dataclass(frozen=True, slots=True)
class NodeSelection:
    """Nodes by name, by a label selector, or by zone; exactly one is given."""

    nodes: tuple[str, ...] | None = None
    selector: Json | None = None
    zone: str | None = None


@dataclass(frozen=True, slots=True)
class AddNodes:
    """Add nodes: copies of a node, new ones, or those of a file."""

    count: int = 1
    # The node that is copied.
    like: str | None = None
    # Stem of the names of new nodes, which need `allocatable`.
    name: str | None = None
    # The file that lists the nodes, in `format`.
    file: str | None = None
    format: str = "openb"
    # Labels and taints besides those of the copied node.
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Json, ...] = ()
    # Quantities by resource.
    allocatable: Mapping[str, str] = field(default_factory=dict)
    # Zones that nodes get in turn.
    zones: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.file is not None and (self.labels or self.taints or self.allocatable or self.zones):
            raise ValueError(
                "the nodes of a file are as they are there: labels, taints, allocatable, zones go with name"
            )
        if self.name is not None and not {"cpu", "memory"} <= self.allocatable.keys():
            raise ValueError("allocatable must name cpu and memory")


@dataclass(frozen=True, slots=True)
class RemoveNodes(NodeSelection):
    """Remove nodes at once, with their pods."""


@dataclass(frozen=True, slots=True)
class DrainNodes(NodeSelection):
    """Cordon nodes, and evict their pods except those of DaemonSets."""


@dataclass(frozen=True, slots=True)
class EvictPods:
    """Evict pods one after the other."""

    # "namespace/name" of each pod.
    pods: tuple[str, ...]
    # Seconds from one eviction to the next.
    interval: float = 0.0


@dataclass(frozen=True, slots=True)
class CordonNodes(NodeSelection):
    pass


@dataclass(frozen=True, slots=True)
class UncordonNodes(NodeSelection):
    pass


@dataclass(frozen=True, slots=True)
class TaintNodes(NodeSelection):
    """Add or remove taints."""

    # New taints, which replace those of the same key and effect.
    taints: tuple[Json, ...] = ()
    # Keys of taints to remove.
    remove: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.taints and not self.remove:
            raise ValueError("must have taints, or remove")


@dataclass(frozen=True, slots=True)
class LabelNodes(NodeSelection):
    """Set labels; ``None`` removes a label."""

    labels: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResizeNodes(NodeSelection):
    """Set ``allocatable``, or multiply CPU and memory by ``factor``."""

    allocatable: Mapping[str, str] | None = None
    factor: float | None = None


@dataclass(frozen=True, slots=True)
class SetConditions(NodeSelection):
    """Set the status of conditions by type: True, False or Unknown."""

    conditions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.conditions.get("Ready") == "Unknown" and set(self.conditions) & {*PRESSURES}:
            raise ValueError("of a node whose Ready is Unknown nobody knows the pressure: leave it out")


@dataclass(frozen=True, slots=True)
class FailZone:
    """Let the kubelets of a zone's nodes fall silent."""

    zone: str


@dataclass(frozen=True, slots=True)
class ScaleWorkload:
    workload: str
    replicas: int


@dataclass(frozen=True, slots=True)
class AddWorkload:
    """Add a workload with its pods."""

    manifest: Json
    # Number of pods in place of the manifest's; None: the manifest's.
    replicas: int | None = None
    # Seconds that each pod runs; None: for ever.
    life: float | None = None


@dataclass(frozen=True, slots=True)
class RemoveWorkload:
    workload: str


@dataclass(frozen=True, slots=True)
class SetRequests:
    """Let the pods of a workload request other amounts; limits keep their ratio to requests."""

    workload: str
    # Quantities by container and resource.
    containers: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Tide:
    """A daily cycle of arrivals or of load."""

    # The lowest rate as a share of the highest.
    low: float = 0.3
    # Seconds after midnight of the highest rate. The scenario begins at midnight.
    peak: float = 14 * 3600.0


@dataclass(frozen=True, slots=True)
class LoadStep:
    """A step of the load of a workload."""

    # Seconds from which on the step holds.
    at: float
    # Quantity that all pods together would use.
    cores: str


@dataclass(frozen=True, slots=True)
class WorkloadLoad:
    """The load of a workload: the CPU that all its pods together would use."""

    # Quantity, at the peak if there is a tide.
    cores: str | None = None
    tide: Tide | None = None
    # Steps in place of cores and tide.
    steps: tuple[LoadStep, ...] | None = None

    def __post_init__(self) -> None:
        if self.tide is not None and self.cores is None:
            raise ValueError("tide goes with cores alone")
        times = [step.at for step in self.steps or ()]
        if times != sorted(set(times)):
            raise ValueError("steps must be in the order of their times, each at a time of its own")


@dataclass(frozen=True, slots=True)
class AutoscaleWorkload:
    """Scale a workload as a HorizontalPodAutoscaler does."""

    workload: str
    max_replicas: int
    min_replicas: int = 1
    # Target in percent of requested CPU.
    cpu: int = 80
    # `spec.behavior` of autoscaling/v2; None: its defaults.
    behavior: Json | None = None
    # Seconds from the binding of a new pod until it is ready.
    startup: float = 0.0
    # None: the pods use what they would use otherwise.
    load: WorkloadLoad | None = None

    def __post_init__(self) -> None:
        if self.min_replicas > self.max_replicas:
            raise ValueError("min must not be above max")


@dataclass(frozen=True, slots=True)
class CronEntry:
    """A number of pods from certain times on."""

    # A cron expression, in UTC.
    schedule: str
    replicas: int

    def __post_init__(self) -> None:
        parse_cron(self.schedule)


@dataclass(frozen=True, slots=True)
class CronWorkload:
    """Scale a workload at times of the day; ``startup`` and ``load`` are as in ``AutoscaleWorkload``."""

    workload: str
    entries: tuple[CronEntry, ...]
    startup: float = 0.0
    load: WorkloadLoad | None = None


NodeAction = (
    RemoveNodes | DrainNodes | CordonNodes | UncordonNodes | TaintNodes | LabelNodes | ResizeNodes | SetConditions
)
WorkloadAction = ScaleWorkload | AddWorkload | RemoveWorkload | SetRequests | AutoscaleWorkload | CronWorkload
Action = NodeAction | AddNodes | FailZone | EvictPods | WorkloadAction


@dataclass(frozen=True, slots=True)
class ScenarioChange:
    """A change of the cluster."""

    # Seconds from the beginning.
    at: float
    action: Action
    # Path in the document, such as changes[2].drainNodes.
    path: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a CSV file."""

    # Its name in the first line.
    column: str
    # Numbers are multiplied by it.
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class TraceColumns:
    """The columns of a CSV file of pods."""

    # When the pod arrives: seconds, or a time with its date.
    time: Column
    # Cores, or a quantity.
    cpu: Column | None = None
    # Bytes, or a quantity.
    memory: Column | None = None
    name: Column | None = None
    namespace: Column | None = None
    # Seconds that the pod runs.
    duration: Column | None = None
    # When the pod leaves, on the same clock as `time`.
    end: Column | None = None
    priority_class: Column | None = None
    resources: Mapping[str, Column] = field(default_factory=dict)
    labels: Mapping[str, Column] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.duration is not None and self.end is not None:
            raise ValueError("must have duration or end, not both")


@dataclass(frozen=True, slots=True)
class Trace:
    """Recorded pods in a file."""

    file: str
    format: str
    columns: TraceColumns | None = None
    # Times are divided by it.
    speed: float = 1.0
    # False: pods stay for ever.
    leave: bool = True
    # Number of pods to take; None: all.
    limit: int | None = None
    # Namespace of pods that name none.
    namespace: str = "default"
    # Path in the document.
    path: str = ""

    def __post_init__(self) -> None:
        if (self.format == "csv") != (self.columns is not None):
            raise ValueError("columns must be there with format csv, and only then")


@dataclass(frozen=True, slots=True)
class LifetimeDistribution:
    """A distribution of the seconds that pods run: exponential with ``mean``, or log-uniform between the other two."""

    mean: float | None = None
    shortest: float | None = None
    longest: float | None = None

    def __post_init__(self) -> None:
        if (self.shortest is None) != (self.longest is None):
            raise ValueError("must have least and most together")
        if self.shortest is not None and self.longest is not None and self.shortest > self.longest:
            raise ValueError("least must not be above most")


@dataclass(frozen=True, slots=True)
class PodShape:
    """A kind of random pods."""

    # Requested quantities.
    cpu: str | None = None
    memory: str | None = None
    name: str | None = None
    # How often the shape comes, relative to other shapes.
    weight: float = 1.0
    # Seconds that a pod runs; None: for ever.
    life: float | LifetimeDistribution | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    resources: Mapping[str, str] = field(default_factory=dict)
    # Further fields, which are merged into the pod's spec.
    spec: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Generate:
    """Pods that arrive at random."""

    # Pods an hour, at the peak if there is a tide.
    per_hour: float
    shapes: tuple[PodShape, ...]
    tide: Tide | None = None
    namespace: str = "default"
    # Seconds from and until which pods arrive.
    at: float = 0.0
    end: float = 86400.0
    # Path in the document.
    path: str = ""

    def __post_init__(self) -> None:
        if self.end <= self.at:
            raise ValueError("until must be after at")
        if not any(shape.weight > 0 for shape in self.shapes):
            raise ValueError("one of the shapes must have a weight above 0")


@dataclass(frozen=True, slots=True)
class UsageSource:
    """The source of real use of pods and nodes."""

    # NONE, WATERMARKS, HISTORY or TRACE.
    source: str = NONE
    # The trace.
    file: str | None = None
    # Seconds of the history; None: a day.
    window: float | None = None

    def __post_init__(self) -> None:
        if (self.source == TRACE) != (self.file is not None):
            raise ValueError("file must be there with from: trace, and only then")
        if self.window is not None and self.source != HISTORY:
            raise ValueError("window goes with from: history alone")

    @property
    def is_collected(self) -> bool:
        """True if a site collected the use of the base."""
        return self.source in (WATERMARKS, HISTORY)

    @property
    def history_seconds(self) -> float:
        """The length of the history in seconds, 0 for figures of one time."""
        return (DAY if self.window is None else self.window) if self.source == HISTORY else 0.0

    def figures_file(self, snapshot: str | None) -> str:
        """Return the name of the file with the figures of the base ``snapshot``; "" if none is needed."""
        if not self.is_collected or not snapshot:
            return ""
        return f"figures-{snapshot}{f'-{self.history_seconds:.0f}s' if self.history_seconds else ''}.csv"


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Settings of the run of a scenario."""

    # Seconds at which it ends; None: when nothing more happens.
    end: float | None = None
    # ALL, PENDING or ARRIVALS.
    place: str = ALL
    # Seconds that a try to schedule takes.
    cycle: float = 0.001
    # Seconds between two samples of the cluster.
    sample: float = 60.0
    # True if controllers taint nodes, evict pods and follow HorizontalPodAutoscalers.
    controllers: bool = True
    # Admission plugins of the API server that are on.
    admission: frozenset[str] = DEFAULT


@dataclass(frozen=True, slots=True)
class KarpenterSettings:
    """Karpenter launches and removes nodes."""

    karpenter: Karpenter
    # Seconds from the launch of a node until it joins.
    launch: float = 60.0
    # Seconds from then until it loses its startup taints.
    startup: float = 10.0
    # NodePool of nodes of the base that belong to none; "": they stay without one.
    adopt: str = ""

    def __post_init__(self) -> None:
        names = [pool.name for pool in self.karpenter.pools]
        if self.adopt and self.adopt not in names:
            message = f"there is no NodePool {self.adopt}; there are {', '.join(names)}"
            raise Faulty([DocumentProblem("adopt", message)])


AutoscalerSettings = KarpenterSettings | NodeGroups


@dataclass(frozen=True, slots=True)
class DeschedulerSettings:
    """The descheduler evicts pods by a DeschedulerPolicy."""

    policy: Json
    # Seconds from one round to the next.
    interval: float = DEFAULT_INTERVAL
    # Name of the policy for people; "" for none.
    name: str = ""


@dataclass(frozen=True, slots=True)
class ScenarioDocument:
    """A scenario: a cluster, and what happens to it."""

    name: str
    description: str = ""
    base: ScenarioBase = field(default_factory=ScenarioBase)
    objects: tuple[Json, ...] = ()
    changes: tuple[ScenarioChange, ...] = ()
    arrivals: tuple[Trace | Generate, ...] = ()
    use: UsageSource = field(default_factory=UsageSource)
    run: RunSettings = field(default_factory=RunSettings)
    # Settings of actors by their key, None for those that it does not have.
    actors: Mapping[str, Any] = field(default_factory=dict)
    prices: PriceTable | None = None
