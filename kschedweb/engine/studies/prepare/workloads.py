"""Workloads of a scenario: their pods are made, named and owned as by their controllers."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator

from kschedweb.engine.controllers import daemons
from kschedweb.engine.controllers.autoscaling.deletion import deletion_cost
from kschedweb.engine.controllers.claims import (
    VOLUME_CLAIM,
    add_stateful_volumes,
    make_stateful_claims,
    provision_at_once,
    set_default_class,
)
from kschedweb.engine.controllers.naming import draw_name, letters, ordinal
from kschedweb.engine.objects.access import Json, ObjectError, mapping, objects, string_map
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation import NodeJoins, PodArrives, PodLeaves, WorkloadLeaves, WorkloadScales, replica
from kschedweb.engine.simulation.scaling.fleet import Kind
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.studies.document.document import PartError
from kschedweb.engine.studies.document.limits import MOST_PODS
from kschedweb.engine.studies.prepare.cluster import Cluster
from kschedweb.engine.studies.prepare.manifests import (
    API,
    controller_of,
    named,
    ordinal_labels,
    parts,
    pod_of,
    reference,
    replicas_of,
)

HASH = "pod-template-hash"


class Workloads:
    """Makes and removes the pods of workloads in ``cluster``; names are "namespace/Kind/name"."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._members: dict[str, list[str]] | None = None
        self._came: dict[str, float] = {}  # when members came
        self._raws: dict[str, Json] = {}  # of members
        self._added: list[Json] = []  # DaemonSets of changes; the pods of recorded ones are recorded
        self._leaving: set[str] = set()
        self._ordinals: Counter[str] = Counter()
        self._scaled: set[str] = set()  # those that are handed over to a scaler

    def add(self, manifest: Json, replicas: int | None, at: float, life: float | None = None) -> None:
        """Add a workload with its pods; raises PartError if it exists already."""
        kind, (namespace, name) = manifest["kind"], named(manifest)
        if kind == "Pod":
            self._add_pods(manifest, 1 if replicas is None else replicas, at, life)
            return
        if self.cluster.find(kind, namespace, name) is not None:
            there = self.cluster.find(kind, namespace, name, at) is not None
            when = "already" if there else "at another time: choose another name"
            raise PartError(f"there is a workload {namespace}/{kind}/{name} {when}", "manifest")
        wanted = replicas_of(manifest) if replicas is None else replicas
        metadata = {**manifest["metadata"], "namespace": namespace}
        spec = dict(mapping(manifest, "spec"))
        if kind != "DaemonSet":
            spec["parallelism" if kind == "Job" else "replicas"] = wanted
        raw = {"apiVersion": API.get(kind, "apps/v1"), **manifest, "metadata": metadata, "spec": spec}
        self.cluster.add(raw)
        if kind == "DaemonSet":
            self._added.append(raw)
            self._cover([raw], list(self.cluster.nodes.values()), at)
        else:
            self._make(raw, wanted, at, life)

    def scale(self, workload: str, replicas: int, at: float) -> None:
        """Scale the workload to ``replicas`` pods at ``at``."""
        kind, _, name = parts(workload)
        if kind == "DaemonSet":
            raise PartError("a DaemonSet has a pod on each node that fits; it cannot be scaled", "workload")
        raw, members = self._there(workload, at)
        if workload in self._scaled:
            self.cluster.events.append(WorkloadScales(at, workload, replicas))
            return
        if raw is not None and at == 0.0:
            key = "parallelism" if kind == "Job" else "replicas"
            spec = {**mapping(raw, "spec"), key: replicas}
            self.cluster.others[kind, raw["metadata"].get("namespace") or "", name] = {**raw, "spec": spec}
        more = replicas - len(members)
        if more < 0:
            self._take(self._ranked(kind, members)[:-more], at)
        elif raw is not None:
            self._make(raw, more, at)
        elif more:
            self._copy(members[-1], more, at)

    def remove(self, workload: str, at: float) -> None:
        """Remove the workload with all its pods."""
        kind, namespace, name = parts(workload)
        raw, members = self._there(workload, at)
        if workload in self._scaled:
            self._scaled.remove(workload)
            self._leaving.update(self._ever(workload))
            self.cluster.events.append(WorkloadLeaves(at, workload))
        else:
            self._take(members, at)
        self._withdraw(workload, at, "removed")
        if raw is None:
            return
        key = kind, raw["metadata"].get("namespace") or "", name
        if at == 0.0:
            del self.cluster.others[key]
            self.cluster.spans.pop(key, None)
            for owned, one in list(self.cluster.others.items()):
                if owned[0] == "ReplicaSet" and owned[1:2] == (namespace,) and controller_of(one) == (kind, name):
                    del self.cluster.others[owned]
        else:
            self.cluster.spans[key] = self.cluster.spans.get(key, (0.0, at))[0], at

    def is_scaled(self, workload: str) -> bool:
        """Whether a scaler has the workload."""
        return workload in self._scaled

    def handed_over(self, workload: str, at: float, startup: float) -> Kind:
        """How a scaler makes pods of the workload, which looks after their number from ``at`` on."""
        kind, namespace, name = parts(workload)
        raw, members = self._there(workload, at)
        if objects(mapping(raw or {}, "spec"), "volumeClaimTemplates", "spec."):
            raise PartError("has volumeClaimTemplates: scale it by hand (scaleWorkload)", "workload")
        self._withdraw(workload, at, "scaled")
        self._scaled.add(workload)
        if raw is None:
            like = Pod.read(self._raws[members[-1]])
            stem = like.controller[2] if like.controller else name
            return Kind(workload, replica(like, stem).raw, stem, kind == "StatefulSet", startup)
        template, labels, owner = self._pattern(raw)
        stem = named(owner)[1]
        pod = pod_of(stem, namespace, labels, owner, template, template["spec"])
        return Kind(workload, pod, stem, kind == "StatefulSet", startup)

    def there(self, workload: str) -> tuple[Json | None, dict[str, Json]]:
        """The workload's object at the beginning, if there is one, and its pods by key; raises PartError."""
        raw, members = self._there(workload, 0.0)
        return raw, {key: self._raws[key] for key in members}

    def changed(self, key: str, raw: Json) -> None:
        """The pod ``key`` of the beginning is ``raw`` now."""
        self._raws[key] = raw
        where = self.cluster.bound if key in self.cluster.bound else self.cluster.waiting
        where[key] = raw

    def nodes_came(self, nodes: list[Json], at: float) -> None:
        """Add the pods of DaemonSets on the new ``nodes``."""
        listed = ((key, raw) for key, raw in self.cluster.others.items() if key[0] == "DaemonSet")
        sets = [raw for key, raw in listed if self.cluster.there(key, at)]
        if sets:
            self._cover(sets, nodes, at)

    def node_came(self, event: NodeJoins) -> None:
        """Add the pods of DaemonSets that were not recorded on a recorded node that joins."""
        sets = [raw for raw in self._added if self.cluster.find("DaemonSet", *named(raw), event.time) is raw]
        if sets:
            self._cover(sets, [event.node], event.time)

    def pods_of(self, deployment: Json) -> Iterator[Json]:
        """An endless sequence of pods of a deployment, which are not added to the cluster."""
        template, (namespace, _) = deployment["spec"]["template"], named(deployment)
        owner = self._replica_set(deployment, template)
        labels = owner["spec"]["template"]["metadata"]["labels"]
        for name in self._free(owner):
            yield pod_of(name, namespace, labels, owner, template, template["spec"])

    # Existing pods.

    def _there(self, workload: str, at: float) -> tuple[Json | None, list[str]]:
        """The workload's object, if there is one, and the keys of its pods at ``at``; raises PartError."""
        raw, members = self.cluster.find(*parts(workload), at), self._of(workload, at)
        if raw is None and not members:
            raise PartError(f"there is no workload {workload} at this time", "workload")
        return raw, members

    def _of(self, workload: str, at: float) -> list[str]:
        """The keys of the workload's pods at ``at``, oldest first; recorded pods only while they were recorded."""
        ended = self.cluster.ended
        return [key for key in self._ever(workload) if self._came[key] <= at < ended.get(key, math.inf)]

    def _ever(self, workload: str) -> list[str]:
        """The keys of all pods of the workload that ever arrive, without removed ones."""
        if self._members is None:
            self._members = {}
            for key, raw, came in self._pods():
                self._join(key, raw, came)
        return [key for key in self._members.get(workload, ()) if key not in self._leaving]

    def _pods(self) -> Iterator[tuple[str, Json, float]]:
        for key, raw in [*self.cluster.bound.items(), *self.cluster.waiting.items()]:
            yield key, raw, 0.0
        for event in self.cluster.events:
            if isinstance(event, PodArrives):
                raw = event.pod.raw if isinstance(event.pod, Pod) else event.pod
                yield "{}/{}".format(*named(raw)), raw, event.time

    def _withdraw(self, workload: str, at: float, because: str) -> None:
        """Remove pods of the workload that were recorded after ``at``."""
        later = {key for key in self._ever(workload) if self._came[key] > at}
        if later:
            self._leaving |= later
            self.cluster.withdraw(later)
            self.cluster.note(f"{len(later):,} recorded pods of {workload} do not come: it was {because} before")

    def _join(self, key: str, raw: Json, came: float) -> None:
        if self._members is None:
            return
        self._came[key], self._raws[key] = came, raw
        namespace = named(raw)[0]
        kind, name = controller_of(raw)
        self._members.setdefault(f"{namespace}/{kind}/{name}", []).append(key)
        if kind == "ReplicaSet":
            owner = self.cluster.find(kind, namespace, name)
            above = controller_of(owner) if owner is not None else ("", "")
            suffix = mapping(mapping(raw, "metadata"), "labels").get(HASH)
            if not above[0] and suffix and name.endswith(f"-{suffix}"):
                above = "Deployment", name.removesuffix(f"-{suffix}")
            self._members.setdefault("{}/{}/{}".format(namespace, *above), []).append(key)

    def _ranked(self, kind: str, members: list[str]) -> list[str]:
        """The pods in the order in which their controller deletes them."""
        if kind == "StatefulSet":
            return sorted(members, key=ordinal, reverse=True)
        nodes = Counter(self._node(key) for key in members)
        newest = {key: -place for place, key in enumerate(members)}

        def rank(key: str) -> tuple[bool, int, int, int]:
            node = self._node(key)
            return (
                bool(node),
                deletion_cost(string_map(mapping(self._raws[key], "metadata"), "annotations")),
                -nodes[node] if node else 0,
                newest[key],
            )

        return sorted(members, key=rank)

    def _node(self, key: str) -> str:
        return str(mapping(self.cluster.bound.get(key) or {}, "spec").get("nodeName") or "")

    def _take(self, keys: list[str], at: float) -> None:
        for key in keys:
            self._leaving.add(key)
            if at == 0.0 and (key in self.cluster.bound or key in self.cluster.waiting):
                self.cluster.bound.pop(key, None), self.cluster.waiting.pop(key, None)
                self.cluster.keys.discard(key)
            else:
                self.cluster.events.append(PodLeaves(at, key, if_there=True))

    # New pods.

    def _arrive(self, raw: Json, at: float, life: float | None) -> None:
        self.cluster.arrive(raw, at, life)
        key = "{}/{}".format(*named(raw))
        self._leaving.discard(key)
        self._join(key, raw, at)

    def _add_pods(self, manifest: Json, replicas: int, at: float, life: float | None) -> None:
        namespace, name = named(manifest)
        bare = {key: value for key, value in manifest.items() if key != "status"}
        for number in range(1, replicas + 1):
            own = name if replicas == 1 else f"{name}-{number}"
            metadata = {**manifest["metadata"], "name": own, "namespace": namespace}
            self._arrive({**bare, "metadata": metadata}, at, life)

    def _make(self, raw: Json, count: int, at: float, life: float | None = None) -> None:
        """``count`` further pods of the workload ``raw``."""
        if count > MOST_PODS:
            raise PartError(f"there would be more than {MOST_PODS:,} pods")
        kind, (namespace, name) = raw["kind"], named(raw)
        template, labels, owner = self._pattern(raw)
        if kind == "Job":
            labels |= {"batch.kubernetes.io/job-name": name, "job-name": name}
        for own in self._names(owner, count):
            more = ordinal_labels(own) if kind == "StatefulSet" else {}
            spec = template["spec"]
            if kind == "StatefulSet":
                spec = add_stateful_volumes(mapping(template, "spec"), raw, own)
                self._add_claims(raw, own)
            if kind == "Job":
                spec = {"restartPolicy": "Never", **spec}
            self._arrive(pod_of(own, namespace, {**labels, **more}, owner, template, spec), at, life)

    def _pattern(self, raw: Json) -> tuple[Json, dict[str, str], Json]:
        """The template of the workload's pods, their labels, and what owns them."""
        template = mapping(mapping(raw, "spec"), "template", "spec.")
        labels, owner = dict(mapping(mapping(template, "metadata"), "labels")), raw
        if raw["kind"] == "Deployment":
            owner = self._replica_set(raw, template)
            labels |= mapping(mapping(mapping(mapping(owner, "spec"), "template"), "metadata"), "labels")
        return template, labels, owner

    def _copy(self, key: str, count: int, at: float) -> None:
        """``count`` further pods like the pod ``key``, whose workload has no object."""
        pod = Pod.read(self._raws[key])
        metadata = {"name": pod.controller[2] if pod.controller else pod.name, "namespace": pod.namespace}
        owner: Json = {"kind": "", "metadata": metadata}
        if pod.controller and pod.controller[1] == "StatefulSet":
            owner["kind"] = "StatefulSet"
            self._ordinals[f"{pod.namespace}/{pod.controller[2]}"] = 1 + ordinal(key)
        for name in self._names(owner, count):
            self._arrive(replica(pod, name).raw, at, None)

    def _names(self, owner: Json, count: int) -> list[str]:
        """Names of new pods, in the form of the owner's controller."""
        return list(itertools.islice(self._free(owner), count))

    def _free(self, owner: Json) -> Iterator[str]:
        namespace, name = named(owner)
        numbered, given = owner["kind"] == "StatefulSet", set()
        for number in itertools.count(self._ordinals[f"{namespace}/{name}"] if numbered else 0):
            own = f"{name}-{number if numbered else letters(f'{namespace}/{name}/{number}', 5)}"
            if own not in given and f"{namespace}/{own}" not in self.cluster.keys:
                given.add(own)
                yield own

    def _replica_set(self, deployment: Json, template: Json) -> Json:
        """The newest replica set of the deployment; a new one if there is none."""
        namespace, name = named(deployment)
        own = [
            raw
            for (kind, place, _), raw in self.cluster.others.items()
            if kind == "ReplicaSet" and (place or "default") == namespace and controller_of(raw) == ("Deployment", name)
        ]
        if own:
            return max(own, key=lambda raw: (replicas_of(raw), str(raw["metadata"].get("creationTimestamp") or "")))
        suffix = letters(json.dumps(template, sort_keys=True, default=str), 10)
        metadata = mapping(template, "metadata")
        labels = {**mapping(metadata, "labels"), HASH: suffix}
        selector = mapping(mapping(deployment, "spec"), "selector")
        matching = {**mapping(selector, "matchLabels"), HASH: suffix}
        made = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": f"{name}-{suffix}",
                "namespace": namespace,
                "labels": labels,
                "ownerReferences": [reference(deployment)],
            },
            "spec": {
                "replicas": replicas_of(deployment),
                "selector": {**selector, "matchLabels": matching},
                "template": {**template, "metadata": {**metadata, "labels": labels}},
            },
        }
        self.cluster.add(made)
        return made

    def _add_claims(self, stateful_set: Json, pod: str) -> None:
        """Add the claims that are made for a stateful set's pod."""
        classes = [raw for (kind, *_), raw in self.cluster.others.items() if kind == "StorageClass"]
        for made in make_stateful_claims(stateful_set, pod):
            if self.cluster.find(VOLUME_CLAIM, *named(made)) is None:
                claim, volume = provision_at_once(set_default_class(made, classes), classes)
                for raw in (claim, volume) if volume is not None else (claim,):
                    self.cluster.add(raw)

    # DaemonSets.

    def _cover(self, sets: list[Json], nodes: list[Json], at: float) -> None:
        columns = daemons.snapshot(nodes)
        for raw in sets:
            try:
                self._cover_with(raw, columns, at)
            except ObjectError as problem:
                self.cluster.note(f"DaemonSet {'/'.join(named(raw))}: gets no pods on new nodes: {problem}")

    def _cover_with(self, raw: Json, nodes: Snapshot, at: float) -> None:
        namespace, name = named(raw)
        template = mapping(mapping(raw, "spec"), "template", "spec.")
        labels = mapping(mapping(template, "metadata"), "labels")
        for node, spec in daemons.specs(raw, nodes):
            own = draw_name(
                f"{name}-", f"{namespace}/{name}/{node}", lambda own: f"{namespace}/{own}" in self.cluster.keys
            )
            self._arrive(pod_of(own, namespace, labels, raw, template, spec), at, None)
