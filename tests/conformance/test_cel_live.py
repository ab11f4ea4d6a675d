"""Device selectors, written by hand and drawn at random, evaluated by the engine and by kube-scheduler."""

from __future__ import annotations

import json
from itertools import chain
from random import Random
from typing import Any

from kschedweb.engine.allocation.request_data import HINT
from kschedweb.engine.cel import ExpressionError
from kschedweb.engine.cel.matching import compile_program
from tests.conformance.making.expressions import DRIVER, ExpressionMaker
from tests.conformance.making.patterns import PatternMaker
from tests.conformance.reference import Answer, Reference
from tests.engine.cel.cases import CASES, DEVICE, LANGUAGES, NOT_VALID, WORDS, answer, read
from tests.support import tiers

SEED = tiers.seed()
COUNT = tiers.count(200, 2000)
PART, DEVICES = 20, 4  # expressions of a scenario, and devices on each of which every one is tried
PLUGIN, NONE = "DynamicResources", ["cannot allocate all claims"]
COMPILING, RUNNING = "CEL compile error: ", "CEL runtime error: "


def sort_of(word: str) -> str:
    """Words of one sort stand in one another's place."""
    return (
        word[0] if word[0] in '" ' else "a number" if word[0].isdigit() else "a name" if word[0].isalpha() else "a sign"
    )


def words_by_sort() -> dict[str, list[str]]:
    words: dict[str, list[str]] = {}
    for word in chain.from_iterable(WORDS):
        words.setdefault(sort_of(word), []).append(word)
    return words


WORDS_BY_SORT = words_by_sort()


def scenario(name: str, expressions: list[str], devices: list[dict]) -> dict:
    """One node with one device for each of ``devices``, one pod with a claim for each of ``expressions``."""
    objects: list[dict] = [{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": "c"}}]
    for number, device in enumerate(devices):
        node = f"n{number}"
        pool = {"name": node, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": DRIVER, "nodeName": node, "pool": pool, "devices": [{"name": "d", **device}]}
        status = {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}
        objects += [
            {"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}, "status": status},
            {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": node}, "spec": spec},
        ]
    objects += [claim(f"c{number}", expression) for number, expression in enumerate(expressions)]
    pending = [pod(f"p{number}", f"c{number}") for number in range(len(expressions))]
    return {"name": name, "objects": objects, "pending": pending, "mode": "each"}


def claim(name: str, expression: str) -> dict:
    exactly = {"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1}
    requests = [{"name": "r", "exactly": {**exactly, "selectors": [{"cel": {"expression": expression}}]}}]
    metadata = {"name": name, "namespace": "default", "uid": name}
    spec = {"devices": {"requests": requests}}
    return {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": metadata, "spec": spec}


def pod(name: str, claim_name: str) -> dict:
    claims = [{"name": "d", "resourceClaimName": claim_name}]
    spec = {"containers": [{"name": "c", "image": "i"}], "resourceClaims": claims, "preemptionPolicy": "Never"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default"}, "spec": spec}


def real_verdict(explanation: dict, number: int) -> bool | str:
    """Return kube-scheduler's verdict on a selector on one node: a match or not, its error, or ``NOT_VALID``."""
    verdict = explanation["filters"].get(PLUGIN, {}).get(f"n{number}")
    if verdict is None:
        return True
    (reason,) = verdict["reasons"]
    if COMPILING in reason:
        return NOT_VALID
    if RUNNING in reason:
        return reason.split(RUNNING, 1)[1].removesuffix(HINT)
    return verdict["reasons"] != NONE and f"? {reason}"


def differences(
    reference: Reference, expressions: list[str], devices: list[dict], answers: Answer, undecided: list[str]
) -> list[Any]:
    """List the differences; expressions about which the engine does not tell are added to ``untold``."""
    differing, language = [], LANGUAGES[reference.release.name]
    for expression, explanation in zip(expressions, answers["pods"], strict=True):
        for number, device in enumerate(devices):
            ours, theirs = answer(expression, read(device), language), real_verdict(explanation, number)
            if ours is None:
                undecided.append(expression)
            elif ours != theirs:
                differing.append({"expression": expression, "device": device, "engine": ours, "kube-scheduler": theirs})
    return differing


def draw_part(number: int) -> tuple[list[str], list[dict]]:
    maker = ExpressionMaker(Random(f"{SEED}/{number}"))
    return [maker.expression() for _ in range(PART)], [maker.device() for _ in range(DEVICES)]


def test_drawn_selectors_match_as_in_the_real_scheduler(cel_reference: Reference) -> None:
    parts = [draw_part(number) for number in range(-(-COUNT // PART))]
    scenarios = [scenario(f"cel-{SEED}-{number}", *part) for number, part in enumerate(parts)]
    differing: list[Any] = []
    undecided: list[str] = []
    for part, part_answer in zip(parts, cel_reference.answers("explain", scenarios), strict=True):
        differing += differences(cel_reference, *part, part_answer, undecided)
    assert len(undecided) <= COUNT * DEVICES // 100, undecided
    assert differing == [], f"HUNT_SEED={SEED}\n{json.dumps(differing[:5], indent=1)}"


def draw_pattern_searches(number: int) -> list[str]:
    """Patterns searched in texts; each expression says what the engine finds, or asks for anything where it refuses."""
    maker = PatternMaker(Random(f"{SEED}/patterns/{number}"))
    expressions = []
    for _ in range(PART * 3):
        pattern, text = maker.pattern(), maker.text()
        try:
            matches = json.dumps(list(compile_program(pattern).find_all(text)), ensure_ascii=False)
        except ExpressionError:
            matches = "[]"
        call = f"{json.dumps(text, ensure_ascii=False)}.findAll({json.dumps(pattern, ensure_ascii=False)})"
        expressions.append(f"{call} == {matches}")
    return expressions


def draw_changed_selectors(number: int) -> list[str]:
    """Expressions written by hand with a word or two in place of which stands another of its sort."""
    random = Random(f"{SEED}/changed/{number}")
    selectors = []
    for _ in range(PART * 3):
        words = list(random.choice(WORDS))
        for _ in range(random.choice([1, 1, 2])):
            position = random.randrange(len(words))
            words[position] = random.choice(WORDS_BY_SORT[sort_of(words[position])])
        selectors.append("".join(words))
    return selectors


def answer_one_by_one(reference: Reference, expressions: list[str], devices: list[dict]) -> Answer:
    """The answer for expressions among which is one that ends kube-scheduler: the API server has to refuse that one."""
    pods = []
    for expression in expressions:
        (single_answer,) = reference.answers("explain", [scenario("alone", [expression], devices)])
        ended = {"reasons": [f"{COMPILING}{single_answer.get('error')}"]}
        crashed = {"filters": {PLUGIN: {f"n{number}": ended for number in range(len(devices))}}}
        pods += single_answer.get("pods", [crashed])
    return {"pods": pods}


def test_changed_selectors_match_as_in_the_real_scheduler(cel_reference: Reference) -> None:
    parts = [draw_changed_selectors(number) for number in range(-(-COUNT // PART))]
    scenarios = [scenario(f"changed-{SEED}-{number}", part, [DEVICE]) for number, part in enumerate(parts)]
    differing: list[Any] = []
    undecided: list[str] = []
    for part, part_answer in zip(parts, cel_reference.answers("explain", scenarios), strict=True):
        complete_answer = answer_one_by_one(cel_reference, part, [DEVICE]) if "error" in part_answer else part_answer
        differing += differences(cel_reference, part, [DEVICE], complete_answer, undecided)
    assert len(undecided) <= len(parts) * PART * 3 // 100, undecided
    assert differing == [], f"HUNT_SEED={SEED}\n{json.dumps(differing[:5], indent=1)}"


def test_drawn_patterns_find_what_they_find_in_the_real_scheduler(cel_reference: Reference) -> None:
    parts = [draw_pattern_searches(number) for number in range(-(-COUNT // PART))]
    scenarios = [scenario(f"patterns-{SEED}-{number}", part, [DEVICE]) for number, part in enumerate(parts)]
    differing, refused, language = [], 0, LANGUAGES[cel_reference.release.name]
    for part, answer_part in zip(parts, cel_reference.answers("explain", scenarios), strict=True):
        for expression, explanation in zip(part, answer_part["pods"], strict=True):
            ours, theirs = answer(expression, read(DEVICE), language), real_verdict(explanation, 0)
            refused += ours == NOT_VALID != theirs
            if NOT_VALID not in (ours, theirs) or ours == theirs:
                differing += [expression] if (ours, theirs) not in ((True, True), (NOT_VALID, NOT_VALID)) else []
            elif theirs == NOT_VALID:
                differing.append(expression)
    assert differing == [], f"HUNT_SEED={SEED}"
    assert refused <= len(parts) * PART * 3 // 20


def test_selectors_written_by_hand_match_as_in_the_real_scheduler(cel_reference: Reference) -> None:
    expressions = [expression for cases in CASES["1.36"].values() for expression, _ in cases]
    parts = [expressions[first : first + 3 * PART] for first in range(0, len(expressions), 3 * PART)]
    scenarios = [scenario(f"cases-{number}", part, [DEVICE]) for number, part in enumerate(parts)]
    differing: list[Any] = []
    undecided: list[str] = []
    for part, part_answer in zip(parts, cel_reference.answers("explain", scenarios), strict=True):
        differing += differences(cel_reference, part, [DEVICE], part_answer, undecided)
    assert (differing, undecided) == ([], [])
