"""The keys of a descheduler in a scenario, with their types and help texts."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.documents.leaves import DocumentProblem, Duration, Problems, Text, kind
from kschedweb.engine.documents.types import REQUIRED, Field, Struct
from kschedweb.engine.objects.access import Json
from kschedweb.engine.rebalancing.cycle import check_policy
from kschedweb.engine.rebalancing.document import API_VERSION, KIND
from kschedweb.engine.rebalancing.loading import PolicyRefused
from kschedweb.engine.studies.document import parts
from kschedweb.engine.values import dataclass

LEAST_EVERY = 10.0  # seconds


@dataclass(frozen=True, slots=True)
class _Policy:
    """A DeschedulerPolicy, which is kept as it is; what is wrong is told in the descheduler's words."""

    def read(self, raw: Any, path: str, problems: Problems) -> Json:
        if not isinstance(raw, dict):
            problems.append(DocumentProblem(path, f"must be an object, is {kind(raw)}"))
            return {}
        try:
            check_policy(raw)
        except PolicyRefused as refused:
            problems += [DocumentProblem(f"{path}.{one.path}".rstrip("."), one.text) for one in refused.problems]
        return raw

    def schema(self) -> Json:
        about = {"apiVersion": {"enum": [API_VERSION]}, "kind": {"enum": [KIND]}}
        return {"type": "object", "properties": about, "required": ["apiVersion", "kind"]}


DESCHEDULER = Struct(
    "DeschedulerOf",
    "The descheduler 0.36.0 evicts pods while the scenario runs.",
    (
        Field("policy", _Policy(), "Its DeschedulerPolicy.", REQUIRED),
        Field("every", Duration(LEAST_EVERY), "How long it is from one of its rounds to the next.", parts.EVERY),
        Field("name", Text(0, 200), "What the policy is called, such as trim@3.", ""),
    ),
    make=parts.DeschedulerOf,
)
