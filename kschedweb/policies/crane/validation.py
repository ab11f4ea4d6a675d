"""Validates a DynamicSchedulerPolicy with the engine; every problem has its line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kschedweb.engine.documents.marked_documents import (
    MarkedDocument,
    MarkedDocumentError,
    MarkedProblem,
    parse_document,
)
from kschedweb.engine.json_types import Json
from kschedweb.engine.plugins.dynamic.policyfile import PolicyFile, load_policy_file
from kschedweb.policies.checked_document import CheckedDocument, mark_problem, problem_of_line
from kschedweb.policies.dialect import PolicyKind
from kschedweb.policies.validation import join_path, split_path


@dataclass(frozen=True)
class CraneChecked(CheckedDocument[PolicyFile]):
    """A text with the engine's findings."""

    kind: ClassVar[PolicyKind] = PolicyKind.CRANE

    @property
    def valid(self) -> bool:
        return self.loaded is not None and self.loaded.policy is not None

    @property
    def runs(self) -> Json:
        """The spec for comparisons, with each rule under the name of its metric or time range."""
        spec = self.loaded.spec if self.loaded else {}
        return {
            part: {
                _rule_key(rule): {name: value for name, value in rule.items() if name not in _NAMES} for rule in rules
            }
            for part, rules in spec.items()
        }


_NAMES = ("name", "timeRange")


def _rule_key(rule: Json) -> str:
    return str(next((rule[name] for name in _NAMES if name in rule), ""))


def check_crane(text: str) -> CraneChecked:
    """Check ``text`` as crane-scheduler reads it. Bad input never raises; it becomes errors."""
    try:
        document = parse_document(text)
    except MarkedDocumentError as error:
        return CraneChecked(text, None, errors=[error.problem])
    loaded = load_policy_file(text)
    errors = [_mark_problem(problem.path, problem.text, document) for problem in loaded.problems]
    warnings = [_mark_problem(path, f"{path}: {message}", document) for path, message in loaded.warnings]
    return CraneChecked(text, document, loaded, errors, warnings)


def _mark_problem(path: str, message: str, document: MarkedDocument) -> MarkedProblem:
    return problem_of_line(path, message) or mark_problem(join_path(split_path(path)), message, document)
