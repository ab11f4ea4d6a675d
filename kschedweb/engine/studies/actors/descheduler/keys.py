"""The keys of a descheduler in a scenario, with their types and help texts."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.documents.leaves import DocumentProblem, Duration, Problems, Text, describe_kind
from kschedweb.engine.documents.types import REQUIRED, Struct, StructField
from kschedweb.engine.json_types import Json
from kschedweb.engine.rebalancing.cycle import check_policy
from kschedweb.engine.rebalancing.document import API_VERSION, KIND
from kschedweb.engine.rebalancing.loading import PolicyRefused
from kschedweb.engine.studies.document import parts
from kschedweb.engine.values import dataclass

# Seconds between two rounds of the descheduler at least.
MIN_INTERVAL = 10.0


@dataclass(frozen=True, slots=True)
class _Policy:
    """A DeschedulerPolicy, which is kept as JSON; problems are reported in the descheduler's words."""

    def read(self, raw: Any, path: str, problems: Problems) -> Json:
        if not isinstance(raw, dict):
            problems.append(DocumentProblem(path, f"must be an object, is {describe_kind(raw)}"))
            return {}
        try:
            check_policy(raw)
        except PolicyRefused as refused:
            problems += [
                DocumentProblem(f"{path}.{problem.path}".rstrip("."), problem.text) for problem in refused.problems
            ]
        return raw

    def schema(self) -> Json:
        properties = {"apiVersion": {"enum": [API_VERSION]}, "kind": {"enum": [KIND]}}
        return {"type": "object", "properties": properties, "required": ["apiVersion", "kind"]}


DESCHEDULER = Struct(
    "DeschedulerOf",
    "The descheduler 0.36.0 evicts pods while the scenario runs.",
    (
        StructField("policy", _Policy(), "Its DeschedulerPolicy.", REQUIRED),
        StructField(
            "every",
            Duration(MIN_INTERVAL),
            "How long it is from one of its rounds to the next.",
            parts.DEFAULT_INTERVAL,
            argument="interval",
        ),
        StructField("name", Text(0, 200), "What the policy is called, such as trim@3.", ""),
    ),
    make=parts.DeschedulerSettings,
)
FIELD = StructField("descheduler", DESCHEDULER, "Who evicts pods every so often; nobody where it is left out.")
