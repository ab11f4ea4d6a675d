"""The editor of a DeschedulerPolicy: its YAML, its limits as a form, and what each plugin does after defaults."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from kschedweb.engine.config.types import encode
from kschedweb.engine.documents.json_schema import Schemas
from kschedweb.engine.documents.marked import DocumentError, MarkedProblem, normalised, parse
from kschedweb.engine.rebalancing.document import POLICY
from kschedweb.engine.rebalancing.handle import BALANCE, DESCHEDULE
from kschedweb.engine.rebalancing.loading import Policy
from kschedweb.engine.rebalancing.plugins import PLUGINS, defaultevictor
from kschedweb.policies.descheduler.validation import DeschedulerChecked, check_descheduler
from kschedweb.policies.dialect import EditorState
from kschedweb.policies.editing import arguments
from kschedweb.policies.editing.arguments import ABSENT, Field, leaves
from kschedweb.policies.editing.editor import state
from kschedweb.policies.editing.edits import rewrite
from kschedweb.policies.editing.plain import place
from kschedweb.policies.editing.switches import as_dict

SCHEMA = Schemas().struct(POLICY)["properties"]
LABELS = {
    "nodeSelector": "Only nodes with these labels",
    "maxNoOfPodsToEvictTotal": "Most evictions in a cycle",
    "maxNoOfPodsToEvictPerNode": "Most evictions from a node",
    "maxNoOfPodsToEvictPerNamespace": "Most evictions from a namespace",
}


@dataclass(frozen=True)
class Running:
    """A plugin of a profile after defaults: where it runs ("": it guards pods), and its arguments as (path, value)."""

    profile: str
    plugin: str
    point: str
    about: str
    arguments: list[tuple[str, str]]


@dataclass
class DeschedulerEditor(EditorState[DeschedulerChecked, Policy]):
    """The editor; ``base`` is the document from which the form was filled."""

    document: str
    base: str
    checked: DeschedulerChecked
    fields: list[Field]
    process: dict[str, Any] = field(default_factory=dict)

    @property
    def problems(self) -> list[MarkedProblem]:
        """The problems in the order of lines."""
        return sorted(self.checked.errors, key=lambda problem: (problem.line, problem.column))

    @property
    def runs(self) -> Policy | None:
        return self.checked.loaded

    @property
    def running(self) -> list[Running]:
        """What runs, in its order: Deschedule of every profile, then Balance; first what guards pods."""
        profiles = (self.runs.profiles or []) if self.runs else []
        guards = [(one, defaultevictor.NAME, "") for one in profiles]
        ran = [(one, name, point) for point in (DESCHEDULE, BALANCE) for one in profiles for name in one.enabled(point)]
        return [
            Running(one.name, name, point, PLUGINS[name].args.help, _arguments(name, one.args[name]))
            for one, name, point in (*guards, *ran)
        ]

    @property
    def state(self) -> dict[str, Any]:
        return state(self.document, self.problems, self.checked.warnings)


def opened(document: str) -> DeschedulerEditor:
    """The editor for a saved document."""
    checked = check_descheduler(document)
    data = checked.document.data if checked.document else {}
    return DeschedulerEditor(document, document, checked, _fields(data, checked.errors))


def posted(posted: Mapping[str, str]) -> DeschedulerEditor:
    """The editor for posted fields and YAML: what differs from the form's base is written into the YAML."""
    document = normalised(posted.get("document", ""))
    base = normalised(posted.get("base", document))
    try:
        return opened(_applied(document, base, posted) if "base" in posted else document)
    except DocumentError:
        return DeschedulerEditor(document, base, check_descheduler(document), _fields({}, []))


def _applied(document: str, base: str, posted: Mapping[str, str]) -> str:
    """``document`` with the changes of the form. Raises DocumentError if one of the two is not YAML."""
    data, shown = as_dict(parse(document).data), as_dict(parse(base).data)
    target = deepcopy(data)
    for name in LABELS:
        old = arguments.shown_value(SCHEMA[name], shown.get(name, ABSENT))
        value = arguments.overlay(old, arguments.read(SCHEMA[name], name, posted), data.get(name, ABSENT))
        if value is ABSENT:
            target.pop(name, None)
        else:
            target[name] = value
    return document if target == data else rewrite(document, target)


def _fields(data: Any, problems: list[MarkedProblem]) -> list[Field]:
    """A field for each limit, with ``problems`` beside it."""
    found = []
    for name, label in LABELS.items():
        one = arguments.form_field(SCHEMA[name], name, name, as_dict(data).get(name, ABSENT), ABSENT, (name,))
        one.label = label
        found.append(one)
    place(problems, [inner for one in found for inner in one.walk()])
    return found


def _arguments(plugin: str, args: dict[str, Any]) -> list[tuple[str, str]]:
    encoded = encode(PLUGINS[plugin].args, args)
    return [(path, value) for path, value in leaves(encoded) if value not in ("", "false", "null", "[]", "{}", "0")]
