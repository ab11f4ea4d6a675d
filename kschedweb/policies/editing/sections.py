"""The parts of the form that are shown: plugins by search or difference, and sections by extension point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kschedweb.engine.config.schema import POINT_HELP
from kschedweb.engine.documents.marked_documents import MarkedProblem, Path
from kschedweb.policies.editing.plugin_rows import PluginRow, Switch
from kschedweb.policies.editing.release_tables import Tables
from kschedweb.policies.editing.switches import Effective, default_points

BY_PLUGIN, BY_POINT = "plugin", "point"
# Characters of a search.
LONGEST = 100


@dataclass(frozen=True)
class FormFilter:
    """A person's choice of what the form shows. It changes no document, and stands in the address."""

    # Words, all of which a plugin must match to be shown.
    find: str = ""
    # True to show only plugins that differ from the default.
    changed: bool = False
    # One list of plugins, or sections by extension point.
    by: str = BY_PLUGIN
    # The place in the document of the profile to compare with; None for none.
    compared_profile: int | None = None

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> FormFilter:
        """Return the filter that posted fields, or the query of an address, ask for."""
        compared = query.get("beside", "")
        return cls(
            query.get("find", "").strip()[:LONGEST],
            query.get("changed", "") not in ("", "0"),
            BY_POINT if query.get("by") == BY_POINT else BY_PLUGIN,
            int(compared) if compared.isascii() and compared.isdecimal() and len(compared) < 6 else None,
        )

    @property
    def query(self) -> dict[str, str]:
        """The filter as the query of an address; "" for what has its default."""
        return {
            "find": self.find,
            "changed": "1" if self.changed else "",
            "by": self.by if self.by != BY_PLUGIN else "",
            "beside": "" if self.compared_profile is None else str(self.compared_profile),
        }

    def mark_shown(self, rows: list[PluginRow], sections: list[Section]) -> None:
        """Mark the plugins that are shown. One with errors always is."""
        for row in rows:
            row.is_shown = row.has_problems or self._matches(row, row.differs)
        for section in sections:
            for point_row in section.rows:
                point_row.is_shown = bool(section.problems) or self._matches(point_row.plugin, section.is_changed)

    def _matches(self, row: PluginRow, differs: bool) -> bool:
        return (differs or not self.changed) and all(word in row.search_text for word in self.find.lower().split())


DEFAULT_FILTER = FormFilter()


@dataclass
class PointRow:
    """A plugin at an extension point."""

    plugin: PluginRow
    # None for a plugin that the release does not have.
    switch: Switch | None
    # The place in calling order, from 1; 0 if it is not called here.
    place: int
    is_shown: bool = True


@dataclass
class Section:
    """An extension point with the plugins that are called there, and those that could be."""

    point: str
    help: str
    # In calling order.
    running: list[PointRow]
    # Plugins that implement the point but are off there.
    available: list[PointRow]
    is_changed: bool
    path: Path
    problems: list[MarkedProblem] = field(default_factory=list)

    @property
    def rows(self) -> list[PointRow]:
        return [*self.running, *self.available]

    @property
    def is_shown(self) -> bool:
        return any(row.is_shown for row in self.rows)

    @property
    def order(self) -> str:
        """The names of the plugins in calling order, as the form sends them."""
        return " ".join(row.plugin.name for row in self.running)

    @property
    def weighs(self) -> bool:
        return self.point == "score"


def build_sections(rows: list[PluginRow], now: Effective, base: Path, tables: Tables) -> list[Section]:
    """Return the extension points of the release in the order in which a pod passes them."""
    by_name = {row.name: row for row in rows}
    return [_build_section(point, by_name, now, base, tables) for point in tables.points]


def _build_section(point: str, rows: dict[str, PluginRow], now: Effective, base: Path, tables: Tables) -> Section:
    switches: dict[str, Switch | None] = {
        name: next((switch for switch in row.switches if switch.point == point), None) for name, row in rows.items()
    }
    called = [name for name in now[point] if name in rows]
    return Section(
        point,
        POINT_HELP.get(point, ""),
        [PointRow(rows[name], switches[name], place) for place, name in enumerate(called, 1)],
        [PointRow(rows[name], switch, 0) for name, switch in switches.items() if switch and name not in called],
        # Weights count at score only; elsewhere a default with another weight is no change.
        is_changed=list(now[point].items() if point == "score" else now[point])
        != list(default_points(tables)[point].items() if point == "score" else default_points(tables)[point]),
        path=(*base, "plugins", point),
    )
