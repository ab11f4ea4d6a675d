"""ReplicaSets and ReplicationControllers: as many equal pods as they say."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.objects.access import Json
from kschedweb.engine.sandbox.resources import Resource
from kschedweb.engine.sandbox.store import Change, Key
from kschedweb.engine.sandbox.world.context import Context
from kschedweb.engine.sandbox.world.controllers.replicas import Maker, first_to_go
from kschedweb.engine.sandbox.world.pods import active, made_from, ready


class ReplicaSets:
    """``resource`` is one of both kinds."""

    def __init__(self, context: Context, resource: Resource, by: str) -> None:
        self._maker = Maker(context, resource, by)

    def heard(self, change: Change) -> Iterable[Key]:
        return self._maker.heard(change)

    def sync(self, key: Key) -> float | None:
        maker = self._maker
        owner = maker.find(key)
        if owner is None:
            return None
        pods = [pod for pod in maker.pods(owner) if active(pod)]
        wanted = owner["spec"].get("replicas", 1)
        again = maker.make_some(owner, wanted - len(pods), self._pod)
        again = maker.delete_some(owner, first_to_go(pods)[: max(0, len(pods) - wanted)]) or again
        pods = [pod for pod in maker.pods(owner) if active(pod)]
        well = sum(map(ready, pods))
        counts = {"replicas": len(pods), "fullyLabeledReplicas": len(pods)}
        maker.status(owner, **counts, readyReplicas=well, availableReplicas=well)
        return again

    def _pod(self, owner: Json) -> Json:
        return made_from(owner["spec"]["template"], self._maker.resource, owner)
