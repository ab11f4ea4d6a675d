"""The manifests that the founding documentation prints, each with a cluster that shows what is said of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

from kschedweb.engine.json_types import Json
from tests.engine.builders import node, pod

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


@dataclass(frozen=True)
class Manifest:
    """``text`` as a person pastes it; ``objects`` the cluster; ``fits`` the nodes that may have its pod.

    ``best`` are those of them with the highest score, all of ``fits`` where it is left out.
    """

    name: str
    text: str
    objects: tuple[Json, ...]
    fits: tuple[str, ...]
    best: tuple[str, ...] = ()

    @property
    def document(self) -> Json:
        document: Json = yaml.safe_load(self.text)
        return {**document, "metadata": {"namespace": "default", **document["metadata"]}}


def zoned(key: str, **zones: str) -> tuple[Json, ...]:
    return tuple(node(name, labels={key: zone, "node": name}) for name, zone in zones.items())


def tainted(name: str, *taints: str) -> Json:
    """A node with taints as ``kubectl taint`` takes them: key=value:effect."""
    parts = [(taint.rpartition(":")[0].partition("="), taint.rpartition(":")[2]) for taint in taints]
    return node(name, taints=[{"key": key, "value": value, "effect": effect} for (key, _, value), effect in parts])


def bars(*names: str) -> tuple[Json, ...]:
    """A pod with the label foo: bar on each of these nodes."""
    return tuple(pod(f"p{place}", on=name, labels={"foo": "bar"}) for place, name in enumerate(names))


def _text(name: str) -> str:
    return (Path(__file__).parent / f"{name}.yaml").read_text(encoding="utf-8")


NODE_AFFINITY = _text("node-affinity")
WEIGHTS = _text("node-affinity-weights")
POD_AFFINITY = _text("pod-affinity")
CACHE = _text("cache")
WEB = _text("web")
NODE_NAME = _text("node-name")
RUNTIME_CLASS = _text("runtime-class")
OVERHEAD = _text("overhead")
ONE_CONSTRAINT = _text("one-constraint")
TWO_CONSTRAINTS = _text("two-constraints")
WITHOUT_ZONE_C = _text("without-zone-c")
ALL_FIELDS = _text("all-fields")
EXAMPLE_KEY = _text("toleration")
_PAUSE = "  containers:\n  - name: pause\n    image: registry.k8s.io/pause:3.1\n"


def tolerant(tolerations: str) -> str:
    """A pod with these tolerations, of which the documentation prints nothing else."""
    lines = "".join(f"  {line}\n" for line in tolerations.splitlines())
    return f"apiVersion: v1\nkind: Pod\nmetadata: {{name: tolerant}}\nspec:\n  tolerations:\n{lines}{_PAUSE}"


EQUAL = '- key: "key1"\n  operator: "Equal"\n  value: "value1"\n  effect: "NoSchedule"\n'
EXISTS = '- key: "key1"\n  operator: "Exists"\n  effect: "NoSchedule"\n'
STAYS = '- key: "key1"\n  operator: "Equal"\n  value: "value1"\n  effect: "NoExecute"\n'
AN_HOUR = f"{STAYS}  tolerationSeconds: 3600\n"
UNREACHABLE = """\
- key: "node.kubernetes.io/unreachable"
  operator: "Exists"
  effect: "NoExecute"
  tolerationSeconds: 6000
"""
KEY1, OTHER = "key1=value1:NoSchedule", "key1=value2:NoSchedule"
FOUR = zoned("zone", node1="zoneA", node2="zoneA", node3="zoneB", node4="zoneB")
UNREACHABLE_TAINT = "node.kubernetes.io/unreachable=:NoExecute"

PODS = (
    Manifest(
        "node affinity",
        NODE_AFFINITY,
        (
            node("east", labels={ZONE: "antarctica-east1"}),
            node("west", labels={ZONE: "antarctica-west1", "another-node-label-key": "another-node-label-value"}),
            node("north", labels={ZONE: "arctica", "another-node-label-key": "another-node-label-value"}),
        ),
        ("east", "west"),
        ("west",),
    ),
    Manifest(
        "weights of node affinity",
        WEIGHTS,
        (
            node("one", labels={"kubernetes.io/os": "linux", "label-1": "key-1"}),
            node("fifty", labels={"kubernetes.io/os": "linux", "label-2": "key-2"}),
            node("other", labels={"kubernetes.io/os": "windows", "label-2": "key-2"}),
        ),
        ("one", "fifty"),
        ("fifty",),
    ),
    Manifest(
        "affinity between pods",
        POD_AFFINITY,
        (
            *zoned(ZONE, v1="V", v2="V", w="W", r="R"),
            pod("s1", on="v1", labels={"security": "S1"}),
            pod("also-s1", on="w", labels={"security": "S1"}),
            pod("s2", on="w", labels={"security": "S2"}),
        ),
        ("v1", "v2", "w"),
        ("v2",),  # empty, in a zone with S1 and without S2
    ),
    Manifest("node name", NODE_NAME, (node("kube-00"), node("kube-01")), ("kube-01",)),
    Manifest(
        "overhead",
        OVERHEAD,
        (
            yaml.safe_load(RUNTIME_CLASS),
            node("exactly", allocatable={"cpu": "2250m", "memory": "320Mi"}),
            node("short-of-cpu", allocatable={"cpu": "2249m", "memory": "1Gi"}),
            node("short-of-memory", allocatable={"cpu": "4", "memory": "319Mi"}),
        ),
        ("exactly",),
    ),
    Manifest(
        "one constraint", ONE_CONSTRAINT, (*FOUR, *bars("node1", "node2", "node3")), ("node3", "node4"), ("node4",)
    ),
    Manifest("two constraints", TWO_CONSTRAINTS, (*FOUR, *bars("node1", "node2", "node3")), ("node4",)),
    Manifest(
        "constraints in conflict",
        TWO_CONSTRAINTS,
        (*FOUR[:3], *bars("node1", "node1", "node2", "node3", "node3")),
        (),
    ),
    Manifest(
        "constraint and node affinity",
        WITHOUT_ZONE_C,
        (*FOUR, *zoned("zone", node5="zoneC"), *bars("node1", "node2", "node3")),
        ("node3", "node4"),
        ("node4",),
    ),
    Manifest(
        "all fields of a constraint",
        ALL_FIELDS,
        (
            node("old"),
            node("new"),
            tainted("closed", KEY1),
            pod("a", on="old", labels={"app": "web", "pod-template-hash": "old"}),
            pod("b", on="new", labels={"app": "web", "pod-template-hash": "new"}),
        ),
        ("old",),
    ),
    *(
        Manifest(name, tolerant(text), (tainted("node1", KEY1), tainted("node2", OTHER), node("node3")), fits)
        for name, text, fits in (
            ("toleration of a value", EQUAL, ("node1", "node3")),
            ("toleration of a key", EXISTS, ("node1", "node2", "node3")),
        )
    ),
    Manifest(
        "pod with a toleration",
        EXAMPLE_KEY,
        (tainted("soft", "example-key=x:NoSchedule"), tainted("hard", "example-key=x:NoExecute")),
        ("soft",),
    ),
    Manifest(
        "three taints and two tolerations",
        tolerant(EQUAL + STAYS),
        (
            tainted("node1", KEY1, "key1=value1:NoExecute", "key2=value2:NoSchedule"),
            tainted("node2", KEY1, "key1=value1:NoExecute"),
        ),
        ("node2",),
    ),
    Manifest(
        "toleration for an hour",
        tolerant(AN_HOUR),
        (tainted("node1", "key1=value1:NoExecute"), tainted("node2", KEY1)),
        ("node1",),
    ),
    Manifest(
        "toleration of silence",
        tolerant(UNREACHABLE),
        (tainted("node1", UNREACHABLE_TAINT), tainted("node2", KEY1)),
        ("node1",),
    ),
)
