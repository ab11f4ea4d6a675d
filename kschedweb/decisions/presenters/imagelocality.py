"""ImageLocality: images that the node already has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from django.utils.translation import gettext

from kschedweb.decisions.page_parts import Arithmetic, ArithmeticStep
from kschedweb.decisions.presenters.base import Presenter, get_plugin
from kschedweb.engine.framework.interface import Cycle
from kschedweb.engine.plugins.imagelocality import (
    MIN_THRESHOLD,
    ImageLocality,
    normalized_image_name,
    scaled_image_score,
)
from kschedweb.web.translating import gettext_lazy as _
from kschedweb.web.units import format_memory

if TYPE_CHECKING:
    from kschedweb.decisions.case import Case


class ImageLocalityPresenter(Presenter):
    description = _(
        "Adds the sizes of the pod's images that the node already has, each scaled by the share of nodes that have it."
    )

    def work(self, case: Case, node: int, result: Arithmetic) -> None:
        plugin: ImageLocality = get_plugin(case, self.plugin)
        snapshot, total = case.snapshot, 0
        for image in plugin.list_images(case.pod):
            size, holders = snapshot.images.get(normalized_image_name(image), (0, []))
            if node in holders:
                part = scaled_image_score(size, holders, len(snapshot))
                total += part
                text = gettext("%(size)s × %(holders)s of %(snapshot)s nodes") % {
                    "size": format_memory(size),
                    "holders": len(holders),
                    "snapshot": len(snapshot),
                }
                result.steps.append(ArithmeticStep(image, text, format_memory(part)))
            else:
                result.steps.append(ArithmeticStep(image, gettext("not on the node"), "0"))
        result.computed = int(plugin.score(Cycle(snapshot, case.pod), np.array([node]))[0])
        high = plugin.max_threshold(case.pod)
        if high > MIN_THRESHOLD:
            low, bounded = format_memory(MIN_THRESHOLD), format_memory(min(max(total, MIN_THRESHOLD), high))
            formula = f"100 × ({bounded} − {low}) ÷ ({format_memory(high)} − {low})"
            step = ArithmeticStep(
                gettext("Between the bounds"),
                gettext("%(formula)s, after bounding by these two") % {"formula": formula},
                str(result.computed),
            )
            result.steps.append(step)


PRESENTER = ImageLocalityPresenter("ImageLocality")
