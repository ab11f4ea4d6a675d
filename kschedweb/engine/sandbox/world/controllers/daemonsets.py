"""DaemonSets: a pod on each node that fits, which the scheduler binds by the affinity to that node."""

from __future__ import annotations

from collections.abc import Iterable

from kschedweb.engine.controllers import daemons
from kschedweb.engine.objects.access import Json, ObjectError
from kschedweb.engine.sandbox.limits import BURST
from kschedweb.engine.sandbox.resources import NODE
from kschedweb.engine.sandbox.store import Change, Key
from kschedweb.engine.sandbox.world.context import Context
from kschedweb.engine.sandbox.world.controllers.replicas import AGAIN, Maker
from kschedweb.engine.sandbox.world.pods import active, leaving, made_from, ready, scaled, template_hash
from kschedweb.engine.sandbox.world.recorder import WARNING
from kschedweb.engine.sandbox.world.resources import DAEMON_SET

HASH, GENERATION = "controller-revision-hash", "pod-template-generation"


class DaemonSets:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._maker = Maker(context, DAEMON_SET, "daemonset-controller")

    def heard(self, change: Change) -> Iterable[Key]:
        if change.resource is NODE:
            if _placing(change.old) != _placing(change.new):
                for raw in self._context.store.all(DAEMON_SET):
                    yield raw["metadata"]["namespace"], raw["metadata"]["name"]
        else:
            yield from self._maker.heard(change)

    def sync(self, key: Key) -> float | None:
        maker = self._maker
        owner = maker.find(key)
        if owner is None:
            return None
        try:
            nodes = daemons.snapshot(list(self._context.store.all(NODE)))
            wanted, stays = dict(daemons.specs(owner, nodes)), set(daemons.stays(owner, nodes))
        except ObjectError as problem:
            maker.say(owner, "FailedPlacement", str(problem), WARNING)
            return None
        named = template_hash(owner["spec"]["template"])
        again = self._place(owner, wanted, stays, named)
        self._update(owner, named)
        self._status(owner, wanted, named)
        return again

    def _place(self, owner: Json, wanted: dict[str, Json], stays: set[str], named: str) -> float | None:
        maker, again = self._maker, None
        there: dict[str, Json] = {}
        for pod in maker.pods(owner):
            node = _node_of(pod)
            if pod["status"].get("phase") == "Failed" and not leaving(pod):
                maker.delete(owner, pod)
            elif leaving(pod):
                there.setdefault(node, pod)  # the next one comes when it is gone
            elif node not in (stays if pod["spec"].get("nodeName") else wanted) or (
                node in there and active(there[node])
            ):
                maker.delete(owner, pod)
            else:
                there[node] = pod
        template, made = owner["spec"]["template"], 0
        for node, spec in wanted.items():
            if node in there:
                continue
            if made == BURST:
                return self._context.time
            labels = {HASH: named, GENERATION: str(owner["metadata"].get("generation", 1))}
            if not maker.make(owner, made_from({**template, "spec": spec}, DAEMON_SET, owner, labels=labels)):
                again = self._context.time + AGAIN
            made += 1
        return again

    def _update(self, owner: Json, named: str) -> None:
        """Replace pods of an older template, as many at once as may be missing."""
        strategy = owner["spec"].get("updateStrategy") or {}
        if strategy.get("type") == "OnDelete":
            return
        pods = [pod for pod in self._maker.pods(owner) if not leaving(pod)]
        stale = [pod for pod in pods if pod["metadata"]["labels"].get(HASH) != named]
        try:
            most = scaled((strategy.get("rollingUpdate") or {}).get("maxUnavailable", 1), len(pods), up=True)
        except ValueError:
            most = 1
        missing = sum(not ready(pod) for pod in pods if pod not in stale)
        missing += len(self._maker.pods(owner)) - len(pods)
        for pod in sorted(stale, key=ready)[: max(0, max(1, most) - missing)]:
            self._maker.delete(owner, pod)

    def _status(self, owner: Json, wanted: dict[str, Json], named: str) -> None:
        pods = {_node_of(pod): pod for pod in self._maker.pods(owner) if not leaving(pod)}
        mine = [pod for node, pod in pods.items() if node in wanted]
        well = sum(map(ready, mine))
        self._maker.status(
            owner,
            currentNumberScheduled=len(mine),
            desiredNumberScheduled=len(wanted),
            numberMisscheduled=len(pods) - len(mine),
            numberReady=well,
            numberAvailable=well,
            numberUnavailable=len(wanted) - well,
            updatedNumberScheduled=sum(pod["metadata"]["labels"].get(HASH) == named for pod in mine),
        )


def _node_of(pod: Json) -> str:
    """The node of a daemon's pod, also before it is bound: its affinity says."""
    if node := pod["spec"].get("nodeName"):
        return str(node)
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field.get("key") == "metadata.name" and field.get("values"):
                return str(field["values"][0])
    return ""


def _placing(node: Json | None) -> object:
    """What of a node decides whether daemons belong there."""
    if node is None:
        return None
    spec = node.get("spec") or {}
    taints = [{key: one.get(key) for key in ("key", "value", "effect")} for one in spec.get("taints") or ()]
    return node["metadata"]["uid"], node["metadata"].get("labels"), taints
