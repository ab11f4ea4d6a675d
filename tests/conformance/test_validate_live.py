"""Random configurations put to the real kube-scheduler and to this engine: no difference is allowed.

``HUNT_SEED`` repeats a run, ``HUNT_CONFIGURATIONS`` sets how many are asked.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from kschedweb.engine.config import cli_validate, default_document, load
from kschedweb.engine.config.registry import IN_TREE
from tests.conformance.configurations import POINTS, Configurations

COUNT = int(os.environ.get("HUNT_CONFIGURATIONS") or 300)
Oracle = Callable[[str, str], Any]


# libyaml 0.2.5 refuses a colon before a bracket or comma in flow style, which go-yaml's older scanner takes as text.
COLON = "found unexpected ':'"
# Messages that repeat the document do so only up to a limit.
COMPARED = 1900


def comparable(answer: dict[str, Any]) -> dict[str, Any]:
    """Leave out warnings, which kube-scheduler has none of, and the order of errors, which is not always fixed."""
    kept = {name: value for name, value in answer.items() if name != "warnings"}
    return kept | ({"errors": sorted(error[:COMPARED] for error in kept["errors"])} if "errors" in kept else {})


def excused(answer: dict[str, Any]) -> bool:
    return any(COLON in error for error in answer.get("errors", ()))


@pytest.mark.live
def test_random_configurations_are_answered_as_kube_scheduler_does(oracle: Oracle) -> None:
    seed = int(os.environ.get("HUNT_SEED") or secrets.randbelow(1 << 31))
    print(f"HUNT_SEED={seed}")
    source = Configurations(seed)
    texts = [source.text() for _ in range(COUNT)]
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda text: comparable(oracle("validate", text)), texts))
    differing = [
        (text, expected, answer)
        for text, expected in zip(texts, answers, strict=True)
        if (answer := comparable(cli_validate(text))) != expected and not excused(answer)
    ]
    assert differing == [], f"HUNT_SEED={seed}: {len(differing)} of {COUNT} differ"
    # The generator is worth something only while it makes good ones and bad ones.
    assert COUNT // 10 < sum(answer["valid"] for answer in answers) < COUNT * 9 // 10


@pytest.mark.live
def test_a_new_policy_is_accepted_by_kube_scheduler(oracle: Oracle) -> None:
    answer = oracle("validate", default_document())
    assert answer["valid"]
    assert answer["defaulted"] == load(default_document()).defaulted


@pytest.mark.live
@pytest.mark.parametrize("plugin", IN_TREE)
def test_a_plugin_runs_at_the_same_extension_points(oracle: Oracle, plugin: str) -> None:
    for point in POINTS:
        text = f"{default_document()}    plugins: {{{point}: {{enabled: [{{name: {plugin}}}]}}}}\n"
        assert oracle("validate", text)["valid"] is (point in IN_TREE[plugin]), point
