"""The dialect of crane-scheduler's policy files. Nothing is placed by one alone: a policy with Dynamic points at it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kschedweb.engine.documents.marked import as_yaml
from kschedweb.engine.plugins.dynamic.policyfile import PolicyFile, file_schema, load_policy_file, shipped
from kschedweb.policies.crane import editor
from kschedweb.policies.crane.editor import CraneEditor
from kschedweb.policies.crane.validation import CraneChecked, check_crane
from kschedweb.policies.dialect import NOTHING_ASKED, Dialect, Json, Kind
from kschedweb.policies.diff import PolicyChange, leaf_changes


class Crane(Dialect[CraneChecked, PolicyFile]):
    kind = Kind.CRANE
    templates = "policies/crane"
    file_word = "YAML"
    document_word = "a DynamicSchedulerPolicy"
    use = "use a policy whose arguments of Dynamic point at it"
    has_profiles = False
    is_convertible = False
    decides = False
    defaults = as_yaml(shipped())

    def check(self, text: str, process: Mapping[str, Any]) -> CraneChecked:
        return check_crane(text)

    def load(self, text: str, process: Mapping[str, Any]) -> PolicyFile:
        loaded = load_policy_file(text)
        if loaded.policy is None:
            raise ValueError("; ".join(loaded.errors))
        return loaded

    def changes(self, old: CraneChecked, new: CraneChecked) -> list[PolicyChange]:
        return leaf_changes(old.runs, new.runs) if old.valid and new.valid else []

    def effective(self, checked: CraneChecked) -> Json:
        said = {"defaulted": {"spec": checked.loaded.spec}} if checked.loaded and checked.valid else {"defaulted": None}
        return {"notes": checked.notes, "release": None, "effective": None, "classic": None, **said}

    def schema(self, process: Mapping[str, Any]) -> Json:
        return file_schema()

    def opened(self, text: str, process: Mapping[str, Any], asked: Mapping[str, str] = NOTHING_ASKED) -> CraneEditor:
        return editor.opened(text)

    def posted(self, fields: Mapping[str, str], process: Mapping[str, Any]) -> CraneEditor:
        return editor.posted(fields)
