"""Writes a posted form of a classic policy into its document and process options.

As with profiles, the form is compared with the document from which it was filled, and only differences are written into
the posted document.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from kschedweb.engine.documents.marked import parse
from kschedweb.engine.releases.classic import Edition
from kschedweb.engine.releases.classic.catalogue import GATES, V1_13
from kschedweb.policies.classic.form import SHAPED
from kschedweb.policies.classic.lists import LISTS, Item, item, known, listed, name_of, provided, spelt
from kschedweb.policies.classic.schema import ARGUMENTS, GENERAL, KINDS
from kschedweb.policies.editing import arguments
from kschedweb.policies.editing.arguments import ABSENT, Posted
from kschedweb.policies.editing.edits import rewrite
from kschedweb.policies.editing.switches import as_dict

# Default names of rules with an argument; the two predicates have a place in the fixed order.
NAMES = {
    "labelsPresence": "CheckNodeLabelPresence",
    "serviceAffinity": "CheckServiceAffinity",
    "serviceAntiAffinity": "ServiceAntiAffinity",
    "labelPreference": "LabelPreference",
    "requestedToCapacityRatioArguments": "RequestedToCapacityRatioPriority",
}


def process_posted(posted: Posted, saved: Mapping[str, Any]) -> dict[str, Any]:
    """The process options in the form; ``saved`` if the form does not show them."""
    if "process" not in posted:
        return dict(saved)
    found: dict[str, Any] = {}
    if (version := posted.get("process.version", V1_13).strip()) != V1_13:
        found["version"] = version
    if gates := [gate for gate in sorted(GATES) if f"process.gate.{gate}" in posted]:
        found["gates"] = gates
    for name in ("maxVolumes", "percentageOfNodesToScore"):
        if text := posted.get(f"process.{name}", "").strip():
            found[name] = arguments.number(text)
    return found


def apply(text: str, base: str, posted: Posted, edition: Edition) -> str:
    """``text`` with the changes of ``posted`` relative to the form of ``base``.

    Raises ``DocumentError`` if one of the two is not a YAML document.
    """
    data, shown = as_dict(parse(text).data), as_dict(parse(base).data)
    target = deepcopy(data)
    for name, schema in GENERAL.items():
        if f"general.{name}" in posted:
            old = arguments.shown_value(schema, shown.get(name, ABSENT))
            new = arguments.read(schema, f"general.{name}", posted)
            if old != new:
                target.pop(name, None)
                target |= {} if new is ABSENT else {name: new}
    for key in LISTS:
        _write_list(key, target, shown, posted, edition)
    return text if target == data else rewrite(text, target)


def add(text: str, key: str, kind: str, name: str, edition: Edition) -> str:
    """``text`` with one more rule of ``kind`` with an empty argument."""
    if key not in LISTS or kind not in KINDS[key]:
        return text
    data = as_dict(parse(text).data)
    items = listed(data, key)
    if items is None:
        items = _provided(key, edition)
    used = {name_of(one) for one in items}
    wanted = name.strip() or NAMES[kind]
    free = wanted if wanted not in used else next(f"{wanted}{n}" for n in range(2, 1_000) if f"{wanted}{n}" not in used)
    made = item(free, 1 if key != LISTS[0] else 0, {kind: {}})
    return rewrite(text, data | {spelt(data, key): [*items, made]})


def _provided(key: str, edition: Edition) -> list[Item]:
    return [item(name, weight) for name, weight in provided(key, edition).items()]


def _write_list(key: str, target: dict[str, Any], shown: dict[str, Any], posted: Posted, edition: Edition) -> None:
    before, is_default = listed(shown, key), f"default.{key}" in posted
    place = spelt(target, key)
    if before is None or is_default:
        if is_default and before is not None:
            target.pop(place, None)
        elif not is_default and target.get(place) is None:
            target[place] = _provided(key, edition)
        return
    items = listed(target, key)
    if items is None:
        return
    changed = [one for one in items if name_of(one) == "" or not _is_switched_off(key, one, before, posted)]
    former = {name_of(one): one for one in reversed(before)}
    for position, one in enumerate(changed):
        if name_of(one) in former:
            changed[position] = _written(key, one, former[name_of(one)], posted)
    weights, start = known(key, edition), f"on.{key}."
    added = {name.removeprefix(start) for name in posted if name.startswith(start)} - former.keys()
    present = {name_of(one) for one in changed}
    for name in sorted(added - present, key=lambda one: (list(weights).index(one) if one in weights else 99, one)):
        weight = arguments.number(posted.get(f"weight.{name}", "").strip() or str(weights.get(name) or 1))
        changed.append(item(name, weight if key != LISTS[0] else 0))
    if changed != items:
        target[place] = changed


def _is_switched_off(key: str, one: Item, before: list[Item], posted: Posted) -> bool:
    name = name_of(one)
    return any(name_of(other) == name for other in before) and f"on.{key}.{name}" not in posted


def _written(key: str, one: Item, shown: Item, posted: Posted) -> Item:
    """``one`` with the posted weight and argument where they differ from ``shown``."""
    found, name = dict(one), name_of(one)
    weight = posted.get(f"weight.{name}", "").strip()
    if key != LISTS[0] and f"weight.{name}" in posted and weight != _weight(shown):
        found.pop("weight", None)
        found |= {"weight": arguments.number(weight)} if weight else {}
    given = as_dict(shown.get("argument"))
    kind = next((kind for kind in KINDS[key] if kind in given), SHAPED.get(name, ""))
    field = f"argument.{key}.{name}"
    if kind not in KINDS[key] or not any(one.startswith(f"{field}.") for one in posted):
        return found
    old = arguments.shown_value(ARGUMENTS[kind], given.get(kind, ABSENT))
    new = arguments.read(ARGUMENTS[kind], field, posted)
    if old != new:
        now = as_dict(found.get("argument"))
        content = arguments.overlay(old, new, now.get(kind, ABSENT))
        if content is ABSENT and SHAPED.get(name) == kind:
            found.pop("argument", None)
        else:
            found["argument"] = now | {kind: {} if content is ABSENT else content}
    return found


def _weight(shown: Item) -> str:
    return "" if shown.get("weight") is None else str(shown["weight"])
