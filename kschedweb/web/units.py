"""Amounts, shares and ages in readable form, always with their unit."""

from __future__ import annotations

BINARY = (("Ei", 60), ("Pi", 50), ("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10))


def cpu(millicores: int | None) -> str:
    """250 -> "250m", 2000 -> "2", 2800 -> "2.8"."""
    value = int(millicores or 0)
    if abs(value) < 1000:
        return f"{value}m" if value else "0"
    return f"{value / 1000:.3f}".rstrip("0").rstrip(".")


def memory(size: int | None) -> str:
    """Bytes in the largest binary unit in which the number is at least 1, with at most one decimal."""
    value = int(size or 0)
    for unit, bits in BINARY:
        if abs(value) >= 1 << bits:
            return f"{value / (1 << bits):.1f}".removesuffix(".0") + unit
    return str(value)


def amount(value: int | None, resource: str) -> str:
    """An amount of ``resource`` in the engine's units: CPU in millicores, others in their own unit."""
    if resource == "cpu":
        return f"{cpu(value)} CPU"
    if resource in ("memory", "ephemeral-storage") or resource.startswith("hugepages-"):
        return memory(value)
    return f"{int(value or 0):,}"


def counted(number: int, nouns: str) -> str:
    """ "3,000 policies", "1 policy", "1 person"; ``nouns`` is the plural."""
    if number != 1:
        return f"{number:,} {nouns}"
    if nouns == "people":
        return "1 person"
    return f"1 {nouns[:-3]}y" if nouns.endswith("ies") else f"1 {nouns.removesuffix('s')}"


def left(seconds: float | None) -> str:
    """ "about 12 s left", "about 4 min left", "about 2 h left"; "" if unknown."""
    if seconds is None:
        return ""
    if seconds < 60:
        whole = max(1, round(seconds)) if seconds < 20 else 5 * round(seconds / 5)
        return f"about {whole} s left"
    if seconds < 5400:
        return f"about {round(seconds / 60)} min left"
    return f"about {round(seconds / 3600)} h left"


def ago(seconds: float, *, exact: bool = False) -> str:
    """ "just now" ("4 s ago" if ``exact``), "4 min ago", "3 h ago", "2 days ago"; ages.ts has the same words."""
    seconds = max(0, int(seconds))
    if seconds < 60:
        return "just now" if seconds < 10 and not exact else f"{seconds} s ago"
    if seconds < 3600:
        return f"{seconds // 60} min ago"
    if seconds < 48 * 3600:
        return f"{seconds // 3600} h ago"
    return f"{seconds // 86400} days ago"
