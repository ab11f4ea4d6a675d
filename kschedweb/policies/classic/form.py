"""The structured form of a classic policy, built from its document and options. writing.py writes it back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext

from kschedweb.engine.documents.marked_documents import MarkedProblem, Path
from kschedweb.engine.json_types import Json
from kschedweb.engine.objects.json_access import ObjectError
from kschedweb.engine.releases.classic import Edition, edition_of
from kschedweb.engine.releases.classic.catalogue import EDITION, GATES, V1_9, V1_13
from kschedweb.engine.releases.classic.descriptions import DESCRIPTIONS
from kschedweb.policies.classic.lists import (
    LISTS,
    PREDICATES,
    explained_as,
    in_order,
    known_weights,
    list_items,
    name_of,
    provided_weights,
    spelled_key,
)
from kschedweb.policies.classic.schema import ARGUMENTS, GENERAL, KINDS
from kschedweb.policies.editing import arguments
from kschedweb.policies.editing.arguments import ABSENT, FormField
from kschedweb.policies.editing.field_problems import Place, place_problems
from kschedweb.policies.editing.help_translation import translate_help
from kschedweb.policies.editing.switches import as_dict
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from collections.abc import Mapping

TITLES = {"predicates": _("Predicates"), "priorities": _("Priorities")}
# This priority is usually given with an argument, so its field is shown even while the argument is empty.
SHAPED = {"RequestedToCapacityRatioPriority": "requestedToCapacityRatioArguments"}
GATE_HELP = {
    "MaxCinderVolumeCount": "Lets a policy name the predicate.",
    "PodToleratesNodeNoExecuteTaints": "Lets a policy name the predicate.",
    "ResourceLimitsPriorityFunction": "Adds ResourceLimitsPriority.",
    "TaintNodesByCondition": "Conditions of nodes become taints, which pods can tolerate.",
}


@dataclass
class RuleRow:
    """A predicate or a priority in the form."""

    # The list that it belongs to: predicates or priorities.
    key: str
    name: str
    on: bool
    # Why it cannot be switched; "" if it can.
    fixed: str = ""
    note: str = ""
    help: str = ""
    # The kind of its argument; "" for none.
    kind: str = ""
    # True if the document has an item for it.
    is_listed: bool = False
    # None for a predicate.
    weight: FormField | None = None
    arguments: FormField | None = None
    problems: list[MarkedProblem] = field(default_factory=list)

    @property
    def switch(self) -> str:
        return f"on.{self.key}.{self.name}"

    @property
    def id(self) -> str:
        return f"row-{self.key}-{self.name}"

    @property
    def explained(self) -> str:
        return explained_as(self.name, self.kind)

    @property
    def fields(self) -> list[FormField]:
        return [*([self.weight] if self.weight else []), *(self.arguments.walk() if self.arguments else [])]

    @property
    def is_open(self) -> bool:
        return any(field.value or field.problems for field in (self.arguments.walk() if self.arguments else []))


@dataclass
class Section:
    """The predicates or the priorities of the form."""

    key: str
    # True if the default provider supplies the list.
    is_default: bool
    rows: list[RuleRow]
    problems: list[MarkedProblem] = field(default_factory=list)
    # Kind and name of the rule to add, as far as they are chosen.
    new_kind: str = ""
    new_name: str = ""

    @property
    def title(self) -> str:
        return TITLES[self.key]

    @property
    def rule_word(self) -> str:
        return "predicate" if self.key == PREDICATES else "priority"

    @property
    def kinds(self) -> list[tuple[str, str]]:
        return [(kind, ARGUMENTS[kind]["description"]) for kind in KINDS[self.key]]

    @property
    def running(self) -> int:
        return sum(row.on for row in self.rows)


@dataclass
class ClassicForm:
    """The fields of process options, of both lists, and of other settings."""

    edition: Edition
    process: list[FormField]
    # Name, state and help of each feature gate.
    gates: list[tuple[str, bool, str]]
    general: list[FormField]
    sections: list[Section]
    # How many extenders the document has; they are changed in the text only.
    extenders: int
    process_problems: list[MarkedProblem] = field(default_factory=list)

    @property
    def slider_limit(self) -> int:
        """The right end of every slider. The 10,000 of NodePreferAvoidPodsPriority is beyond it."""
        weights = [row.weight.value for section in self.sections for row in section.rows if row.weight]
        return max([10, *(int(weight) for weight in weights if weight.isdecimal() and len(weight) < 4)])


def edition_shown(process: Mapping[str, Any]) -> Edition:
    """Return the edition of ``process``; the default one if ``process`` is invalid."""
    try:
        return edition_of(dict(process))
    except ObjectError:
        return EDITION


def build_form(data: Any, process: Mapping[str, Any], problems: list[MarkedProblem]) -> ClassicForm:
    """Return the form for a document's plain data, with ``problems`` at their fields."""
    values, edition = as_dict(data), edition_shown(process)
    gates = process.get("gates")
    form = ClassicForm(
        edition,
        _process_fields(process),
        [(gate, isinstance(gates, list) and gate in gates, GATE_HELP[gate]) for gate in sorted(GATES)],
        [
            arguments.form_field(schema, f"general.{name}", name, values.get(name, ABSENT), schema["default"], (name,))
            for name, schema in GENERAL.items()
        ],
        [_build_section(key, values, edition) for key in LISTS],
        len(values["extenders"]) if isinstance(values.get("extenders"), list) else 0,
    )
    _place_problems(form, values, problems)
    return form


def _process_fields(process: Mapping[str, Any]) -> list[FormField]:
    version = str(process.get("version") or V1_13)
    choices = [V1_13, V1_9] if version in (V1_13, V1_9) else [V1_13, V1_9, version]
    return [
        FormField(
            "choice",
            "process.version",
            "kube-scheduler",
            "1.9 asks all predicates of every node, in no order.",
            value=version,
            choices=choices,
            path=("process", "version"),
        ),
        FormField(
            "number",
            "process.percentageOfNodesToScore",
            "percentageOfNodesToScore",
            "From 0 to 100: the search ends once so many percent of the nodes are feasible, where there are 100 or "
            "more. 1.9 always looks at all.",
            value=_format_number(process.get("percentageOfNodesToScore")),
            default=str(EDITION.share),
            minimum=0,
            maximum=100,
            path=("process", "percentageOfNodesToScore"),
            schema={"type": "integer", "minimum": 0, "maximum": 100},
        ),
        FormField(
            "number",
            "process.maxVolumes",
            "KUBE_MAX_PD_VOLS",
            "How many volumes of a kind a node takes that does not say so itself.",
            value=_format_number(process.get("maxVolumes")),
            default=gettext("by kind"),
            minimum=1,
            path=("process", "maxVolumes"),
            schema={"type": "integer", "minimum": 1},
        ),
    ]


def _format_number(value: Any) -> str:
    return "" if value is None else str(value)


def _build_section(key: str, values: Json, edition: Edition) -> Section:
    items = list_items(values, key)
    weights = known_weights(key, edition)
    places: dict[str, int] = {}
    for index, item in enumerate(items or ()):
        places.setdefault(name_of(item), index)
    base: Path = (spelled_key(values, key),)
    rows = [
        _build_row(key, name, weights.get(name, 1 if key != PREDICATES else 0), items, places.get(name), base, edition)
        for name in in_order(key, [*weights, *(name for name in places if name not in weights)])
    ]
    return Section(key, items is None, rows)


def _build_row(
    key: str, name: str, weight: int, items: list[Json] | None, place: int | None, base: Path, edition: Edition
) -> RuleRow:
    item = items[place] if items is not None and place is not None else {}
    given_argument = as_dict(item.get("argument"))
    kind = next((candidate for candidate in KINDS[key] if candidate in given_argument), "")
    described = DESCRIPTIONS.get(name)
    is_mandatory = key == PREDICATES and name in edition.mandatory_predicates
    on = is_mandatory or (name in provided_weights(key, edition) if items is None else place is not None)
    row = RuleRow(
        key,
        name,
        on,
        "It always runs." if is_mandatory else "The default provider decides." * (items is None),
        is_listed=place is not None,
        kind=kind,
    )
    path: Path = () if place is None else (*base, place)
    if kind:
        row.help = ARGUMENTS[kind]["description"]
    elif described is not None:
        row.help = described.does
        if key == PREDICATES:
            row.help = gettext("Rejects %(plainly)s.") % {"plainly": translate_help(described.plain_text)}
    if key != PREDICATES:
        current_weight = item.get("weight")
        row.weight = FormField(
            "number",
            f"weight.{name}",
            "Weight",
            value="" if current_weight is None else str(current_weight),
            default=str(weight),
            minimum=1,
            path=(*path, "weight") if path else (),
            schema={"type": "integer", "minimum": 1},
        )
    kind = kind or (SHAPED.get(name, "") if place is not None else "")
    if kind:
        value = given_argument.get(kind, ABSENT)
        default = {"shape": "0 10, 100 0"} if kind == SHAPED.get(name) else ABSENT
        row.arguments = _argument_field(f"argument.{key}.{name}", kind, value, default, path)
    return row


def _argument_field(name: str, kind: str, value: Any, default: Any, path: Path) -> FormField:
    field = arguments.form_field(ARGUMENTS[kind], name, kind, value, ABSENT, (*path, "argument", kind) if path else ())
    for inner in field.fields if isinstance(default, dict) else ():
        inner.default = default.get(inner.label, "")
    return field


def _place_problems(form: ClassicForm, values: Json, problems: list[MarkedProblem]) -> None:
    """Put each problem at the part whose path is the longest prefix of its path."""
    fields = [
        *form.process,
        *form.general,
        *(field for section in form.sections for row in section.rows for field in row.fields),
    ]
    place_problems(problems, fields, _other_places(form, values))


def _other_places(form: ClassicForm, values: Json) -> Iterator[Place]:
    """Yield the parts of the form that show problems and are no fields."""
    yield ("process",), form.process_problems
    for section in form.sections:
        base = spelled_key(values, section.key)
        yield (base,), section.problems
        indices: dict[str, list[int]] = {}
        for index, item in enumerate(list_items(values, section.key) or ()):
            indices.setdefault(name_of(item), []).append(index)
        for row in section.rows:
            yield from (((base, index), row.problems) for index in indices.get(row.name, ()))
