"""Change the content of a YAML text with as few edits of the text as possible.

A round trip through an emitter would reformat the whole file and lose comments. Instead, the difference between the
current and the target content is edited into the text at the parser's marks. All other bytes stay as they are.
"""

from __future__ import annotations

import json
from difflib import SequenceMatcher
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from kschedweb.engine.documents.marked_documents import MarkedDocument, MarkedDocumentError, parse_document
from kschedweb.engine.documents.nodes import AliasNode, is_merge, mapping_fields, merged_fields, value_of
from kschedweb.engine.documents.writing import Dumper, dump_yaml
from kschedweb.engine.json_types import Json

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# One edit per parse. A document within the size limit needs far fewer; beyond that it is dumped anew.
_EDIT_LIMIT = 5_000
# Fields that identify an item of a list when its other fields change.
_NAMES = ("name", "schedulerName", "topologyKey", "urlPrefix")


class _Edit(NamedTuple):
    start: int
    end: int
    text: str


def rewrite_yaml(text: str, target: Json) -> str:
    """Return ``text`` edited to have the content ``target``. Raises ``MarkedDocumentError`` if ``text`` is not YAML."""
    document = parse_document(text)
    for _ in range(_EDIT_LIMIT):
        if _is_same(document.data, target):
            return text
        # Every edit moves the marks behind it, so the text is parsed again after each.
        editor = _Editor(text, document.root)
        # Where an edit takes an anchor away, all aliases are written out first.
        edited = _apply_edits(text, islice(editor.find_edits(target), 1)) or _apply_edits(text, editor.alias_edits())
        if edited is None:
            break
        text, document = edited.text, edited
    return _dump_anew(target)


def _apply_edits(text: str, edits: Iterable[_Edit]) -> MarkedDocument | None:
    """Return the document after ``edits``, which do not overlap; ``None`` if there are none, or it is no YAML
    afterwards.
    """
    # From the end on, so that an edit does not move the places of those before it.
    ordered = sorted(edits, reverse=True)
    for edit in ordered:
        text = text[: edit.start] + edit.text + text[edit.end :]
    try:
        return parse_document(text) if ordered else None
    except MarkedDocumentError:
        return None


def _dump_anew(target: Json) -> str:
    """Return ``target`` as new YAML without comments. This is the last resort."""
    return _dump_yaml(target, offset=2)


def _is_same(a: Any, b: Any) -> bool:
    """Return whether the two are equal in YAML: ``1`` is not ``true``, and the order of keys does not matter."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_is_same(value, b[key]) for key, value in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_is_same, a, b))
    return isinstance(a, bool) == isinstance(b, bool) and a == b


class _Editor:
    """A search for edits that bring ``root`` closer to a target. Each is valid for the current text only."""

    def __init__(self, text: str, root: yaml.Node | None) -> None:
        self.text = text
        self.root = root
        self.offset = _sequence_offset(root)

    def find_edits(self, target: Json) -> Iterator[_Edit]:
        root = self.root
        if root is None:
            yield _Edit(len(self.text), len(self.text), _dump_yaml(target, self.offset))
        elif not isinstance(root, yaml.MappingNode) or not root.value or not target:
            yield _Edit(root.start_mark.index, self._end_of(root), _dump_yaml(target, self.offset).rstrip("\n"))
        else:
            yield from self._edit_mapping(root, target)

    def alias_edits(self) -> Iterator[_Edit]:
        """List edits that write out aliases and merge keys."""
        waiting: list[tuple[yaml.Node | None, yaml.Node | None, bool]] = [(self.root, None, False)]
        while waiting:
            node, label, flow = waiting.pop()
            if isinstance(node, AliasNode):
                yield self._replace_node(node, value_of(node), label, flow)
            elif isinstance(node, yaml.SequenceNode):
                waiting += [(item, None, bool(node.flow_style)) for item in node.value]
            elif isinstance(node, yaml.MappingNode):
                yield from (
                    self._write_merge_out(node, index, brought) for index, brought in _merged_values(node).items()
                )
                waiting += [(value, key, bool(node.flow_style)) for key, value in node.value if not is_merge(key)]

    # --- comparing

    def _edit_mapping(self, node: yaml.MappingNode, target: Json) -> Iterator[_Edit]:
        for index, brought in _merged_values(node).items():
            if any(name not in target or not _is_same(value, target[name]) for name, value in brought.items()):
                yield self._write_merge_out(node, index, brought)
        present = mapping_fields(node)
        # A key may stand twice; the last one counts, and the others are deleted.
        last = {label.value: index for index, (label, _) in enumerate(node.value) if not is_merge(label)}
        for name, index in last.items():
            if name in target:
                label, value = node.value[index]
                yield from self._edit_value(value, target[name], label, bool(node.flow_style))
        for name, value in target.items():
            if name not in present:
                yield self._insert_key(node, name, value)
        for index, (label, _) in enumerate(node.value):
            if not is_merge(label) and (label.value not in target or last[label.value] != index):
                yield self._delete_key(node, index)

    def _edit_sequence(self, node: yaml.SequenceNode, target: list[Any]) -> Iterator[_Edit]:
        old = [_item_identity(value_of(item)) for item in node.value]
        # autojunk would treat frequent items of long lists as noise, and delete and insert them again.
        matcher = SequenceMatcher(None, old, [_item_identity(item) for item in target], autojunk=False)
        inserted: list[tuple[int, Any]] = []
        deleted: list[int] = []
        for _, i1, i2, j1, j2 in matcher.get_opcodes():
            paired = min(i2 - i1, j2 - j1)
            for step in range(paired):
                yield from self._edit_value(node.value[i1 + step], target[j1 + step], None, bool(node.flow_style))
            inserted += [(i1 + paired, item) for item in target[j1 + paired : j2]]
            deleted += range(i1 + paired, i2)
        for index, item in inserted:
            yield self._insert_item(node, index, item)
        for index in deleted:
            yield self._delete_item(node, index)

    def _edit_value(self, node: yaml.Node, target: Any, label: yaml.Node | None, flow: bool) -> Iterator[_Edit]:
        if _is_same(value_of(node), target):
            return
        if isinstance(node, yaml.MappingNode) and isinstance(target, dict) and node.value and target:
            yield from self._edit_mapping(node, target)
        elif isinstance(node, yaml.SequenceNode) and isinstance(target, list) and node.value and target:
            yield from self._edit_sequence(node, target)
        else:
            yield self._replace_node(node, target, label, flow)

    # --- places in the text

    def _end_of(self, node: yaml.Node) -> int:
        """Return the position after the last visible character of ``node``."""
        if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
            last = node.value[-1]
            if isinstance(last, tuple):
                return max(self._end_of(last[1]), self._colon_end(last[0]))
            return self._end_of(last)
        end = node.end_mark.index
        # A block scalar's end mark lies behind the blank lines that follow it.
        if isinstance(node, yaml.ScalarNode) and node.style in ("|", ">"):
            end = len(self.text[:end].rstrip())
        return max(end, node.start_mark.index)

    def _colon_end(self, label: yaml.Node) -> int:
        """Return the position after the colon of a key."""
        return self.text.index(":", label.end_mark.index) + 1

    def _line_start(self, index: int) -> int:
        return self.text.rfind("\n", 0, index) + 1

    def _line_end(self, index: int) -> int:
        end = self.text.find("\n", index)
        return len(self.text) if end < 0 else end

    def _begins_line(self, index: int) -> bool:
        return not self.text[self._line_start(index) : index].strip()

    def _dash_position(self, item: yaml.Node) -> int:
        """Return the position of the dash of an item of a block sequence."""
        tokens = yaml.scan(self.text, Loader=yaml.CSafeLoader)
        marks = (token.start_mark.index for token in tokens if isinstance(token, yaml.BlockEntryToken))
        return max(mark for mark in marks if mark < item.start_mark.index)

    # --- making edits

    def _replace_node(self, node: yaml.Node, target: Any, label: yaml.Node | None, flow: bool) -> _Edit:
        start, end = node.start_mark.index, self._end_of(node)
        block = not flow and isinstance(target, (dict, list)) and bool(target)
        inline = _format_inline(target, quoted=flow or getattr(node, "style", None) == '"')
        if label is None:
            if block:
                inline = _indent_lines(_dump_yaml(target, self.offset), node.start_mark.column + (start == end)).lstrip(
                    " "
                )
            return _Edit(start, end, inline if start < end else " " + inline)
        colon = self._colon_end(label)
        if flow:
            return _Edit(colon, max(end, colon), " " + inline)
        if not block and start < end and not _is_block(node):
            return _Edit(start, end, inline)
        # A comment in the rest of the key's line stays there.
        if start > self._line_end(colon):
            comment = self.text[colon : self._line_end(colon)].rstrip()
        else:
            comment = self.text[max(end, colon) : self._line_end(max(end, colon))].rstrip()
            end = self._line_end(max(end, colon))
        body = f"{comment}\n{self._format_block(target, label.start_mark.column)}" if block else f" {inline}{comment}"
        return _Edit(colon, end, body)

    def _format_block(self, value: Any, column: int) -> str:
        """Return ``value`` as a block below a key that begins at ``column``, without the last newline."""
        column += self.offset if isinstance(value, list) else 2
        return _indent_lines(_dump_yaml(value, self.offset), column)

    def _write_merge_out(self, node: yaml.MappingNode, index: int, brought: Json) -> _Edit:
        """Replace a merge key by the values that it brings; one that brings nothing merges an empty mapping."""
        label, value = node.value[index]
        if not brought:
            return _Edit(value.start_mark.index, self._end_of(value), "{}")
        if node.flow_style:
            text = _format_inline(brought, quoted=True)[1:-1]
        else:
            text = _indent_lines(_dump_yaml(brought, self.offset), label.start_mark.column).lstrip(" ")
        return _Edit(label.start_mark.index, self._end_of(value), text)

    def _insert_key(self, node: yaml.MappingNode, name: str, value: Any) -> _Edit:
        label = node.value[-1][0]
        end = self._end_of(node)
        if node.flow_style:
            label, last = node.value[-1]
            end = max(self._end_of(last), label.end_mark.index)
            key = json.dumps(name) if label.style == '"' else name
            return _Edit(end, end, f"{self._item_separator(label)}{key}: {_format_inline(value, quoted=True)}")
        first = node.value[0][0].start_mark
        end = self._line_end(end)
        return _Edit(end, end, "\n" + _indent_lines(_dump_yaml({name: value}, self.offset), first.column))

    def _insert_item(self, node: yaml.SequenceNode, index: int, value: Any) -> _Edit:
        if node.flow_style:
            if index == 0:
                start = node.value[0].start_mark.index
                return _Edit(start, start, _format_inline(value, quoted=True) + ", ")
            last = node.value[index - 1]
            end = self._end_of(last)
            return _Edit(end, end, self._item_separator(last) + _format_inline(value, quoted=True))
        dash = self._dash_position(node.value[0])
        column = dash - self._line_start(dash)
        body = _indent_lines(_dump_yaml([value], self.offset), column)
        if index == 0 and self._begins_line(dash):
            start = self._line_start(dash)
            return _Edit(start, start, body + "\n")
        if index == 0:
            return _Edit(dash, dash, f"{body.lstrip(' ')}\n{' ' * column}")
        end = self._line_end(self._end_of(node.value[index - 1]))
        return _Edit(end, end, "\n" + body)

    def _item_separator(self, previous: yaml.Node) -> str:
        start = previous.start_mark.index
        return ",\n" + " " * previous.start_mark.column if self._begins_line(start) else ", "

    def _delete_key(self, node: yaml.MappingNode, index: int) -> _Edit:
        label, value = node.value[index]
        if node.flow_style:
            spans = [(key.start_mark.index, max(self._end_of(item), key.end_mark.index)) for key, item in node.value]
            return _cut_entry(spans, index)
        return self._delete_lines(label.start_mark.index, max(self._end_of(value), self._colon_end(label)))

    def _delete_item(self, node: yaml.SequenceNode, index: int) -> _Edit:
        if node.flow_style:
            return _cut_entry([(item.start_mark.index, self._end_of(item)) for item in node.value], index)
        dash = self._dash_position(node.value[index])
        return self._delete_lines(dash, max(self._end_of(node.value[index]), dash + 1))

    def _delete_lines(self, start: int, end: int) -> _Edit:
        end = self._line_end(end)
        if self._begins_line(start):
            return _Edit(self._line_start(start), min(end + 1, len(self.text)), "")
        # The first key after a dash: the dash stays, and belongs to the next line.
        return _Edit(start, end, "")


def _merged_values(node: yaml.MappingNode) -> dict[int, Json]:
    """Return, by the place of each merge key, its values that nothing later in the mapping overrides."""
    values: dict[int, Json] = {}
    overridden: set[str] = set()
    for index in reversed(range(len(node.value))):
        label, value = node.value[index]
        if not is_merge(label):
            overridden.add(label.value)
            continue
        brought = {name: item for name, (_, item) in merged_fields(value).items() if name not in overridden}
        values[index] = {name: value_of(item) for name, item in brought.items()}
        overridden |= brought.keys()
    return values


def _cut_entry(spans: list[tuple[int, int]], index: int) -> _Edit:
    """Cut one entry and its comma out of a flow collection of two or more."""
    if index:
        return _Edit(spans[index - 1][1], spans[index][1], "")
    return _Edit(spans[0][0], spans[1][0], "")


def _item_identity(item: Any) -> str:
    if isinstance(item, dict):
        for name in _NAMES:
            if isinstance(item.get(name), str):
                return f"{name}={item[name]}"
    return json.dumps(item, sort_keys=True, default=str)


def _sequence_offset(root: yaml.Node | None) -> int:
    """Return the indentation of block sequences below their key that the document uses: 0 or 2."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif isinstance(node, yaml.MappingNode):
            for label, value in node.value:
                if isinstance(value, yaml.SequenceNode) and not value.flow_style:
                    return 0 if value.start_mark.column == label.start_mark.column else 2
                waiting.append(value)
    return 2


class _Dumper(Dumper):
    indented = True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, indentless and not self.indented)


class _FlatDumper(_Dumper):
    indented = False


def _dump_yaml(value: Any, offset: int) -> str:
    return dump_yaml(value, dumper=_Dumper if offset else _FlatDumper)


def _indent_lines(text: str, column: int) -> str:
    return "\n".join(" " * column + line if line else line for line in text.rstrip("\n").split("\n"))


def _is_block(node: yaml.Node) -> bool:
    return isinstance(node, yaml.CollectionNode) and not node.flow_style


def _format_inline(value: Any, *, quoted: bool) -> str:
    """Return ``value`` on one line: JSON, which is valid YAML, or a plain scalar if it needs no quotes."""
    if quoted or not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return dump_yaml([value], flow=True).strip()[1:-1]
