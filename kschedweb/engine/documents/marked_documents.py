"""YAML text with the place of every value, so that an error can be shown where it stands. JSON is YAML."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import field
from typing import Any

import yaml

from kschedweb.engine.documents.nodes import Pair, build_nodes, follow_alias, mapping_fields, value_of
from kschedweb.engine.documents.writing import dump_yaml
from kschedweb.engine.documents.yaml_events import Bounds, Event, Reason, RefusedError, read_events, refusal_at
from kschedweb.engine.json_types import Json
from kschedweb.engine.values import dataclass

# Bytes.
SIZE_LIMIT = 1024 * 1024
_STEP = re.compile(r"\['([^']*)'\]|([^.\[\]]+)|\[(\d+)\]")
BOUNDS = Bounds(depth=50, values=50_000)

Path = tuple[str | int, ...]
Labels = dict[str, Pair]


@dataclass(frozen=True)
class MarkedProblem:
    """A problem of a document with its place in the text."""

    message: str
    # As kube-scheduler writes it.
    path: str = ""
    # Line and columns are counted from 1.
    line: int = 1
    column: int = 1
    # 0 means the end of the line.
    end_column: int = 0
    keys: Path = ()
    # The same for people who fill in a form; "" if there is no such text.
    plain: str = ""

    def as_dict(self) -> Json:
        return {"path": self.path, "message": self.message, "line": self.line, "column": self.column}


class MarkedDocumentError(Exception):
    """The text is not an acceptable YAML document; ``problem`` says where and why."""

    def __init__(self, problem: MarkedProblem) -> None:
        super().__init__(problem.message)
        self.problem = problem


@dataclass(frozen=True)
class MarkedDocument:
    """A parsed text.

    A value that comes from an alias or a merge key has the place of the anchor's text.
    """

    text: str
    # PyYAML's nodes with their marks.
    root: yaml.Node | None
    # The plain values.
    data: Any
    # Fields of the mappings that were looked into, by the node's id.
    _labels: dict[int, Labels] = field(default_factory=dict, init=False, repr=False, compare=False)

    def node(self, path: Path) -> yaml.Node | None:
        """Return the node at ``path``; ``None`` if there is none."""
        node = self.root
        for key in path:
            step = self._find_child(node, key)
            if step is None:
                return None
            node = step[1]
        return node

    def place(self, path: Path) -> tuple[int, int, int]:
        """Return line, column and end column (1-based) of the deepest part of ``path`` that is written."""
        node = mark = self.root
        if node is None:
            return 1, 1, 0
        for key in path:
            step = self._find_child(node, key)
            if step is None:
                break
            label, node = step
            # A value's own place says most, but a block's begins on the line below its key.
            mark = node if label is None or (isinstance(node, yaml.ScalarNode) and node.value) else label
        assert mark is not None
        start, end = mark.start_mark, mark.end_mark
        return start.line + 1, start.column + 1, end.column + 1 if end.line == start.line else 0

    def _find_child(self, node: yaml.Node | None, key: str | int) -> tuple[yaml.Node | None, yaml.Node] | None:
        """Return the key node (``None`` in a sequence) and the value node of ``node[key]``."""
        if isinstance(node, yaml.MappingNode):
            labels = self._labels.get(id(node))
            if labels is None:
                labels = self._labels[id(node)] = mapping_fields(node)
            pair = labels.get(key) if isinstance(key, str) else None
            return None if pair is None else (pair[0], follow_alias(pair[1]))
        if isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
            return None, follow_alias(node.value[key])
        return None


def normalise_text(text: str) -> str:
    """Return ``text`` without artefacts of transport: a byte order mark and the line ends of forms."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def with_final_newline(text: str) -> str:
    """Return ``text`` as it is saved: its last line ends like the others."""
    text = normalise_text(text)
    return text if not text or text.endswith("\n") else text + "\n"


def parse_document(text: str) -> MarkedDocument:
    """Read ``text``. Raises :class:`MarkedDocumentError` if it is not one YAML document within the limits."""
    if len(text.encode("utf-8", "surrogatepass")) > SIZE_LIMIT:
        raise MarkedDocumentError(MarkedProblem("The document is larger than 1 MiB, which is the most that is taken."))
    try:
        root = next(iter(build_nodes(_document_events(text), BOUNDS)), None)
    except RefusedError as error:
        message = f"{error.message[:1].upper()}{error.message[1:]}."
        if error.reason is Reason.SYNTAX:
            message = f"This is not YAML: {': '.join(filter(None, (error.context, error.message)))}."
        raise MarkedDocumentError(MarkedProblem(message, line=error.line, column=error.column)) from None
    return MarkedDocument(text, root, None if root is None else value_of(root))


def _document_events(text: str) -> Iterator[Event]:
    """Yield the events of one document."""
    documents = 0
    for event in read_events(text, BOUNDS):
        documents += isinstance(event, yaml.DocumentStartEvent)
        if documents > 1:
            raise refusal_at(event, Reason.VALUE, "a second document begins here: it must be one")
        yield event


def as_yaml(data: Any) -> str:
    """Return plain values as YAML text, with keys in their order."""
    return dump_yaml(data)


def place_problem(document: MarkedDocument, path: str, message: str) -> MarkedProblem:
    """Return the problem at ``path``, such as ``changes[2].drainNodes.nodes``, with its position in the text."""
    keys = parse_path(path)
    line, column, end = document.place(keys)
    return MarkedProblem(message, path, line, column, end, keys)


def parse_path(path: str) -> Path:
    """Return the keys of a path: ``changes[0].addNodes.count`` -> ``("changes", 0, "addNodes", "count")``."""
    return tuple(int(index) if index else name or quoted for quoted, name, index in _STEP.findall(path))


def path_of(keys: Path) -> str:
    """Return the path of keys, the reverse of :func:`parse_path`."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).removeprefix(".")
