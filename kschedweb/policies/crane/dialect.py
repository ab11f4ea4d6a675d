"""The dialect of crane-scheduler's policy files. Such a file places no pod by itself: a policy with the plugin
Dynamic points at it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kschedweb.engine.documents.marked_documents import as_yaml
from kschedweb.engine.json_types import Json
from kschedweb.engine.plugins.dynamic.policyfile import PolicyFile, file_schema, load_policy_file, shipped_policy
from kschedweb.policies.crane import editor
from kschedweb.policies.crane.editor import CraneEditor
from kschedweb.policies.crane.validation import CraneChecked, check_crane
from kschedweb.policies.dialect import NO_QUERY, Dialect, PolicyKind
from kschedweb.policies.diff import PolicyChange, leaf_changes


class CraneDialect(Dialect[CraneChecked, PolicyFile]):
    kind = PolicyKind.CRANE
    templates = "policies/crane"
    file_word = "YAML"
    document_word = "a DynamicSchedulerPolicy"
    use = "use a policy whose arguments of Dynamic point at it"
    has_profiles = False
    is_convertible = False
    decides = False
    defaults = as_yaml(shipped_policy())

    def check(self, text: str, process: Mapping[str, Any]) -> CraneChecked:
        return check_crane(text)

    def load(self, text: str, process: Mapping[str, Any]) -> PolicyFile:
        loaded = load_policy_file(text)
        if loaded.policy is None:
            raise ValueError("; ".join(loaded.errors))
        return loaded

    def changes(self, old: CraneChecked, new: CraneChecked) -> list[PolicyChange]:
        return leaf_changes(old.runs, new.runs) if old.valid and new.valid else []

    def render_effective(self, checked: CraneChecked) -> Json:
        defaulted = (
            {"defaulted": {"spec": checked.loaded.spec}} if checked.loaded and checked.valid else {"defaulted": None}
        )
        return {"notes": checked.notes, "release": None, "effective": None, "classic": None, **defaulted}

    def schema(self, process: Mapping[str, Any]) -> Json:
        return file_schema()

    def open_editor(self, text: str, process: Mapping[str, Any], query: Mapping[str, str] = NO_QUERY) -> CraneEditor:
        return editor.open_editor(text)

    def read_posted(self, fields: Mapping[str, str], process: Mapping[str, Any]) -> CraneEditor:
        return editor.read_posted(fields)
