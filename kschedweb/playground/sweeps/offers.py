"""Dimensions of sweeps with initial ranges: weights of score plugins, arguments of plugins, and quotas of a scenario.

For a classic policy these are weights of priorities, and arguments of predicates and priorities.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from kschedweb.engine.json_types import Json
from kschedweb.engine.releases.classic import Algorithm
from kschedweb.engine.studies.actors.queues.setting_paths import list_choices, parse_setting_path
from kschedweb.engine.studies.search.fields import LISTS
from kschedweb.engine.studies.search.space import Dimension, Space, find_problems
from kschedweb.policies.classic.schema import GENERAL, classic_schema
from kschedweb.policies.editing.arguments import ABSENT, parse_number
from kschedweb.policies.editing.load_aware import build_slider
from kschedweb.policies.editing.release_tables import load_tables

if TYPE_CHECKING:
    from kschedweb.engine.config import Configuration, Profile

# End of the initial range of a weight; a policy with a higher weight has that one.
HIGHEST_WEIGHT = 10
# Offers of arguments; each is checked against the release, and is a row of the form.
MOST_OFFERS = 150
# A range of a schema that is wider than this is a limit, not a sensible range to search.
FARTHEST = 1000
# A quantity such as 64Gi.
_AMOUNT = re.compile(r"([0-9]{1,9})([A-Za-z]{0,2})")
# Fields by which an item of a list is named in a path, in place of its position.
_NAMES = ("name", "topologyKey")
# A field of a classic policy's top level that only this priority reads.
HARD, AFFINITY = "hardPodAffinitySymmetricWeight", "InterPodAffinityPriority"


@dataclass(frozen=True)
class FieldOffer:
    """A field of the policy that can be varied."""

    # Path in the document, such as profiles[0].plugins.score.enabled[NodeResourcesFit].weight.
    path: str
    # Plugin, predicate, priority or quota queue that the field belongs to.
    plugin: str
    label: str
    # The value in the policy.
    now: str
    # Initial range of a number, as text; "" if no sensible one is known.
    low: str = ""
    high: str = ""
    step: str = ""
    # Values of a field that is not a number, separated by commas.
    values: str = ""
    help: str = ""


def weight_offers(configuration: Configuration) -> list[FieldOffer]:
    """Offer the weight of every plugin that scores."""
    several = len(configuration.profiles) > 1
    return [
        FieldOffer(
            configuration.weight_path(place, plugin.name),
            plugin.name,
            f"{plugin.name} of {profile.scheduler_name}" if several else plugin.name,
            str(plugin.weight),
            "0",
            str(max(HIGHEST_WEIGHT, plugin.weight)),
            "1",
        )
        for place, profile in enumerate(configuration.profiles)
        for plugin in profile.points["score"]
    ]


def argument_offers(configuration: Configuration) -> list[FieldOffer]:
    """Offer numbers, choices and switches among the arguments of plugins that run."""
    offers = _of_policy(configuration) if isinstance(configuration, Algorithm) else _of_profiles(configuration)
    usable = (_limit_offer(offer, configuration) for offer in islice(offers, MOST_OFFERS))
    return [offer for offer in usable if offer is not None]


def quota_offers(settings: Mapping[str, Any]) -> list[FieldOffer]:
    """Offer nominal quotas and rules among the ``settings`` of a scenario's quota queues."""
    offers = (_make_quota_offer(path, value) for path, value in settings.items() if value is not None)
    return list(islice((offer for offer in offers if offer is not None), MOST_OFFERS))


def _make_quota_offer(path: str, value: Any) -> FieldOffer | None:
    at, label = parse_setting_path(path), Dimension(path).label
    if isinstance(value, bool):
        return FieldOffer(path, at.queue, label, "true" if value else "false", values="true, false")
    if at.field == "nominal" and isinstance(value, int | float):
        high = max(2 * value, 1)
        return FieldOffer(path, at.queue, label, f"{value:g}", "0", f"{high:g}", f"{max(1, high // 10):g}")
    if at.field == "nominal" and (match := _AMOUNT.fullmatch(value)) is not None:
        number, unit = int(match[1]), match[2]
        steps = dict.fromkeys((max(1, number // 2), number, 2 * number))
        return FieldOffer(path, at.queue, label, value, values=", ".join(f"{step}{unit}" for step in steps))
    choices = list_choices(path)
    return FieldOffer(path, at.queue, label, value, values=", ".join(choices)) if choices else None


def _of_profiles(configuration: Configuration) -> Iterator[FieldOffer]:
    plugin_tables = load_tables(configuration.release)
    for place, profile in enumerate(configuration.profiles):
        for plugin in _running_plugins(profile):
            if (schema := plugin_tables.args_schema(plugin)) is not None:
                yield from _of_plugin(place, plugin, profile.args[plugin], schema)


def _of_policy(algorithm: Algorithm) -> Iterator[FieldOffer]:
    """Yield offers of a classic policy: arguments of predicates and priorities, and the symmetric weight."""
    schema, document = classic_schema(), algorithm.document
    for leaf_path, steps, value in _walk_leaves({key: document[key] for key in LISTS}, "", ()):
        described = _find_schema(schema, steps) if "argument" in steps else None
        if described is not None:
            # The path of a classic policy begins with one of LISTS, so the dot of the first step is dropped.
            path = leaf_path.removeprefix(".")
            name = document[str(steps[0])][steps[1]]["name"]
            if (offer := _make_offer(path, name, Dimension(path).label, value, described, steps)) is not None:
                yield offer
    if (
        affinity := next((priority for priority in algorithm.priorities if priority.name == AFFINITY), None)
    ) is not None:
        # Zero or a missing value means the default of the edition, as in kube-scheduler.
        now = str(document.get(HARD) or algorithm.edition.hard_pod_affinity_weight)
        yield FieldOffer(HARD, affinity.name, HARD, now, "1", "100", "1", help=str(GENERAL[HARD]["description"]))


def _limit_offer(offer: FieldOffer, configuration: Configuration) -> FieldOffer | None:
    """Return the offer with only the values that kube-scheduler accepts; ``None`` if nothing is left to vary."""
    around = Space((), configuration.document, configuration)
    if not offer.values:
        ends = [{"path": offer.path, "from": parse_number(offer.low), "to": parse_number(offer.high)}]
        return offer if not find_problems(around, ends) else None
    fit = [value for value in offer.values.split(", ") if value == offer.now or not _is_refused(around, offer, value)]
    return replace(offer, values=", ".join(fit)) if len(fit) > 1 else None


def _is_refused(around: Space, offer: FieldOffer, value: str) -> bool:
    """Return whether kube-scheduler would refuse ``value`` for the field."""
    now, other = ({"true": True, "false": False}.get(text, text) for text in (offer.now, value))
    # A dimension needs two values, and the current one is known to be accepted.
    return bool(find_problems(around, [{"path": offer.path, "values": [now, other]}]))


def _running_plugins(profile: Profile) -> list[str]:
    """Return the plugins that run at any extension point and have arguments."""
    names = dict.fromkeys(reference.name for references in profile.points.values() for reference in references)
    return [name for name in names if isinstance(profile.args.get(name), dict)]


def _of_plugin(profile: int, plugin: str, args: Json, schema: Json) -> Iterator[FieldOffer]:
    """Yield offers of a plugin's arguments in a profile."""
    for leaf_path, steps, value in _walk_leaves(args, "", ()):
        described = _find_schema(schema, steps)
        if described is None:
            continue
        path = f"profiles[{profile}].pluginConfig[{plugin}].args{leaf_path}"
        label = Dimension(path).label
        offer = _make_offer(path, plugin, label, value, described, steps)
        if offer is not None:
            yield offer


def _walk_leaves(
    value: Any, path: str, steps: tuple[str | int, ...]
) -> Iterator[tuple[str, tuple[str | int, ...], Any]]:
    """Yield each leaf below ``value`` with its path as text, its steps as keys and positions, and its value."""
    if isinstance(value, dict):
        for key, item in value.items():
            # Keys with other characters, such as labels, stand in brackets.
            step = f".{key}" if key.replace("_", "").replace("-", "").isalnum() else f"[{key}]"
            yield from _walk_leaves(item, f"{path}{step}", (*steps, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            names = [item[name] for name in _NAMES if isinstance(item, dict) and isinstance(item.get(name), str)]
            yield from _walk_leaves(item, f"{path}[{names[0] if names else place}]", (*steps, place))
    else:
        yield path, steps, value


def _find_schema(schema: Json, steps: tuple[str | int, ...]) -> Json | None:
    """Return the schema of the field at ``steps``; ``None`` for fields that only identify an item."""
    if steps[-1] in ("apiVersion", "kind", *_NAMES):
        return None
    subschema: Any = schema
    for step in steps:
        if isinstance(step, int):
            below = subschema.get("items")
        else:
            below = (subschema.get("properties") or {}).get(step, subschema.get("additionalProperties"))
        if not isinstance(below, dict):
            return None
        subschema = below
    return dict(subschema)


def _make_offer(
    path: str, plugin: str, label: str, value: Any, schema: Json, steps: tuple[str | int, ...]
) -> FieldOffer | None:
    """Return an offer for a number, a switch or a choice; ``None`` for any other value."""
    help_text = str(schema.get("description", ""))
    if isinstance(value, bool):
        return FieldOffer(path, plugin, label, "true" if value else "false", values="true, false", help=help_text)
    if isinstance(value, int | float):
        low, high, step = _guess_range(value, schema, plugin, steps)
        return FieldOffer(path, plugin, label, f"{value:g}", low, high, step, help=help_text)
    choices = [str(choice) for choice in schema.get("enum") or ()]
    if isinstance(value, str) and len(choices) > 1:
        return FieldOffer(path, plugin, label, value, values=", ".join(choices), help=help_text)
    return None


def _guess_range(value: float, schema: Json, plugin: str, steps: tuple[str | int, ...]) -> tuple[str, str, str]:
    """Return ends and step as text, "" where no sensible value is known."""
    bounds = build_slider(schema, f"args.{plugin}.{'.'.join(map(str, steps))}")
    if bounds is not None:
        return bounds.low, bounds.high, bounds.step
    low, high = schema.get("minimum", ABSENT), schema.get("maximum", ABSENT)
    # Without sensible limits the range goes from nothing to twice the current value.
    if low is ABSENT or high is ABSENT or high - low > FARTHEST:
        low, high = (0, max(2 * value, 1)) if low is ABSENT else (low, max(2 * value, low + 1))
    whole = schema.get("type") == "integer"
    return f"{low:g}", f"{high:g}", "1" if whole else f"{(high - low) / 10:g}"
