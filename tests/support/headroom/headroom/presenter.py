"""What pages tell of Headroom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.decisions.parts import Arithmetic, Step
from kschedweb.decisions.presenters.base import Presenter, instance
from kschedweb.decisions.presenters.measured import away_from_zero, figure, number
from kschedweb.decisions.words import Reading

from .plugin import SHORT, WINDOW, Headroom

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case
    from kschedweb.engine import Pod, Snapshot, Status


class HeadroomPresenter(Presenter):
    about = "What a node does not really use, in percent."
    missing = "A node without figures passes and has no headroom."
    short = {SHORT: "has too little headroom"}

    def reading(self, snapshot: Snapshot, pod: Pod, node: int, status: Status) -> Reading:
        return Reading(f"{snapshot.names[node]} has too little headroom", "less load there would do")

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        plugin: Headroom = instance(case, self.plugin)
        found = figure(case, node, plugin.resource, WINDOW)
        result.figures.append(found)
        left = float(plugin.left(case.snapshot)[node])
        result.computed = 0 if found.value == "no figure" else away_from_zero(left)
        result.steps.append(Step("Headroom", f"100 − use = {number(left)} %, rounded", str(result.computed)))


PRESENTER = HeadroomPresenter("Headroom")
