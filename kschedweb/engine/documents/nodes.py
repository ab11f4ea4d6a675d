"""Documents as PyYAML's nodes with their marks. Aliases and merge keys (``<<``) are resolved as kubectl does.

An alias is a node of its own, with the marks of the alias; its target has the marks of the anchor's text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import yaml

from kschedweb.engine.documents.anchors import MERGE_TAKES, Anchors, Extent
from kschedweb.engine.documents.scalars import resolve_scalar
from kschedweb.engine.documents.yaml_events import Bounds, Event, Reason, refusal_at

STRING, PLAIN = "tag:yaml.org,2002:str", ""
Pair = tuple[yaml.Node, yaml.Node]

# Tags whose text is resolved as a plain scalar is.
_RESOLVED = frozenset([PLAIN, *(f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float"))])


class AliasNode(yaml.Node):
    """An alias; ``value`` is the node of its anchor."""

    id = "alias"


def build_nodes(events: Iterable[Event], bounds: Bounds) -> list[yaml.Node]:
    """Return the documents in ``events``. A scalar's tag is STRING, its own tag, or PLAIN. Raises RefusedError."""
    builder = _NodeBuilder(bounds)
    for event in events:
        builder.take_event(event)
    return builder.roots


def follow_alias(node: yaml.Node) -> yaml.Node:
    """Return ``node``, or its target if it is an alias."""
    return node.value if isinstance(node, AliasNode) else node


def is_merge(label: yaml.Node) -> bool:
    return isinstance(label, yaml.ScalarNode) and label.tag == PLAIN and label.value == "<<"


def mapping_fields(node: yaml.MappingNode) -> dict[str, Pair]:
    """Return key and value by the key's text. As in go-yaml, a later field of the mapping wins."""
    pairs: dict[str, Pair] = {}
    for label, value in node.value:
        if is_merge(label):
            pairs |= merged_fields(value)
        else:
            pairs[label.value] = label, value
    return pairs


def merged_fields(value: yaml.Node) -> dict[str, Pair]:
    """Return the fields that a merge key with this value brings. Of several mappings the first wins."""
    pairs: dict[str, Pair] = {}
    for source in reversed(list(_merge_sources(value))):
        pairs |= mapping_fields(source)
    return pairs


def value_of(node: yaml.Node) -> Any:
    """Return the plain value of a node. A key is its text."""
    node = follow_alias(node)
    if isinstance(node, yaml.MappingNode):
        return {name: value_of(value) for name, (_, value) in mapping_fields(node).items()}
    if isinstance(node, yaml.SequenceNode):
        return [value_of(item) for item in node.value]
    return resolve_scalar(node.value) if node.tag in _RESOLVED else node.value


def _merge_sources(value: yaml.Node) -> Iterator[Any]:
    value = follow_alias(value)
    yield from map(follow_alias, value.value) if isinstance(value, yaml.SequenceNode) else [value]


class _NodeBuilder:
    """A builder of nodes from events."""

    def __init__(self, bounds: Bounds) -> None:
        self.roots: list[yaml.Node] = []
        # Collections that are not complete, with their anchors.
        self._open: list[tuple[yaml.CollectionNode, str | None, Extent]] = []
        self._anchors: Anchors[yaml.Node] = Anchors(bounds)

    def take_event(self, event: Event) -> None:
        if isinstance(event, yaml.DocumentStartEvent):
            self._anchors.begin_document()
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close_collection(event)
        elif isinstance(event, yaml.AliasEvent):
            target, extent = self._anchors.resolve_alias(event, len(self._open))
            self._add_node(_alias_node(event, target), extent)
        elif isinstance(event, yaml.NodeEvent):
            self._begin_node(event)

    def _begin_node(self, event: Event) -> None:
        self._anchors.begin_value(event)
        node = _create_node(event)
        if isinstance(node, yaml.CollectionNode):
            self._put_node(node)
            # Stored only when it is complete, so that an alias cannot point into its own value.
            self._open.append((node, event.anchor, Extent(depth=1)))
        else:
            extent = Extent(text=len(event.value))
            self._anchors.store_value(event.anchor, node, extent)
            self._add_node(node, extent)

    def _close_collection(self, event: Event) -> None:
        collection, anchor, extent = self._open.pop()
        collection.end_mark = event.end_mark
        if isinstance(collection, yaml.MappingNode):
            collection.value = _pair_up(collection.value)
        self._anchors.store_value(anchor, collection, extent)
        self._count_extent(extent)

    def _add_node(self, node: yaml.Node, extent: Extent) -> None:
        self._put_node(node)
        self._count_extent(extent)

    def _put_node(self, node: yaml.Node) -> None:
        (self._open[-1][0].value if self._open else self.roots).append(node)

    def _count_extent(self, extent: Extent) -> None:
        if self._open:
            self._open[-1][2].include_part(extent)


def _alias_node(event: Event, target: yaml.Node) -> AliasNode:
    return AliasNode(PLAIN, target, event.start_mark, event.end_mark)


def _create_node(event: Event) -> yaml.Node:
    begin, end = event.start_mark, event.end_mark
    if isinstance(event, yaml.ScalarEvent):
        plain = not event.tag and event.implicit[0]
        tag = PLAIN if plain else STRING if event.tag in (None, "", "!") else event.tag
        return yaml.ScalarNode(tag, event.value, begin, end, style=event.style)
    kind = yaml.SequenceNode if isinstance(event, yaml.SequenceStartEvent) else yaml.MappingNode
    return kind(event.tag, [], begin, end, flow_style=event.flow_style)


def _pair_up(flat: list[yaml.Node]) -> list[Pair]:
    return [
        (_resolve_label(label), _check_merge(label, value)) for label, value in zip(flat[::2], flat[1::2], strict=True)
    ]


def _resolve_label(label: yaml.Node) -> yaml.Node:
    """Return a key, which must be text. The key of an alias has the alias's marks."""
    target = follow_alias(label)
    if not isinstance(target, yaml.ScalarNode):
        raise refusal_at(label, Reason.VALUE, "a key must be plain text")
    return target if target is label else yaml.ScalarNode(STRING, target.value, label.start_mark, label.end_mark)


def _check_merge(label: yaml.Node, value: yaml.Node) -> yaml.Node:
    """Return ``value``. If ``label`` is a merge key, it must be a mapping or a list of mappings."""
    if is_merge(label) and not all(isinstance(source, yaml.MappingNode) for source in _merge_sources(value)):
        raise refusal_at(value, Reason.VALUE, MERGE_TAKES)
    return value
