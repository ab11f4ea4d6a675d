"""The editor of a document of kind Karpenter: its YAML, and a form with the most used fields of each NodePool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kschedweb.engine.autoscaling.cluster.cluster_state import KarpenterObjects
from kschedweb.engine.autoscaling.document import MOST_POOLS, Karpenter
from kschedweb.engine.autoscaling.offers.nodepools import API_VERSION, KIND, MOST_WEIGHT, POLICIES
from kschedweb.engine.autoscaling.provisioning.offer_explanations import explain_pools
from kschedweb.engine.autoscaling.provisioning.scheduling_context import SchedulingContext
from kschedweb.engine.documents.marked_documents import MarkedProblem, Path
from kschedweb.engine.json_types import Json
from kschedweb.policies.editing import arguments
from kschedweb.policies.editing.arguments import ABSENT, FormField, Posted
from kschedweb.policies.editing.documents import (
    DocumentEditor,
    DocumentForm,
    Items,
    get_at_path,
    read_changed_value,
    set_at_path,
)
from kschedweb.policies.editing.field_problems import place_problems
from kschedweb.policies.editing.switches import as_dict
from kschedweb.policies.karpenter.validation import KarpenterChecked, check_karpenter
from kschedweb.web.translating import gettext_lazy as _

BUDGET = {
    "type": "object",
    "properties": {
        "nodes": {"type": "string", "description": "How many may go at once: 10, or 10%."},
        "schedule": {"type": "string", "description": "When it applies, as a cron expression in UTC; with duration."},
        "duration": {"type": "string", "description": "How long it applies from then on, such as 8h."},
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
        "limits": {"description": "Limit for all its nodes together, such as cpu: 100. Leave empty for none."},
        "disruption": {
            "type": "object",
            "description": "When its nodes may be removed.",
            "properties": {
                "consolidationPolicy": {
                    "type": "string",
                    "enum": list(POLICIES),
                    "description": "WhenEmpty: nodes without pods. WhenEmptyOrUnderutilized: also nodes whose "
                    "pods fit elsewhere or on a cheaper node. Balanced: if the saving is worth "
                    "the disruption.",
                },
                "consolidateAfter": {
                    "type": "string",
                    "description": "How long a node must be unchanged before it may be removed: 30s, 5m, or Never.",
                },
                "budgets": {"type": "array", "items": BUDGET, "description": "How many nodes may be removed at once."},
            },
        },
    },
}
REQUIREMENTS = {
    "description": "Which nodes it may launch: a list of key, operator and values, and perhaps minValues. For spot "
    "nodes: - {key: karpenter.sh/capacity-type, operator: In, values: [spot]}.",
}
# Karpenter's own defaults, shown in grey.
DEFAULTS = {
    "weight": 0,
    "disruption": {
        "consolidationPolicy": "WhenEmptyOrUnderutilized",
        "consolidateAfter": "0s",
        "budgets": [{"nodes": "10%"}],
    },
}
# The parts of a NodePool in the form: name, label, schema, path in the document, default.
PARTS: tuple[tuple[str, str, Json, Path, Any], ...] = (
    ("spec", "", SPEC, ("spec",), DEFAULTS),
    ("requirements", _("Requirements"), REQUIREMENTS, ("spec", "template", "spec", "requirements"), ABSENT),
)


@dataclass(frozen=True)
class Launches:
    """The instance types that a NodePool can launch."""

    name: str
    weight: int
    # Names of instance types.
    types: list[str]
    # Why it can launch none; "" if it can.
    why: str


@dataclass
class KarpenterEditor(DocumentEditor[KarpenterChecked, Karpenter]):
    """The editor of a document of kind Karpenter. Its form has a group for each NodePool."""

    @property
    def runs(self) -> Karpenter | None:
        return self.checked.loaded

    @property
    def launches(self) -> list[Launches]:
        """The NodePools in the order in which they are tried, with the instance types that each may launch."""
        if self.runs is None:
            return []
        explanations = explain_pools(SchedulingContext(self.runs.build_cluster_state(KarpenterObjects(), 0.0)))
        return [
            Launches(pool["nodePool"], pool["weight"], pool["instanceTypes"], pool.get("why", ""))
            for pool in explanations
        ]


def _write_form(target: Json, base_data: Json, posted: Posted) -> None:
    before = _list_pools(base_data)
    for number, pool in enumerate(_list_pools(target)):
        if number >= len(before):
            break
        for name, _label, schema, path, _default in PARTS:
            value = read_changed_value(
                schema, f"pool.{number}.{name}", get_at_path(before[number], path), get_at_path(pool, path), posted
            )
            set_at_path(pool, path, value)


def _build_fields(data: Json, problems: list[MarkedProblem]) -> list[FormField]:
    """Return a group for each NodePool, with ``problems`` at their fields."""
    groups = [_build_group(number, pool) for number, pool in enumerate(_list_pools(data))]
    place_problems(problems, (field for group in groups for field in group.walk()))
    return groups


def _build_group(number: int, pool: Json) -> FormField:
    name = _pool_name(pool) or f"{number + 1}"
    group = FormField("group", f"pool.{number}", f"NodePool {name}", path=("nodePools", number))
    for part, label, schema, path, default in PARTS:
        place_of = ("nodePools", number, *path)
        field = arguments.form_field(schema, f"pool.{number}.{part}", label, get_at_path(pool, path), default, place_of)
        group.fields += field.fields if part == "spec" else [field]
    return group


def _list_pools(data: Json) -> list[Json]:
    return ITEMS.list_items(data)[:MOST_POOLS]


def _pool_name(pool: Json) -> Any:
    return as_dict(pool.get("metadata")).get("name")


def _new_pool(name: str) -> Json:
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": name}, "spec": {}}


ITEMS = Items("nodePools", "nodepool", _new_pool, _pool_name)
FORM: DocumentForm[KarpenterChecked, KarpenterEditor] = DocumentForm(
    KarpenterEditor, check_karpenter, _build_fields, _write_form, ITEMS
)
open_editor, read_posted = FORM.open_editor, FORM.read_posted
