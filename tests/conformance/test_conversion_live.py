"""Converted policies, given to the real kube-scheduler: it accepts every one.

``HUNT_SEED`` repeats a run, ``HUNT_COUNT`` sets how many policies are made beside the recorded ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest

from kschedweb.engine.config import Release
from kschedweb.engine.documents.marked_documents import as_yaml
from kschedweb.engine.releases import load
from kschedweb.engine.releases.classic import ClassicPolicy, Edition, PolicyError, load_policy
from kschedweb.engine.releases.classic.catalogue import V1_9
from kschedweb.engine.releases.classic.conversion import convert_policy
from tests.conformance.making.policies import PolicyMaker
from tests.conformance.policies import by_hand
from tests.support import tiers

COUNT = tiers.count(80, 800)
SEED = tiers.seed()
Oracle = Callable[[str, str], Any]


def policies(seed: int) -> Iterator[ClassicPolicy | None]:
    maker = PolicyMaker(Random(seed))
    yield None
    for fields in [*(fields for _, fields in by_hand()), *(maker.policy() for _ in range(COUNT))]:
        yield load_policy({"kind": "Policy", "apiVersion": "v1", **fields}).policy


def converted(policy: ClassicPolicy | None, edition: Edition, release: Release) -> dict[str, Any] | None:
    try:
        return convert_policy(policy, edition, release).document
    except PolicyError:  # a name that 1.13 did not know
        return None


@pytest.mark.live
def test_kube_scheduler_takes_what_policies_are_converted_into(oracle: Oracle, real_release: Release) -> None:
    print(f"HUNT_SEED={SEED}")
    editions = [Edition(), Edition(V1_9, percentage=30)]
    configurations = [converted(policy, editions[at % 2], real_release) for at, policy in enumerate(policies(SEED))]
    documents = list(
        {as_yaml(configuration): configuration for configuration in configurations if configuration is not None}
    )
    with ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda text: oracle("validate", text), documents))
    for text, answer in zip(documents, answers, strict=True):
        assert answer["valid"], f"HUNT_SEED={SEED}: {answer}\n{text}"
        assert answer["defaulted"] == load(text, real_release).defaulted, f"HUNT_SEED={SEED}: {text}"
    assert len(documents) > COUNT // 2  # the others are drawn twice, or name what 1.13 did not know
