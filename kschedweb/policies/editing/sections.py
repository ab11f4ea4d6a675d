"""What of the form is shown: plugins that are looked for, those that differ, and sections by extension point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kschedweb.engine.config.schema import POINT_HELP
from kschedweb.engine.documents.marked import MarkedProblem, Path
from kschedweb.policies.editing.rows import PluginRow, Switch
from kschedweb.policies.editing.switches import Effective, default_points
from kschedweb.policies.editing.tables import Tables

BY_PLUGIN, BY_POINT = "plugin", "point"
LONGEST = 100  # characters of what is looked for


@dataclass(frozen=True)
class Showing:
    """What a person chose to see of the form: it changes no document, and stands in the address.

    ``find``: words of the plugins to show; ``changed``: only plugins that differ from the default; ``by``: one list of
    plugins, or sections by extension point; ``beside``: the profile to compare with, by its place in the document.
    """

    find: str = ""
    changed: bool = False
    by: str = BY_PLUGIN
    beside: int | None = None

    @classmethod
    def of(cls, given: Mapping[str, str]) -> Showing:
        """What posted fields, or the query of an address, ask for."""
        beside = given.get("beside", "")
        return cls(
            given.get("find", "").strip()[:LONGEST],
            given.get("changed", "") not in ("", "0"),
            BY_POINT if given.get("by") == BY_POINT else BY_PLUGIN,
            int(beside) if beside.isascii() and beside.isdecimal() and len(beside) < 6 else None,
        )

    @property
    def query(self) -> dict[str, str]:
        """The same as the query of an address; what is as usual is ""."""
        return {
            "find": self.find,
            "changed": "1" if self.changed else "",
            "by": self.by if self.by != BY_PLUGIN else "",
            "beside": "" if self.beside is None else str(self.beside),
        }

    def narrow(self, rows: list[PluginRow], sections: list[Section]) -> None:
        """Mark which plugins are shown; one with errors always is."""
        for row in rows:
            row.shown = row.has_problems or self._takes(row, row.differs)
        for section in sections:
            for one in section.rows:
                one.shown = bool(section.problems) or self._takes(one.plugin, section.is_changed)

    def _takes(self, row: PluginRow, differs: bool) -> bool:
        return (differs or not self.changed) and all(word in row.searched for word in self.find.lower().split())


USUAL = Showing()


@dataclass
class PointRow:
    """A plugin at an extension point; ``place`` is when it is called, from 1, 0 where it is not."""

    plugin: PluginRow
    switch: Switch | None  # None for a plugin that the release does not have
    place: int
    shown: bool = True


@dataclass
class Section:
    """An extension point: what is called there, in order, and what could be."""

    point: str
    help: str
    running: list[PointRow]
    others: list[PointRow]
    is_changed: bool
    path: Path
    problems: list[MarkedProblem] = field(default_factory=list)

    @property
    def rows(self) -> list[PointRow]:
        return [*self.running, *self.others]

    @property
    def shown(self) -> bool:
        return any(row.shown for row in self.rows)

    @property
    def order(self) -> str:
        """The names of the plugins in calling order, as the form sends them."""
        return " ".join(row.plugin.name for row in self.running)

    @property
    def weighs(self) -> bool:
        return self.point == "score"


def sections(rows: list[PluginRow], now: Effective, base: Path, of: Tables) -> list[Section]:
    """The extension points of the release in the order in which a pod goes through them."""
    by_name = {row.name: row for row in rows}
    return [_section(point, by_name, now, base, of) for point in of.points]


def _section(point: str, rows: dict[str, PluginRow], now: Effective, base: Path, of: Tables) -> Section:
    switches: dict[str, Any] = {
        name: next((switch for switch in row.switches if switch.point == point), None) for name, row in rows.items()
    }
    called = [name for name in now[point] if name in rows]
    return Section(
        point,
        POINT_HELP.get(point, ""),
        [PointRow(rows[name], switches[name], place) for place, name in enumerate(called, 1)],
        [PointRow(rows[name], switch, 0) for name, switch in switches.items() if switch and name not in called],
        is_changed=list(now[point].items() if point == "score" else now[point])
        != list(default_points(of)[point].items() if point == "score" else default_points(of)[point]),
        path=(*base, "plugins", point),
    )
