"""Taints and tolerations."""

from __future__ import annotations

import re

from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import get_integer, get_objects_and_paths, get_string
from kschedweb.engine.values import dataclass

EXISTS = "Exists"
NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
NO_SCHEDULE = "NoSchedule"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
NO_EXECUTE = "NoExecute"
# Integers that Gt and Lt compare: without a plus sign and leading zeros.
DECIMAL = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)
INT64 = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a node or device."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration of a pod or device request."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    # How long a NoExecute taint is tolerated; None for ever. The scheduler ignores it.
    seconds: int | None = None

    def tolerates(self, taint: Taint, comparison_operators: bool = False) -> bool:
        """Return True if it tolerates ``taint``.

        ``comparison_operators`` enables the operators Gt and Lt, on integers of 64 bits.
        """
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator in ("", "Equal"):
            return self.value == taint.value
        if comparison_operators and self.operator in ("Gt", "Lt"):
            bound, value = _parse_int64(self.value), _parse_int64(taint.value)
            return (
                bound is not None and value is not None and (value > bound if self.operator == "Gt" else value < bound)
            )
        return self.operator == EXISTS


def is_tolerated(taint: Taint, tolerations: tuple[Toleration, ...], comparison_operators: bool = False) -> bool:
    return any(toleration.tolerates(taint, comparison_operators) for toleration in tolerations)


def has_no_untolerated(
    taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...], comparison_operators: bool = False
) -> bool:
    """Return True if none of ``taints`` keeps a pod off the node."""
    return not any(_is_untolerated(taint, tolerations, comparison_operators) for taint in taints)


def find_untolerated(
    taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...], comparison_operators: bool = False
) -> tuple[Taint, ...]:
    """Return the ``taints`` that keep a pod off the node."""
    return tuple(taint for taint in taints if _is_untolerated(taint, tolerations, comparison_operators))


def _is_untolerated(taint: Taint, tolerations: tuple[Toleration, ...], comparison_operators: bool) -> bool:
    return taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not is_tolerated(taint, tolerations, comparison_operators)


def read_taints(raw: Json, key: str, path: str = "") -> tuple[Taint, ...]:
    return tuple(read_taint(item, at) for item, at in get_objects_and_paths(raw, key, path))


def read_taint(raw: Json, path: str) -> Taint:
    return Taint(get_string(raw, "key", path), get_string(raw, "value", path), get_string(raw, "effect", path))


def read_tolerations(raw: Json, key: str, path: str = "") -> tuple[Toleration, ...]:
    return tuple(
        Toleration(
            key=get_string(item, "key", at),
            operator=get_string(item, "operator", at),
            value=get_string(item, "value", at),
            effect=get_string(item, "effect", at),
            seconds=_read_seconds(item, at),
        )
        for item, at in get_objects_and_paths(raw, key, path)
    )


def _parse_int64(value: str) -> int | None:
    """Return the integer in ``value``; ``None`` if it is none, exceeds 64 bits, or has a plus sign or leading zeros."""
    return number if DECIMAL.fullmatch(value) and (number := int(value)) in INT64 else None


def _read_seconds(raw: Json, path: str) -> int | None:
    return None if raw.get("tolerationSeconds") is None else get_integer(raw, "tolerationSeconds", path=path, bits=64)
