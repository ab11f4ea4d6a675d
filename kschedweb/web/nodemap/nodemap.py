"""Node maps: each node is a cell, in groups, coloured by one figure, with a sentence and tables of the same.

A page contains the sentence and the tables; nodemap.ts draws the cells from columns of REST. The columns are limited to
MOST_NODES nodes, the groupings of grouping.py, and one or two bytes per value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from django.utils.translation import gettext

from kschedweb.engine.json_types import Json
from kschedweb.web.counting import format_count
from kschedweb.web.errors import Unprocessable
from kschedweb.web.nodemap.grouping import pack_column
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from django.http import QueryDict
    from numpy.typing import NDArray

    from kschedweb.web.nodemap.grouping import Grouping

MOST_NODES = 20_000
# Rows of a table of nodes.
MOST_ROWS = 500
# Percent of a resource from which on a node is full.
FULL = 95.0
STATES = (_("without a pod"), _("with pods"), _("full"), _("cordoned"), _("not ready"))
WITHOUT_POD, WITH_PODS, FULL_STATE, CORDONED, NOT_READY = range(len(STATES))


@dataclass(frozen=True)
class NodeColouring:
    """A choice of colouring."""

    key: str
    label: str
    # "%", "pods", "score", or "" for states and other categories.
    unit: str = "%"
    # "requested" or "used".
    verb: str = "requested"
    resource_name: str = ""
    # Categories in place of STATES, where the unit is "".
    words: tuple[str, ...] = ()
    # The sentence about the values; "" to make one of them.
    sentence: str = ""

    def to_dict(self) -> Json:
        stated: Json = {
            "name": self.key,
            "label": str(self.label),
            "unit": self.unit,
            "verb": self.verb,
            "what": self.resource_name,
        }
        own_texts: Json = {"words": list(self.words), "summary": self.sentence}
        return stated | {name: value for name, value in own_texts.items() if value}

    @property
    def categories(self) -> Sequence[str]:
        return self.words or STATES


PODS, STATE = NodeColouring("pods", _("pods on the node"), "pods"), NodeColouring("state", _("state of the node"), "")


def show_requested(resource: str) -> NodeColouring:
    """Return the colouring by requests of ``resource``."""
    resource_name = _resource_name(resource)
    return NodeColouring(resource, gettext("%(what)s requested") % {"what": resource_name}, resource_name=resource_name)


def show_used(resource: str) -> NodeColouring:
    """Return the colouring by real use of ``resource``."""
    resource_name = _resource_name(resource)
    return NodeColouring(
        f"use-{resource}", gettext("%(what)s used") % {"what": resource_name}, verb="used", resource_name=resource_name
    )


def _resource_name(resource: str) -> str:
    return {"cpu": "CPU", "memory": gettext("memory")}.get(resource, resource)


def classify_states(
    pods: NDArray[Any], fullest: NDArray[Any], cordoned: NDArray[np.bool_], ready: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """Return indices into STATES. All arrays have one shape; ``fullest`` is the percentage of the fullest resource.

    Where ``pods`` is nan, the node does not exist, and its state is nan.
    """
    # Later lines win: a node that is not ready is shown so, however full it is.
    codes = np.where(pods > 0, WITH_PODS, WITHOUT_POD).astype(np.float32)
    codes[fullest >= FULL] = FULL_STATE
    codes[cordoned] = CORDONED
    codes[~ready] = NOT_READY
    codes[np.isnan(pods)] = np.nan
    return codes


def check_node_count(count: int) -> None:
    """Raise Unprocessable if there are more nodes than a map can show."""
    if count > MOST_NODES:
        raise Unprocessable(f"A node map draws at most {MOST_NODES:,} nodes, these are {count:,}: filter them first.")


# The sentence and the tables.
@dataclass(frozen=True, eq=False)
class MapState:
    """The nodes at one time. Arrays are of shape [nodes], with nan for missing nodes."""

    names: Sequence[str]
    groupings: Sequence[Grouping]
    show: NodeColouring
    # The values that are shown, in the unit of ``show``.
    values: NDArray[np.float32]
    # The number of pods.
    pods: NDArray[np.float32]
    # "After 3 h"; "" for a snapshot.
    moment: str = ""

    @property
    def present_nodes(self) -> NDArray[np.intp]:
        return np.flatnonzero(~np.isnan(self.values))

    def summary(self) -> str:
        """Return one sentence. nodemap-words.ts makes the same one for other times, from rounded values."""
        sentence = self.show.sentence or self._sentence()
        if not self.moment:
            return _upper_first(sentence)
        return gettext("%(moment)s, %(said)s") % {"moment": self.moment, "said": sentence}

    def _sentence(self) -> str:
        places = self.present_nodes
        values = self.values[places].astype(np.float64)
        count, empty = len(places), int((self.pods[places] == 0).sum())
        nodes = format_count(count, "nodes")
        if not self.show.unit:
            counts = [f"{int((values == code).sum()):,} {words}" for code, words in enumerate(self.show.categories)]
            parts = gettext(", ").join(counts)
            return gettext("%(nodes)s: %(parts)s.") % {"nodes": nodes, "parts": parts}
        arguments = {"nodes": nodes, "what": self.show.resource_name, "empty": f"{empty:,}"}
        if self.show.unit == "pods":
            arguments |= {"pods": f"{int(values.sum()):,}", "most": f"{int(values.max(initial=0)):,}"}
            return gettext("%(nodes)s with %(pods)s pods, at most %(most)s on one, %(empty)s with none.") % arguments
        if not count:
            return gettext("no node has %(what)s.") % arguments
        arguments |= {"mean": str(round_half_up(values.mean())), "most": str(round_half_up(values.max()))}
        arguments["empty"] = format_count(empty, "nodes")
        if self.show.verb == "used":
            sentence = gettext(
                "%(what)s of %(nodes)s: %(mean)s %% used on average, %(most)s %% on the fullest; "
                "%(empty)s without a pod."
            )
        else:
            sentence = gettext(
                "%(what)s of %(nodes)s: %(mean)s %% requested on average, %(most)s %% on the fullest; "
                "%(empty)s without a pod."
            )
        return sentence % arguments

    def group_table(self, by: Grouping | None) -> tuple[list[str], list[list[object]]]:
        """Return a row for each group: name, nodes, and the shown value."""
        states = not self.show.unit
        more = [_upper_first(str(words)) for words in self.show.categories] if states else self._group_head()
        rows: list[list[object]] = []
        codes = by.codes if by is not None else np.zeros(len(self.names), dtype=np.int32)
        for code in range(len(by.values) if by is not None else 1):
            places = self.present_nodes[codes[self.present_nodes] == code]
            if len(places):
                name = by.group_name(code) if by is not None else gettext("all nodes")
                rows.append([name, len(places), *self._group_cells(places)])
        return [_upper_first(gettext(by.label)) if by is not None else gettext("Group"), gettext("Nodes"), *more], rows

    def _group_head(self) -> list[str]:
        unit = gettext("points") if self.show.unit == "score" else gettext(self.show.unit)
        mean, highest = gettext("Mean (%(unit)s)"), gettext("Most (%(unit)s)")
        return [mean % {"unit": unit}, highest % {"unit": unit}, gettext("Pods"), gettext("Without a pod")]

    def _group_cells(self, places: NDArray[np.intp]) -> list[object]:
        values, pods = self.values[places].astype(np.float64), self.pods[places]
        if not self.show.unit:
            return [int((values == code).sum()) for code in range(len(self.show.categories))]
        return [
            round(float(values.mean()), 1),
            _plain_number(values.max()),
            int(np.nansum(pods)),
            int((pods == 0).sum()),
        ]

    def node_table(self, by: Grouping | None, only: str = "") -> tuple[list[str], list[list[object]]]:
        """Return the nodes of the group ``only`` ("": all), highest values first; at most MOST_ROWS."""
        places = self.present_nodes
        if only and by is not None:
            matching = [by.group_name(code) == only for code in range(len(by.values))]
            places = places[np.array(matching, dtype=bool)[by.codes[places]]]
        order = places[np.argsort(-self.values[places], kind="stable")][:MOST_ROWS].tolist()
        head = _upper_first(self.show.label) if self.show.unit or self.show.words else gettext("State")
        head += f" ({self.show.unit})" if self.show.unit == "%" else ""
        middle = [] if self.show.key == PODS.key else [head]
        rows: list[list[object]] = []
        for place in order:
            value = self.values[place]
            cell = _plain_number(value) if self.show.unit else str(self.show.categories[int(value)])
            group = by.group_name(int(by.codes[place])) if by is not None else "–"
            rows.append([self.names[place], group, *([cell] if middle else []), int(self.pods[place])])
        group_head = _upper_first(gettext(by.label)) if by is not None else gettext("Group")
        return [gettext("Node"), group_head, *middle, gettext("Pods")], rows


def _upper_first(text: str) -> str:
    return text[:1].upper() + text[1:]


def round_half_up(value: Any) -> int:
    """Round half up, as JavaScript does. Every mean over nodes that a page shows as a whole number is rounded so."""
    return int(np.floor(float(value) + 0.5))


def _plain_number(value: Any) -> float | int:
    number = round(float(value), 1)
    return int(number) if number == int(number) else number


@dataclass(frozen=True, eq=False)
class MapSide:
    """One of the maps side by side."""

    # The heading.
    label: str
    # The nodes at the time that the page shows.
    now: MapState
    # The address of a node, before its name and after it.
    nodes: str
    nodes_suffix: str = ""
    # The address of the document.
    columns: str = ""
    # The address of the shown values.
    frames: str = ""
    # The address of the pods of a node; "" where a node opens its own page.
    pods: str = ""
    # The beginning of the address of a pod's decision.
    decisions: str = ""
    # The link of the heading; "" for none.
    address: str = ""
    # The document with its values, if they stand in the page and need no address.
    inline: Json | None = None


@dataclass(frozen=True, eq=False)
class NodeMap:
    """The context of parts/nodemap.html: maps side by side with common settings."""

    sides: list[MapSide]
    shows: list[NodeColouring]
    # The label of the chosen grouping.
    by: str
    group: str = ""
    # The node whose pods are shown.
    focus: str = ""
    find: str = ""
    # Further parameters of the address, for the form.
    fields: dict[str, str] = field(default_factory=dict)
    # Seconds in a run; None for a snapshot.
    time: float | None = None
    # True if the sides are before and after a change: cells that differ are outlined.
    has_changes: bool = False

    @property
    def opens_pages(self) -> bool:
        """True if a node opens a page of its own, and not its pods below the map."""
        return not self.sides[0].pods

    @property
    def show(self) -> NodeColouring:
        return self.sides[0].now.show

    @property
    def at(self) -> str:
        """The time in JavaScript's number format."""
        return "" if self.time is None else repr(float(self.time))

    @property
    def groupings(self) -> list[str]:
        return list(dict.fromkeys(grouping.label for side in self.sides for grouping in side.now.groupings))

    @property
    def chosen(self) -> str:
        """The chosen grouping, or the first."""
        labels = self.groupings
        return self.by if self.by in labels else (labels[0] if labels else "")

    @property
    def tables(self) -> list[dict[str, object]]:
        """The sentence, the groups and the nodes of each side."""
        tables = []
        for number, side in enumerate(self.sides):
            by = next((grouping for grouping in side.now.groupings if grouping.label == self.chosen), None)
            group_head, groups = side.now.group_table(by)
            # The script fills the table of an inline map when it is opened: 500 rows that nobody looks at are slow.
            is_filled = side.inline is None or self.group
            node_head, nodes = side.now.node_table(by, self.group) if is_filled else ([], [])
            tables.append(
                {
                    "id": f"map-{number}",
                    "side": side,
                    "summary": side.now.summary(),
                    "group_head": group_head,
                    "groups": groups,
                    "node_head": node_head,
                    "nodes": nodes,
                    "total": len(side.now.present_nodes),
                }
            )
        return tables


def build_document(
    names: Sequence[str],
    grouped: Sequence[Grouping],
    times: NDArray[np.float64],
    shows: Iterable[NodeColouring],
    *,
    exact: bool = True,
) -> Json:
    """Return the document that nodemap.ts loads once: nodes, groupings, times of frames, and colourings.

    ``exact`` means that nothing changes between two frames.
    """
    return {
        "names": list(names),
        "groupings": [grouping.to_dict() for grouping in grouped],
        "times": np.round(times, 6).tolist(),
        "exact": exact,
        "shows": [show.to_dict() for show in shows],
        "states": [str(state) for state in STATES],
    }


@dataclass(frozen=True, eq=False)
class MapLayer:
    """A colouring with the value of each node; NaN if it is not known. Shape [nodes]."""

    show: NodeColouring
    values: NDArray[np.float32]


def make_layer(show: NodeColouring, names: Sequence[str], values: Mapping[str, float]) -> MapLayer:
    """Return the layer with the value of each of the nodes ``names``; NaN for those without one."""
    return MapLayer(show, np.array([values.get(name, np.nan) for name in names], dtype=np.float32))


def make_verdict_layer(
    key: str, label: str, verdicts: Sequence[str], names: Sequence[str], codes: Mapping[str, int]
) -> MapLayer:
    """Return the layer with the verdict on each of the nodes ``names``: ``codes`` are indices into ``verdicts``.

    Its sentence counts the nodes of each verdict.
    """
    counts = Counter(codes.values())
    parts = gettext(", ").join(f"{counts[code]:,} {verdict}" for code, verdict in enumerate(verdicts) if counts[code])
    sentence = gettext("%(nodes)s: %(parts)s.") % {"nodes": format_count(len(codes), "nodes"), "parts": parts}
    return make_layer(NodeColouring(key, label, "", words=tuple(verdicts), sentence=sentence), names, codes)


# Parameters of the address that choose what a map shows.
CHOICES = ("show", "by", "group", "focus", "find")


@dataclass(frozen=True)
class MapChoice:
    """The view of a map that a page's address chooses."""

    show: str = ""
    by: str = ""
    # The other parameters of the address, which its form keeps.
    fields: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_address(cls, params: QueryDict) -> MapChoice:
        values = {name: str(value) for name, value in params.dict().items()}
        fields = {name: value for name, value in values.items() if name not in CHOICES}
        return cls(values.get("show", ""), values.get("by", ""), fields)


def make_inline_document(
    names: Sequence[str],
    groupings: Sequence[Grouping],
    shows: Iterable[NodeColouring],
    values: Mapping[str, NDArray[np.float32]],
) -> Json:
    """Return the document of nodes at one time that stands in a page, with ``values`` by the keys of colourings."""
    frames = {key: {"show": key, "times": 1, **pack_column(column)} for key, column in values.items()}
    return build_document(names, groupings, np.zeros(1), shows) | {"frames": frames}


def make_inline_map(
    names: Sequence[str],
    groupings: Sequence[Grouping],
    sides: Mapping[str, Sequence[MapLayer]],
    nodes_address: tuple[str, str],
    choice: MapChoice,
    *,
    choosable: int | None = None,
) -> NodeMap:
    """Return a map whose values stand in the page: of one side, or of two, before and after a change.

    ``sides`` has the layers of each side by its heading, PODS and STATE among them. The first is shown at first,
    and the first ``choosable`` (None: all) can be chosen.
    """
    map_sides = []
    for label, layers in sides.items():
        by_key = {layer.show.key: layer for layer in layers}
        shown = by_key.get(choice.show, layers[0])
        values = {key: layer.values for key, layer in by_key.items()}
        document = make_inline_document(names, groupings, [layer.show for layer in layers[:choosable]], values)
        now = MapState(names, groupings, shown.show, shown.values, by_key[PODS.key].values)
        map_sides.append(MapSide(label, now, *nodes_address, inline=document))
    shows = [layer.show for layer in next(iter(sides.values()))[:choosable]]
    return NodeMap(map_sides, shows, choice.by, fields=dict(choice.fields), has_changes=len(map_sides) > 1)
