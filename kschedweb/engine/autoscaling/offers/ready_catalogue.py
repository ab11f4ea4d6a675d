"""A small ready catalogue of instance types. Its names and its round prices are invented: no cloud sells it."""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.objects.json_access import Json

READY = "ready"
"""What a scenario says in place of instance types."""
ZONES = ("zone-a", "zone-b", "zone-c")
FAMILIES = {"compute": 2, "general": 4, "memory": 8}
"""Gi of memory a CPU."""
SIZES = (2, 4, 8, 16, 32)
CPU_PRICE, MEMORY_PRICE = 0.03, 0.005
"""An hour of a CPU, and of a Gi of memory."""
SPOT = 0.4
"""The share of the price that a spot node costs."""


def ready_types(zones: Sequence[str] = ZONES) -> list[Json]:
    """The instance types, in the form in which scenarios describe them; prices an hour without a currency."""
    return [_create_type(family, ratio, cpu, zones) for family, ratio in FAMILIES.items() for cpu in SIZES]


def _create_type(family: str, ratio: int, cpu: int, zones: Sequence[str]) -> Json:
    price = round(cpu * (CPU_PRICE + ratio * MEMORY_PRICE), 4)
    kinds = {"on-demand": price, "spot": round(price * SPOT, 4)}
    return {
        "name": f"{family}-{cpu}",
        "capacity": {"cpu": str(cpu), "memory": f"{cpu * ratio}Gi", "pods": "110"},
        "overhead": {"cpu": "100m", "memory": "512Mi"},
        "labels": {"karpenter.kwok.sh/instance-family": family, "karpenter.kwok.sh/instance-cpu": str(cpu)},
        "offerings": [
            {"zone": zone, "capacityType": kind, "price": type_price}
            for zone in zones
            for kind, type_price in kinds.items()
        ],
    }
