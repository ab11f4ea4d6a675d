"""Policies from the form: the real kube-scheduler accepts them, and understands them as they were meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kschedweb.engine.config import Release
from kschedweb.engine.documents.marked_documents import parse_document
from kschedweb.policies.editing import writing
from kschedweb.policies.validation import check_profiles
from tests.policies.editing.test_form import DETAILED, PLAIN, as_posted, build_profile_form

FIT = "args.NodeResourcesFit.scoringStrategy"
EXTENDER = {
    "extenders.0.urlPrefix": "https://gpus.example.com",
    "extenders.0.filterVerb": "filter",
    "extenders.0.prioritizeVerb": "prioritize",
    "extenders.0.weight": "3",
    "extenders.0.managedResources.0.name": "example.com/gpu",
}
SHARED_TEXT = """\
# Ours.
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- &first
  schedulerName: default-scheduler
  pluginConfig: &arguments
  - name: NodeResourcesFit
    args:
      scoringStrategy:
        type: LeastAllocated
        resources: &resources [{name: cpu, weight: 1}, {name: memory, weight: 1}]
  - name: NodeResourcesBalancedAllocation
    args:
      resources: *resources
- schedulerName: other
  pluginConfig: *arguments
"""
RATIO = f"{FIT}.requestedToCapacityRatio.shape"


@pytest.mark.parametrize("text", [PLAIN, DETAILED, SHARED_TEXT])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {f"{FIT}.type": "MostAllocated"},
        {f"{FIT}.type": "RequestedToCapacityRatio", f"{RATIO}.0.utilization": "0", f"{RATIO}.0.score": "10"},
        {"weight.ImageLocality": "40", "weight.NodeAffinity": "1"},
        {"profile.percentageOfNodesToScore": "30", "general.parallelism": "4"},
        {"args.InterPodAffinity.hardPodAffinityWeight": "101"},
        {"args.DefaultPreemption.minCandidateNodesPercentage": "x"},
        {"order.score": "ImageLocality NodeAffinity"},
        EXTENDER,
        EXTENDER | {"extenders.0.weight": "0"},
        EXTENDER | {"extenders.0.weight": "1.5"},
        EXTENDER | {"extenders.0.httpTimeout": "soon"},
        EXTENDER | {"extenders.0.managedResources.0.name": "cpu"},
        EXTENDER | {"extenders.0.tlsConfig.caData": "aGk="},
        EXTENDER | {"extenders.0.tlsConfig.insecure": "true", "extenders.0.ignorable": "true"},
    ],
    ids=str,
)
def test_the_verdict_is_kube_scheduler_s(
    oracle: Callable[[str, str], Any], real_release: Release, text: str, changes: dict[str, str]
) -> None:
    values = as_posted(build_profile_form(text)) | changes
    changed_text = writing.apply_form(text, text, values, 0)
    mine, theirs = check_profiles(changed_text, {"release": real_release.name}), oracle("validate", changed_text)
    assert mine.valid == theirs["valid"]
    assert mine.loaded is not None
    assert mine.loaded.errors == theirs.get("errors", [])
    assert (mine.loaded.defaulted or None) == (theirs.get("defaulted") or None)
    assert [item for item in changed_text.splitlines() if "#" in item][:1] == ["# Ours."]
    assert parse_document(changed_text).data["kind"] == "KubeSchedulerConfiguration"


def test_switched_off_plugins_are_off(oracle: Callable[[str, str], Any]) -> None:
    values = as_posted(build_profile_form(PLAIN))
    for point in ("preFilter", "filter", "preScore", "score"):
        del values[f"on.NodeAffinity.{point}"]
    changed_text = writing.apply_form(PLAIN, PLAIN, values, 0)
    plugins = oracle("validate", changed_text)["defaulted"]["profiles"][0]["plugins"]
    assert "NodeAffinity" not in {plugin["name"] for plugin in plugins["multiPoint"]["enabled"]}
