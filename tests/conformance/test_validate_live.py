"""Random configurations put to the real kube-scheduler and to this engine: no difference is allowed.

``HUNT_SEED`` repeats a run, ``HUNT_COUNT`` sets how many are asked.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest

from kschedweb.engine.config import Release, default_document
from kschedweb.engine.releases import CURRENT, cli_validate, load
from tests.conformance.configurations import POINTS, Configurations
from tests.support import tiers

COUNT = tiers.count(300, 3000)
SEED = tiers.seed()
Oracle = Callable[[str, str], Any]


# libyaml 0.2.5 refuses a colon before a bracket or comma in flow style, which go-yaml's older scanner takes as text.
COLON = "found unexpected ':'"
# Messages that repeat the document do so only up to a limit.
COMPARED = 1900


KIND = "KubeSchedulerConfiguration"
# Of base 60 (text to go-yaml), of other bases, too large, and with what YAML 1.1 allows besides.
NUMBERS = [
    *("1:00", "1:00:00", "-190:20:30.15", "1" + ":00" * 300, "!!int 1:00", "!!float 1:30.5"),
    *("0x1f", "0X1F", "-0b101", "0o17", "017", "08", "1_0", "0x_1f", "_1", "0x", "0b2"),
    *("9" * 30, "9" * 5_000, "-" + "9" * 5_000, "0x" + "f" * 5_000, "!!int " + "9" * 5_000),
    *("18446744073709551615", "18446744073709551616", "-9223372036854775809"),
    *("1e3", "1e+5", "1e400", "1.", "+.5", ".5e", "0." + "0" * 5_000, "0." + "0" * 5_000 + "1", "1e21", "1e1_0"),
    *("y", "N", "=", "<<", "2001-01-01", "2001-01-01 10:00:00", "\u0661\u0662", ".inf", "~"),
]


def comparable(answer: dict[str, Any]) -> dict[str, Any]:
    """Leave out what kube-scheduler does not say, and the order of errors, which is not always fixed."""
    compared = {name: value for name, value in answer.items() if name not in ("warnings", "converted")}
    return compared | (
        {"errors": sorted(error[:COMPARED] for error in compared["errors"])} if "errors" in compared else {}
    )


def excused(answer: dict[str, Any]) -> bool:
    return any(COLON in error for error in answer.get("errors", ()))


@pytest.mark.live
def test_random_configurations_are_answered_as_kube_scheduler_does(oracle: Oracle, real_release: Release) -> None:
    print(f"HUNT_SEED={SEED}")
    source = Configurations(SEED)
    texts = [source.text() for _ in range(COUNT)]
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda text: comparable(oracle("validate", text)), texts))
    differing = [
        (text, expected, answer)
        for text, expected in zip(texts, answers, strict=True)
        if (answer := comparable(cli_validate(text, real_release))) != expected and not excused(answer)
    ]
    assert differing == [], f"HUNT_SEED={SEED}: {len(differing)} of {COUNT} differ"
    # The generator is worth something only while it makes good ones and bad ones.
    assert COUNT // 10 < sum(answer["valid"] for answer in answers) < COUNT * 9 // 10


@pytest.mark.live
@pytest.mark.parametrize("field", ["percentageOfNodesToScore", "kind"])
def test_a_number_is_read_as_kube_scheduler_reads_it(oracle: Oracle, real_release: Release, field: str) -> None:
    texts = [f"apiVersion: kubescheduler.config.k8s.io/v1\nkind: K\n{field}: {number}\n" for number in NUMBERS]
    texts = [text.replace("kind: K\nkind:", "kind:").replace("kind: K\n", f"kind: {KIND}\n") for text in texts]
    assert [comparable(cli_validate(text, real_release)) for text in texts] == [
        comparable(oracle("validate", text)) for text in texts
    ]


@pytest.mark.live
def test_a_new_policy_is_accepted_by_kube_scheduler(oracle: Oracle, real_release: Release) -> None:
    answer = oracle("validate", default_document())
    assert answer["valid"]
    assert answer["defaulted"] == load(default_document(), real_release).defaulted


@pytest.mark.live
@pytest.mark.parametrize("plugin", CURRENT.in_tree_plugins.specs)
def test_a_plugin_runs_at_the_same_extension_points(oracle: Oracle, real_release: Release, plugin: str) -> None:
    """Its own all at once, each other one alone; a commit's tier asks two of those."""
    own_points = real_release.in_tree_plugins.specs[plugin].points
    other_points = [point for point in POINTS if point not in own_points]
    tried_points = other_points if tiers.NIGHTLY else Random(f"{SEED}/{plugin}").sample(other_points, 2)
    assert oracle("validate", enabling(plugin, *own_points))["valid"]
    for point in tried_points:
        assert not oracle("validate", enabling(plugin, point))["valid"], point


def enabling(plugin: str, *points: str) -> str:
    """The default policy, where ``plugin`` is enabled at each of ``points``."""
    sets = ", ".join(f"{point}: {{enabled: [{{name: {plugin}}}]}}" for point in sorted(points))
    return f"{default_document()}    plugins: {{{sets}}}\n"
