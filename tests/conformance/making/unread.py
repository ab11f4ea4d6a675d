"""Scenarios of pods with conditions on labels of which many cannot be read."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.affinity import PREFERRED, REQUIRED
from tests.conformance.making.chance import Chance
from tests.engine.builders import CONFIGURATION, node, pod

HOST = "kubernetes.io/hostname"
KEYS = ["a", "a", "a", "b", "x.io/a", HOST, "a b", "", "/a", "a/", "A.io/x", "-x", "é", "x" * 64, f"{'y' * 254}/a"]
VALUES = [
    *("1", "5", "4Gi", "", "b", "c d!", "x" * 64, "-1", "+3", "9223372036854775808", "1_0", "0x1", " 1"),
    *("é", "n1", "<a&b>", 'q"q', "tab\t"),
]
NODE_OPERATORS = ["In", "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Gt", "Lt", "Huh", "", "in"]
LABEL_OPERATORS = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", 'a"b']
WEIGHTS = [0, 1, 5, 100]
OFF = [{}, {}, {}, {"preScore": {"disabled": [{"name": "NodeAffinity"}]}}]


class UnreadMaker(Chance):
    def terms_scenario(self, name: str) -> Json:
        """Node affinity, or a spread constraint."""
        if self.maybe(0.7):
            spec: Json = {"affinity": {"nodeAffinity": self._node_affinity()}}
        else:
            when = self.pick(["DoNotSchedule", "ScheduleAnyway"])
            constraint = {"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": when, **self._selector()}
            spec = {"topologySpreadConstraints": [constraint]}
        return self._scenario(name, spec)

    def selectors_scenario(self, name: str) -> Json:
        """Affinity to pods."""
        kinds = ("podAffinity", "podAntiAffinity")
        return self._scenario(name, {"affinity": {kind: self._pod_affinity() for kind in kinds if self.maybe(0.6)}})

    def _scenario(self, name: str, spec: Json) -> Json:
        nodes = [node("n1", labels={"a": "5"}), node("n2", labels={"b": "x"}), node("n3")]
        nodes = nodes[: self.pick([1, 2, 3, 3])]
        profile = {"schedulerName": "default-scheduler", "plugins": self.pick(OFF)}
        return {
            "name": name,
            "config": {**CONFIGURATION, "parallelism": 1, "profiles": [profile]},
            "objects": [*nodes, pod("web", on="n1", labels={"a": "b"})],
            "pending": [pod("p", labels={"a": "b"}, **spec)],
            "mode": "each",
        }

    def _listed(self, counts: list[int], make: Any) -> list[Json]:
        return [make() for _ in range(self.pick(counts))]

    def _requirement(self, operators: list[str]) -> Json:
        values = [self.pick(VALUES) for _ in range(self.pick([0, 1, 1, 1, 2]))]
        requirement: Json = {"key": self.pick(KEYS), "operator": self.pick(operators)}
        return requirement | ({} if self.maybe(0.1) else {"values": values})

    def _term(self) -> Json:
        term: Json = {}
        if self.maybe(0.85):
            term["matchExpressions"] = self._listed([0, 1, 1, 2], lambda: self._requirement(NODE_OPERATORS))
        if self.maybe(0.3):
            fields = self._listed([0, 1, 2], lambda: self._requirement(["In", "NotIn", "Exists"]))
            term["matchFields"] = [field | {"key": "metadata.name"} for field in fields]
        return term

    def _node_affinity(self) -> Json:
        affinity: Json = {}
        if self.maybe(0.3):
            affinity[REQUIRED] = {"nodeSelectorTerms": self._listed([1, 2, 3], self._term)}
        weights = [0, 1, 5, 100]
        preferred = self._listed([1, 2, 3], lambda: {"weight": self.pick(weights), "preference": self._term()})
        return affinity | {PREFERRED: preferred}

    def _selector(self) -> Json:
        selector: Json = {}
        if self.maybe(0.6):
            selector["matchLabels"] = {self.pick(KEYS): self.pick(VALUES)}
        if self.maybe(0.6):
            selector["matchExpressions"] = self._listed([0, 1, 2], lambda: self._requirement(LABEL_OPERATORS))
        return {"labelSelector": selector}

    def _pod_term(self) -> Json:
        term = {"topologyKey": HOST, **(self._selector() if self.maybe(0.6) else {"labelSelector": {}})}
        return term | ({"namespaceSelector": self._selector()["labelSelector"]} if self.maybe(0.2) else {})

    def _pod_affinity(self) -> Json:
        affinity: Json = {}
        if self.maybe(0.6):
            affinity[REQUIRED] = self._listed([1, 2], self._pod_term)
        if self.maybe(0.6):
            affinity[PREFERRED] = self._listed([1, 2], lambda: {"weight": 5, "podAffinityTerm": self._pod_term()})
        return affinity
