"""The presenters of plugins that check the pod's volumes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.decisions.presenters.base import Presenter
from kschedweb.decisions.words import Reading, listed

if TYPE_CHECKING:
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot


class Volumes(Presenter):
    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
        names = [
            volume["persistentVolumeClaim"].get("claimName", "?")
            for volume in pod.raw.get("spec", {}).get("volumes") or []
            if isinstance(volume, dict) and isinstance(volume.get("persistentVolumeClaim"), dict)
        ]
        claims = f" (claims {listed(names)})" if names else ""
        return Reading(f"the pod's volumes{claims} cannot be used from {snapshot.names[node]}: {status.message}")


class VolumeBinding(Volumes):
    about = "Prefers nodes with more free storage for the pod's claims; 0 where no claim waits for a node (since 1.37)."


BINDING = VolumeBinding("VolumeBinding")
ZONE, RESTRICTIONS, LIMITS = (Volumes(name) for name in ("VolumeZone", "VolumeRestrictions", "NodeVolumeLimits"))
