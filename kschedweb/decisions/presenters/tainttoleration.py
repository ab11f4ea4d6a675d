"""TaintToleration: taints that the pod does not tolerate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from django.utils.translation import gettext, ngettext

from kschedweb.decisions.page_parts import Arithmetic, ArithmeticStep
from kschedweb.decisions.presenters.base import Presenter
from kschedweb.decisions.words import VerdictReading, join_with_and
from kschedweb.engine.objects.taints import PREFER_NO_SCHEDULE, find_untolerated, is_tolerated
from kschedweb.engine.plugins.tainttoleration import TAINTED
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot
    from kschedweb.engine.objects.taints import Taint
    from kschedweb.engine.state.columns import Ints


class TaintTolerationPresenter(Presenter):
    description = _("Counts the node's PreferNoSchedule taints that the pod does not tolerate; fewer are better.")
    short = {TAINTED: _("has taints the pod does not tolerate")}

    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> VerdictReading:
        missing = find_untolerated(snapshot.nodes[node].taints, pod.tolerations)
        return VerdictReading(
            ngettext(
                "%(node)s is tainted %(taints)s, and the pod does not tolerate it",
                "%(node)s is tainted %(taints)s, and the pod does not tolerate them",
                len(missing),
            )
            % {"node": snapshot.names[node], "taints": join_with_and([str(taint) for taint in missing])},
            gettext("add a toleration for %(listed)s to the pod, or remove the taint")
            % {"listed": join_with_and([taint.key for taint in missing])},
        )

    def kinds(self, snapshot: EngineSnapshot, pod: Pod) -> Ints:
        # Nodes with equal taints share a code, so tolerations are compared once per set of taints.
        codes, sets = snapshot.taint_sets()
        kinds: dict[tuple[Taint, ...], int] = {}
        numbers = [kinds.setdefault(find_untolerated(taints, pod.tolerations), len(kinds)) for taints in sets]
        return np.array(numbers, dtype=np.int64)[codes]

    def of_kind(self, snapshot: EngineSnapshot, pod: Pod, node: int) -> str:
        missing = find_untolerated(snapshot.nodes[node].taints, pod.tolerations)
        label = gettext("untolerated taint") if len(missing) == 1 else gettext("untolerated taints")
        return f"{label} {join_with_and([f'{{{taint}}}' for taint in missing])}"

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        soft = [taint for taint in case.snapshot.nodes[node].taints if taint.effect == PREFER_NO_SCHEDULE]
        considered = tuple(item for item in case.pod.tolerations if item.effect in ("", PREFER_NO_SCHEDULE))
        missing = [taint for taint in soft if not is_tolerated(taint, considered)]
        result.steps.append(
            ArithmeticStep(gettext("Soft taints"), ", ".join(map(str, soft)) or gettext("none"), str(len(soft)))
        )
        result.steps.append(
            ArithmeticStep(gettext("Not tolerated"), ", ".join(map(str, missing)) or gettext("none"), str(len(missing)))
        )
        result.computed = len(missing)

    def normalization(self, raws: list[int], raw: int) -> str:
        high = max(raws)
        return gettext("no feasible node has such taints: 100 for all") if high <= 0 else f"100 − 100 × {raw} ÷ {high}"


PRESENTER = TaintTolerationPresenter("TaintToleration")
