"""Taints and what tolerates them."""

from __future__ import annotations

from dataclasses import dataclass

from kschedweb.engine.objects.access import Json, each, integer, text

EXISTS = "Exists"
NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
NO_SCHEDULE = "NoSchedule"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
NO_EXECUTE = "NoExecute"


@dataclass(frozen=True, slots=True)
class Taint:
    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


@dataclass(frozen=True, slots=True)
class Toleration:
    """``seconds`` is for how long a NoExecute taint is tolerated, ``None`` for ever; the scheduler does not ask."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    seconds: int | None = None

    def tolerates(self, taint: Taint) -> bool:
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator in ("", "Equal"):
            return self.value == taint.value
        # Gt and Lt need the feature gate TaintTolerationComparisonOperators, which is off in 1.36.
        return self.operator == EXISTS


def tolerated(taint: Taint, tolerations: tuple[Toleration, ...]) -> bool:
    return any(toleration.tolerates(taint) for toleration in tolerations)


def lets_in(taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...]) -> bool:
    """Whether none of ``taints`` keeps a pod off the node."""
    return not any(_keeps_off(taint, tolerations) for taint in taints)


def not_tolerated(taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...]) -> tuple[Taint, ...]:
    """Those of ``taints`` that keep a pod off the node."""
    return tuple(taint for taint in taints if _keeps_off(taint, tolerations))


def _keeps_off(taint: Taint, tolerations: tuple[Toleration, ...]) -> bool:
    return taint.effect in (NO_SCHEDULE, NO_EXECUTE) and not tolerated(taint, tolerations)


def read_taints(raw: Json, key: str, path: str = "") -> tuple[Taint, ...]:
    return tuple(read_taint(item, at) for item, at in each(raw, key, path))


def read_taint(raw: Json, path: str) -> Taint:
    return Taint(text(raw, "key", path), text(raw, "value", path), text(raw, "effect", path))


def read_tolerations(raw: Json, key: str, path: str = "") -> tuple[Toleration, ...]:
    return tuple(
        Toleration(
            key=text(item, "key", at),
            operator=text(item, "operator", at),
            value=text(item, "value", at),
            effect=text(item, "effect", at),
            seconds=_seconds(item, at),
        )
        for item, at in each(raw, key, path)
    )


def _seconds(raw: Json, path: str) -> int | None:
    return None if raw.get("tolerationSeconds") is None else integer(raw, "tolerationSeconds", path=path, bits=64)
