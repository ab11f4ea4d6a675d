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
LEAST, SPREAD = "LeastRequestedPriority", "SelectorSpreadPriority"
WEIGHTS = (2**31 - 1, 2**31, 2**32, 2**32 + 5)


def policies(count: int = COUNT, seed: int = SEED) -> list[tuple[str, dict[str, Any]]]:
    """Each with a name."""
    made = [(name, POLICY | fields) for name, fields in by_hand()]
    maker = PolicyMaker(Random(seed), ODD)
    return made + [(f"made {number}", maker.policy()) for number in range(count)]


def by_hand() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "nothing", {}
    yield "null", {"predicates": None, "priorities": None}
    yield "empty", {"predicates": [], "priorities": []}
    yield (
        "everything",
        {
            "predicates": [{"name": one} for one in PREDICATES],
            "priorities": [{"name": one, "weight": at + 1} for at, one in enumerate(PRIORITIES) if "Ratio" not in one],
        },
    )
    for name in [*PREDICATES, *LATER, *EARLIER, "Nope"]:
        yield f"predicate {name}", {"predicates": [{"name": name}], "priorities": []}
    for name in [*PRIORITIES, *LATER_PRIORITIES, "NodeLabel", "ServiceAffinity", "Nope"]:
        yield f"priority {name}", {"predicates": [], "priorities": [{"name": name, "weight": 3}]}
    for key, kinds in ARGUMENTS.items():
        weighed = {"weight": 2} if key == "priorities" else {}
        for kind, content in kinds.items():
            one = {**weighed, "argument": {kind: content}}
            yield f"{kind} alone", {key: [{"name": "Mine", **one}]}
            yield f"{kind} twice", {key: [{"name": "Mine", **one}, {"name": "Other", **one}]}
            yield (
                f"{kind} in the place of another",
                {key: [{"name": "GeneralPredicates" if key == "predicates" else LEAST, **one}]},
            )
            if weighed:
                other = {**one, "weight": 7}
                yield f"{kind} of two weights", {key: [{"name": "Mine", **one}, {"name": "Other", **other}]}
    yield from _clashes()
    for weight in (0, 1, 50, 100):
        both = {"hardPodAffinitySymmetricWeight": weight}
        yield f"hard weight {weight}", both
        without = {"priorities": [{"name": LEAST, "weight": 1}]}
        yield f"hard weight {weight} that nothing reads", {**both, **without}
    for weight in WEIGHTS:
        yield f"weight {weight}", {"priorities": [{"name": LEAST, "weight": weight}]}
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
        {"priorities": [{"name": f"Mine{at}", "weight": 1, "argument": one} for at, one in enumerate(preferred)]},
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
    asked = policies(options.count, options.seed)
    text = "".join(json.dumps({"name": name, "policy": policy}) + "\n" for name, policy in asked)
    done = subprocess.run([os.environ["POLICY122"]], input=text, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one.pop("name") for one in answers] == [name for name, _ in asked]
    lines = [
        json.dumps({"name": name, "policy": policy, "expected": answer}, separators=(",", ":"))
        for (name, policy), answer in zip(asked, answers, strict=True)
    ]
    RECORDED.write_bytes(lzma.compress("".join(f"{line}\n" for line in lines).encode(), preset=9))
    print(f"{len(lines)} policies, {sum('error' in one for one in answers)} refused, {RECORDED.stat().st_size} bytes")


if __name__ == "__main__":
    main()
