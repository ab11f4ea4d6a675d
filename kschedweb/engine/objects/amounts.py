"""Amounts in readable form, always with their unit."""

from __future__ import annotations

BINARY = (("Ei", 60), ("Pi", 50), ("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10))


def format_cpu(millicores: int | None) -> str:
    """Return CPU for a sentence: 250 -> "250m", 2000 -> "2", 2800 -> "2.8"."""
    value = int(millicores or 0)
    if abs(value) < 1000:
        return f"{value}m" if value else "0"
    return f"{value / 1000:,.3f}".rstrip("0").rstrip(".")


def format_memory(size: int | None) -> str:
    """Return bytes in the largest binary unit in which the number is at least 1, with at most one decimal."""
    value = int(size or 0)
    for unit, bits in BINARY:
        if abs(value) >= 1 << bits:
            return f"{value / (1 << bits):,.1f}".removesuffix(".0") + unit
    return str(value)


def format_amount(value: int | None, resource: str) -> str:
    """Return an amount of ``resource`` in the engine's units: CPU in millicores, others in their own unit."""
    if resource == "cpu":
        return f"{format_cpu(value)} CPU"
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        return format_memory(value)
    return f"{int(value or 0):,}"
