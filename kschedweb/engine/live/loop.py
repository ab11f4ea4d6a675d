"""The live loop: what the cluster says comes in, one pod after the other is tried, and what is to be done comes out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kschedweb.engine.config import Configuration
from kschedweb.engine.extenders.extender import Extenders
from kschedweb.engine.framework.decision import Clock
from kschedweb.engine.framework.explanation import Explanation
from kschedweb.engine.framework.runtime import Factory
from kschedweb.engine.live.intents import Intent
from kschedweb.engine.objects.access import Json
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.snapshot import Snapshot
from kschedweb.engine.watermarks.table import Watermarks

HOLDS = frozenset({"HumanApproval"})


@dataclass(frozen=True, slots=True)
class Depths:
    """How many pods are where; ``waiting`` at Permit, held ones among them, ``binding`` until the cluster shows it."""

    active: int
    backoff: int
    unschedulable: int
    gated: int
    waiting: int
    held: int
    binding: int
    nodes: int
    pods: int


class LiveLoop:
    """kube-scheduler for the profiles of ``configuration``: single-threaded, without input or output of its own.

    Times are seconds of the epoch that never go back. ``holds`` names the Permit plugins whose waits are kept and
    ended outside. ``clock`` (seconds) measures the durations of decisions.
    """

    def __init__(
        self,
        configuration: Configuration,
        *,
        registry: Mapping[str, Factory] | None = None,
        extenders: Extenders | None = None,
        holds: frozenset[str] = HOLDS,
        clock: Clock | None = None,
    ) -> None:
        raise NotImplementedError

    # What the cluster says.

    def replace(self, kind: str, items: Iterable[Json], now: float) -> list[Intent]:
        """A whole list of ``kind``: what is not in it is gone."""
        raise NotImplementedError

    def apply(self, kind: str, raw: Json, now: float) -> list[Intent]:
        """An object came or changed; a pod of a known name with another uid is another pod."""
        raise NotImplementedError

    def delete(self, kind: str, raw: Json, now: float) -> list[Intent]:
        """An object is gone."""
        raise NotImplementedError

    def measured(self, watermarks: Watermarks | None, now: float) -> None:
        """What nodes and workloads use was measured anew; ``None``: what the objects' annotations say counts."""
        raise NotImplementedError

    # Work.

    @property
    def ready(self) -> bool:
        """Whether a pod is there to be tried: ``step`` has work."""
        raise NotImplementedError

    def step(self, now: float) -> list[Intent]:
        """Do what is due by time, and try at most one pod."""
        raise NotImplementedError

    def next_time(self, now: float) -> float | None:
        """When ``step`` is to be called next although nothing happens: ``now`` while pods are there to be tried."""
        raise NotImplementedError

    # Answers of the world.

    def bound(self, uid: str, now: float) -> None:
        """The binding was accepted."""
        raise NotImplementedError

    def bind_failed(self, uid: str, message: str, now: float) -> list[Intent]:
        """The binding failed for certain: the pod comes back as after an error."""
        raise NotImplementedError

    def allow(self, uid: str, plugin: str, now: float) -> list[Intent]:
        """``plugin`` lets the waiting pod go on: Bind, or Superseded where its node does not fit any more."""
        raise NotImplementedError

    def reject(self, uid: str, plugin: str, reason: str, now: float) -> list[Intent]:
        """``plugin`` does not let the waiting pod go on."""
        raise NotImplementedError

    def restore(self, uid: str, node: str, plugin: str, until: float, now: float) -> list[Intent]:
        """After a restart: a pod that ``plugin`` held gets its reservation back, or Superseded where that cannot be."""
        raise NotImplementedError

    def recheck(self, uid: str, now: float) -> str:
        """ "" where the waiting pod still may be bound to its node, else why not."""
        raise NotImplementedError

    def activate(self, uid: str, now: float) -> None:
        """Try the pod again at once, as after an eviction for it that failed."""
        raise NotImplementedError

    def forget(self, now: float) -> list[Intent]:
        """Leadership is lost: whatever is reserved and not bound is given back, without a word to the cluster."""
        raise NotImplementedError

    # What can be asked.

    @property
    def state(self) -> Depths:
        raise NotImplementedError

    @property
    def snapshot(self) -> Snapshot:
        raise NotImplementedError

    def pod(self, uid: str) -> Pod | None:
        """The pod as the cluster last showed it."""
        raise NotImplementedError

    def explain(self, uid: str, now: float) -> Explanation:
        """Every verdict and score for the pod now, as if it were on no node; KeyError where it is not known."""
        raise NotImplementedError
