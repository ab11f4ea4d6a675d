"""The dialect of documents of kind Karpenter. Pages and scenarios show what Karpenter does with such a document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kschedweb.engine.autoscaling.document import KIND, VERSION, Karpenter, json_schema, read_document
from kschedweb.engine.autoscaling.offers.ready_catalogue import READY
from kschedweb.engine.documents.marked_documents import as_yaml, parse_document
from kschedweb.engine.json_types import Json
from kschedweb.policies.dialect import NO_QUERY, Dialect, PolicyKind
from kschedweb.policies.diff import PolicyChange, leaf_changes
from kschedweb.policies.karpenter import editor
from kschedweb.policies.karpenter.editor import KarpenterEditor
from kschedweb.policies.karpenter.validation import KarpenterChecked, check_karpenter

# An empty spec has Karpenter's own defaults; instance types are invented and stand ready.
DEFAULTS = {
    "apiVersion": VERSION,
    "kind": KIND,
    "instanceTypes": READY,
    "nodePools": [{"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "default"}, "spec": {}}],
}


class KarpenterDialect(Dialect[KarpenterChecked, Karpenter]):
    kind = PolicyKind.KARPENTER
    templates = "policies/karpenter"
    file_word = "YAML"
    document_word = "NodePools of Karpenter"
    refused = "Karpenter could not work with this document."
    use = "choose it on the page Autoscaling, or for a run of a scenario"
    has_profiles = False
    is_convertible = False
    decides = False
    defaults = as_yaml(DEFAULTS)

    def check(self, text: str, process: Mapping[str, Any]) -> KarpenterChecked:
        return check_karpenter(text)

    def load(self, text: str, process: Mapping[str, Any]) -> Karpenter:
        return read_document(parse_document(text).data)

    def changes(self, old: KarpenterChecked, new: KarpenterChecked) -> list[PolicyChange]:
        return leaf_changes(old.runs, new.runs) if old.valid and new.valid else []

    def render_effective(self, checked: KarpenterChecked) -> Json:
        document = checked.document.data if checked.document and checked.valid else None
        return {
            "notes": checked.notes,
            "release": None,
            "effective": None,
            "classic": None,
            "defaulted": None if document is None else {**DEFAULTS, **document},
        }

    def schema(self, process: Mapping[str, Any]) -> Json:
        return json_schema()

    def open_editor(
        self, text: str, process: Mapping[str, Any], query: Mapping[str, str] = NO_QUERY
    ) -> KarpenterEditor:
        return editor.open_editor(text)

    def read_posted(self, fields: Mapping[str, str], process: Mapping[str, Any]) -> KarpenterEditor:
        return editor.read_posted(fields)
