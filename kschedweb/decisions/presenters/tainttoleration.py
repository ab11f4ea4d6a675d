"""TaintToleration: which taints are not tolerated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.decisions.parts import Arithmetic, Step
from kschedweb.decisions.presenters.base import Presenter
from kschedweb.decisions.words import Reading, listed
from kschedweb.engine.objects.taints import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE, tolerated
from kschedweb.engine.plugins.tainttoleration import TAINTED

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot


class Taints(Presenter):
    about = "Counts the node's PreferNoSchedule taints that the pod does not tolerate; fewer are better."
    short = {TAINTED: "has taints the pod does not tolerate"}

    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
        hard = [taint for taint in snapshot.nodes[node].taints if taint.effect in (NO_SCHEDULE, NO_EXECUTE)]
        missing = [taint for taint in hard if not tolerated(taint, pod.tolerations)]
        return Reading(
            f"{snapshot.names[node]} is tainted {listed([str(taint) for taint in missing])}, and the pod does not "
            f"tolerate {'it' if len(missing) == 1 else 'them'}",
            f"a toleration of {listed([taint.key for taint in missing])} in the pod, or removing the taint, would do",
        )

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        soft = [taint for taint in case.snapshot.nodes[node].taints if taint.effect == PREFER_NO_SCHEDULE]
        considered = tuple(item for item in case.pod.tolerations if item.effect in ("", PREFER_NO_SCHEDULE))
        missing = [taint for taint in soft if not tolerated(taint, considered)]
        result.steps.append(Step("Soft taints", ", ".join(map(str, soft)) or "none", str(len(soft))))
        result.steps.append(Step("Not tolerated", ", ".join(map(str, missing)) or "none", str(len(missing))))
        result.computed = len(missing)

    def normalization(self, raws: list[int], raw: int) -> str:
        high = max(raws)
        return "no feasible node has such taints: 100 for all" if high <= 0 else f"100 − 100 × {raw} ÷ {high}"


PRESENTER = Taints("TaintToleration")
