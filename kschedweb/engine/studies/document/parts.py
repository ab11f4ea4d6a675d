"""The parts of a scenario document. Times are in seconds from the beginning of the scenario."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from kschedweb.engine.autoscaling.document import Karpenter
from kschedweb.engine.controllers.admission import DEFAULT
from kschedweb.engine.controllers.autoscaling.cron import parse_cron
from kschedweb.engine.documents.leaves import DocumentProblem, Faulty
from kschedweb.engine.objects.json_access import Json
from kschedweb.engine.pricing.price_table import PriceTable
from kschedweb.engine.simulation.autoscaling.cluster_look import NodeGroups
from kschedweb.engine.values import dataclass

ALL, PENDING, ARRIVALS = "all", "pending", "arrivals"
NONE, WATERMARKS, HISTORY, TRACE = "none", "watermarks", "history", "trace"
DAY = 86400.0
DEFAULT_INTERVAL = 300.0  # seconds from one round of the descheduler to the next: its own default
PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")


@dataclass(frozen=True, slots=True)
class ScenarioBase:
    """The cluster at the beginning: the snapshot ``snapshot``, or an empty cluster if it is ``None``."""

    snapshot: str | None = None


@dataclass(frozen=True, slots=True)
class NodeSelection:
    """Nodes by name, by a label selector, or by zone; exactly one is given."""

    nodes: tuple[str, ...] | None = None
    selector: Json | None = None
    zone: str | None = None


@dataclass(frozen=True, slots=True)
class AddNodes:
    """Add ``count`` nodes like the node ``like``, or named after ``name`` with ``allocatable``, or those of a file."""

    count: int = 1
    like: str | None = None
    name: str | None = None
    file: str | None = None
    format: str = "openb"
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Json, ...] = ()
    allocatable: Mapping[str, str] = field(default_factory=dict)
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
    """Evict pods ("namespace/name") one after the other, ``interval`` seconds apart."""

    pods: tuple[str, ...]
    interval: float = 0.0


@dataclass(frozen=True, slots=True)
class CordonNodes(NodeSelection):
    pass


@dataclass(frozen=True, slots=True)
class UncordonNodes(NodeSelection):
    pass


@dataclass(frozen=True, slots=True)
class TaintNodes(NodeSelection):
    """Add ``taints``, which replace those of the same key and effect; ``remove`` has keys to remove."""

    taints: tuple[Json, ...] = ()
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
    """The kubelets of the zone's nodes fall silent."""

    zone: str


@dataclass(frozen=True, slots=True)
class ScaleWorkload:
    workload: str
    replicas: int


@dataclass(frozen=True, slots=True)
class AddWorkload:
    """Add a workload. ``replicas`` overrides the manifest. Pods run for ``life`` seconds, ``None`` is forever."""

    manifest: Json
    replicas: int | None = None
    life: float | None = None


@dataclass(frozen=True, slots=True)
class RemoveWorkload:
    workload: str


@dataclass(frozen=True, slots=True)
class SetRequests:
    """The pods of a workload request other amounts: by container and resource; limits keep their ratio to them."""

    workload: str
    containers: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Tide:
    """A daily cycle of arrivals: the full rate at ``peak`` (seconds after midnight), down to the share ``low``."""

    low: float = 0.3
    peak: float = 14 * 3600.0


@dataclass(frozen=True, slots=True)
class LoadStep:
    """All pods of a workload together would use ``cores`` (a quantity) from ``at`` on."""

    at: float
    cores: str


@dataclass(frozen=True, slots=True)
class WorkloadLoad:
    """What all pods of a workload together would use: ``cores`` (a quantity) at the peak of ``tide``, or ``steps``."""

    cores: str | None = None
    tide: Tide | None = None
    steps: tuple[LoadStep, ...] | None = None

    def __post_init__(self) -> None:
        if self.tide is not None and self.cores is None:
            raise ValueError("tide goes with cores alone")
        times = [step.at for step in self.steps or ()]
        if times != sorted(set(times)):
            raise ValueError("steps must be in the order of their times, each at a time of its own")


@dataclass(frozen=True, slots=True)
class AutoscaleWorkload:
    """Scale a workload as a HorizontalPodAutoscaler does; ``cpu`` is its target in percent of requests.

    A pod is ready ``startup`` seconds after it got its node.
    """

    workload: str
    max_replicas: int
    min_replicas: int = 1
    cpu: int = 80
    behavior: Json | None = None
    startup: float = 0.0
    load: WorkloadLoad | None = None

    def __post_init__(self) -> None:
        if self.min_replicas > self.max_replicas:
            raise ValueError("min must not be above max")


@dataclass(frozen=True, slots=True)
class CronEntry:
    """A workload has ``replicas`` pods from each time on at which ``schedule`` is due, in UTC."""

    schedule: str
    replicas: int

    def __post_init__(self) -> None:
        parse_cron(self.schedule)


@dataclass(frozen=True, slots=True)
class CronWorkload:
    """Scale a workload at times of the day."""

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
    at: float
    action: Action
    path: str = ""  # such as changes[2].drainNodes


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a CSV file; its numbers are multiplied by ``factor``."""

    column: str
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class TraceColumns:
    """The columns of a CSV file of pods. CPU is in cores, memory in bytes, or both are quantities; times in seconds.

    ``duration`` is how long the pod runs; ``end`` is when it leaves, on the same clock as ``time``.
    """

    time: Column
    cpu: Column | None = None
    memory: Column | None = None
    name: Column | None = None
    namespace: Column | None = None
    duration: Column | None = None
    end: Column | None = None
    priority_class: Column | None = None
    resources: Mapping[str, Column] = field(default_factory=dict)
    labels: Mapping[str, Column] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.duration is not None and self.end is not None:
            raise ValueError("must have duration or end, not both")


@dataclass(frozen=True, slots=True)
class Trace:
    """Recorded pods. Their times are divided by ``speed``. Without ``leave`` they stay forever.

    ``limit`` is the number of pods to take; ``None`` is all.
    """

    file: str
    format: str
    columns: TraceColumns | None = None
    speed: float = 1.0
    leave: bool = True
    limit: int | None = None
    namespace: str = "default"
    path: str = ""

    def __post_init__(self) -> None:
        if (self.format == "csv") != (self.columns is not None):
            raise ValueError("columns must be there with format csv, and only then")


@dataclass(frozen=True, slots=True)
class LifetimeDistribution:
    """How many seconds pods run: exponential with mean ``mean``, or log-uniform from ``shortest`` to ``longest``."""

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
    """A kind of pod that arrives with relative frequency ``weight``. ``spec`` is merged into the pod's."""

    cpu: str | None = None
    memory: str | None = None
    name: str | None = None
    weight: float = 1.0
    life: float | LifetimeDistribution | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    resources: Mapping[str, str] = field(default_factory=dict)
    spec: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Generate:
    """Pods that arrive at random from ``at`` to ``end``, ``per_hour`` per hour at the peak."""

    per_hour: float
    shapes: tuple[PodShape, ...]
    tide: Tide | None = None
    namespace: str = "default"
    at: float = 0.0
    end: float = 86400.0
    path: str = ""

    def __post_init__(self) -> None:
        if self.end <= self.at:
            raise ValueError("until must be after at")
        if not any(shape.weight > 0 for shape in self.shapes):
            raise ValueError("one of the shapes must have a weight above 0")


@dataclass(frozen=True, slots=True)
class UsageSource:
    """The source of real use: "none", "watermarks", the "history" of ``window`` seconds, or the "trace" in ``file``.

    The default of ``window`` is a day.
    """

    source: str = NONE
    file: str | None = None
    window: float | None = None

    def __post_init__(self) -> None:
        if (self.source == TRACE) != (self.file is not None):
            raise ValueError("file must be there with from: trace, and only then")
        if self.window is not None and self.source != HISTORY:
            raise ValueError("window goes with from: history alone")

    @property
    def is_collected(self) -> bool:
        """Whether the use is what a site collected about the base."""
        return self.source in (WATERMARKS, HISTORY)

    @property
    def history_seconds(self) -> float:
        """The length of the history in seconds, 0 for figures of one time."""
        return (DAY if self.window is None else self.window) if self.source == HISTORY else 0.0

    def figures_file(self, snapshot: str | None) -> str:
        """The file with the figures of the base ``snapshot``; "" if none is needed."""
        if not self.is_collected or not snapshot:
            return ""
        return f"figures-{snapshot}{f'-{self.history_seconds:.0f}s' if self.history_seconds else ''}.csv"


@dataclass(frozen=True, slots=True)
class RunSettings:
    """How the scenario is run; with ``end`` ``None``, until nothing more happens.

    ``admission`` names the API server's plugins that are on.
    """

    end: float | None = None
    place: str = ALL
    cycle: float = 0.001
    sample: float = 60.0
    controllers: bool = True
    admission: frozenset[str] = DEFAULT


@dataclass(frozen=True, slots=True)
class KarpenterSettings:
    """Karpenter looks after the nodes. A node joins ``launch`` seconds after it was asked for, and loses its startup
    taints ``startup`` seconds later. Nodes of the base that are of no NodePool count as of ``adopt``, "" for none."""

    karpenter: Karpenter
    launch: float = 60.0
    startup: float = 10.0
    adopt: str = ""

    def __post_init__(self) -> None:
        names = [pool.name for pool in self.karpenter.pools]
        if self.adopt and self.adopt not in names:
            message = f"there is no NodePool {self.adopt}; there are {', '.join(names)}"
            raise Faulty([DocumentProblem("adopt", message)])


AutoscalerSettings = KarpenterSettings | NodeGroups


@dataclass(frozen=True, slots=True)
class DeschedulerSettings:
    """The descheduler goes through the cluster by a DeschedulerPolicy; ``name`` is what that is called, "" for none."""

    policy: Json
    interval: float = DEFAULT_INTERVAL
    name: str = ""


@dataclass(frozen=True, slots=True)
class ScenarioDocument:
    name: str
    description: str = ""
    base: ScenarioBase = field(default_factory=ScenarioBase)
    objects: tuple[Json, ...] = ()
    changes: tuple[ScenarioChange, ...] = ()
    arrivals: tuple[Trace | Generate, ...] = ()
    use: UsageSource = field(default_factory=UsageSource)
    run: RunSettings = field(default_factory=RunSettings)
    autoscaler: AutoscalerSettings | None = None
    descheduler: DeschedulerSettings | None = None
    prices: PriceTable | None = None
