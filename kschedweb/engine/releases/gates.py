"""The feature gates of each release: their stages, defaults and locks, generated from kube-scheduler's sources."""

from __future__ import annotations

from pathlib import Path

from kschedweb.engine.config.release import Gate

TABLE = Path(__file__).with_name("gates.tsv")
"""A line a gate, a column a release: stage, ``+`` (on) or ``-`` (off) by default, ``L`` where locked to that."""


def gates(release: str) -> dict[str, Gate]:
    """The gates that ``release`` ("1.36") knows, by name."""
    head, *lines = (line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines())
    column, needed = head.index(release), head.index("needs")
    return {line[0]: _gate(line[column], line[needed]) for line in lines if line[column]}


def _gate(cell: str, needs: str) -> Gate:
    state = cell.rstrip("L")
    return Gate(state[:-1], state[-1] == "+", cell.endswith("L"), tuple(needs.split()))
