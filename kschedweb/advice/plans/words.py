"""Plans in plain sentences."""

from __future__ import annotations

from typing import Any

from kschedweb.advice.moves.words import gains as gains_of
from kschedweb.web.units import counted

Json = dict[str, Any]


def sentence(found: Json) -> str:
    """What the plan does, and how far it gets."""
    moves = found["moves"]
    if not moves and not found["freed"]:
        return "There is nothing to move: the objective is reached." if found["reached"] else "No plan helps."
    waves = f" in {counted(len(found['waves']), 'waves')}" if moves else ""
    verb = "brings" if moves == 1 else "bring"
    return f"{counted(moves, 'moves')}{waves} {verb} {_objective(found)}."


def _objective(found: Json) -> str:
    before, after = _number(found["before"]), _number(found["after"])
    if found["objective"] == "nodes":
        return f"the empty nodes from {before} to {after}"
    what = {"skew": "the skew", "money": "the cost", "fragmentation": "the fragments"}[found["objective"]]
    return f"{what} from {before} to {after} {found['unit']}"


def bound(found: Json) -> str:
    """What no plan can do better, beside what this one does."""
    least, moves = found["bound"]["moves"], found["moves"]
    many = (
        f"At least {counted(least, 'moves')} {'is' if least == 1 else 'are'} needed for that; this plan has {moves:,}."
    )
    value = found["bound"]["value"]
    if value is None:
        return many
    if found["objective"] == "nodes":
        return f"{many} At most {_number(value)} nodes could be empty."
    return f"{many} No plan gets below {_number(value)} {found['unit']}."


def _number(value: float) -> str:
    return f"{value:,.2f}".rstrip("0").rstrip(".")


def gains(found: Json) -> list[tuple[str, str, float, float]]:
    """(what, unit, before, after) of skew, nodes and money; node-hours where there is no price."""
    standing = {**found["standing"], "currency": found["currency"]}
    listed = gains_of(standing)
    before, after = standing["before"], standing["after"]
    if before["cost"] is None or after["cost"] is None:
        listed.append(("Nodes with work take", "node-hours a day", 24.0 * before["nodes"], 24.0 * after["nodes"]))
    return listed
