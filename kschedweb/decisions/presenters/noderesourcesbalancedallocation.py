"""NodeResourcesBalancedAllocation: how equal the shares of the resources are with the pod."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from django.utils.translation import gettext

from kschedweb.decisions.page_parts import Arithmetic, ArithmeticStep
from kschedweb.decisions.presenters.base import Presenter, get_plugin
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.plugins.noderesourcesbalancedallocation import NodeResourcesBalancedAllocation, balance_scores
from kschedweb.web.translating import gettext_lazy as _
from kschedweb.web.units import format_amount

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case


class BalancedAllocationPresenter(Presenter):
    description = _(
        "How even the node's resources are used with the pod: 100 is even. Since 1.36 the change "
        "counts: 75 leaves the balance as it is, and more brings it closer to even."
    )

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        plugin: NodeResourcesBalancedAllocation = get_plugin(case, self.plugin)
        snapshot, cycle, rows = case.snapshot, Cycle(case.snapshot, case.pod), np.array([node])
        fractions, counted = plugin.requested_fractions(cycle, rows)
        for name, (before, after), counts in zip(
            plugin.resources, fractions[:, :, 0].T.tolist(), counted[:, 0].tolist(), strict=True
        ):
            if counts:
                used = int(snapshot.resource_row(snapshot.requested, name)[node])
                size = int(snapshot.resource_row(snapshot.allocatable, name)[node])
                with_pod = used + case.pod.occupied.get(name, 0)
                formula = gettext("%(used)s → %(with_pod)s of %(size)s") % {
                    "used": format_amount(used, name),
                    "with_pod": format_amount(with_pod, name),
                    "size": format_amount(size, name),
                }
                result.steps.append(
                    ArithmeticStep(gettext("Use of %(name)s") % {"name": name}, formula, f"{before:.4f} → {after:.4f}")
                )
        was, becomes = (int(part[0]) for part in balance_scores(fractions, counted))
        result.steps.append(
            ArithmeticStep(
                gettext("Balance"), gettext("100 × (1 − standard deviation), rounded down"), f"{was} → {becomes}"
            )
        )
        result.computed = int(plugin.score(cycle, rows)[0])
        if plugin.by_delta:
            result.steps.append(
                ArithmeticStep(gettext("Change"), f"50 + (50 + {becomes} − {was}) ÷ 2", str(result.computed))
            )
        else:
            result.steps.append(
                ArithmeticStep(gettext("With the pod"), gettext("the balance that comes of it"), str(result.computed))
            )


PRESENTER = BalancedAllocationPresenter("NodeResourcesBalancedAllocation")
