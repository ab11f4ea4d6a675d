"""A pod that is read again after an update is what a pod is that is read for the first time."""

from __future__ import annotations

import copy
from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedweb.engine import Pod
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.objects.pod import _TEMPLATES as TEMPLATES
from tests.engine.builders import pod

CLAIM = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
RESIZED = {"name": "main", "resources": {"requests": {"cpu": "3"}}, "allocatedResources": {"cpu": "3"}}
PROMISED = {"name": "main", "allocatedResources": {"cpu": "5"}}
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "controller": True}
SCHEDULED = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-02T00:00:00Z"}
WRONG: list[tuple[str, Json]] = [
    ("spec", {"nodeName": 7}),
    ("status", {"containerStatuses": "none"}),
    ("metadata", {"labels": 1}),
]
PATCHES: list[tuple[str, Json]] = [
    ("spec", {"nodeName": "a"}),
    ("spec", {"nodeName": "b"}),
    ("spec", {"tolerations": [{"key": "k", "operator": "Exists"}]}),
    ("spec", {"schedulingGates": [{"name": "closed"}]}),
    ("spec", {"volumes": CLAIM}),
    ("spec", {"priority": 7}),
    ("metadata", {"labels": {"app": "web"}}),
    ("metadata", {"annotations": {"note": "x"}}),
    ("metadata", {"deletionTimestamp": "2026-01-01T00:00:00Z"}),
    ("metadata", {"ownerReferences": [OWNER]}),
    ("status", {"phase": "Running", "startTime": "2026-01-01T00:00:00Z"}),
    ("status", {"nominatedNodeName": "b"}),
    ("status", {"containerStatuses": [{"name": "main", "ready": True}]}),
    ("status", {"containerStatuses": [RESIZED]}),
    ("status", {"containerStatuses": [PROMISED]}),
    ("status", {"conditions": [SCHEDULED]}),
    ("status", {"conditions": [{"type": "PodResizePending", "reason": "Infeasible"}]}),
    ("status", {"conditions": [{"type": "PodResizePending", "reason": "Deferred"}]}),
    ("status", {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "gpu-1"}]}),
]
WHOLE = pod("web", requests={"cpu": "1"}, resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "gpu"}])


def patched(raw: Json, patches: list[tuple[str, Json]]) -> Json:
    raw = copy.deepcopy(raw)
    for part, change in patches:
        raw.setdefault(part, {}).update(copy.deepcopy(change))
    return raw


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PATCHES), max_size=5), st.lists(st.sampled_from(PATCHES), max_size=5), st.booleans())
def test_it_does_not_matter_what_was_known_before(
    before: list[tuple[str, Json]], after: list[tuple[str, Json]], looked_at: bool
) -> None:
    old, raw = Pod.from_json(patched(WHOLE, before)), patched(WHOLE, after)
    if looked_at:  # what was worked out of the old object must not be taken for that of the new one
        assert all([old.signature, old.seen_by_selectors, old.started, old.scheduled])
    new, fresh = old.renewed_from(raw), Pod.from_json(raw)
    for field in fields(Pod):
        assert getattr(new, field.name) == getattr(fresh, field.name), field.name
    assert new.signature == fresh.signature
    assert new.seen_by_selectors == fresh.seen_by_selectors
    assert new.started == fresh.started
    assert str(new.scheduled) == str(fresh.scheduled)  # NaN where nothing says when


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PATCHES), max_size=3), st.lists(st.sampled_from(PATCHES), max_size=3))
def test_pods_share_only_what_is_the_same(first: list[tuple[str, Json]], second: list[tuple[str, Json]]) -> None:
    TEMPLATES.clear()
    Pod.from_json(patched(WHOLE, first))
    shared = Pod.from_json(patched(WHOLE, second))
    TEMPLATES.clear()
    alone = Pod.from_json(patched(WHOLE, second))
    for field in fields(Pod):
        if field.name != "template":
            assert getattr(shared, field.name) == getattr(alone, field.name), field.name


def test_what_cannot_be_understood_is_an_error_all_the_same() -> None:
    old = Pod.from_json(WHOLE)
    for part, change in WRONG:
        with pytest.raises(ObjectError, match=next(iter(change))):
            old.renewed_from(patched(WHOLE, [(part, change)]))
