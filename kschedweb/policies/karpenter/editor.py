"""The editor of a document of kind Karpenter: its YAML, and for each NodePool what people change most as a form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kschedweb.engine.autoscaling.cluster.world import Objects
from kschedweb.engine.autoscaling.document import MOST_POOLS, Karpenter
from kschedweb.engine.autoscaling.offers.nodepools import API_VERSION, KIND, MOST_WEIGHT, POLICIES
from kschedweb.engine.autoscaling.provisioning.explaining import explain_pools
from kschedweb.engine.autoscaling.provisioning.ground import Ground
from kschedweb.engine.documents.marked import MarkedProblem, Path
from kschedweb.policies.editing import arguments
from kschedweb.policies.editing.arguments import ABSENT, Field, Posted
from kschedweb.policies.editing.documents import DocumentEditor, DocumentForm, Items, at, changed, put
from kschedweb.policies.editing.plain import place
from kschedweb.policies.editing.switches import as_dict
from kschedweb.policies.karpenter.validation import KarpenterChecked, check_karpenter
from kschedweb.web.translating import gettext_lazy as _

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
    ("requirements", _("Requirements"), REQUIREMENTS, ("spec", "template", "spec", "requirements"), ABSENT),
)


@dataclass(frozen=True)
class Launches:
    """What a NodePool can launch: the names of instance types, or why none."""

    name: str
    weight: int
    types: list[str]
    why: str


@dataclass
class KarpenterEditor(DocumentEditor[KarpenterChecked, Karpenter]):
    """The editor; ``fields`` has a group for each NodePool."""

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


def _write(target: dict[str, Any], shown: dict[str, Any], posted: Posted) -> None:
    before = _pools(shown)
    for number, pool in enumerate(_pools(target)):
        if number >= len(before):
            break
        for name, _label, schema, path, _default in PARTS:
            value = changed(schema, f"pool.{number}.{name}", at(before[number], path), at(pool, path), posted)
            put(pool, path, value)


def _fields(data: dict[str, Any], problems: list[MarkedProblem]) -> list[Field]:
    """A group for each NodePool, with ``problems`` at their fields."""
    groups = [_group(number, pool) for number, pool in enumerate(_pools(data))]
    place(problems, (one for group in groups for one in group.walk()))
    return groups


def _group(number: int, pool: dict[str, Any]) -> Field:
    name = _name(pool) or f"{number + 1}"
    group = Field("group", f"pool.{number}", f"NodePool {name}", path=("nodePools", number))
    for part, label, schema, path, default in PARTS:
        place_of = ("nodePools", number, *path)
        made = arguments.form_field(schema, f"pool.{number}.{part}", label, at(pool, path), default, place_of)
        group.fields += made.fields if part == "spec" else [made]
    return group


def _pools(data: dict[str, Any]) -> list[dict[str, Any]]:
    return ITEMS.of(data)[:MOST_POOLS]


def _name(pool: dict[str, Any]) -> Any:
    return as_dict(pool.get("metadata")).get("name")


def _new(name: str) -> dict[str, Any]:
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": {}}


ITEMS = Items("nodePools", "nodepool", _new, _name)
FORM: DocumentForm[KarpenterChecked, KarpenterEditor] = DocumentForm(
    KarpenterEditor, check_karpenter, _fields, _write, ITEMS
)
opened, posted = FORM.opened, FORM.posted
