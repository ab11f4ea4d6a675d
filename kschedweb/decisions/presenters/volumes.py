"""The presenters of plugins that check the pod's volumes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext

from kschedweb.decisions.presenters.base import Presenter
from kschedweb.decisions.words import VerdictReading, join_with_and
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot


class VolumesPresenter(Presenter):
    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> VerdictReading:
        names = [
            volume["persistentVolumeClaim"].get("claimName", "?")
            for volume in pod.raw.get("spec", {}).get("volumes") or []
            if isinstance(volume, dict) and isinstance(volume.get("persistentVolumeClaim"), dict)
        ]
        claims = gettext(" (claims %(listed)s)") % {"listed": join_with_and(names)} if names else ""
        return VerdictReading(
            gettext("the pod's volumes%(claims)s cannot be used from %(names)s: %(message)s")
            % {"claims": claims, "names": snapshot.names[node], "message": status.message}
        )


class VolumeBindingPresenter(VolumesPresenter):
    description = _(
        "Prefers nodes with more free storage for the pod's claims; 0 where no claim waits for a node (since 1.37)."
    )


BINDING = VolumeBindingPresenter("VolumeBinding")
ZONE, RESTRICTIONS, LIMITS = (
    VolumesPresenter(name) for name in ("VolumeZone", "VolumeRestrictions", "NodeVolumeLimits")
)
