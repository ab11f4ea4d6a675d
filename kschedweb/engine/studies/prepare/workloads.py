"""Workloads of a scenario: their pods are made, named and owned as by their controllers."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from collections.abc import Iterator

from kschedweb.engine.controllers import daemons
from kschedweb.engine.controllers.claims import (
    VOLUME_CLAIM,
    add_stateful_volumes,
    make_stateful_claims,
    provision_at_once,
    set_default_class,
)
from kschedweb.engine.controllers.deletion_order import deletion_cost
from kschedweb.engine.controllers.naming import draw_letters, draw_name, parse_ordinal
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, get_mapping, get_objects, get_string_map
from kschedweb.engine.objects.pod import Pod
from kschedweb.engine.simulation import NodeJoins, PodArrives, PodLeaves, WorkloadLeaves, WorkloadScales, make_replica
from kschedweb.engine.simulation.scaling.fleet import WorkloadTemplate
from kschedweb.engine.state.snapshot import Snapshot
from kschedweb.engine.studies.document.document import PartError
from kschedweb.engine.studies.document.limits import MOST_PODS
from kschedweb.engine.studies.prepare.cluster import ScenarioCluster
from kschedweb.engine.studies.prepare.manifests import (
    API,
    controller_of,
    namespace_and_name,
    ordinal_labels,
    owner_reference,
    pod_of,
    replicas_of,
    split_workload,
)

# Label with the suffix of a ReplicaSet's name, which the Deployment controller sets.
HASH = "pod-template-hash"


class Workloads:
    """Make and remove the pods of workloads in ``cluster``. Names of workloads are "namespace/Kind/name"."""

    def __init__(self, cluster: ScenarioCluster) -> None:
        self.cluster = cluster
        # Keys of pods by workload, in order of arrival; None until it is first needed, after recordings were added.
        self._members: dict[str, list[str]] | None = None
        # Seconds at which members arrive, by key.
        self._arrivals: dict[str, float] = {}
        # Raw members, by key.
        self._raws: dict[str, Json] = {}
        # DaemonSets that changes added. Pods of recorded DaemonSets are in the recording.
        self._added: list[Json] = []
        # Keys of members that changes remove.
        self._leaving: set[str] = set()
        # Lowest ordinal that a new pod of a StatefulSet may get, by "namespace/name".
        self._ordinals: Counter[str] = Counter()
        # Workloads whose number of pods a scaler of the simulation sets.
        self._scaled: set[str] = set()

    def add_workload(self, manifest: Json, replicas: int | None, at: float, life: float | None = None) -> None:
        """Add a workload with its pods; raise PartError if it exists already."""
        kind, (namespace, name) = manifest["kind"], namespace_and_name(manifest)
        if kind == "Pod":
            self._add_pods(manifest, 1 if replicas is None else replicas, at, life)
            return
        if self.cluster.find_object(kind, namespace, name) is not None:
            exists_now = self.cluster.find_object(kind, namespace, name, at) is not None
            when = "already" if exists_now else "at another time: choose another name"
            raise PartError(f"there is a workload {namespace}/{kind}/{name} {when}", "manifest")
        replica_count = replicas_of(manifest) if replicas is None else replicas
        metadata = {**manifest["metadata"], "namespace": namespace}
        spec = dict(get_mapping(manifest, "spec"))
        if kind != "DaemonSet":
            spec["parallelism" if kind == "Job" else "replicas"] = replica_count
        raw = {"apiVersion": API.get(kind, "apps/v1"), **manifest, "metadata": metadata, "spec": spec}
        self.cluster.add_object(raw)
        if kind == "DaemonSet":
            self._added.append(raw)
            self._cover_nodes([raw], list(self.cluster.nodes.values()), at)
        else:
            self._create_pods(raw, replica_count, at, life)

    def scale_workload(self, workload: str, replicas: int, at: float) -> None:
        """Scale the workload to ``replicas`` pods at ``at``."""
        kind, _, name = split_workload(workload)
        if kind == "DaemonSet":
            raise PartError("a DaemonSet has a pod on each node that fits; it cannot be scaled", "workload")
        raw, members = self._find_workload(workload, at)
        if workload in self._scaled:
            self.cluster.events.append(WorkloadScales(at, workload, replicas))
            return
        if raw is not None and at == 0.0:
            key = "parallelism" if kind == "Job" else "replicas"
            spec = {**get_mapping(raw, "spec"), key: replicas}
            self.cluster.others[kind, raw["metadata"].get("namespace") or "", name] = {**raw, "spec": spec}
        more = replicas - len(members)
        if more < 0:
            self._remove_pods(self._rank_members(kind, members)[:-more], at)
        elif raw is not None:
            self._create_pods(raw, more, at)
        elif more:
            self._copy_pod(members[-1], more, at)

    def remove_workload(self, workload: str, at: float) -> None:
        """Remove the workload with all its pods."""
        kind, namespace, name = split_workload(workload)
        raw, members = self._find_workload(workload, at)
        if workload in self._scaled:
            self._scaled.remove(workload)
            self._leaving.update(self._all_members(workload))
            self.cluster.events.append(WorkloadLeaves(at, workload))
        else:
            self._remove_pods(members, at)
        self._withdraw_later(workload, at, "removed")
        if raw is None:
            return
        key = kind, raw["metadata"].get("namespace") or "", name
        if at == 0.0:
            del self.cluster.others[key]
            self.cluster.lifetimes.pop(key, None)
            # ReplicaSets go with their Deployment, as the garbage collector deletes them.
            for owned, other in list(self.cluster.others.items()):
                if owned[0] == "ReplicaSet" and owned[1:2] == (namespace,) and controller_of(other) == (kind, name):
                    del self.cluster.others[owned]
        else:
            self.cluster.lifetimes[key] = self.cluster.lifetimes.get(key, (0.0, at))[0], at

    def is_scaled(self, workload: str) -> bool:
        """Return whether a scaler of the simulation sets the workload's number of pods."""
        return workload in self._scaled

    def hand_over_workload(self, workload: str, at: float, startup: float) -> WorkloadTemplate:
        """Hand the workload over to a scaler from ``at`` on, and return the template of its pods; raise PartError."""
        kind, namespace, name = split_workload(workload)
        raw, members = self._find_workload(workload, at)
        if get_objects(get_mapping(raw or {}, "spec"), "volumeClaimTemplates", "spec."):
            raise PartError("has volumeClaimTemplates: scale it by hand (scaleWorkload)", "workload")
        self._withdraw_later(workload, at, "scaled")
        self._scaled.add(workload)
        if raw is None:
            like = Pod.from_json(self._raws[members[-1]])
            stem = like.controller[2] if like.controller else name
            return WorkloadTemplate(workload, make_replica(like, stem).raw, stem, kind == "StatefulSet", startup)
        template, labels, owner = self._pod_template(raw)
        stem = namespace_and_name(owner)[1]
        pod = pod_of(stem, namespace, labels, owner, template, template["spec"])
        return WorkloadTemplate(workload, pod, stem, kind == "StatefulSet", startup)

    def find_workload(self, workload: str) -> tuple[Json | None, dict[str, Json]]:
        """Return the workload's object at time 0, if there is one, and its pods by key; raise PartError."""
        raw, members = self._find_workload(workload, 0.0)
        return raw, {key: self._raws[key] for key in members}

    def replace_pod(self, key: str, raw: Json) -> None:
        """Replace the pod ``key`` of time 0 by ``raw``."""
        self._raws[key] = raw
        pods = self.cluster.bound if key in self.cluster.bound else self.cluster.waiting
        pods[key] = raw

    def nodes_came(self, nodes: list[Json], at: float) -> None:
        """Add the pods of DaemonSets on the new ``nodes``."""
        listed = ((key, raw) for key, raw in self.cluster.others.items() if key[0] == "DaemonSet")
        sets = [raw for key, raw in listed if self.cluster.exists_at(key, at)]
        if sets:
            self._cover_nodes(sets, nodes, at)

    def node_came(self, event: NodeJoins) -> None:
        """Add the pods of DaemonSets that were not recorded on a recorded node that joins."""
        sets = [
            raw
            for raw in self._added
            if self.cluster.find_object("DaemonSet", *namespace_and_name(raw), event.time) is raw
        ]
        if sets:
            self._cover_nodes(sets, [event.node], event.time)

    def pods_of(self, deployment: Json) -> Iterator[Json]:
        """Yield pods of a deployment without end; they are not added to the cluster."""
        template, (namespace, _) = deployment["spec"]["template"], namespace_and_name(deployment)
        owner = self._replica_set(deployment, template)
        labels = owner["spec"]["template"]["metadata"]["labels"]
        for name in self._free_names(owner):
            yield pod_of(name, namespace, labels, owner, template, template["spec"])

    # Existing pods.

    def _find_workload(self, workload: str, at: float) -> tuple[Json | None, list[str]]:
        """Return the workload's object, if there is one, and the keys of its pods at ``at``; raise PartError."""
        raw, members = self.cluster.find_object(*split_workload(workload), at), self._members_at(workload, at)
        if raw is None and not members:
            raise PartError(f"there is no workload {workload} at this time", "workload")
        return raw, members

    def _members_at(self, workload: str, at: float) -> list[str]:
        """Return the keys of the workload's pods at ``at``, oldest first; recorded pods only while recorded."""
        ended = self.cluster.recorded_ends
        return [key for key in self._all_members(workload) if self._arrivals[key] <= at < ended.get(key, math.inf)]

    def _all_members(self, workload: str) -> list[str]:
        """Return the keys of all pods of the workload that ever arrive, without those that changes remove."""
        if self._members is None:
            self._members = {}
            for key, raw, arrived_at in self._iterate_pods():
                self._add_member(key, raw, arrived_at)
        return [key for key in self._members.get(workload, ()) if key not in self._leaving]

    def _iterate_pods(self) -> Iterator[tuple[str, Json, float]]:
        for key, raw in [*self.cluster.bound.items(), *self.cluster.waiting.items()]:
            yield key, raw, 0.0
        for event in self.cluster.events:
            if isinstance(event, PodArrives):
                raw = event.pod.raw if isinstance(event.pod, Pod) else event.pod
                yield "{}/{}".format(*namespace_and_name(raw)), raw, event.time

    def _withdraw_later(self, workload: str, at: float, because: str) -> None:
        """Remove pods of the workload that were recorded after ``at``."""
        later = {key for key in self._all_members(workload) if self._arrivals[key] > at}
        if later:
            self._leaving |= later
            self.cluster.withdraw_arrivals(later)
            self.cluster.add_note(f"{len(later):,} recorded pods of {workload} do not come: it was {because} before")

    def _add_member(self, key: str, raw: Json, arrived_at: float) -> None:
        if self._members is None:
            return
        self._arrivals[key], self._raws[key] = arrived_at, raw
        namespace = namespace_and_name(raw)[0]
        kind, name = controller_of(raw)
        self._members.setdefault(f"{namespace}/{kind}/{name}", []).append(key)
        if kind == "ReplicaSet":
            owner = self.cluster.find_object(kind, namespace, name)
            # Without its ReplicaSet in the recording, a pod belongs to the Deployment that the ReplicaSet's name tells.
            above = controller_of(owner) if owner is not None else ("", "")
            suffix = get_mapping(get_mapping(raw, "metadata"), "labels").get(HASH)
            if not above[0] and suffix and name.endswith(f"-{suffix}"):
                above = "Deployment", name.removesuffix(f"-{suffix}")
            self._members.setdefault("{}/{}/{}".format(namespace, *above), []).append(key)

    def _rank_members(self, kind: str, members: list[str]) -> list[str]:
        """Return the pods in the order in which their controller deletes them."""
        if kind == "StatefulSet":
            # A StatefulSet gives up its highest ordinals first.
            return sorted(members, key=parse_ordinal, reverse=True)
        # The criteria of `ActivePodsWithRanks` that a scenario knows: unbound first, then the lower deletion cost, then
        # nodes with more pods of the workload, then the newer pod.
        nodes = Counter(self._node_of(key) for key in members)
        newest = {key: -place for place, key in enumerate(members)}

        def deletion_rank(key: str) -> tuple[bool, int, int, int]:
            node = self._node_of(key)
            return (
                bool(node),
                deletion_cost(get_string_map(get_mapping(self._raws[key], "metadata"), "annotations")),
                -nodes[node] if node else 0,
                newest[key],
            )

        return sorted(members, key=deletion_rank)

    def _node_of(self, key: str) -> str:
        return str(get_mapping(self.cluster.bound.get(key) or {}, "spec").get("nodeName") or "")

    def _remove_pods(self, keys: list[str], at: float) -> None:
        for key in keys:
            self._leaving.add(key)
            if at == 0.0 and (key in self.cluster.bound or key in self.cluster.waiting):
                self.cluster.bound.pop(key, None), self.cluster.waiting.pop(key, None)
                self.cluster.pod_keys.discard(key)
            else:
                self.cluster.events.append(PodLeaves(at, key, if_there=True))

    # New pods.

    def _add_arrival(self, raw: Json, at: float, life: float | None) -> None:
        self.cluster.add_arrival(raw, at, life)
        key = "{}/{}".format(*namespace_and_name(raw))
        self._leaving.discard(key)
        self._add_member(key, raw, at)

    def _add_pods(self, manifest: Json, replicas: int, at: float, life: float | None) -> None:
        namespace, name = namespace_and_name(manifest)
        bare = {key: value for key, value in manifest.items() if key != "status"}
        for number in range(1, replicas + 1):
            pod_name = name if replicas == 1 else f"{name}-{number}"
            metadata = {**manifest["metadata"], "name": pod_name, "namespace": namespace}
            self._add_arrival({**bare, "metadata": metadata}, at, life)

    def _create_pods(self, raw: Json, count: int, at: float, life: float | None = None) -> None:
        """Add ``count`` further pods of the workload ``raw``."""
        if count > MOST_PODS:
            raise PartError(f"there would be more than {MOST_PODS:,} pods")
        kind, (namespace, name) = raw["kind"], namespace_and_name(raw)
        template, labels, owner = self._pod_template(raw)
        if kind == "Job":
            labels |= {"batch.kubernetes.io/job-name": name, "job-name": name}
        for pod_name in self._new_names(owner, count):
            more = ordinal_labels(pod_name) if kind == "StatefulSet" else {}
            spec = template["spec"]
            if kind == "StatefulSet":
                spec = add_stateful_volumes(get_mapping(template, "spec"), raw, pod_name)
                self._add_claims(raw, pod_name)
            if kind == "Job":
                # The API server refuses the default Always in a Job.
                spec = {"restartPolicy": "Never", **spec}
            self._add_arrival(pod_of(pod_name, namespace, {**labels, **more}, owner, template, spec), at, life)

    def _pod_template(self, raw: Json) -> tuple[Json, dict[str, str], Json]:
        """Return the template of the workload's pods, their labels, and their owner."""
        template = get_mapping(get_mapping(raw, "spec"), "template", "spec.")
        labels, owner = dict(get_mapping(get_mapping(template, "metadata"), "labels")), raw
        if raw["kind"] == "Deployment":
            owner = self._replica_set(raw, template)
            labels |= get_mapping(
                get_mapping(get_mapping(get_mapping(owner, "spec"), "template"), "metadata"), "labels"
            )
        return template, labels, owner

    def _copy_pod(self, key: str, count: int, at: float) -> None:
        """Add ``count`` further pods like the pod ``key``, whose workload has no object."""
        pod = Pod.from_json(self._raws[key])
        metadata = {"name": pod.controller[2] if pod.controller else pod.name, "namespace": pod.namespace}
        owner: Json = {"kind": "", "metadata": metadata}
        if pod.controller and pod.controller[1] == "StatefulSet":
            owner["kind"] = "StatefulSet"
            self._ordinals[f"{pod.namespace}/{pod.controller[2]}"] = 1 + parse_ordinal(key)
        for name in self._new_names(owner, count):
            self._add_arrival(make_replica(pod, name).raw, at, None)

    def _new_names(self, owner: Json, count: int) -> list[str]:
        """Return ``count`` names for new pods, in the form that the owner's controller uses."""
        return list(itertools.islice(self._free_names(owner), count))

    def _free_names(self, owner: Json) -> Iterator[str]:
        namespace, name = namespace_and_name(owner)
        numbered, used = owner["kind"] == "StatefulSet", set()
        # Suffixes have five letters, as `generateName` makes them, but are drawn from the name: runs must repeat.
        for number in itertools.count(self._ordinals[f"{namespace}/{name}"] if numbered else 0):
            pod_name = f"{name}-{number if numbered else draw_letters(f'{namespace}/{name}/{number}', 5)}"
            if pod_name not in used and f"{namespace}/{pod_name}" not in self.cluster.pod_keys:
                used.add(pod_name)
                yield pod_name

    def _replica_set(self, deployment: Json, template: Json) -> Json:
        """Return the deployment's ReplicaSet with most replicas, the newest of equal ones; add one if there is none."""
        namespace, name = namespace_and_name(deployment)
        replica_sets = [
            raw
            for (kind, place, _), raw in self.cluster.others.items()
            if kind == "ReplicaSet" and (place or "default") == namespace and controller_of(raw) == ("Deployment", name)
        ]
        if replica_sets:
            return max(
                replica_sets, key=lambda raw: (replicas_of(raw), str(raw["metadata"].get("creationTimestamp") or ""))
            )
        suffix = draw_letters(json.dumps(template, sort_keys=True, default=str), 10)
        metadata = get_mapping(template, "metadata")
        labels = {**get_mapping(metadata, "labels"), HASH: suffix}
        selector = get_mapping(get_mapping(deployment, "spec"), "selector")
        matching = {**get_mapping(selector, "matchLabels"), HASH: suffix}
        replica_set = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": f"{name}-{suffix}",
                "namespace": namespace,
                "labels": labels,
                "ownerReferences": [owner_reference(deployment)],
            },
            "spec": {
                "replicas": replicas_of(deployment),
                "selector": {**selector, "matchLabels": matching},
                "template": {**template, "metadata": {**metadata, "labels": labels}},
            },
        }
        self.cluster.add_object(replica_set)
        return replica_set

    def _add_claims(self, stateful_set: Json, pod: str) -> None:
        """Add the claims that a StatefulSet makes for its pod."""
        classes = [raw for (kind, *_), raw in self.cluster.others.items() if kind == "StorageClass"]
        for stateful_claim in make_stateful_claims(stateful_set, pod):
            if self.cluster.find_object(VOLUME_CLAIM, *namespace_and_name(stateful_claim)) is None:
                claim, volume = provision_at_once(set_default_class(stateful_claim, classes), classes)
                for raw in (claim, volume) if volume is not None else (claim,):
                    self.cluster.add_object(raw)

    # DaemonSets.

    def _cover_nodes(self, sets: list[Json], nodes: list[Json], at: float) -> None:
        columns = daemons.make_snapshot(nodes)
        for raw in sets:
            try:
                self._cover_with(raw, columns, at)
            except ObjectError as problem:
                self.cluster.add_note(
                    f"DaemonSet {'/'.join(namespace_and_name(raw))}: gets no pods on new nodes: {problem}"
                )

    def _cover_with(self, raw: Json, nodes: Snapshot, at: float) -> None:
        namespace, name = namespace_and_name(raw)
        template = get_mapping(get_mapping(raw, "spec"), "template", "spec.")
        labels = get_mapping(get_mapping(template, "metadata"), "labels")
        for node, spec in daemons.list_node_specs(raw, nodes):
            pod_name = draw_name(
                f"{name}-",
                f"{namespace}/{name}/{node}",
                lambda candidate: f"{namespace}/{candidate}" in self.cluster.pod_keys,
            )
            self._add_arrival(pod_of(pod_name, namespace, labels, raw, template, spec), at, None)
