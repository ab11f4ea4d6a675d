"""DynamicResources: devices of resource claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.decisions.presenters.base import Presenter, by_the_highest
from kschedweb.decisions.words import VerdictReading, join_with_and
from kschedweb.engine.plugins.dynamicresources import NO_ACCESS
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot


class DynamicResourcesPresenter(Presenter):
    description = _("Prefers nodes whose devices satisfy the higher-priority alternatives of the pod's claims.")
    short = {NO_ACCESS: _("has no access to the devices of the pod's claims")}

    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> VerdictReading:
        name = snapshot.names[node]
        if not status.simulated:
            return VerdictReading(
                f"{name}: {status.message}", gettext("a claim that already has its devices can be judged")
            )
        if NO_ACCESS in status.facts:
            claims = join_with_and([item.claim for item in pod.resource_claims if item.claim])
            return VerdictReading(
                gettext("the devices of %(claims)s cannot be used on %(name)s") % {"claims": claims, "name": name},
                gettext(
                    "delete the other pods that use the claim: it then gives its devices back, and others can be chosen"
                ),
            )
        return VerdictReading(
            gettext("%(name)s does not have the devices that the pod asks for: %(message)s")
            % {"name": name, "message": status.message}
        )

    def normalization(self, raws: list[int], raw: int) -> str:
        return by_the_highest(raws, raw)


PRESENTER = DynamicResourcesPresenter("DynamicResources")
