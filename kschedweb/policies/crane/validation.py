"""Validates a DynamicSchedulerPolicy with the engine; every problem has its line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from kschedweb.engine.documents.marked import Document, DocumentError, MarkedProblem, parse
from kschedweb.engine.plugins.dynamic.policyfile import PolicyFile, load_policy_file
from kschedweb.policies.checked import CheckedDocument, marked, of_line
from kschedweb.policies.dialect import Kind
from kschedweb.policies.validation import steps, written


@dataclass(frozen=True)
class CraneChecked(CheckedDocument[PolicyFile]):
    """A text with the engine's findings."""

    kind: ClassVar[Kind] = Kind.CRANE

    @property
    def valid(self) -> bool:
        return self.loaded is not None and self.loaded.policy is not None

    @property
    def runs(self) -> dict[str, Any]:
        """The spec with each rule under the name of its metric or time range, for comparisons."""
        spec = self.loaded.spec if self.loaded else {}
        return {
            part: {_key(rule): {name: value for name, value in rule.items() if name not in _NAMES} for rule in rules}
            for part, rules in spec.items()
        }


_NAMES = ("name", "timeRange")


def _key(rule: dict[str, Any]) -> str:
    return str(next((rule[name] for name in _NAMES if name in rule), ""))


def check_crane(text: str) -> CraneChecked:
    """Read ``text`` as crane-scheduler does; never raises for bad input."""
    try:
        document = parse(text)
    except DocumentError as error:
        return CraneChecked(text, None, errors=[error.problem])
    loaded = load_policy_file(text)
    errors = [_placed(one.path, one.text, document) for one in loaded.problems]
    warnings = [_placed(path, f"{path}: {said}", document) for path, said in loaded.warnings]
    return CraneChecked(text, document, loaded, errors, warnings)


def _placed(path: str, message: str, document: Document) -> MarkedProblem:
    return of_line(path, message) or marked(written(steps(path)), message, document)
