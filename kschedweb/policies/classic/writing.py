"""Writes a posted form of a classic policy into its document and process options.

As with profiles, the form is compared with the document from which it was filled, and only differences are written into
the posted document.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from kschedweb.engine.documents.marked_documents import parse_document
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases.classic import Edition
from kschedweb.engine.releases.classic.catalogue import GATES, V1_13
from kschedweb.policies.classic.form import SHAPED
from kschedweb.policies.classic.lists import (
    LISTS,
    known_weights,
    list_items,
    make_item,
    name_of,
    provided_weights,
    spelled_key,
)
from kschedweb.policies.classic.schema import ARGUMENTS, GENERAL, KINDS
from kschedweb.policies.editing import arguments
from kschedweb.policies.editing.arguments import ABSENT, Posted
from kschedweb.policies.editing.switches import as_dict
from kschedweb.policies.editing.yaml_edits import rewrite_yaml

# Default names of rules with an argument; the two predicates have a place in the fixed order.
NAMES = {
    "labelsPresence": "CheckNodeLabelPresence",
    "serviceAffinity": "CheckServiceAffinity",
    "serviceAntiAffinity": "ServiceAntiAffinity",
    "labelPreference": "LabelPreference",
    "requestedToCapacityRatioArguments": "RequestedToCapacityRatioPriority",
}


def process_posted(posted: Posted, saved: Mapping[str, Any]) -> Json:
    """Return the process options in the form, or ``saved`` if the form does not show them."""
    if "process" not in posted:
        return dict(saved)
    process: Json = {}
    if (version := posted.get("process.version", V1_13).strip()) != V1_13:
        process["version"] = version
    if gates := [gate for gate in sorted(GATES) if f"process.gate.{gate}" in posted]:
        process["gates"] = gates
    for name in ("maxVolumes", "percentageOfNodesToScore"):
        if text := posted.get(f"process.{name}", "").strip():
            process[name] = arguments.parse_number(text)
    return process


def apply_form(text: str, base: str, posted: Posted, edition: Edition) -> str:
    """Return ``text`` with the changes that ``posted`` makes to the form of ``base``.

    Raises ``MarkedDocumentError`` if one of the two is not a YAML document.
    """
    data, base_data = as_dict(parse_document(text).data), as_dict(parse_document(base).data)
    target = deepcopy(data)
    for name, schema in GENERAL.items():
        if f"general.{name}" in posted:
            old = arguments.shown_value(schema, base_data.get(name, ABSENT))
            new = arguments.read_value(schema, f"general.{name}", posted)
            if old != new:
                target.pop(name, None)
                target |= {} if new is ABSENT else {name: new}
    for key in LISTS:
        _write_list(key, target, base_data, posted, edition)
    return text if target == data else rewrite_yaml(text, target)


def add_rule(text: str, key: str, kind: str, name: str, edition: Edition) -> str:
    """Return ``text`` with one more rule of ``kind``, which has an empty argument."""
    if key not in LISTS or kind not in KINDS[key]:
        return text
    data = as_dict(parse_document(text).data)
    items = list_items(data, key)
    if items is None:
        items = _provided_items(key, edition)
    used = {name_of(rule) for rule in items}
    base_name = name.strip() or NAMES[kind]
    free = (
        base_name
        if base_name not in used
        else next(f"{base_name}{n}" for n in range(2, 1_000) if f"{base_name}{n}" not in used)
    )
    new_rule = make_item(free, 1 if key != LISTS[0] else 0, {kind: {}})
    return rewrite_yaml(text, data | {spelled_key(data, key): [*items, new_rule]})


def _provided_items(key: str, edition: Edition) -> list[Json]:
    return [make_item(name, weight) for name, weight in provided_weights(key, edition).items()]


def _write_list(key: str, target: Json, base_data: Json, posted: Posted, edition: Edition) -> None:
    before, is_default = list_items(base_data, key), f"default.{key}" in posted
    place = spelled_key(target, key)
    if before is None or is_default:
        if is_default and before is not None:
            target.pop(place, None)
        elif not is_default and target.get(place) is None:
            target[place] = _provided_items(key, edition)
        return
    items = list_items(target, key)
    if items is None:
        return
    # A rule without a name has no row in the form, so nobody could have switched it off.
    changed = [rule for rule in items if name_of(rule) == "" or not _is_switched_off(key, rule, before, posted)]
    # Reversed, so that the first of two rules with one name wins, as it does in the form.
    former = {name_of(rule): rule for rule in reversed(before)}
    for position, rule in enumerate(changed):
        if name_of(rule) in former:
            changed[position] = _merge_rule(key, rule, former[name_of(rule)], posted)
    weights, start = known_weights(key, edition), f"on.{key}."
    added = {name.removeprefix(start) for name in posted if name.startswith(start)} - former.keys()
    # Switches that are on but have no rule yet: they are added in the order of the known rules.
    present = {name_of(rule) for rule in changed}
    for name in sorted(
        added - present,
        key=lambda rule_name: (list(weights).index(rule_name) if rule_name in weights else 99, rule_name),
    ):
        weight = arguments.parse_number(posted.get(f"weight.{name}", "").strip() or str(weights.get(name) or 1))
        changed.append(make_item(name, weight if key != LISTS[0] else 0))
    if changed != items:
        target[place] = changed


def _is_switched_off(key: str, rule: Json, before: list[Json], posted: Posted) -> bool:
    name = name_of(rule)
    return any(name_of(other) == name for other in before) and f"on.{key}.{name}" not in posted


def _merge_rule(key: str, rule: Json, base_rule: Json, posted: Posted) -> Json:
    """Return ``rule`` with the posted weight and argument where they differ from ``base_rule``."""
    merged, name = dict(rule), name_of(rule)
    weight = posted.get(f"weight.{name}", "").strip()
    if key != LISTS[0] and f"weight.{name}" in posted and weight != _weight_text(base_rule):
        merged.pop("weight", None)
        merged |= {"weight": arguments.parse_number(weight)} if weight else {}
    argument = as_dict(base_rule.get("argument"))
    kind = next((kind for kind in KINDS[key] if kind in argument), SHAPED.get(name, ""))
    field = f"argument.{key}.{name}"
    if kind not in KINDS[key] or not any(posted_name.startswith(f"{field}.") for posted_name in posted):
        return merged
    old = arguments.shown_value(ARGUMENTS[kind], argument.get(kind, ABSENT))
    new = arguments.read_value(ARGUMENTS[kind], field, posted)
    if old != new:
        # The text may have been edited beside the form: only the difference is laid over what it says now.
        now = as_dict(merged.get("argument"))
        content = arguments.overlay_changes(old, new, now.get(kind, ABSENT))
        if content is ABSENT and SHAPED.get(name) == kind:
            merged.pop("argument", None)
        else:
            merged["argument"] = now | {kind: {} if content is ABSENT else content}
    return merged


def _weight_text(rule: Json) -> str:
    return "" if rule.get("weight") is None else str(rule["weight"])
