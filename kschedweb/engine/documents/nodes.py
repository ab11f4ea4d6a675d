"""Documents as PyYAML's nodes with their marks; aliases are followed and merge keys (``<<``) merged as kubectl does.

An alias is a node of its own, with the marks of the alias: what it stands for has those of the anchor's text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import yaml

from kschedweb.engine.documents.anchors import MERGE_TAKES, Anchors, Extent
from kschedweb.engine.documents.reading import Bounds, Event, Reason, refused
from kschedweb.engine.documents.scalars import resolve

STRING, PLAIN = "tag:yaml.org,2002:str", ""
Pair = tuple[yaml.Node, yaml.Node]

_RESOLVED = frozenset([PLAIN, *(f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float"))])


class AliasNode(yaml.Node):
    """An alias; ``value`` is the node of its anchor."""

    id = "alias"


def nodes(events: Iterable[Event], bounds: Bounds) -> list[yaml.Node]:
    """The documents in ``events``. The tag of a scalar is STRING, its own one, or PLAIN. Raises RefusedError."""
    builder = _Builder(bounds)
    for event in events:
        builder.take(event)
    return builder.roots


def followed(node: yaml.Node) -> yaml.Node:
    """``node``, or what it stands for if it is an alias."""
    return node.value if isinstance(node, AliasNode) else node


def is_merge(label: yaml.Node) -> bool:
    return isinstance(label, yaml.ScalarNode) and label.tag == PLAIN and label.value == "<<"


def fields(node: yaml.MappingNode) -> dict[str, Pair]:
    """Key and value by the text of the key; as in go-yaml, what stands later in the mapping wins."""
    found: dict[str, Pair] = {}
    for label, value in node.value:
        if is_merge(label):
            found |= merged_fields(value)
        else:
            found[label.value] = label, value
    return found


def merged_fields(value: yaml.Node) -> dict[str, Pair]:
    """The fields that a merge key with this value brings; of several mappings the first wins."""
    found: dict[str, Pair] = {}
    for source in reversed(list(_sources(value))):
        found |= fields(source)
    return found


def value_of(node: yaml.Node) -> Any:
    """The plain value of a node; a key is its text."""
    node = followed(node)
    if isinstance(node, yaml.MappingNode):
        return {name: value_of(value) for name, (_, value) in fields(node).items()}
    if isinstance(node, yaml.SequenceNode):
        return [value_of(item) for item in node.value]
    return resolve(node.value) if node.tag in _RESOLVED else node.value


def _sources(value: yaml.Node) -> Iterator[Any]:
    value = followed(value)
    yield from map(followed, value.value) if isinstance(value, yaml.SequenceNode) else [value]


class _Builder:
    """Makes nodes of events; ``_open`` are the collections that are not complete, with their anchors."""

    def __init__(self, bounds: Bounds) -> None:
        self.roots: list[yaml.Node] = []
        self._open: list[tuple[yaml.CollectionNode, str | None, Extent]] = []
        self._anchors: Anchors[yaml.Node] = Anchors(bounds)

    def take(self, event: Event) -> None:
        if isinstance(event, yaml.DocumentStartEvent):
            self._anchors.begin_document()
        elif isinstance(event, yaml.CollectionEndEvent):
            self._close(event)
        elif isinstance(event, yaml.AliasEvent):
            held, extent = self._anchors.follow(event, len(self._open))
            self._add(_alias(event, held), extent)
        elif isinstance(event, yaml.NodeEvent):
            self._begin(event)

    def _begin(self, event: Event) -> None:
        self._anchors.begin_value(event)
        node = _node(event)
        if isinstance(node, yaml.CollectionNode):
            self._put(node)
            self._open.append((node, event.anchor, Extent(depth=1)))
        else:
            extent = Extent(text=len(event.value))
            self._anchors.keep(event.anchor, node, extent)
            self._add(node, extent)

    def _close(self, event: Event) -> None:
        done, anchor, extent = self._open.pop()
        done.end_mark = event.end_mark
        if isinstance(done, yaml.MappingNode):
            done.value = _pairs(done.value)
        self._anchors.keep(anchor, done, extent)
        self._count(extent)

    def _add(self, node: yaml.Node, extent: Extent) -> None:
        self._put(node)
        self._count(extent)

    def _put(self, node: yaml.Node) -> None:
        (self._open[-1][0].value if self._open else self.roots).append(node)

    def _count(self, extent: Extent) -> None:
        if self._open:
            self._open[-1][2].count(extent)


def _alias(event: Event, held: yaml.Node) -> AliasNode:
    return AliasNode(PLAIN, held, event.start_mark, event.end_mark)


def _node(event: Event) -> yaml.Node:
    begin, end = event.start_mark, event.end_mark
    if isinstance(event, yaml.ScalarEvent):
        plain = not event.tag and event.implicit[0]
        tag = PLAIN if plain else STRING if event.tag in (None, "", "!") else event.tag
        return yaml.ScalarNode(tag, event.value, begin, end, style=event.style)
    kind = yaml.SequenceNode if isinstance(event, yaml.SequenceStartEvent) else yaml.MappingNode
    return kind(event.tag, [], begin, end, flow_style=event.flow_style)


def _pairs(flat: list[yaml.Node]) -> list[Pair]:
    return [(_label(label), _checked(label, value)) for label, value in zip(flat[::2], flat[1::2], strict=True)]


def _label(label: yaml.Node) -> yaml.Node:
    """A key, which is text; of an alias with its own marks."""
    held = followed(label)
    if not isinstance(held, yaml.ScalarNode):
        raise refused(label, Reason.VALUE, "a key must be plain text")
    return held if held is label else yaml.ScalarNode(STRING, held.value, label.start_mark, label.end_mark)


def _checked(label: yaml.Node, value: yaml.Node) -> yaml.Node:
    """``value``, which is a mapping or a list of them if ``label`` is a merge key."""
    if is_merge(label) and not all(isinstance(source, yaml.MappingNode) for source in _sources(value)):
        raise refused(value, Reason.VALUE, MERGE_TAKES)
    return value
