"""Dry runs in plain sentences."""

from __future__ import annotations

from typing import Any

from kschedweb.web.units import counted

Json = dict[str, Any]
RESOURCES = {"cpu": "CPU", "memory": "memory"}
MEASURED = {"requests": "requests", "use": "real use"}


def sentence(found: Json) -> str:
    """What the cycle would do, and where its pods would be."""
    if found["skipped"]:
        return found["skipped"] + "."
    if not found["evicted"]:
        return "The descheduler would evict no pod."
    counts = found["counts"]
    parts = [
        (counts["lands"], "land on another node"),
        (counts["returns"], "come back to the node that they left"),
        (counts["unfit"], "would fit on no node"),
        (counts["gone"], "are not replaced"),
    ]
    told = [f"{number:,} {what}" for number, what in parts if number]
    joined = told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"
    empties = f"; {counted(len(found['emptied']), 'nodes')} would be empty" if found["emptied"] else ""
    return f"The descheduler would evict {counted(found['evicted'], 'pods')}: {joined}{empties}."


def gains(found: Json) -> list[tuple[str, str, float, float]]:
    """(what, unit, before, after) of everything that is known; less is better."""
    before, after = found["before"], found["after"]
    listed = [
        (f"Skew of {RESOURCES[resource]} {words}", "points", old["skew"], after[kind][resource]["skew"])
        for kind, words in MEASURED.items()
        for resource, old in before[kind].items()
        if resource in after[kind]
    ]
    listed += [("Nodes with work", "nodes", before["nodes"], after["nodes"])]
    if before["cost"] is not None and after["cost"] is not None:
        listed += [("Nodes with work cost", f"{found['currency']} an hour", before["cost"], after["cost"])]
    return listed


def by_plugin(found: Json) -> list[Json]:
    """For each plugin: evictions, nodes, and what becomes of its pods."""
    grouped: dict[str, Json] = {}
    for one in found["landings"]:
        group = grouped.setdefault(
            one["plugin"],
            {"plugin": one["plugin"], "evicted": 0, "nodes": set(), "lands": 0, "returns": 0, "unfit": 0, "gone": 0},
        )
        group["evicted"] += 1
        group["nodes"].add(one["node"])
        group[one["fate"]] += 1
    return [{**group, "nodes": len(group["nodes"])} for group in grouped.values()]
