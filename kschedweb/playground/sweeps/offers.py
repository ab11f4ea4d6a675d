"""Fields of a policy that can be varied, with initial ranges: weights of score plugins, arguments of plugins.

Of a classic policy they are weights of priorities, and arguments of predicates and priorities.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from kschedweb.engine.releases.classic import Algorithm
from kschedweb.engine.studies.search.fields import LISTS
from kschedweb.engine.studies.search.space import Dimension, Space, problems
from kschedweb.policies.classic.schema import GENERAL, classic_schema
from kschedweb.policies.editing.arguments import ABSENT, number
from kschedweb.policies.editing.load_aware import slider
from kschedweb.policies.editing.tables import tables

if TYPE_CHECKING:
    from kschedweb.engine.config import Configuration, Profile

HIGHEST_WEIGHT = 10
MOST_OFFERS = 150
FARTHEST = 1000  # a schema's range beyond this is not a sensible range
_NAMES = ("name", "topologyKey")
HARD, AFFINITY = "hardPodAffinitySymmetricWeight", "InterPodAffinityPriority"


@dataclass(frozen=True)
class Offer:
    """A field that can be varied; ``now`` is the policy's value. Fields that are not numbers have ``values``."""

    path: str
    plugin: str
    label: str
    now: str
    low: str = ""
    high: str = ""
    step: str = ""
    values: str = ""
    help: str = ""


def weights(configuration: Configuration) -> list[Offer]:
    """The weight of every plugin that scores."""
    several = len(configuration.profiles) > 1
    return [
        Offer(
            configuration.weight_path(place, one.name),
            one.name,
            f"{one.name} of {profile.scheduler_name}" if several else one.name,
            str(one.weight),
            "0",
            str(max(HIGHEST_WEIGHT, one.weight)),
            "1",
        )
        for place, profile in enumerate(configuration.profiles)
        for one in profile.points["score"]
    ]


def arguments(configuration: Configuration) -> list[Offer]:
    """Numbers, choices and switches among the arguments of plugins that run."""
    found = _of_policy(configuration) if isinstance(configuration, Algorithm) else _of_profiles(configuration)
    taken = (_taken(offer, configuration) for offer in islice(found, MOST_OFFERS))
    return [offer for offer in taken if offer is not None]


def _of_profiles(configuration: Configuration) -> Iterator[Offer]:
    of = tables(configuration.release)
    for place, profile in enumerate(configuration.profiles):
        for plugin in _running(profile):
            if (schema := of.args_schema(plugin)) is not None:
                yield from _of_plugin(place, plugin, profile.args[plugin], schema)


def _of_policy(algorithm: Algorithm) -> Iterator[Offer]:
    schema, document = classic_schema(), algorithm.document
    for within, steps, value in _leaves({key: document[key] for key in LISTS}, "", ()):
        described = _described(schema, steps) if "argument" in steps else None
        if described is not None:
            path = within.removeprefix(".")
            name = document[str(steps[0])][steps[1]]["name"]
            if (made := _offer(path, name, Dimension(path).label, value, described, steps)) is not None:
                yield made
    if (affinity := next((one for one in algorithm.priorities if one.name == AFFINITY), None)) is not None:
        now = str(document.get(HARD) or algorithm.edition.hard_pod_affinity_weight)
        yield Offer(HARD, affinity.name, HARD, now, "1", "100", "1", help=str(GENERAL[HARD]["description"]))


def _taken(offer: Offer, configuration: Configuration) -> Offer | None:
    """The offer limited to values that kube-scheduler accepts; ``None`` if there is nothing to vary."""
    around = Space((), configuration.document, configuration)
    if not offer.values:
        ends = [{"path": offer.path, "from": number(offer.low), "to": number(offer.high)}]
        return offer if not problems(around, ends) else None
    fit = [one for one in offer.values.split(", ") if one == offer.now or not _refused(around, offer, one)]
    return replace(offer, values=", ".join(fit)) if len(fit) > 1 else None


def _refused(around: Space, offer: Offer, value: str) -> bool:
    now, other = ({"true": True, "false": False}.get(one, one) for one in (offer.now, value))
    return bool(problems(around, [{"path": offer.path, "values": [now, other]}]))


def _running(profile: Profile) -> list[str]:
    names = dict.fromkeys(one.name for references in profile.points.values() for one in references)
    return [name for name in names if isinstance(profile.args.get(name), dict)]


def _of_plugin(profile: int, plugin: str, args: dict[str, Any], schema: dict[str, Any]) -> Iterator[Offer]:
    for within, steps, value in _leaves(args, "", ()):
        described = _described(schema, steps)
        if described is None:
            continue
        path = f"profiles[{profile}].pluginConfig[{plugin}].args{within}"
        label = Dimension(path).label
        made = _offer(path, plugin, label, value, described, steps)
        if made is not None:
            yield made


def _leaves(value: Any, path: str, steps: tuple[str | int, ...]) -> Iterator[tuple[str, tuple[str | int, ...], Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            step = f".{key}" if key.replace("_", "").replace("-", "").isalnum() else f"[{key}]"
            yield from _leaves(item, f"{path}{step}", (*steps, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            names = [item[name] for name in _NAMES if isinstance(item, dict) and isinstance(item.get(name), str)]
            yield from _leaves(item, f"{path}[{names[0] if names else place}]", (*steps, place))
    else:
        yield path, steps, value


def _described(schema: dict[str, Any], steps: tuple[str | int, ...]) -> dict[str, Any] | None:
    """The schema of the field at ``steps``; ``None`` for fields that only identify an item."""
    if steps[-1] in ("apiVersion", "kind", *_NAMES):
        return None
    found: Any = schema
    for step in steps:
        if isinstance(step, int):
            below = found.get("items")
        else:
            below = (found.get("properties") or {}).get(step, found.get("additionalProperties"))
        if not isinstance(below, dict):
            return None
        found = below
    return dict(found)


def _offer(
    path: str, plugin: str, label: str, value: Any, schema: dict[str, Any], steps: tuple[str | int, ...]
) -> Offer | None:
    help_text = str(schema.get("description", ""))
    if isinstance(value, bool):
        return Offer(path, plugin, label, "true" if value else "false", values="true, false", help=help_text)
    if isinstance(value, int | float):
        low, high, step = _range(value, schema, plugin, steps)
        return Offer(path, plugin, label, f"{value:g}", low, high, step, help=help_text)
    choices = [str(one) for one in schema.get("enum") or ()]
    if isinstance(value, str) and len(choices) > 1:
        return Offer(path, plugin, label, value, values=", ".join(choices), help=help_text)
    return None


def _range(value: float, schema: dict[str, Any], plugin: str, steps: tuple[str | int, ...]) -> tuple[str, str, str]:
    """Ends and step as text, "" if no sensible value is known."""
    known = slider(schema, f"args.{plugin}.{'.'.join(map(str, steps))}")
    if known is not None:
        return known.low, known.high, known.step
    low, high = schema.get("minimum", ABSENT), schema.get("maximum", ABSENT)
    if low is ABSENT or high is ABSENT or high - low > FARTHEST:
        low, high = (0, max(2 * value, 1)) if low is ABSENT else (low, max(2 * value, low + 1))
    whole = schema.get("type") == "integer"
    return f"{low:g}", f"{high:g}", "1" if whole else f"{(high - low) / 10:g}"
