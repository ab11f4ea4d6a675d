"""A cluster described in JSON, its pending pods, and the Policy by which the classic scheduler places them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kschedweb.engine.cycle.search_request import SearchRequest
from kschedweb.engine.extenders.extender import Post
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.releases.classic.algorithm import Algorithm, PolicyError
from kschedweb.engine.releases.classic.catalogue import EDITION, Edition
from kschedweb.engine.releases.classic.extenders import ClassicExtenders
from kschedweb.engine.releases.classic.policy import load_policy
from kschedweb.engine.releases.classic.process import edition_of
from kschedweb.engine.releases.classic.registry import Registry
from kschedweb.engine.releases.classic.scheduler import ClassicScheduler
from kschedweb.engine.releases.classic.snapshot import ClassicSnapshot
from kschedweb.engine.scenario.reading import MODE_SEQUENCE, ScenarioError, read_mode, read_name, read_preempt
from kschedweb.engine.scenario.scenario import DRY_RUN_REQUEST, measure_placing, read_pending, read_snapshot, remarks_on
from kschedweb.engine.values import dataclass

# The registry of each edition's process.
Registries = dict[Edition, Registry]


@dataclass(frozen=True, slots=True)
class ClassicScenario:
    """A cluster, its pending pods, and a classic policy. It runs once, because running it changes ``snapshot``."""

    name: str
    algorithm: Algorithm
    snapshot: ClassicSnapshot
    pending: list[Pod]
    # MODE_EACH or MODE_SEQUENCE.
    mode: str
    # ``schedule`` evicts pods.
    preempt: bool = False
    # Objects that an API server would have refused, and doubts about the policy.
    remarks: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, raw: Json, registries: Registries) -> ClassicScenario:
        """Read a scenario marked ``"classic"``. Raises ScenarioError.

        ``registries`` hold what earlier scenarios registered, as in one process of the original, and are added to.
        """
        name = read_name(raw)
        try:
            algorithm, doubts = _create_algorithm(raw, registries)
            snapshot = read_snapshot(ClassicSnapshot, raw, keep_finished=False)
            remarks = tuple(f"{name}: {remark}" if name else remark for remark in (*doubts, *remarks_on(raw)))
            pending = read_pending(raw, snapshot)
            return cls(name, algorithm, snapshot, pending, read_mode(raw), read_preempt(raw), remarks)
        except ScenarioError as error:
            raise ScenarioError(f"{name}: {error}" if name else str(error)) from None

    @property
    def extenders(self) -> tuple[Json, ...]:
        """The extenders of its policy."""
        return self.algorithm.extenders

    @property
    def engine(self) -> str:
        """The version of kschedweb, and the kube-scheduler that it stands for."""
        return self.algorithm.release.engine

    def create_scheduler(self, post: Post | None) -> ClassicScheduler:
        """Return the scheduler of this cluster, with extenders that ``post`` reaches."""
        return ClassicScheduler(
            self.snapshot, self.algorithm, extenders=ClassicExtenders(self.algorithm.extenders, post)
        )

    def explain(self, mode: str | None = None, post: Post | None = None) -> Json:
        """Return the verdicts and scores for each pending pod, in the form of the recorded answers. Raises
        ScenarioError.
        """
        scheduler = self.create_scheduler(post)
        pods = []
        for pod in self.pending:
            try:
                explanation = scheduler.explain(pod, preemption=True, as_scheduled=False).to_dict()
            except CycleError as error:
                raise ScenarioError(f"{self.name}: Pod {pod.key}: {error}") from None
            pods.append(explanation)
            if (mode or self.mode) == MODE_SEQUENCE and explanation.get("chosen"):
                scheduler.bind_pod(pod, explanation["chosen"])
        return {"name": self.name, "pods": pods or None}

    def schedule(self, post: Post | None = None) -> Json:
        """Return the placements of the pending pods, one after the other."""
        placements = self.create_scheduler(post).schedule_pods(self.pending, SearchRequest(preempt=self.preempt))
        return {"name": self.name, "placements": [placement.to_dict() for placement in placements] or None}

    def describe_conditions(self, post: Post | None = None) -> Json:
        """Return the node of each pending pod, or the message of its condition and its nominated node."""
        scheduler = self.create_scheduler(post)
        conditions = [scheduler.find(pod, DRY_RUN_REQUEST).to_condition() for pod in self.pending]
        return {"name": self.name, "pods": conditions or None}

    def summary(self, clock: Callable[[], float], post: Post | None = None) -> Json:
        """Return throughput and latency of placing the pending pods; ``clock`` gives seconds. Raises ScenarioError."""
        scheduler = self.create_scheduler(post)
        unasked = [url for pod in self.pending for url in scheduler.extenders.unasked_urls(pod, "filter", "prioritize")]
        if unasked:
            raise ScenarioError(f"{self.name}: policy: extender {unasked[0]} would be asked, which was not allowed")

        def place_pod(pod: Pod) -> bool:
            return bool(scheduler.schedule_one(pod).node)

        return measure_placing(clock, self.pending, place_pod)


def _create_algorithm(raw: Json, registries: Registries) -> tuple[Algorithm, list[str]]:
    edition = read_edition(raw.get("classic"))
    # Shared by all scenarios of an edition: registrations outlive a policy in one process of the original.
    registry = registries.setdefault(edition, Registry(edition))
    policy, doubts = None, []
    if raw.get("policy") is not None:
        loaded = load_policy(raw["policy"])
        doubts = [f"policy.{warning.path}: {warning.text}" for warning in loaded.warnings]
        if loaded.policy is None:
            raise ScenarioError(f"policy: {'; '.join(loaded.errors)}")
        policy = loaded.policy
    try:
        algorithm = registry.build_algorithm(policy)
    except PolicyError as error:
        raise ScenarioError(f"policy: {error}") from None
    if edition.old and edition.percentage:
        doubts.append("classic.percentageOfNodesToScore: 1.9 does not know it, and looks at all nodes")
    if leftovers := registry.find_leftovers(policy):
        doubts.append(
            f"policy: {', '.join(leftovers)} weigh what an earlier policy said, as in one process of the original"
        )
    doubts += [f"policy: {name} is never asked: it has no place in the order" for name in algorithm.never_asked]
    return algorithm, doubts


def read_edition(raw: Any) -> Edition:
    """Read ``"classic"``: true, or ``{"version", "gates", "maxVolumes", "percentageOfNodesToScore"}``.

    Raises ScenarioError.
    """
    if raw is True:
        return EDITION
    if not isinstance(raw, dict):
        raise ScenarioError("classic: must be true or an object")
    try:
        return edition_of(raw, "classic.")
    except ObjectError as error:
        raise ScenarioError(str(error)) from None
