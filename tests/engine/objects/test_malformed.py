"""Objects that cannot be understood are named with their reason; the others are kept."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedweb.engine import Node, ObjectError, Pod, Snapshot
from tests.engine.builders import node, pod

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"containers": "x"}, "spec.containers"),
        ({"containers": [1]}, "spec.containers\\[0\\]"),
        ({"tolerations": {}}, "spec.tolerations"),
        ({"priority": "high"}, "spec.priority"),
        ({"nodeSelector": {"a": 1}}, "spec.nodeSelector"),
        ({"affinity": []}, "spec.affinity"),
    ],
)
def test_a_pod_with_a_wrong_field_is_refused_with_its_path(change: dict, path: str) -> None:
    raw = pod("p")
    raw["spec"].update(change)
    with pytest.raises(ObjectError, match=path):
        Pod.from_json(raw)


@pytest.mark.parametrize("part", ["containers", "initContainers", "volumes"])
@pytest.mark.parametrize("empty", [{}, "", 0, False])
def test_what_is_empty_in_another_way_is_refused_beside_a_pod_that_has_none(part: str, empty: object) -> None:
    """Pods that say the same are read once for all; these do not say the same."""
    raw = pod("p")
    raw["spec"][part] = []
    Pod.from_json(raw)
    raw["spec"][part] = empty
    with pytest.raises(ObjectError, match=f"spec.{part}: must be a list"):
        Pod.from_json(raw)


@pytest.mark.parametrize("field", ["metadata", "spec", "status"])
@given(value=JSON)
def test_no_wrong_shape_is_a_traceback(field: str, value: object) -> None:
    for reader, raw in ((Pod.from_json, pod("p")), (Node.from_json, node("n"))):
        raw[field] = value
        with suppress(ObjectError):
            reader(raw)


def test_a_snapshot_lists_what_it_left_out() -> None:
    broken = pod("broken")
    broken["spec"]["containers"] = "none"
    snapshot = Snapshot.from_objects([node("a"), broken, "text", {"kind": "Pod"}, pod("fine")])
    assert [name for name, _ in snapshot.problems] == ["Pod default/broken", "a str", "Pod (no name)"]
    assert [waiting.name for waiting in snapshot.pending] == ["fine"]
    assert snapshot.names == ["a"]
