"""Classic policies: a v1 Policy, for kube-scheduler 1.13 and 1.9."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from kschedweb.engine.releases.classic import Algorithm, Registry, classic_release, edition_of, load_policy, process_of
from kschedweb.policies.classic import diff, editor
from kschedweb.policies.classic.editor import ClassicEditor
from kschedweb.policies.classic.effective import effective
from kschedweb.policies.classic.schema import classic_schema
from kschedweb.policies.classic.validation import ClassicChecked, check_classic
from kschedweb.policies.dialect import NOTHING_ASKED, Dialect, Json, Kind
from kschedweb.policies.diff import PolicyChange
from kschedweb.web.translating import gettext_lazy


class Classic(Dialect[ClassicChecked, Algorithm]):
    kind = Kind.CLASSIC
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
        return Registry(edition_of(dict(process))).algorithm(loaded.policy)

    def changes(self, old: ClassicChecked, new: ClassicChecked) -> list[PolicyChange]:
        return diff.changes(old, new)

    def effective(self, checked: ClassicChecked) -> Json:
        runs = effective(checked)
        told = None if runs is None else {key: value for key, value in asdict(runs).items() if key != "extenders"}
        release = None if checked.algorithm is None else checked.algorithm.edition.version
        nothing = dict.fromkeys(("defaulted", "effective"))
        return {"notes": checked.notes, "release": release, **nothing, "classic": told}

    def kept(self, process: Mapping[str, Any]) -> Json:
        return process_of(edition_of(dict(process)))

    def started(self, process: Mapping[str, Any], version: str) -> Json:
        return self.settled(process)

    def settled(self, process: Mapping[str, Any]) -> Json:
        return dict(classic_release(edition_of(dict(process))).process)

    def file_form(self, text: str) -> str:
        # Most are JSON, and kube-scheduler of that time decides by the file name.
        return "json" if text.lstrip().startswith("{") else "yaml"

    def schema(self, process: Mapping[str, Any]) -> Json:
        return classic_schema()

    def opened(self, text: str, process: Mapping[str, Any], asked: Mapping[str, str] = NOTHING_ASKED) -> ClassicEditor:
        return editor.opened(text, process)

    def posted(self, fields: Mapping[str, str], process: Mapping[str, Any]) -> ClassicEditor:
        return editor.posted(fields, process)
