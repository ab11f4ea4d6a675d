"""Karpenter's own manifests, a stream of NodePools and node classes, as one document of kind Karpenter."""

from __future__ import annotations

import re
from typing import Any

from kschedweb.engine.autoscaling.cluster.cluster_state import NODE_CLASS
from kschedweb.engine.autoscaling.document import KIND, VERSION
from kschedweb.engine.autoscaling.offers import nodepools
from kschedweb.engine.autoscaling.offers.ready_catalogue import READY
from kschedweb.engine.documents import values
from kschedweb.engine.documents.marked_documents import as_yaml
from kschedweb.engine.documents.yaml_events import Bounds, RefusedError

# The deepest nesting, and the most values, of a text that is read.
_BOUNDS = Bounds(64, 200_000)
# A cheap test that spares other documents from being parsed twice.
_MENTIONS = re.compile(rf"""kind["']?\s*:\s*["']?({nodepools.KIND}|\w*{NODE_CLASS})\b""")
_SEPARATOR = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)


def merge_manifests(text: str) -> str:
    """Return ``text`` as one document of kind Karpenter, if it consists of NodePools and node classes.

    Node classes are left out, with a comment for each: instance types come from the document. Any other text is
    returned as it is.
    """
    if not _MENTIONS.search(text):
        return text
    try:
        documents = values.read_documents(text, _BOUNDS, repeated_keys=True)
    except RefusedError:
        # The reader of the text reports what is wrong.
        return text
    classes = [document for document in documents if _get_kind(document).endswith(NODE_CLASS)]
    other_documents = [document for document in documents if document not in classes]
    kinds = {_get_kind(document) for document in other_documents}
    notes = "".join(_format_note(node_class) for node_class in classes)
    if kinds == {nodepools.KIND}:
        return notes + as_yaml(
            {"apiVersion": VERSION, "kind": KIND, "instanceTypes": READY, "nodePools": other_documents}
        )
    if kinds == {KIND} and len(other_documents) == 1 and classes:
        return notes + _part_of_karpenter(text)
    return text


def _get_kind(document: Any) -> str:
    kind = document.get("kind") if isinstance(document, dict) else None
    return kind if isinstance(kind, str) else ""


def _format_note(node_class: Any) -> str:
    metadata = node_class.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    label = f"{_get_kind(node_class)} {name}" if isinstance(name, str) else _get_kind(node_class)
    # A name goes into a comment: it must not end the line.
    label = "".join(character for character in label[:200] if character.isprintable())
    return f"# {label} is passed over: instanceTypes says what can be launched.\n"


def _part_of_karpenter(text: str) -> str:
    """Return the one document of kind Karpenter as it is written, with its comments."""
    kind_line = re.compile(rf"""^["']?kind["']?\s*:\s*["']?{KIND}\b""", re.MULTILINE)
    return next((part.lstrip("\r\n") for part in _SEPARATOR.split(text) if kind_line.search(part)), text)
