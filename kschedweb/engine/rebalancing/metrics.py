"""Real use as a cycle is given it: what metrics-server says of nodes and pods, or what Prometheus answers."""

from __future__ import annotations

from dataclasses import field

from kschedweb.engine.cel.errors import EvaluationError, Refused
from kschedweb.engine.cel.quantities import Quantity, quantity
from kschedweb.engine.objects.access import Json, ObjectError, mapping, number
from kschedweb.engine.values import dataclass

Amounts = dict[str, Quantity]


@dataclass(frozen=True, slots=True)
class Metrics:
    """``nodes`` by name, ``pods`` by namespace and name; ``prometheus``: the share of a node that any query returns.

    ``collected`` and ``queried``: the policy asks for metrics-server, or names a Prometheus.
    """

    nodes: dict[str, Amounts] = field(default_factory=dict)
    pods: dict[str, Amounts] = field(default_factory=dict)
    prometheus: dict[str, float] = field(default_factory=dict)
    collected: bool = False
    queried: bool = False

    @classmethod
    def read(cls, raw: Json) -> Metrics:
        """Raises ObjectError."""
        samples = mapping(raw, "prometheus", "metrics.")
        nodes, pods = (
            {name: _amounts(raw, kind, name) for name in mapping(raw, kind, "metrics.")} for kind in ("nodes", "pods")
        )
        return cls(nodes, pods, {name: number(samples, name, "metrics.prometheus.") or 0.0 for name in samples})


def _amounts(raw: Json, kind: str, key: str) -> Amounts:
    found, path = {}, f"metrics.{kind}."
    for name, value in mapping(mapping(raw, kind), key, path).items():
        try:
            found[name] = quantity(value if isinstance(value, str) else "")
        except (EvaluationError, Refused) as error:
            raise ObjectError(f"{path}{key}.{name}: {error}") from None
    return found
