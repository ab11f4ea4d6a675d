"""A described cluster, the pods that wait in it, and the Policy by which the classic scheduler places them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kschedweb.engine.cycle.request import SearchRequest
from kschedweb.engine.extenders.extender import Post
from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.objects.access import Json, ObjectError
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.releases.classic.algorithm import Algorithm, PolicyError
from kschedweb.engine.releases.classic.catalogue import EDITION, Edition
from kschedweb.engine.releases.classic.extenders import ClassicExtenders
from kschedweb.engine.releases.classic.policy import load_policy
from kschedweb.engine.releases.classic.process import edition_of
from kschedweb.engine.releases.classic.registry import Registry
from kschedweb.engine.releases.classic.scheduler import ClassicScheduler
from kschedweb.engine.releases.classic.snapshot import ClassicSnapshot
from kschedweb.engine.scenario.reading import SEQUENCE, ScenarioError, read_mode, read_name, read_preempt
from kschedweb.engine.scenario.scenario import TRIED, read_pending, read_snapshot, remarks_on, timed
from kschedweb.engine.values import dataclass

Registries = dict[Edition, Registry]  # what has been registered, by the edition whose process it is


@dataclass(frozen=True, slots=True)
class ClassicScenario:
    """``snapshot`` is changed by running the scenario: one scenario is run once."""

    name: str
    algorithm: Algorithm
    snapshot: ClassicSnapshot
    pending: list[Pod]
    mode: str
    preempt: bool = False
    remarks: tuple[str, ...] = ()

    @classmethod
    def of(cls, raw: Json, registries: Registries) -> ClassicScenario:
        """Of a scenario marked ``"classic"``; raises ScenarioError.

        ``registries`` hold what earlier scenarios registered, as in one process of the original, and are added to.
        """
        name = read_name(raw)
        try:
            algorithm, doubts = _algorithm(raw, registries)
            snapshot = read_snapshot(ClassicSnapshot, raw, keep_finished=False)
            remarks = tuple(f"{name}: {one}" if name else one for one in (*doubts, *remarks_on(raw)))
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
        """The version of kschedweb, and the kube-scheduler whose answer it gives."""
        return self.algorithm.release.engine

    def scheduler(self, post: Post | None) -> ClassicScheduler:
        """The scheduler of this cluster, with extenders that ``post`` reaches."""
        return ClassicScheduler(
            self.snapshot, self.algorithm, extenders=ClassicExtenders(self.algorithm.extenders, post)
        )

    def explain(self, mode: str | None = None, post: Post | None = None) -> Json:
        """Verdicts and scores for each pending pod, in the form of the recorded answers. Raises ScenarioError."""
        scheduler = self.scheduler(post)
        pods = []
        for pod in self.pending:
            try:
                told = scheduler.explain(pod, preemption=True, as_run=False).to_dict()
            except CycleError as error:
                raise ScenarioError(f"{self.name}: Pod {pod.key}: {error}") from None
            pods.append(told)
            if (mode or self.mode) == SEQUENCE and told.get("chosen"):
                scheduler.bind(pod, told["chosen"])
        return {"name": self.name, "pods": pods or None}

    def schedule(self, post: Post | None = None) -> Json:
        """The placements of the pending pods, one after the other."""
        placements = self.scheduler(post).schedule(self.pending, SearchRequest(preempt=self.preempt))
        return {"name": self.name, "placements": [placement.to_dict() for placement in placements] or None}

    def describe_conditions(self, post: Post | None = None) -> Json:
        """The node of each pending pod, or the message of its condition and the node nominated for it."""
        scheduler = self.scheduler(post)
        conditions = [scheduler.find(pod, TRIED).to_condition() for pod in self.pending]
        return {"name": self.name, "pods": conditions or None}

    def summary(self, clock: Callable[[], float], post: Post | None = None) -> Json:
        """Throughput and latency of scheduling the pending pods; ``clock`` gives seconds. Raises ScenarioError."""
        scheduler = self.scheduler(post)
        unasked = [url for pod in self.pending for url in scheduler.extenders.unasked(pod, "filter", "prioritize")]
        if unasked:
            raise ScenarioError(f"{self.name}: policy: extender {unasked[0]} would be asked, which was not allowed")

        def place(pod: Pod) -> bool:
            return bool(scheduler.schedule_one(pod).node)

        return timed(clock, self.pending, place)


def _algorithm(raw: Json, registries: Registries) -> tuple[Algorithm, list[str]]:
    edition = read_edition(raw.get("classic"))
    registry = registries.setdefault(edition, Registry(edition))
    policy, doubts = None, []
    if raw.get("policy") is not None:
        loaded = load_policy(raw["policy"])
        doubts = [f"policy.{one.path}: {one.text}" for one in loaded.warnings]
        if loaded.policy is None:
            raise ScenarioError(f"policy: {'; '.join(loaded.errors)}")
        policy = loaded.policy
    try:
        algorithm = registry.algorithm(policy)
    except PolicyError as error:
        raise ScenarioError(f"policy: {error}") from None
    if edition.old and edition.percentage:
        doubts.append("classic.percentageOfNodesToScore: 1.9 does not know it, and looks at all nodes")
    if kept := registry.leftovers(policy):
        doubts.append(f"policy: {', '.join(kept)} weigh what an earlier policy said, as in one process of the original")
    doubts += [f"policy: {name} is never asked: it has no place in the order" for name in algorithm.never_asked]
    return algorithm, doubts


def read_edition(given: Any) -> Edition:
    """``"classic"``: true, or ``{"version", "gates", "maxVolumes", "percentageOfNodesToScore"}``.

    Raises ScenarioError.
    """
    if given is True:
        return EDITION
    if not isinstance(given, dict):
        raise ScenarioError("classic: must be true or an object")
    try:
        return edition_of(given, "classic.")
    except ObjectError as error:
        raise ScenarioError(str(error)) from None
