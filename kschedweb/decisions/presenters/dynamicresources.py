"""DynamicResources: devices of resource claims."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.decisions.presenters.base import Presenter, by_the_highest
from kschedweb.decisions.words import Reading, listed
from kschedweb.engine.plugins.dynamicresources import NO_ACCESS

if TYPE_CHECKING:
    from kschedweb.engine import Pod, Status
    from kschedweb.engine import Snapshot as EngineSnapshot


class Devices(Presenter):
    about = "Prefers nodes whose devices satisfy the higher-priority alternatives of the pod's claims."
    short = {NO_ACCESS: "has no access to the devices of the pod's claims"}

    def reading(self, snapshot: EngineSnapshot, pod: Pod, node: int, status: Status) -> Reading:
        name = snapshot.names[node]
        if not status.simulated:
            return Reading(f"{name}: {status.message}", "a claim that has its devices would be decided as always")
        if NO_ACCESS in status.about:
            claims = listed([item.claim for item in pod.resource_claims if item.claim])
            return Reading(
                f"the devices of {claims} cannot be used on {name}",
                "a claim that no other pod uses gives its devices back, so that others can be chosen",
            )
        return Reading(f"{name} cannot give the pod the devices it asks for: {status.message}")

    def normalization(self, raws: list[int], raw: int) -> str:
        return by_the_highest(raws, raw)


PRESENTER = Devices("DynamicResources")
