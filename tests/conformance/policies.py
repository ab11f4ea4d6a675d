"""Policies with what the real kube-scheduler 1.22.17 made of each: a profile, or an error.

    POLICY122=$(tests/originals/build policy122) .venv/bin/python -m tests.conformance.policies [--count 300] [--seed 8]

makes them and records the answers anew.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from tests.conformance.making.policies import (
    EARLIER,
    LATER,
    LATER_PRIORITIES,
    POLICY,
    PREDICATES,
    PRIORITIES,
    PolicyMaker,
)

RECORDED = Path(__file__).parent / "recorded" / "policies.jsonl.xz"
COUNT, SEED, ODD = 300, 8, 0.04
LABELS = {"labels": ["zone", "disk"], "presence": True}
SHAPE = {"shape": [{"utilization": 0, "score": 0}, {"utilization": 60, "score": 10}, {"utilization": 100, "score": 3}]}
ARGUMENTS = {
    "predicates": {"serviceAffinity": {"labels": ["zone"]}, "labelsPresence": LABELS},
    "priorities": {
        "serviceAntiAffinity": {"label": "zone"},
        "labelPreference": {"label": "disk", "presence": False},
        "requestedToCapacityRatioArguments": SHAPE,
    },
}
LEAST_REQUESTED, SPREAD = "LeastRequestedPriority", "SelectorSpreadPriority"
WEIGHTS = (2**31 - 1, 2**31, 2**32, 2**32 + 5)


def policies(count: int = COUNT, seed: int = SEED) -> list[tuple[str, dict[str, Any]]]:
    """Each with a name."""
    named_policies = [(name, POLICY | fields) for name, fields in by_hand()]
    maker = PolicyMaker(Random(seed), ODD)
    return named_policies + [(f"made {number}", maker.policy()) for number in range(count)]


def by_hand() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "nothing", {}
    yield "null", {"predicates": None, "priorities": None}
    yield "empty", {"predicates": [], "priorities": []}
    yield (
        "everything",
        {
            "predicates": [{"name": rule} for rule in PREDICATES],
            "priorities": [
                {"name": rule, "weight": at + 1} for at, rule in enumerate(PRIORITIES) if "Ratio" not in rule
            ],
        },
    )
    for name in [*PREDICATES, *LATER, *EARLIER, "Nope"]:
        yield f"predicate {name}", {"predicates": [{"name": name}], "priorities": []}
    for name in [*PRIORITIES, *LATER_PRIORITIES, "NodeLabel", "ServiceAffinity", "Nope"]:
        yield f"priority {name}", {"predicates": [], "priorities": [{"name": name, "weight": 3}]}
    for key, kinds in ARGUMENTS.items():
        weighed = {"weight": 2} if key == "priorities" else {}
        for kind, content in kinds.items():
            rule = {**weighed, "argument": {kind: content}}
            yield f"{kind} alone", {key: [{"name": "Mine", **rule}]}
            yield f"{kind} twice", {key: [{"name": "Mine", **rule}, {"name": "Other", **rule}]}
            yield (
                f"{kind} in the place of another",
                {key: [{"name": "GeneralPredicates" if key == "predicates" else LEAST_REQUESTED, **rule}]},
            )
            if weighed:
                other = {**rule, "weight": 7}
                yield f"{kind} of two weights", {key: [{"name": "Mine", **rule}, {"name": "Other", **other}]}
    yield from _clashes()
    for weight in (0, 1, 50, 100):
        both = {"hardPodAffinitySymmetricWeight": weight}
        yield f"hard weight {weight}", both
        unread_weight = {"priorities": [{"name": LEAST_REQUESTED, "weight": 1}]}
        yield f"hard weight {weight} that nothing reads", {**both, **unread_weight}
    for weight in WEIGHTS:
        yield f"weight {weight}", {"priorities": [{"name": LEAST_REQUESTED, "weight": weight}]}
        preference = {"argument": {"labelPreference": {"label": "disk", "presence": True}}, "weight": weight}
        yield (
            f"preferences of weight {weight}",
            {"priorities": [{"name": "Mine", **preference}, {"name": "Other", **preference}]},
        )
    for spread in (["ServiceSpreadingPriority", SPREAD], [SPREAD, "EvenPodsSpreadPriority"], [SPREAD, SPREAD]):
        yield (
            f"priorities {' and '.join(spread)}",
            {"priorities": [{"name": name, "weight": at + 4} for at, name in enumerate(spread)]},
        )
    managed = [{"name": "example.com/gpu", "ignoredByScheduler": True}]
    extender = {"urlPrefix": "http://127.0.0.1:8000", "filterVerb": "filter", "managedResources": managed}
    yield "extender", {"extenders": [extender]}
    yield "extender without NodeResourcesFit", {"predicates": [], "extenders": [extender]}
    yield "alwaysCheckAllPredicates", {"alwaysCheckAllPredicates": True}


def _clashes() -> Iterator[tuple[str, dict[str, Any]]]:
    absent = {"labelsPresence": {"labels": ["disk", "other"], "presence": False}}
    present = {"labelsPresence": LABELS}
    yield (
        "labels present and absent",
        {"predicates": [{"name": "Mine", "argument": present}, {"name": "Other", "argument": absent}]},
    )
    preferred = [{"labelPreference": {"label": "disk", "presence": presence}} for presence in (True, False)]
    yield (
        "labels preferred and not",
        {
            "priorities": [
                {"name": f"Mine{at}", "weight": 1, "argument": argument} for at, argument in enumerate(preferred)
            ]
        },
    )


@cache
def recorded() -> list[dict[str, Any]]:
    """``{"name", "policy", "expected": {"plugins", "pluginConfig"} or {"error"}}`` each."""
    return [json.loads(line) for line in lzma.decompress(RECORDED.read_bytes()).decode().splitlines()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args()
    named_policies = policies(options.count, options.seed)
    text = "".join(json.dumps({"name": name, "policy": policy}) + "\n" for name, policy in named_policies)
    process = subprocess.run([os.environ["POLICY122"]], input=text, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in process.stdout.splitlines()]
    assert [answer.pop("name") for answer in answers] == [name for name, _ in named_policies]
    lines = [
        json.dumps({"name": name, "policy": policy, "expected": answer}, separators=(",", ":"))
        for (name, policy), answer in zip(named_policies, answers, strict=True)
    ]
    RECORDED.write_bytes(lzma.compress("".join(f"{line}\n" for line in lines).encode(), preset=9))
    refused = sum("error" in answer for answer in answers)
    print(f"{len(lines)} policies, {refused} refused, {RECORDED.stat().st_size} bytes")


if __name__ == "__main__":
    main()
