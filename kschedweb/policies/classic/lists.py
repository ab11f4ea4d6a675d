"""The predicates and priorities of a Policy as plain data, which may be invalid in any way."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.engine.releases.classic import Edition
from kschedweb.engine.releases.classic.catalogue import ORDER
from kschedweb.engine.releases.classic.descriptions import DESCRIPTIONS
from kschedweb.policies.classic.validation import MISSPELT
from kschedweb.policies.editing.switches import as_dict, as_list

PREDICATES, PRIORITIES = LISTS = ("predicates", "priorities")


def spelled_key(data: Json, key: str) -> str:
    """Return the name of the field in ``data`` that is read as the list ``key``."""
    return MISSPELT[key] if key not in data and MISSPELT[key] in data else key


def list_items(data: Json, key: str) -> list[Json] | None:
    """Return the items of a list; ``None`` if the default provider supplies it."""
    items = data.get(spelled_key(data, key))
    return None if items is None else [as_dict(item) for item in as_list(items)]


def name_of(item: Json) -> str:
    name = item.get("name")
    return name if isinstance(name, str) else ""


def known_weights(key: str, edition: Edition) -> dict[str, int]:
    """Return the names that need no argument, in order, with their default weights (0: none)."""
    if key == PRIORITIES:
        return edition.default_priorities | edition.priorities
    names = edition.predicates | edition.mandatory_predicates
    ordered = [name for name in ORDER if name in names]
    # kube-scheduler 1.9 asks predicates in no order, so those without a place run as well.
    return dict.fromkeys([*ordered, *(sorted(names - set(ORDER)) if edition.old else ())], 0)


def in_order(key: str, names: list[str]) -> list[str]:
    """Return ``names`` in the order of running: predicates in the fixed order, those without a place last."""
    if key == PRIORITIES:
        return names
    return sorted(names, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))


def provided_weights(key: str, edition: Edition) -> dict[str, int]:
    """Return the rules that run if a policy leaves the list out, with their weights; none in kube-scheduler 1.9."""
    if edition.old:
        return {}
    if key == PRIORITIES:
        return edition.default_priorities
    return dict.fromkeys((name for name in ORDER if name in edition.default_predicates), 0)


def explained_as(name: str, kind: str) -> str:
    """Return the catalogue entry for a rule with an argument of ``kind`` ("": no argument); "" if there is no entry."""
    if kind:
        return next((described.name for described in DESCRIPTIONS.values() if described.argument == kind), "")
    return name if name in DESCRIPTIONS else ""


def make_item(name: str, weight: int, argument: Json | None = None) -> Json:
    """Return an item of a list. Predicates have weight 0, which is left out."""
    entry: Json = {"name": name}
    if weight:
        entry["weight"] = weight
    return entry | ({"argument": argument} if argument is not None else {})
