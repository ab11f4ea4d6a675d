"""A small ready catalogue of instance types. Its names and round prices are invented: no cloud sells it."""

from __future__ import annotations

from collections.abc import Sequence

from kschedweb.engine.json_types import Json

# Stands in a scenario in place of instance types.
READY = "ready"
ZONES = ("zone-a", "zone-b", "zone-c")
# Gi of memory for each CPU.
FAMILIES = {"compute": 2, "general": 4, "memory": 8}
# CPUs.
SIZES = (2, 4, 8, 16, 32)
# The price an hour of a CPU, and of a Gi of memory.
CPU_PRICE, MEMORY_PRICE = 0.03, 0.005
# The price of a spot node as a share of the on-demand price.
SPOT = 0.4


def ready_types(zones: Sequence[str] = ZONES) -> list[Json]:
    """Return the instance types in the format of scenarios; prices are an hour, without a currency."""
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
