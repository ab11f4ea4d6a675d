"""ImageLocality: images that the node already has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from django.utils.translation import gettext

from kschedweb.decisions.parts import Arithmetic, Step
from kschedweb.decisions.presenters.base import Presenter, instance
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.plugins.imagelocality import LEAST, ImageLocality, counted, normalized
from kschedweb.web.translating import gettext_lazy as _
from kschedweb.web.units import memory

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case


class Images(Presenter):
    about = _(
        "Adds the sizes of the pod's images that the node already has, each scaled by the share of nodes that have it."
    )

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        plugin: ImageLocality = instance(case, self.plugin)
        snapshot, total = case.snapshot, 0
        for image in plugin.images(case.pod):
            size, holders = snapshot.images.get(normalized(image), (0, []))
            if node in holders:
                part = counted(size, holders, len(snapshot))
                total += part
                shown = gettext("%(size)s × %(holders)s of %(snapshot)s nodes") % {
                    "size": memory(size),
                    "holders": len(holders),
                    "snapshot": len(snapshot),
                }
                result.steps.append(Step(image, shown, memory(part)))
            else:
                result.steps.append(Step(image, gettext("not on the node"), "0"))
        result.computed = int(plugin.score(Cycle(snapshot, case.pod), np.array([node]))[0])
        most = plugin.most(case.pod)
        if most > LEAST:
            formula = (
                f"100 × ({memory(min(max(total, LEAST), most))} − {memory(LEAST)}) ÷ ({memory(most)} − {memory(LEAST)})"
            )
            step = Step(
                gettext("Between the bounds"),
                gettext("%(formula)s, after bounding by these two") % {"formula": formula},
                str(result.computed),
            )
            result.steps.append(step)


PRESENTER = Images("ImageLocality")
