"""The lists of a Policy, predicates and priorities, as plain values that may be wrong in any way."""

from __future__ import annotations

from typing import Any

from kschedweb.engine.releases.classic import Edition
from kschedweb.engine.releases.classic.catalogue import ORDER
from kschedweb.engine.releases.classic.describing import DESCRIBED
from kschedweb.policies.classic.validation import MISSPELT
from kschedweb.policies.editing.switches import as_dict, as_list

PREDICATES, PRIORITIES = LISTS = ("predicates", "priorities")
Item = dict[str, Any]


def spelt(data: dict[str, Any], key: str) -> str:
    """The field of ``data`` that is read as the list ``key``."""
    return MISSPELT[key] if key not in data and MISSPELT[key] in data else key


def listed(data: dict[str, Any], key: str) -> list[Item] | None:
    """The items of a list, ``None`` where it is left to the default provider."""
    found = data.get(spelt(data, key))
    return None if found is None else [as_dict(item) for item in as_list(found)]


def name_of(item: Item) -> str:
    name = item.get("name")
    return name if isinstance(name, str) else ""


def known(key: str, edition: Edition) -> dict[str, int]:
    """What a policy may name without an argument, in order, with its weight where none is given (0: it has none)."""
    if key == PRIORITIES:
        return edition.default_priorities | edition.priorities
    names = edition.predicates | edition.mandatory
    ordered = [name for name in ORDER if name in names]
    # Where nothing has an order, what has none is asked as well.
    return dict.fromkeys([*ordered, *(sorted(names - set(ORDER)) if edition.old else ())], 0)


def in_order(key: str, names: list[str]) -> list[str]:
    """``names`` as they are asked: predicates in the fixed order, those without a place behind the others."""
    if key == PRIORITIES:
        return names
    return sorted(names, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))


def provided(key: str, edition: Edition) -> dict[str, int]:
    """What runs where a policy leaves the list out, with weights; kube-scheduler 1.9 took nothing then."""
    if edition.old:
        return {}
    if key == PRIORITIES:
        return edition.default_priorities
    return dict.fromkeys((name for name in ORDER if name in edition.default_predicates), 0)


def explained_as(name: str, kind: str) -> str:
    """What explains a rule with an argument of ``kind`` ("": without one); "" where nothing does."""
    if kind:
        return next((one.name for one in DESCRIBED.values() if one.argument == kind), "")
    return name if name in DESCRIBED else ""


def item(name: str, weight: int, argument: Item | None = None) -> Item:
    """One of a list; a weight of 0 is that of a predicate, which has none."""
    found: Item = {"name": name}
    if weight:
        found["weight"] = weight
    return found | ({"argument": argument} if argument is not None else {})
