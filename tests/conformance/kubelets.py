"""Pods that come to nodes, put to the kubelet's own code of 1.37 and to the engine.

    KUBELET=$(tests/originals/build kubelet) python -m tests.conformance.kubelets [--seed N] [--count N] [--record]

prints questions on which the two differ, made small; ``--record`` writes the answers to recorded/.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
from pathlib import Path
from random import Random

from kschedweb.engine import Node, Pod
from kschedweb.engine.controllers.kubelet import REJECTED, admit_to_node
from kschedweb.engine.json_types import Json
from tests.conformance.record import write
from tests.conformance.shrinking import shrink
from tests.support import tiers

RECORDED = "kubelets.jsonl.xz"
GPU, FPGA, HUGE = "nvidia.com/gpu", "example.com/fpga", "hugepages-2Mi"
TAINTS = ("maintenance", "node.kubernetes.io/unreachable")
KEEP = frozenset({"name", "metadata", "containers", "spec", "status", "node", "pod", "pods", "resources", "priority"})
SCALAR = re.compile(rf"{GPU}|{FPGA}|{HUGE}")
TIMEOUT = 120


class Maker:
    """Questions about a small node that is nearly full."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def maybe(self, chance: float) -> bool:
        return self.random.random() < chance

    def question(self, name: str) -> Json:
        node = self.node()
        pods = [self.pod(f"there-{number}", 0.3) for number in range(self.random.randrange(7))]
        return {"name": name, "node": node, "pods": pods, "pod": self.pod("new", 1.0)}

    def node(self) -> Json:
        pick = self.random.choice
        has = {"cpu": pick(["1", "2", "1500m"]), "memory": pick(["1Gi", "2G", "1500Mi"]), "pods": pick(["2", "4", "9"])}
        has |= {"ephemeral-storage": pick(["4Gi", "10Gi"])} if self.maybe(0.7) else {}
        has |= {name: pick(["0", "1", "2"]) for name in (GPU, FPGA) if self.maybe(0.4)}
        has |= {HUGE: "64Mi"} if self.maybe(0.2) else {}
        taints = [{"key": key, "effect": pick(["NoExecute", "NoSchedule"])} for key in TAINTS if self.maybe(0.12)]
        if self.maybe(0.1):
            taints.append({"key": "level", "value": pick(["1", "5", "x"]), "effect": "NoExecute"})
        status: Json = {"allocatable": has, "capacity": has}
        if self.maybe(0.3):
            status["features"] = {"supplementalGroupsPolicy": self.maybe(0.5)}
        labels = {"kubernetes.io/hostname": "a", "disk": pick(["ssd", "hdd"]), "size": pick(["1", "7"])}
        return {"metadata": {"name": "a", "labels": labels}, "spec": {"taints": taints}, "status": status}

    def pod(self, name: str, odd: float) -> Json:
        pick, spec = self.random.choice, {}  # type: ignore[var-annotated]
        spec["containers"] = [self.container(f"c{number}") for number in range(pick([1, 1, 2]))]
        if self.maybe(0.15):
            spec["initContainers"] = [self.container("init")]
            if self.maybe(0.5):
                spec["initContainers"][0]["restartPolicy"] = "Always"
        self.wishes(spec, odd)
        metadata: Json = {"name": name, "namespace": "default"}
        if self.maybe(0.06 * odd):
            metadata["labels"] = {"kubernetes.io/os": pick(["linux", "windows"])}
        if self.maybe(0.05):
            metadata["annotations"] = {"kubernetes.io/config.source": pick(["api", "file"])}
        status = {"qosClass": pick(["BestEffort", "Guaranteed"])} if self.maybe(0.1) else {}
        return {"metadata": metadata, "spec": spec, "status": status}

    def wishes(self, spec: Json, odd: float) -> None:
        pick = self.random.choice
        spec["nodeName"] = "b" if self.maybe(0.04 * odd) else "a"
        spec["priority"] = pick([0, 0, 100, 2_000_000_000, 2_000_001_000] if odd == 1 else [0, 5, 100, 2_000_000_000])
        if self.maybe(0.1):
            spec["overhead"] = {"cpu": "100m", "memory": "64Mi"}
        # Of hugepages beside them, releases make different requests of the pod as a whole.
        if self.maybe(0.1) and HUGE not in str(spec):
            spec["resources"] = {"requests": {"cpu": pick(["1", "3"]), "memory": "512Mi"}}
        if self.maybe(0.2 * odd):
            spec["nodeSelector"] = {"disk": "ssd"}
        if self.maybe(0.2 * odd):
            spec["affinity"] = {"nodeAffinity": self.affinity()}
        if self.maybe(0.4):
            spec["tolerations"] = [self.toleration() for _ in range(pick([1, 2]))]
        if self.maybe(0.06 * odd):
            spec["os"] = {"name": pick(["linux", "windows"])}
        if self.maybe(0.06 * odd):
            spec["securityContext"] = {"supplementalGroupsPolicy": pick(["Strict", "Merge"])}

    def container(self, name: str) -> Json:
        pick, requests, limits = self.random.choice, {}, {}  # type: ignore[var-annotated]
        for resource, amounts in (
            ("cpu", ["100m", "250m", "0.3", "1", "0"]),
            ("memory", ["64Mi", "300M", "512Mi", "1Gi"]),
            ("ephemeral-storage", ["1Gi", "3Gi"]),
        ):
            if self.maybe(0.6):
                requests[resource] = pick(amounts)
            if self.maybe(0.3):
                limits[resource] = requests.get(resource, pick(amounts))
        for resource in (GPU, FPGA, HUGE):
            if self.maybe(0.15):
                requests[resource] = limits[resource] = "32Mi" if resource == HUGE else pick(["1", "2"])
        container: Json = {"name": name, "resources": {"requests": requests, "limits": limits}}
        if self.maybe(0.15):
            port = {"containerPort": 80, "hostPort": pick([80, 443]), "protocol": pick(["TCP", "UDP"])}
            container["ports"] = [port | ({"hostIP": pick(["127.0.0.1", "10.0.0.1"])} if self.maybe(0.5) else {})]
        return container

    def affinity(self) -> Json:
        pick = self.random.choice
        terms: list[Json] = [
            {"matchExpressions": [{"key": "disk", "operator": pick(["In", "NotIn"]), "values": ["ssd"]}]},
            {"matchExpressions": [{"key": "size", "operator": pick(["Gt", "Lt"]), "values": ["3"]}]},
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [pick(["a", "b"])]}]},
        ]
        chosen = self.random.sample(terms, pick([1, 2]))
        return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": chosen}}

    def toleration(self) -> Json:
        pick = self.random.choice
        return pick(
            [
                {"operator": "Exists"},
                {"key": pick(TAINTS), "operator": "Exists", "effect": pick(["NoExecute", "NoSchedule"])},
                {"key": "level", "operator": pick(["Gt", "Lt", "Equal"]), "value": "3", "effect": "NoExecute"},
            ]
        )


def draw_questions(seed: int, count: int) -> list[Json]:
    return [Maker(Random(f"{seed}/{number}")).question(f"kubelet-{seed}-{number}") for number in range(count)]


def real_answers(command: Path, questions: list[Json]) -> list[Json]:
    """Return the answers of the kubelet's code, one per question."""
    text = "".join(json.dumps(question) + "\n" for question in questions)
    process = subprocess.run([command], input=text, capture_output=True, text=True, timeout=TIMEOUT, check=True)
    return [json.loads(line) for line in process.stdout.splitlines()]


def engine_answer(question: Json) -> Json:
    """Return the engine's answer in the same form. Taints and tolerations compare as they do without any gate."""
    pods = [Pod.from_json(raw) for raw in question["pods"]]
    admission = admit_to_node(
        Pod.from_json(question["pod"]), Node.from_json(question["node"]), pods, comparison_operators=False
    )
    answer: Json = {"name": question["name"], "admit": admission.refusal is None}
    if admission.refusal is not None:
        answer |= {"reason": admission.refusal.reason, "message": admission.refusal.message.removeprefix(REJECTED)}
    return answer | ({"ended": [pod.name for pod in admission.ended]} if admission.ended else {})


def same(ours: Json, expected: Json) -> bool:
    """Return whether both answers agree; of several short scalar resources the original names any one."""
    if ours == expected:
        return True
    return all(SCALAR.search(answer.get("reason", "") + answer.get("message", "")) for answer in (ours, expected)) and (
        ours.get("admit"),
        ours.get("ended"),
        SCALAR.sub("", ours["reason"]),
    ) == (expected.get("admit"), expected.get("ended"), SCALAR.sub("", expected["reason"]))


def differing(command: Path, questions: list[Json]) -> list[Json]:
    pairs = zip(questions, real_answers(command, questions), strict=True)
    return [question for question, expected in pairs if not same(engine_answer(question), expected)]


def report(command: Path, question: Json) -> str:
    """A question on which the two differ, as small as it gets."""

    def check(forms: list[Json]) -> list[bool]:
        different = {json.dumps(form) for form in differing(command, forms)}
        return [json.dumps(form) in different for form in forms]

    small = shrink(question, check, KEEP, 1500)
    (expected,) = real_answers(command, [small])
    return "\n".join([json.dumps(small), f"engine   {engine_answer(small)}", f"kubelet  {expected}"])


def main() -> None:
    parser = argparse.ArgumentParser(description="Look for differences to the kubelet's admission of pods.")
    parser.add_argument("--seed", type=int, default=tiers.seed())
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--most", type=int, default=3, help="differences to make small")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    command, questions = Path(os.environ["KUBELET"]), draw_questions(options.seed, options.count)
    if options.record:
        answers = real_answers(command, questions)
        write(
            RECORDED,
            [{"question": question, "expected": answer} for question, answer in zip(questions, answers, strict=True)],
        )
        return
    differences = differing(command, questions)
    print(f"{len(differences)} of {options.count} differ (seed {options.seed})")
    for question in differences[: options.most]:
        print(report(command, question))


if __name__ == "__main__":
    main()
