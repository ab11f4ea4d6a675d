"""TidalCoLocation: the curves of pod, node and mean node hour by hour, then the node's tide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kschedweb.decisions.page_parts import Arithmetic, ArithmeticStep, Figure
from kschedweb.decisions.presenters.base import Presenter, get_plugin
from kschedweb.decisions.presenters.figures import NOTHING, away_from_zero, number
from kschedweb.engine.plugins.tidalcolocation import NEUTRAL, TidalCoLocation, Tides
from kschedweb.engine.state.watermarks.table import workload_of
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case

EVERYWHERE = f"Every node scores {NEUTRAL:.0f}."


class TidalPresenter(Presenter):
    description = (
        "How much higher the node stands, against the mean node and against its own mean, at the hours in which the "
        "pod works, by what its pods used at each hour of the past days. "
        f"A pod that uses the same at all hours scores {NEUTRAL:.0f} everywhere."
    )
    missing = _(
        "A pod whose workload has no curve of the day scores 50 on every node, and adds nothing to the "
        "curve of a node. An hour of which nothing is known counts as the mean of the others. Curves never expire."
    )

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        plugin: TidalCoLocation = get_plugin(case, self.plugin)
        tides = plugin.compute_tides(case.snapshot, case.pod)
        if tides is None:
            result.notes.append(f"{_why_not(case)} {EVERYWHERE}")
            result.computed = round(NEUTRAL)
            return
        result.figures += _hour_figures(case, tides, node)
        result.notes += _unknown_notes(case, node)
        total = number(float(tides.pod.sum()))
        sums = [float(tides.pod @ curve) for curve in (tides.node[:, node], tides.cluster)]
        met = [curve_sum / float(tides.pod.sum()) for curve_sum in sums]
        usual = [float(curve.mean()) for curve in (tides.node[:, node], tides.cluster)]
        for label, curve_sum, level in zip(("Node", "Mean node"), sums, met, strict=True):
            formula = f"sum of pod × {label.lower()} over 24 hours {number(curve_sum)} ÷ sum of pod {total}"
            result.steps.append(ArithmeticStep(f"{label} when the pod works", formula, f"{number(level)} %"))
        for label, level in zip(("Node", "Mean node"), usual, strict=True):
            result.steps.append(ArithmeticStep(f"{label} all day", "mean of the 24 hours", f"{number(level)} %"))
        tide = float(tides.tide[node])
        formula = f"({number(met[0])} − {number(met[1])}) − ({number(usual[0])} − {number(usual[1])})"
        result.steps.append(ArithmeticStep("Tide", formula, f"{number(tide)} points"))
        score = NEUTRAL - plugin.points * tide
        clamped = min(max(score, 0.0), 100.0)
        bounds = "" if clamped == score else f" = {number(score)}, kept within 0 and 100"
        formula = f"{NEUTRAL:.0f} − {number(plugin.points)} × {number(tide)}{bounds}"
        result.steps.append(ArithmeticStep("Score", formula, number(clamped)))
        result.computed = away_from_zero(clamped)
        result.steps.append(
            ArithmeticStep("Rounded", "to the nearest integer, halves away from zero", str(result.computed))
        )


def _why_not(case: Case) -> str:
    watermarks = case.snapshot.watermarks
    if watermarks is None:
        return NOTHING
    name = workload_of(case.pod, case.snapshot.objects)
    if name is None:
        return "The pod belongs to no workload, so no curve of the day is known."
    curve = watermarks.curves.get(name)
    if curve is None or np.isnan(curve).all():
        return f"No curve of the day is known for {name}: none of its pods has run for a whole hour yet."
    return f"By the curve of {name}, its pods use nothing at any hour."


def _hour_figures(case: Case, tides: Tides, node: int) -> list[Figure]:
    name, curves = workload_of(case.pod, case.snapshot.objects), (tides.pod, tides.node[:, node], tides.cluster)
    listed = []
    for hour, (pod, node_use, mean) in enumerate(zip(*(curve.tolist() for curve in curves), strict=True)):
        value = f"pod {number(pod)} cores, node {number(node_use)} %, mean node {number(mean)} %"
        listed.append(Figure(f"{hour:02d}:00 to {(hour + 1) % 24:02d}:00 UTC", value, origin=f"pods of {name}"))
    return listed


def _unknown_notes(case: Case, node: int) -> list[str]:
    """Return notes on what is not known of the pod and of those on the node, and how it counts."""
    snapshot, notes = case.snapshot, []
    assert snapshot.watermarks is not None
    curve = snapshot.watermarks.workload_curve(case.pod, snapshot.objects)
    if curve is not None and (missing := int(np.isnan(curve).sum())):
        notes.append(
            f"Hours of which nothing is known of the pod: {missing} of 24. They count as the mean of the others."
        )
    pods = snapshot.pods.pods_on(node)
    without_curve = sum(snapshot.watermarks.workload_curve(pod, snapshot.objects) is None for pod in pods)
    if without_curve:
        notes.append(
            f"Pods on this node without a curve: {without_curve} of {len(pods)}. They add nothing to the node's."
        )
    return notes


PRESENTER = TidalPresenter("TidalCoLocation")
