"""Validates a DynamicSchedulerPolicy with the engine; every problem has its line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from kschedweb.engine.documents.marked import Document, DocumentError, MarkedProblem, parse
from kschedweb.engine.plugins.dynamic.policyfile import load_policy_file
from kschedweb.policies.dialect import Kind
from kschedweb.policies.validation import LINE, steps, written

if TYPE_CHECKING:
    from kschedweb.engine.plugins.dynamic.policyfile import PolicyFile
    from kschedweb.web.errors import FieldProblem


@dataclass(frozen=True)
class CraneChecked:
    """A text with the engine's findings."""

    kind: ClassVar[Kind] = Kind.CRANE
    notes: ClassVar[list[FieldProblem]] = []
    secrets: ClassVar[list[MarkedProblem]] = []
    conversion: ClassVar[None] = None

    text: str
    document: Document | None
    loaded: PolicyFile | None = None
    errors: list[MarkedProblem] = field(default_factory=list)
    warnings: list[MarkedProblem] = field(default_factory=list)

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
    named = LINE.search(message)
    if not path and named:
        return MarkedProblem(message, line=max(int(named[1]), 1))
    keys = steps(path)
    line, column, end = document.place(keys)
    return MarkedProblem(message, written(keys), line, column, end, keys)
