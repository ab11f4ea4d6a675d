"""crane's hot values: the number of pods recently bound to each node, from the events of schedulers."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

from kschedweb.clusters.connecting.client import Client
from kschedweb.engine.state.watermarks.crane import Binding, BindingRecords, CraneError, HotRule, hot_value, read_event

EVENTS = "/api/v1/events"
# Only events about bindings; a cluster has far more of other kinds.
SCHEDULED = "reason=Scheduled,type=Normal"
# The rules of crane's published policy: seconds, and pods for one point.
RULES = (HotRule(300, 5), HotRule(60, 2))


def hot_values(client: Client, now: float) -> dict[str, int]:
    """Return the nodes with a hot value above 0 at ``now`` (seconds of the epoch). Raises ClusterError."""
    pages = client.pages(EVENTS, fieldSelector=SCHEDULED)
    return hot_of([binding for page in pages for item in page.items if (binding := _parse_binding(item))], now)


def hot_of(bindings: Collection[Binding], now: float) -> dict[str, int]:
    """Return hot values as ``hot_values`` does, from bindings in any order. They are recorded by time, as a
    controller does.
    """
    records, longest = BindingRecords(), max(rule.seconds for rule in RULES)
    for binding in sorted(bindings, key=lambda binding: binding.time):
        records.add_binding(binding.node, binding.time)
    records.remove_expired(now, longest)
    nodes = {binding.node for binding in bindings}
    values = {node: hot_value(records.binding_times(node), now, RULES) for node in nodes}
    return {node: value for node, value in values.items() if value}


def _parse_binding(item: Any) -> Binding | None:
    """Return the binding of an event; ``None`` for other events."""
    if not isinstance(item, dict) or not isinstance(item.get("message"), str):
        return None
    count = item.get("count")
    try:
        return read_event(
            item["message"],
            count if isinstance(count, int) else 0,
            _parse_seconds(item.get("eventTime")),
            _parse_seconds(item.get("lastTimestamp")),
        )
    except CraneError:
        return None


def _parse_seconds(text: object) -> int:
    """Return whole seconds of the epoch; 0, which is too long ago to count, for invalid text."""
    try:
        time = datetime.fromisoformat(text) if isinstance(text, str) else None
    except ValueError:
        return 0
    return 0 if time is None else int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp())
