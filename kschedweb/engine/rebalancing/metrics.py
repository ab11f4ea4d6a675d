"""Real use that a cycle is given: of nodes and pods as metrics-server has it, or as a Prometheus query returns it."""

from __future__ import annotations

from dataclasses import field

from kschedweb.engine.cel.errors import EvaluationError, ExpressionError
from kschedweb.engine.cel.quantities import Quantity, to_quantity
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError, get_mapping, get_number
from kschedweb.engine.values import dataclass

Amounts = dict[str, Quantity]


@dataclass(frozen=True, slots=True)
class Metrics:
    """The metrics of a cycle."""

    # By name.
    nodes: dict[str, Amounts] = field(default_factory=dict)
    # By namespace/name.
    pods: dict[str, Amounts] = field(default_factory=dict)
    # The share of each node that any query returns, 0 to 1.
    prometheus: dict[str, float] = field(default_factory=dict)
    # True if the policy collects from metrics-server.
    collected: bool = False
    # True if the policy configures a Prometheus.
    queried: bool = False

    @classmethod
    def from_json(cls, raw: Json) -> Metrics:
        """Read metrics; raise ObjectError."""
        samples = get_mapping(raw, "prometheus", "metrics.")
        nodes, pods = (
            {name: _read_amounts(raw, kind, name) for name in get_mapping(raw, kind, "metrics.")}
            for kind in ("nodes", "pods")
        )
        return cls(nodes, pods, {name: get_number(samples, name, "metrics.prometheus.") or 0.0 for name in samples})


def _read_amounts(raw: Json, kind: str, key: str) -> Amounts:
    amounts, path = {}, f"metrics.{kind}."
    for name, value in get_mapping(get_mapping(raw, kind), key, path).items():
        try:
            amounts[name] = to_quantity(value if isinstance(value, str) else "")
        except (EvaluationError, ExpressionError) as error:
            raise ObjectError(f"{path}{key}.{name}: {error}") from None
    return amounts
