"""The dialect of DeschedulerPolicies. The page Moves and scenarios show what a descheduler with such a policy does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kschedweb.engine.documents.marked_documents import as_yaml
from kschedweb.engine.json_types import Json
from kschedweb.engine.rebalancing.cycle import check_policy
from kschedweb.engine.rebalancing.document import API_VERSION, KIND, json_schema
from kschedweb.engine.rebalancing.loading import DeschedulerPolicy
from kschedweb.engine.rebalancing.plugins import PLUGINS
from kschedweb.policies.descheduler import editor
from kschedweb.policies.descheduler.editor import DeschedulerEditor
from kschedweb.policies.descheduler.validation import DeschedulerChecked, check_descheduler
from kschedweb.policies.dialect import NO_QUERY, Dialect, PolicyKind
from kschedweb.policies.diff import PolicyChange, leaf_changes

# Modelled on the descheduler's own Helm chart and manifests: a new policy starts from it.
STARTING = {
    "apiVersion": API_VERSION,
    "kind": KIND,
    "profiles": [
        {
            "name": "default",
            "pluginConfig": [
                {"name": "DefaultEvictor", "args": {"nodeFit": True}},
                {
                    "name": "LowNodeUtilization",
                    "args": {
                        "thresholds": {"cpu": 20, "memory": 20, "pods": 20},
                        "targetThresholds": {"cpu": 50, "memory": 50, "pods": 50},
                    },
                },
            ],
            "plugins": {"balance": {"enabled": ["LowNodeUtilization"]}},
        }
    ],
}


class DeschedulerDialect(Dialect[DeschedulerChecked, DeschedulerPolicy]):
    kind = PolicyKind.DESCHEDULER
    templates = "policies/descheduler"
    file_word = "YAML"
    document_word = "a DeschedulerPolicy"
    refused = "The descheduler would not start with this document."
    use = "choose it on the page Moves, or in a scenario"
    has_profiles = False
    is_convertible = False
    decides = False
    defaults = as_yaml(STARTING)

    def check(self, text: str, process: Mapping[str, Any]) -> DeschedulerChecked:
        return check_descheduler(text)

    def load(self, text: str, process: Mapping[str, Any]) -> DeschedulerPolicy:
        return check_policy(text)

    def changes(self, old: DeschedulerChecked, new: DeschedulerChecked) -> list[PolicyChange]:
        return leaf_changes(old.runs, new.runs) if old.valid and new.valid else []

    def list_deviations(self, checked: DeschedulerChecked) -> list[PolicyChange]:
        """Return no differences, because the descheduler has no default policy."""
        return []

    def render_effective(self, checked: DeschedulerChecked) -> Json:
        defaulted = checked.loaded.to_dict() if checked.loaded else None
        return {"notes": checked.notes, "release": None, "effective": None, "classic": None, "defaulted": defaulted}

    def schema(self, process: Mapping[str, Any]) -> Json:
        return json_schema({name: spec.args for name, spec in PLUGINS.items()})

    def open_editor(
        self, text: str, process: Mapping[str, Any], query: Mapping[str, str] = NO_QUERY
    ) -> DeschedulerEditor:
        return editor.open_editor(text)

    def read_posted(self, fields: Mapping[str, str], process: Mapping[str, Any]) -> DeschedulerEditor:
        return editor.read_posted(fields)
