"""Validates a document of kind Karpenter with the engine; every problem has its line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from kschedweb.engine.autoscaling.document import Karpenter, KarpenterError, read_document
from kschedweb.engine.documents.marked_documents import (
    MarkedDocument,
    MarkedDocumentError,
    MarkedProblem,
    parse_document,
)
from kschedweb.engine.json_types import Json
from kschedweb.policies.checked_document import CheckedDocument, mark_problem
from kschedweb.policies.dialect import PolicyKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kschedweb.engine.documents.leaves import DocumentProblem

INVENTED = (
    "The prices of the ready instance types are invented: give a list of your own for amounts that mean something."
)


@dataclass(frozen=True)
class KarpenterChecked(CheckedDocument[Karpenter]):
    """A text with the engine's findings."""

    kind: ClassVar[PolicyKind] = PolicyKind.KARPENTER

    @property
    def runs(self) -> Json:
        """The document for comparisons, with NodePools, instance types and requirements by name."""
        data = self.document.data if self.document else {}
        types = data.get("instanceTypes")
        return {
            "nodePools": {pool.name: _spec_by_requirement(pool.raw) for pool in self.loaded.pools}
            if self.loaded
            else {},
            "instanceTypes": {instance_type.get("name"): instance_type for instance_type in types}
            if isinstance(types, list)
            else {},
            "options": data.get("options") or {},
        }


def check_karpenter(text: str) -> KarpenterChecked:
    """Check ``text`` as the engine reads it. Bad input never raises; it becomes errors."""
    try:
        document = parse_document(text)
    except MarkedDocumentError as error:
        return KarpenterChecked(text, None, errors=[error.problem])
    try:
        loaded = read_document(document.data)
    except KarpenterError as error:
        return KarpenterChecked(text, document, errors=_mark_problems(error.problems, document))
    warnings = _mark_problems(loaded.find_warnings(), document)
    if loaded.ready:
        warnings.append(mark_problem("instanceTypes", INVENTED, document))
    return KarpenterChecked(text, document, loaded, warnings=warnings)


def _mark_problems(problems: Iterable[DocumentProblem], document: MarkedDocument) -> list[MarkedProblem]:
    return [mark_problem(problem.path, str(problem), document) for problem in problems]


def _spec_by_requirement(raw: Json) -> Json:
    """Return a NodePool's spec with each requirement under its key and operator."""
    spec = dict(raw.get("spec") or {})
    template = dict(spec.get("template") or {})
    inner = dict(template.get("spec") or {})
    listed = inner.pop("requirements", None) or ()
    inner["requirements"] = {
        f"{requirement.get('key')} {requirement.get('operator')}": {
            key: requirement[key] for key in ("values", "minValues") if key in requirement
        }
        for requirement in listed
    }
    return {**spec, "template": {**template, "spec": inner}}
