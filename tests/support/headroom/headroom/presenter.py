"""Presenter of Headroom, for pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.decisions.page_parts import Arithmetic, ArithmeticStep
from kschedweb.decisions.presenters.base import Presenter, get_plugin
from kschedweb.decisions.presenters.figures import away_from_zero, number, read_figure
from kschedweb.decisions.words import VerdictReading

from .plugin import SHORT, WINDOW, Headroom

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case
    from kschedweb.engine import Pod, Snapshot, Status


class HeadroomPresenter(Presenter):
    description = "What a node does not really use, in percent."
    missing = "A node without figures passes and has no headroom."
    short = {SHORT: "has too little headroom"}

    def reading(self, snapshot: Snapshot, pod: Pod, node: int, status: Status) -> VerdictReading:
        return VerdictReading(f"{snapshot.names[node]} has too little headroom", "less load there would do")

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        plugin: Headroom = get_plugin(case, self.plugin)
        use = read_figure(case, node, plugin.resource, WINDOW)
        result.figures.append(use)
        free_percent = float(plugin.unused_percent(case.snapshot)[node])
        result.computed = 0 if use.value == "no figure" else away_from_zero(free_percent)
        result.steps.append(
            ArithmeticStep("Headroom", f"100 − use = {number(free_percent)} %, rounded", str(result.computed))
        )


PRESENTER = HeadroomPresenter("Headroom")
