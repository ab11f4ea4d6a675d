"""Classic policies: a v1 Policy, for kube-scheduler 1.13 and 1.9."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.releases.classic import Algorithm, Registry, classic_release, edition_of, load_policy, process_of
from kschedweb.policies.classic import diff, editor
from kschedweb.policies.classic.editor import ClassicEditor
from kschedweb.policies.classic.effective import compute_effective
from kschedweb.policies.classic.schema import classic_schema
from kschedweb.policies.classic.validation import ClassicChecked, check_classic
from kschedweb.policies.dialect import NO_QUERY, Dialect, PolicyKind
from kschedweb.policies.diff import PolicyChange
from kschedweb.web.translating import gettext_lazy


class ClassicDialect(Dialect[ClassicChecked, Algorithm]):
    kind = PolicyKind.CLASSIC
    templates = "policies/classic"
    file_word = gettext_lazy("File")
    document_word = "a classic Policy"
    has_profiles = False
    is_convertible = True
    defaults = "kind: Policy\napiVersion: v1\n"

    def check(self, text: str, process: Mapping[str, Any]) -> ClassicChecked:
        return check_classic(text, process)

    def load(self, text: str, process: Mapping[str, Any]) -> Algorithm:
        loaded = load_policy(text)
        if loaded.policy is None:
            raise ValueError("; ".join(loaded.errors))
        # A registry is one process: with a shared one, weights of one policy would hold for the next.
        return Registry(edition_of(dict(process))).build_algorithm(loaded.policy)

    def changes(self, old: ClassicChecked, new: ClassicChecked) -> list[PolicyChange]:
        return diff.list_changes(old, new)

    def render_effective(self, checked: ClassicChecked) -> Json:
        runs = compute_effective(checked)
        body = None if runs is None else {key: value for key, value in asdict(runs).items() if key != "extenders"}
        release = None if checked.algorithm is None else checked.algorithm.edition.version
        # REST's verdict has the same keys for every kind; those of profiles are null here.
        nothing = dict.fromkeys(("defaulted", "effective"))
        return {"notes": checked.notes, "release": release, **nothing, "classic": body}

    def process_to_store(self, process: Mapping[str, Any]) -> Json:
        return process_of(edition_of(dict(process)))

    def process_on_version(self, process: Mapping[str, Any], version: str) -> Json:
        return self.settle_release(process)

    def settle_release(self, process: Mapping[str, Any]) -> Json:
        return dict(classic_release(edition_of(dict(process))).process)

    def file_form(self, text: str) -> str:
        # Most are JSON, and kube-scheduler of that time decides by the file name.
        return "json" if text.lstrip().startswith("{") else "yaml"

    def schema(self, process: Mapping[str, Any]) -> Json:
        return classic_schema()

    def open_editor(self, text: str, process: Mapping[str, Any], query: Mapping[str, str] = NO_QUERY) -> ClassicEditor:
        return editor.open_editor(text, process)

    def read_posted(self, fields: Mapping[str, str], process: Mapping[str, Any]) -> ClassicEditor:
        return editor.read_posted(fields, process)
