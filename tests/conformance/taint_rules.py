"""Scenarios with DeviceTaintRules, drawn at random, and what kube-scheduler 1.37 says to them.

    KUBEBUILDER_ASSETS=<folder with the oracle of 1.37> python -m tests.conformance.taint_rules [--seed N] [--count N]

records them anew. Oracles of earlier releases do not know the kind.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from random import Random

from tests.conformance.making.devices import TaintRuleMaker
from tests.conformance.record import write
from tests.conformance.reference import Reference

RECORDED = "taint-rules.jsonl.xz"
MODES = ("explain", "schedule")


def draw_scenarios(seed: int, count: int) -> list[dict]:
    return [TaintRuleMaker(Random(f"{seed}/rules/{n}")).scenario(f"rules-{seed}-{n}") for n in range(count)]


def main() -> None:
    parser = argparse.ArgumentParser(description="Record what kube-scheduler 1.37 says of DeviceTaintRules.")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    options = parser.parse_args()
    reference = Reference(Path(os.environ["KUBEBUILDER_ASSETS"]))
    scenarios = draw_scenarios(options.seed, options.count)
    write(
        RECORDED,
        [
            {"ask": mode, "scenario": scenario | {"release": reference.release}, "expected": expected}
            for mode in MODES
            for scenario, expected in zip(scenarios, reference.answers(mode, scenarios), strict=True)
        ],
    )


if __name__ == "__main__":
    main()
