"""The editor of a document of kind Karpenter: its YAML, and for each NodePool what people change most as a form."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from kschedweb.engine.autoscaling.cluster.world import Objects
from kschedweb.engine.autoscaling.document import MOST_POOLS, Karpenter
from kschedweb.engine.autoscaling.offers.nodepools import MOST_WEIGHT, POLICIES
from kschedweb.engine.autoscaling.provisioning.explaining import explain_pools
from kschedweb.engine.autoscaling.provisioning.ground import Ground
from kschedweb.engine.documents.marked import DocumentError, MarkedProblem, Path, normalised, parse
from kschedweb.policies.dialect import EditorState
from kschedweb.policies.editing import arguments
from kschedweb.policies.editing.arguments import ABSENT, Field
from kschedweb.policies.editing.editor import state
from kschedweb.policies.editing.edits import rewrite
from kschedweb.policies.editing.plain import place
from kschedweb.policies.editing.switches import as_dict, as_list
from kschedweb.policies.karpenter.validation import KarpenterChecked, check_karpenter

BUDGET = {
    "type": "object",
    "properties": {
        "nodes": {"type": "string", "description": "How many may go at once: 10, or 10%."},
        "schedule": {"type": "string", "description": "When it holds, as a cron expression in UTC; with duration."},
        "duration": {"type": "string", "description": "How long it holds from then on, such as 8h."},
        "reasons": {"type": "array", "items": {"type": "string"}},
    },
}
SPEC = {
    "type": "object",
    "properties": {
        "weight": {
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_WEIGHT,
            "description": "NodePools with more weight are tried first.",
        },
        "limits": {"description": "What all its nodes together may have, such as cpu: 100. Empty: no limit."},
        "disruption": {
            "type": "object",
            "description": "When its nodes may go.",
            "properties": {
                "consolidationPolicy": {
                    "type": "string",
                    "enum": list(POLICIES),
                    "description": "WhenEmpty: nodes without pods. WhenEmptyOrUnderutilized: those too whose pods fit "
                    "elsewhere, or on a cheaper node. Balanced: if what is saved is worth the disruption.",
                },
                "consolidateAfter": {
                    "type": "string",
                    "description": "How long no pod came to a node or left it before it may go: 30s, 5m, or Never.",
                },
                "budgets": {"type": "array", "items": BUDGET, "description": "How many nodes may go at once."},
            },
        },
    },
}
REQUIREMENTS = {
    "description": "Which nodes it may launch: a list of key, operator and values, and perhaps minValues. For spot "
    "nodes: - {key: karpenter.sh/capacity-type, operator: In, values: [spot]}.",
}
DEFAULTS = {
    "weight": 0,
    "disruption": {
        "consolidationPolicy": "WhenEmptyOrUnderutilized",
        "consolidateAfter": "0s",
        "budgets": [{"nodes": "10%"}],
    },
}
PARTS: tuple[tuple[str, str, dict[str, Any], Path, Any], ...] = (
    ("spec", "", SPEC, ("spec",), DEFAULTS),
    ("requirements", "Requirements", REQUIREMENTS, ("spec", "template", "spec", "requirements"), ABSENT),
)


@dataclass(frozen=True)
class Launches:
    """What a NodePool can launch: the names of instance types, or why none."""

    name: str
    weight: int
    types: list[str]
    why: str


@dataclass
class KarpenterEditor(EditorState[KarpenterChecked, Karpenter]):
    """The editor; ``base`` is the document from which the form was filled, ``fields`` has a group for each NodePool."""

    document: str
    base: str
    checked: KarpenterChecked
    fields: list[Field]
    process: dict[str, Any] = field(default_factory=dict)

    @property
    def problems(self) -> list[MarkedProblem]:
        """The problems in the order of lines."""
        return sorted(self.checked.errors, key=lambda problem: (problem.line, problem.column))

    @property
    def runs(self) -> Karpenter | None:
        return self.checked.loaded

    @property
    def launches(self) -> list[Launches]:
        """The NodePools in the order in which they are tried, with the instance types that each may launch."""
        if self.runs is None:
            return []
        told = explain_pools(Ground(self.runs.world(Objects(), 0.0)))
        return [Launches(one["nodePool"], one["weight"], one["instanceTypes"], one.get("why", "")) for one in told]

    @property
    def state(self) -> dict[str, Any]:
        return state(self.document, self.problems, self.checked.warnings)


def opened(document: str) -> KarpenterEditor:
    """The editor for a saved document."""
    checked = check_karpenter(document)
    data = checked.document.data if checked.document else {}
    return KarpenterEditor(document, document, checked, _fields(data, checked.errors))


def posted(posted: Mapping[str, str]) -> KarpenterEditor:
    """The editor for posted fields and YAML: what differs from the form's base is written into the YAML."""
    document = normalised(posted.get("document", ""))
    base = normalised(posted.get("base", document))
    try:
        return opened(_applied(document, base, posted) if "base" in posted else document)
    except DocumentError:
        return _unreadable(document, base, posted)


def _applied(document: str, base: str, posted: Mapping[str, str]) -> str:
    """``document`` with the changes of the form. Raises DocumentError if one of the two is not YAML."""
    data, shown = as_dict(parse(document).data), as_dict(parse(base).data)
    target, before = deepcopy(data), _pools(shown)
    for number, pool in enumerate(_pools(target)):
        if number >= len(before):
            break
        for name, _, schema, path, _ in PARTS:
            old = arguments.shown_value(schema, _at(before[number], path))
            new = arguments.read(schema, f"pool.{number}.{name}", posted)
            _put(pool, path, arguments.overlay(old, new, _at(pool, path)))
    return document if target == data else rewrite(document, target)


def _unreadable(document: str, base: str, posted: Mapping[str, str]) -> KarpenterEditor:
    """The editor for text that is no YAML; the form keeps its fields until they can be written into one that is."""
    try:
        data = parse(_applied(base, base, posted) if "base" in posted else base).data
    except DocumentError:
        base, data = "", {}
    return KarpenterEditor(document, base, check_karpenter(document), _fields(data, []))


def _fields(data: Any, problems: list[MarkedProblem]) -> list[Field]:
    """A group for each NodePool, with ``problems`` at their fields."""
    groups = [_group(number, pool) for number, pool in enumerate(_pools(as_dict(data)))]
    place(problems, (one for group in groups for one in group.walk()))
    return groups


def _group(number: int, pool: dict[str, Any]) -> Field:
    name = as_dict(pool.get("metadata")).get("name") or f"{number + 1}"
    group = Field("group", f"pool.{number}", f"NodePool {name}", path=("nodePools", number))
    for part, label, schema, path, default in PARTS:
        at = ("nodePools", number, *path)
        made = arguments.form_field(schema, f"pool.{number}.{part}", label, _at(pool, path), default, at)
        group.fields += made.fields if part == "spec" else [made]
    return group


def _pools(data: dict[str, Any]) -> list[dict[str, Any]]:
    return [one for one in as_list(data.get("nodePools")) if isinstance(one, dict)][:MOST_POOLS]


def _at(pool: Any, path: Path) -> Any:
    for step in path:
        if not isinstance(pool, dict) or step not in pool:
            return ABSENT
        pool = pool[step]
    return pool


def _put(pool: dict[str, Any], path: Path, value: Any) -> None:
    """Set ``value`` at ``path``; what is absent is taken away where it stands."""
    if value is ABSENT:
        parent = _at(pool, path[:-1]) if path[:-1] else pool
        if isinstance(parent, dict):
            parent.pop(str(path[-1]), None)
        return
    for step in path[:-1]:
        pool = pool.setdefault(str(step), {})
    pool[str(path[-1])] = value
