"""Validates a document of kind Karpenter with the engine; every problem has its line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from kschedweb.engine.autoscaling.document import Karpenter, KarpenterError, read
from kschedweb.engine.documents.marked import Document, DocumentError, MarkedProblem, parse
from kschedweb.policies.checked import CheckedDocument, marked
from kschedweb.policies.dialect import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kschedweb.engine.documents.leaves import DocumentProblem

INVENTED = (
    "The prices of the ready instance types are invented: give a list of your own for amounts that mean something."
)


@dataclass(frozen=True)
class KarpenterChecked(CheckedDocument[Karpenter]):
    """A text with the engine's findings."""

    kind: ClassVar[Kind] = Kind.KARPENTER

    @property
    def runs(self) -> dict[str, Any]:
        """The document with NodePools, instance types and requirements by name, for comparisons."""
        data = self.document.data if self.document else {}
        types = data.get("instanceTypes")
        return {
            "nodePools": {pool.name: _pool(pool.raw) for pool in self.loaded.pools} if self.loaded else {},
            "instanceTypes": {one.get("name"): one for one in types} if isinstance(types, list) else {},
            "options": data.get("options") or {},
        }


def check_karpenter(text: str) -> KarpenterChecked:
    """Read ``text`` as the engine does; never raises for bad input."""
    try:
        document = parse(text)
    except DocumentError as error:
        return KarpenterChecked(text, None, errors=[error.problem])
    try:
        loaded = read(document.data)
    except KarpenterError as error:
        return KarpenterChecked(text, document, errors=_placed(error.problems, document))
    warnings = _placed(loaded.warnings(), document)
    if loaded.ready:
        warnings.append(marked("instanceTypes", INVENTED, document))
    return KarpenterChecked(text, document, loaded, warnings=warnings)


def _placed(problems: Iterable[DocumentProblem], document: Document) -> list[MarkedProblem]:
    return [marked(one.path, str(one), document) for one in problems]


def _pool(raw: dict[str, Any]) -> dict[str, Any]:
    """A NodePool's spec with each requirement under its key."""
    spec = dict(raw.get("spec") or {})
    template = dict(spec.get("template") or {})
    inner = dict(template.get("spec") or {})
    listed = inner.pop("requirements", None) or ()
    inner["requirements"] = {
        f"{one.get('key')} {one.get('operator')}": {key: one[key] for key in ("values", "minValues") if key in one}
        for one in listed
    }
    return {**spec, "template": {**template, "spec": inner}}
