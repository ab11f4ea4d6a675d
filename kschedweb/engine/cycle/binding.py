"""The binding cycle of one pod: Reserve, Permit with its waits, PreBind, Bind, PostBind."""

from __future__ import annotations

from dataclasses import field

from kschedweb.engine.cycle.placement import Placement
from kschedweb.engine.framework.decision import Stopwatch
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.framework.runtime import Binder, Framework
from kschedweb.engine.framework.status import CycleError, Status, fit_error, unschedulable
from kschedweb.engine.values import dataclass

PREEMPTED = "preempted"


@dataclass(frozen=True, slots=True)
class BindingRefusal:
    """The refusal to bind a pod although a node was found."""

    message: str
    # Plugins; empty after an error.
    rejected_by: frozenset[str] = frozenset()

    @classmethod
    def from_status(cls, status: Status) -> BindingRefusal:
        """Create a refusal in kube-scheduler's words: the plugin's reasons, for the one node found."""
        return cls(fit_error(1, ((reason, 1) for reason in status.reasons)), frozenset({status.plugin}))

    def to_placement(self, pod: str) -> Placement:
        """Return the result for the pod ``pod``: no node, and its nomination is cleared."""
        return Placement(pod, message=self.message, rejected_by=self.rejected_by, nominated="")


@dataclass(slots=True)
class BindingCycle:
    """The pod of ``cycle`` on its way to ``node``. Times are in seconds.

    A refusal takes the pod off the node again and gives back what Reserve claimed.
    """

    framework: Framework
    cycle: Cycle
    node: str
    # Extenders, which may bind in place of plugins.
    extender_binder: Binder | None = None
    watch: Stopwatch = field(default_factory=Stopwatch)
    # For each plugin whose Permit makes the pod wait: the deadline, and the length of the wait.
    waits: dict[str, tuple[float, float]] = field(default_factory=dict)

    def reserve_and_permit(self, now: float = 0.0) -> BindingRefusal | None:
        """Assume the pod on its node, then run Reserve and Permit; None if the pod may go on or must wait."""
        with self.framework.measured_by(self.watch):
            return self._reserve_and_permit(now)

    def _reserve_and_permit(self, now: float) -> BindingRefusal | None:
        snapshot = self.cycle.snapshot
        snapshot.place_pod(self.cycle.pod, self.node)
        try:
            with self.watch.failing("Reserve"):
                status = self.framework.reserve(self.cycle, self.node)
            self.watch.lap("Reserve", status.code)
            seconds: dict[str, float] = {}
            if status.ok:
                with self.watch.failing("Permit"):
                    status, seconds = self.framework.permit(self.cycle, self.node)
                self.watch.lap("Permit", status.code)
        except CycleError as error:
            return self._undo_and_refuse(BindingRefusal(str(error)))
        if seconds:
            self.waits = {plugin: (now + wait, wait) for plugin, wait in seconds.items()}
            return None
        return None if status.ok else self._undo_and_refuse(BindingRefusal.from_status(status))

    @property
    def deadline(self) -> float | None:
        """The time at which the first wait ends; None if the pod need not wait."""
        return min((due for due, _ in self.waits.values()), default=None)

    def allow(self, plugin: str) -> bool:
        """Let the pod go on for ``plugin``; return whether no plugin makes it wait any more."""
        self.waits.pop(plugin, None)
        return not self.waits

    def reject(self, plugin: str, reason: str) -> BindingRefusal:
        """Reject the waiting pod for ``plugin``."""
        return self._undo_and_refuse(BindingRefusal.from_status(unschedulable(reason).with_plugin(plugin)))

    def preempt(self) -> BindingRefusal:
        """Preempt the pod while it waits; it comes back as after an error."""
        return self._undo_and_refuse(BindingRefusal(PREEMPTED))

    def time_out(self) -> BindingRefusal | None:
        """Reject the pod for the plugin whose wait ends first; None if that plugin lets the pod go on instead."""
        plugin, (_, seconds) = min(self.waits.items(), key=lambda item: item[1][0])
        # Plugins may ask to allow the pod after the wait, where kube-scheduler always rejects it.
        if self.cycle.approval_requests.get(plugin, {}).get("onTimeout") == "Allow":
            self.allow(plugin)
            return None
        return self.reject(
            plugin, f"rejected due to timeout after waiting {format_duration(seconds)} at plugin {plugin}"
        )

    def assume_and_reserve(self) -> BindingRefusal | None:
        """Assume the pod on its node and reserve what it needs there, without Permit."""
        self.cycle.snapshot.place_pod(self.cycle.pod, self.node)
        try:
            status = self.framework.reserve(self.cycle, self.node)
        except CycleError as error:
            return self._undo_and_refuse(BindingRefusal(str(error)))
        return None if status.ok else self._undo_and_refuse(BindingRefusal.from_status(status))

    def give_up(self, reason: str) -> BindingRefusal:
        """Undo the binding because something done for the pod elsewhere has failed."""
        return self._undo_and_refuse(BindingRefusal(reason))

    def run_binding(self) -> BindingRefusal | None:
        """Run PreBind, Bind and PostBind; a failure here is an error, not a rejection."""
        try:
            self.framework.bind(self.cycle, self.node, self.extender_binder)
        except CycleError as error:
            return self._undo_and_refuse(BindingRefusal(str(error)))
        return None

    def _undo_and_refuse(self, refusal: BindingRefusal) -> BindingRefusal:
        self.unreserve_and_forget()
        return refusal

    def unreserve_and_forget(self) -> None:
        """Give back what Reserve claimed, and take the pod off the node again."""
        self.waits = {}
        self.framework.unreserve(self.cycle, self.node)
        # A pod without a slot has lost its node.
        if self.cycle.pod.key in self.cycle.snapshot.pods.slots:
            self.cycle.snapshot.remove_pod(self.cycle.pod.key)


def format_duration(seconds: float) -> str:
    """Format seconds as Go prints a duration: 500ms, 10s, 1m30s, 15m0s, 1h0m0s."""
    if 0 < seconds < 1:
        return f"{seconds * 1000:g}ms"
    whole = int(seconds)
    hours, minutes = whole // 3600, whole // 60 % 60
    text = f"{seconds - whole // 60 * 60:g}s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text
