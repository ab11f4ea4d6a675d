"""The editor of a DeschedulerPolicy: its YAML, its form, and what each plugin does after defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kschedweb.engine.config.types import encode
from kschedweb.engine.rebalancing.handle import BALANCE, DESCHEDULE
from kschedweb.engine.rebalancing.loading import Policy
from kschedweb.engine.rebalancing.plugins import PLUGINS, defaultevictor
from kschedweb.policies.descheduler.form import ITEMS, fields, write
from kschedweb.policies.descheduler.validation import DeschedulerChecked, check_descheduler
from kschedweb.policies.editing.arguments import leaves
from kschedweb.policies.editing.documents import DocumentEditor, DocumentForm


@dataclass(frozen=True)
class Running:
    """A plugin of a profile after defaults: where it runs ("": it guards pods), and its arguments as (path, value)."""

    profile: str
    plugin: str
    point: str
    about: str
    arguments: list[tuple[str, str]]


@dataclass
class DeschedulerEditor(DocumentEditor[DeschedulerChecked, Policy]):
    """The editor; ``fields`` has the limits, and a group for each profile."""

    @property
    def runs(self) -> Policy | None:
        return self.checked.loaded

    @property
    def profiles(self) -> int:
        """How many profiles the form shows."""
        return sum(one.kind == "group" for one in self.fields)

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


def _arguments(plugin: str, args: dict[str, Any]) -> list[tuple[str, str]]:
    encoded = encode(PLUGINS[plugin].args, args)
    return [(path, value) for path, value in leaves(encoded) if value not in ("", "false", "null", "[]", "{}", "0")]


FORM: DocumentForm[DeschedulerChecked, DeschedulerEditor] = DocumentForm(
    DeschedulerEditor, check_descheduler, fields, write, ITEMS
)
opened, posted = FORM.opened, FORM.posted
