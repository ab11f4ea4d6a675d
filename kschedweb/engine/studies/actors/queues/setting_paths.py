"""Settings of quota queues by their paths, for comparisons and sweeps: ``team-b/on-demand/cpu/nominal``.

A path is a queue, a flavor, a resource and one of AMOUNTS; a queue and one of RULES' fields, ``team-b/cohort``; or
``fairSharing``. A text of settings has values after "=" and commas between: ``team-b/on-demand/cpu/nominal=60``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kschedweb.engine.documents.leaves import DocumentProblem, EnumChoice
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, get_mapping, get_objects
from kschedweb.engine.objects.quantity import NANO, read_quantity
from kschedweb.engine.queueing.quota.objects import TRY_NEXT_FLAVOR
from kschedweb.engine.studies.actors.queues.keys import (
    AMOUNT_KEYS,
    COHORT_KEYS,
    FIELD,
    QUEUES,
    RULE_PLACES,
    RULES,
    QueueSettings,
)
from kschedweb.engine.studies.actors.queues.setup import QUOTA_KINDS
from kschedweb.engine.studies.document.document import ScenarioError
from kschedweb.engine.values import dataclass

FAIR_SHARING = "fairSharing"
AMOUNTS = tuple(AMOUNT_KEYS)
RULE_NAMES = tuple(field.name for field in RULES.fields[1:])
_IS_PATH = re.compile(r"[a-z0-9][a-z0-9.-]*/[^\[\]]+")
# Larger values stay text, such as 64Gi.
LARGEST = 2**31 - 1

# A number, a string or a boolean.
Value = Any


class SettingError(ValueError):
    """An invalid path or text of settings; the message says why."""


@dataclass(frozen=True, slots=True)
class SettingPath:
    """The parts of a path; "" for those that it does not have."""

    queue: str
    flavor: str
    resource: str
    field: str

    @property
    def label(self) -> str:
        """A readable name, such as ``team-b on-demand cpu nominal``."""
        return " ".join(filter(None, (self.queue, self.flavor, self.resource, self.field)))


def is_setting_path(path: str) -> bool:
    """Return whether ``path`` names a setting of quota queues, not a field of a policy."""
    return path == FAIR_SHARING or _IS_PATH.fullmatch(path) is not None


def parse_setting_path(path: str) -> SettingPath:
    """Return the parts of ``path``. Raises SettingError."""
    if path == FAIR_SHARING:
        return SettingPath("", "", "", path)
    queue, _, rest = path.partition("/")
    if queue and rest in RULE_NAMES:
        return SettingPath(queue, "", "", rest)
    flavor, _, rest = rest.partition("/")
    # Names of resources may have a slash.
    resource, _, name = rest.rpartition("/")
    if not (queue and flavor and resource) or name not in AMOUNTS:
        raise SettingError(
            f"{path[:120]} must be {FAIR_SHARING}, QUEUE/FIELD with one of {', '.join(RULE_NAMES)}, "
            f"or QUEUE/FLAVOR/RESOURCE/FIELD with one of {', '.join(AMOUNTS)}"
        )
    return SettingPath(queue, flavor, resource, name)


def build_settings(values: Mapping[str, Value]) -> Json:
    """Return settings by their paths as a scenario has them at the key ``queues``. Raises SettingError."""
    document: Json = {}
    holders: dict[tuple[str, str, str], Json] = {}
    for path, value in values.items():
        at = parse_setting_path(path)
        if not at.queue:
            document[FAIR_SHARING] = value
            continue
        key = at.queue, at.flavor, at.resource
        if key not in holders:
            names = {"queue": at.queue} | ({"flavor": at.flavor, "resource": at.resource} if at.flavor else {})
            holders[key] = names
            document.setdefault("quotas" if at.flavor else "rules", []).append(names)
        # Amounts of a quota are quantities; a number that a sweep chose has no more digits than they may have.
        is_amount = isinstance(value, int | float) and not isinstance(value, bool)
        holders[key][at.field] = f"{value:.10g}" if is_amount else value
    return document


def read_settings(document: Mapping[str, Any]) -> QueueSettings:
    """Read what a scenario may have at the key ``queues``. Raises ScenarioError."""
    problems: list[DocumentProblem] = []
    settings = QUEUES.read(dict(document), FIELD.name, problems)
    if problems:
        raise ScenarioError(problems)
    assert isinstance(settings, QueueSettings)
    return settings


def parse_settings(text: str) -> dict[str, Value]:
    """Return the settings of a text by their paths. Raises SettingError."""
    values: dict[str, Value] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        path, separator, value = (piece.strip() for piece in part.partition("="))
        if not separator:
            raise SettingError(f"{part[:120]!r} has no value: write PATH=VALUE")
        parse_setting_path(path)
        values[path] = value == "true" if path == FAIR_SHARING and value in ("true", "false") else value
    return values


def format_settings(values: Mapping[str, Value]) -> str:
    """Return settings as a text that ``parse_settings`` reads."""
    return ", ".join(
        f"{path}={str(value).lower() if isinstance(value, bool) else value}" for path, value in values.items()
    )


def list_choices(path: str) -> tuple[str, ...]:
    """Return the values that the rule at ``path`` may have; none for amounts and names."""
    name = parse_setting_path(path).field
    kind = RULES.by_name[name].type if name in RULE_NAMES else None
    return kind.values if isinstance(kind, EnumChoice) else ()


def list_values(objects: Iterable[Json], settings: QueueSettings | None = None) -> dict[str, Value]:
    """Return the value of every setting of the ``objects``' queues by its path; None for no limit.

    ``settings`` are already in the objects, but for fair sharing.
    """
    fair = None if settings is None else settings.fair_sharing
    values: dict[str, Value] = {FAIR_SHARING: bool(fair)}
    for raw in objects:
        if raw.get("kind") in QUOTA_KINDS and str(raw.get("apiVersion", "")).startswith("kueue"):
            try:
                values.update(_list_own_values(raw))
            except ObjectError:
                # It is refused where it is read.
                continue
    return values


def _list_own_values(raw: Json) -> Iterator[tuple[str, Value]]:
    name, spec = str(get_mapping(raw, "metadata").get("name")), get_mapping(raw, "spec")
    for group in get_objects(spec, "resourceGroups"):
        for flavor in get_objects(group, "flavors"):
            for resource in get_objects(flavor, "resources"):
                at = f"{name}/{flavor.get('name')}/{resource.get('name')}"
                for amount, key in AMOUNT_KEYS.items():
                    yield f"{at}/{amount}", _plain_amount(resource.get(key))
    yield f"{name}/cohort", next(filter(None, map(spec.get, COHORT_KEYS[raw["kind"]])), "")
    for rule, place in RULE_PLACES.items():
        if rule == "weight":
            yield f"{name}/{rule}", _plain_amount(_find_value(spec, place, 1))
        elif raw["kind"] == "ClusterQueue":
            # The first choice is Kueue's default, but for whenCanPreempt.
            default = TRY_NEXT_FLAVOR if rule == "whenCanPreempt" else list_choices(f"{name}/{rule}")[0]
            yield f"{name}/{rule}", _find_value(spec, place, "") or default


def _find_value(parent: Json, place: Sequence[str], default: Value) -> Value:
    """Return the value at a place below a mapping, or ``default`` if there is none."""
    *above, key = place
    for part in above:
        parent = get_mapping(parent, part)
    return parent.get(key, default)


def _plain_amount(raw: Any) -> Value:
    """Return a quantity as a number where it is a small one, else as text; None for none."""
    if raw is None:
        return None
    amount = read_quantity(raw, "") / NANO
    if abs(amount) > LARGEST:
        return str(raw)
    return int(amount) if amount == int(amount) else amount
