"""Questions to the classic scheduler: recorded answers of kube-scheduler 1.13.0, and the real one."""

from __future__ import annotations

import json
import lzma
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from kschedweb.engine.framework.status import CycleError
from kschedweb.engine.scenario.classic import ClassicScenario, Registries
from kschedweb.engine.scenario.reading import ScenarioError
from tests.conformance.hunting import KEPT_FIELDS as KEPT_FIELDS_TODAY
from tests.conformance.shrinking import shrink

GOLDENS = Path(__file__).parent / "recorded"
RECORDED, SEQUENCES = GOLDENS / "classic.jsonl.xz", GOLDENS / "classic-sequences.jsonl.xz"
ORACLES = 48  # at once: each waits a second a scenario, and works for a fiftieth of that
SCENARIOS_PER_PROCESS = 7  # scenarios a process
TIMEOUT = 600

KEPT_FIELDS = KEPT_FIELDS_TODAY | {"classic"}

Answer = dict[str, Any]


class ClassicReference:
    """The real classic scheduler, several at once. In one process what a policy registers stays known to later ones."""

    def __init__(self, assets: Path) -> None:
        self.command = assets / "oracle-classic"

    def answers(self, scenarios: list[dict], part: int = SCENARIOS_PER_PROCESS) -> list[tuple[bool, Answer]]:
        """For each of ``scenarios`` whether it is the first of its process, and the answer."""
        parts = [scenarios[first : first + part] for first in range(0, len(scenarios), part)]
        with ThreadPoolExecutor(ORACLES) as pool:
            return [answer for answers in pool.map(self._part, parts) for answer in answers]

    def _part(self, scenarios: list[dict]) -> list[tuple[bool, Answer]]:
        answers: list[tuple[bool, Answer]] = []
        while len(answers) < len(scenarios):
            first = len(answers)
            text = "".join(json.dumps(scenario) + "\n" for scenario in scenarios[first:])
            completed = subprocess.run([self.command], input=text, capture_output=True, text=True, timeout=TIMEOUT)
            part_answers = [json.loads(line) for line in completed.stdout.splitlines() if line.strip()]
            if completed.returncode:  # a policy that it cannot run ends the whole program
                error = completed.stderr.splitlines()[0].partition("] ")[2]
                part_answers.append({"name": scenarios[first + len(part_answers)]["name"], "error": error})
            answers += [(not number, answer) for number, answer in enumerate(part_answers)]
        return answers


def differing(reference: ClassicReference, scenarios: list[dict]) -> list[tuple[dict, Answer, Answer]]:
    """The scenarios on which the two differ, with the engine's and the real scheduler's answer."""
    differences, registries = [], Registries()
    for scenario, (fresh, expected) in zip(scenarios, reference.answers(scenarios), strict=True):
        registries = {} if fresh else registries
        ours = classic_answer(scenario, registries)
        if not same(ours, expected):
            differences.append((scenario, ours, expected))
    return differences


def report(reference: ClassicReference, difference: tuple[dict, Answer, Answer]) -> str:
    """A difference in words, as small as it gets where it is one without the scenarios before it."""

    def check(forms: list[dict]) -> list[bool]:
        answers = reference.answers(forms, part=1)
        return [not same(classic_answer(form), answer) for form, (_, answer) in zip(forms, answers, strict=True)]

    scenario, ours, expected = difference
    if check([scenario])[0]:
        scenario = shrink(scenario, check, KEPT_FIELDS)
        ours, expected = classic_answer(scenario), reference.answers([scenario])[0][1]
    return "\n".join([json.dumps(scenario), f"engine    {json.dumps(ours)}", f"reference {json.dumps(expected)}"])


def classic_answer(scenario: dict, registries: Registries | None = None) -> Answer:
    """Return the engine's answer to one scenario; ``registries`` are those of its process."""
    try:
        return ClassicScenario.from_json(scenario, {} if registries is None else registries).explain()
    except (ScenarioError, CycleError) as error:
        return {"name": scenario["name"], "error": str(error)}


def unpacked(packed: Path) -> list[dict[str, Any]]:
    """The lines of a packed file."""
    return [json.loads(line) for line in lzma.decompress(packed.read_bytes()).decode().splitlines()]


@cache
def sequences() -> list[dict[str, Any]]:
    """Recorded sequences with where each pod went, or the message why it went nowhere."""
    return unpacked(SEQUENCES)


@cache
def recorded() -> list[dict[str, Any]]:
    """The recorded scenarios with the answers, expected and ours, in the order in which one process gave them."""
    lines = unpacked(RECORDED)
    registries: Registries = {}
    return [line | {"ours": classic_answer(line["scenario"], registries)} for line in lines]


def comparable(answer: Any) -> Any:
    """The answer without the order inside the reasons for one node, which is left to chance.

    Whom it would evict is asked of another program: see classic_evictions.py.
    """
    if not isinstance(answer, dict) or not answer.get("pods"):
        return answer
    return answer | {"pods": [_sorted(pod) for pod in answer["pods"]]}


def _sorted(pod: dict) -> dict:
    verdicts = {name: _by_node(nodes) for name, nodes in pod["predicates"].items()}
    explanation = {name: value for name, value in pod.items() if name != "preemption"}
    return explanation | {"predicates": verdicts, "rejected": _by_node(pod["rejected"])}


def _by_node(reasons: dict[str, list[str]]) -> dict[str, list[str]]:
    return {node: sorted(node_reasons) for node, node_reasons in reasons.items()}


def same(ours: Answer, expected: Answer) -> bool:
    if "error" in ours or "error" in expected:
        return "error" in ours and "error" in expected
    return bool(comparable(ours) == comparable(expected))
