"""A policy's YAML text with the place of every value, so that an error can be shown where it was made.

PyYAML reads it, as in the engine, so that both see the same values (YAML 1.1: ``yes`` is a boolean). JSON is YAML.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml

SIZE_LIMIT = 1024 * 1024
DEPTH_LIMIT = 50
NODE_LIMIT = 50_000

Path = tuple[str | int, ...]

_SCALARS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float"))


@dataclass(frozen=True)
class Problem:
    """What is wrong with a document: where (``path`` as kube-scheduler writes it, 1-based ``line`` and ``column``)."""

    message: str
    path: str = ""
    line: int = 1
    column: int = 1
    end_column: int = 0  # 0: to the end of the line
    keys: Path = ()

    def as_dict(self) -> dict[str, Any]:
        return {"path": self.path, "message": self.message, "line": self.line, "column": self.column}


class DocumentError(Exception):
    """The text is not a YAML document that can be taken; ``problem`` says where and why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


@dataclass(frozen=True)
class Document:
    """A parsed text: ``root`` holds PyYAML's nodes with their marks, ``data`` the plain values."""

    text: str
    root: yaml.Node | None
    data: Any

    def node(self, path: Path) -> yaml.Node | None:
        """The node at ``path``, or ``None``."""
        node = self.root
        for key in path:
            step = _child(node, key)
            if step is None:
                return None
            node = step[1]
        return node

    def place(self, path: Path) -> tuple[int, int, int]:
        """Line, column and end column (1-based) of the deepest part of ``path`` that is written down."""
        node = mark = self.root
        if node is None:
            return 1, 1, 0
        for key in path:
            step = _child(node, key)
            if step is None:
                break
            label, node = step
            # A value's own place says most, but a block's begins on the line below its key.
            mark = node if label is None or (isinstance(node, yaml.ScalarNode) and node.value) else label
        assert mark is not None
        start, end = mark.start_mark, mark.end_mark
        return start.line + 1, start.column + 1, end.column + 1 if end.line == start.line else 0


def normalised(text: str) -> str:
    """``text`` without what only transport put in: byte order mark and the line ends of forms."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def kept(text: str) -> str:
    """``text`` as it is saved: its last line ends like the others."""
    text = normalised(text)
    return text if not text or text.endswith("\n") else text + "\n"


def parse(text: str) -> Document:
    """Read ``text``; raises :class:`DocumentError` for what is not one YAML document within the limits."""
    if len(text.encode("utf-8", "surrogatepass")) > SIZE_LIMIT:
        raise DocumentError(Problem("The document is larger than 1 MiB, which is the most that is taken."))
    try:
        _check_events(text)
        loader = yaml.CSafeLoader(text)
        try:
            root = loader.get_single_node()
        finally:
            loader.dispose()
        return Document(text, root, None if root is None else value_of(root))
    except yaml.MarkedYAMLError as error:
        raise DocumentError(_syntax_problem(error)) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise DocumentError(Problem("A character here is not allowed in YAML.", line=line)) from None
    except (yaml.YAMLError, UnicodeError, ValueError, RecursionError) as error:
        raise DocumentError(Problem(f"This is not YAML: {error}")) from None


def _check_events(text: str) -> None:
    depth = nodes = documents = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise _refused(event, "Anchors and aliases are not taken here: write the value out.")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if isinstance(event, yaml.NodeEvent):
            nodes += 1
        documents += isinstance(event, yaml.DocumentStartEvent)
        if depth > DEPTH_LIMIT:
            raise _refused(event, f"Values lie deeper than {DEPTH_LIMIT} levels.")
        if nodes > NODE_LIMIT:
            raise _refused(event, f"There are more than {NODE_LIMIT} values.")
        if documents > 1:
            raise _refused(event, "A second document begins here: it must be one.")


def _refused(event: yaml.Event, message: str) -> DocumentError:
    mark = event.start_mark
    return DocumentError(Problem(message, line=mark.line + 1 if mark else 1, column=mark.column + 1 if mark else 1))


def _syntax_problem(error: yaml.MarkedYAMLError) -> Problem:
    mark = error.problem_mark or error.context_mark
    words = ": ".join(part for part in (error.context, error.problem) if part)
    return Problem(
        f"This is not YAML: {words}.", line=mark.line + 1 if mark else 1, column=mark.column + 1 if mark else 1
    )


def _child(node: yaml.Node | None, key: str | int) -> tuple[yaml.Node | None, yaml.Node] | None:
    """Key node (``None`` in a sequence) and value node of ``node[key]``."""
    if isinstance(node, yaml.MappingNode):
        for label, value in reversed(node.value):
            if isinstance(label, yaml.ScalarNode) and label.value == key:
                return label, value
    if isinstance(node, yaml.SequenceNode) and isinstance(key, int) and key < len(node.value):
        return None, node.value[key]
    return None


_constructor = yaml.constructor.SafeConstructor()


def value_of(node: yaml.Node) -> Any:
    """The plain value of a node."""
    if isinstance(node, yaml.MappingNode):
        return {_key(label): value_of(value) for label, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [value_of(item) for item in node.value]
    # Dates and the like stay the text that they are in JSON.
    return _constructor.construct_object(node) if node.tag in _SCALARS else node.value


def _key(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        raise DocumentError(
            Problem("A key must be plain text.", line=node.start_mark.line + 1, column=node.start_mark.column + 1)
        )
    return node.value


def as_yaml(data: Any) -> str:
    """Plain values as YAML text, keys in their order."""
    return str(yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=10_000))
