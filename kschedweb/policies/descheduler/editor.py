"""The editor of a DeschedulerPolicy: its YAML, its form, and what each plugin does after defaults."""

from __future__ import annotations

from dataclasses import dataclass

from kschedweb.engine.config.types import encode
from kschedweb.engine.json_types import Json
from kschedweb.engine.rebalancing.handle import BALANCE, DESCHEDULE
from kschedweb.engine.rebalancing.loading import DeschedulerPolicy
from kschedweb.engine.rebalancing.plugins import PLUGINS, defaultevictor
from kschedweb.policies.descheduler.form import ITEMS, build_fields, write_form
from kschedweb.policies.descheduler.validation import DeschedulerChecked, check_descheduler
from kschedweb.policies.editing.arguments import iter_leaves
from kschedweb.policies.editing.documents import DocumentEditor, DocumentForm


@dataclass(frozen=True)
class Running:
    """A plugin of a profile, after defaults."""

    profile: str
    plugin: str
    # "deschedule" or "balance"; "" for a plugin that protects pods.
    point: str
    help: str
    # As (path, value), without values that are empty, false or 0.
    arguments: list[tuple[str, str]]


@dataclass
class DeschedulerEditor(DocumentEditor[DeschedulerChecked, DeschedulerPolicy]):
    """The editor of a DeschedulerPolicy. Its form has the limits, and a group for each profile."""

    @property
    def runs(self) -> DeschedulerPolicy | None:
        return self.checked.loaded

    @property
    def profiles(self) -> int:
        """The number of profiles that the form shows."""
        return sum(field.kind == "group" for field in self.fields)

    @property
    def running(self) -> list[Running]:
        """Return the plugins in running order: those that protect pods, then Deschedule of every profile, then
        Balance.
        """
        profiles = (self.runs.profiles or []) if self.runs else []
        # DefaultEvictor protects pods from all the others, so it is shown first.
        guards = [(profile, defaultevictor.NAME, "") for profile in profiles]
        enabled = [
            (profile, name, point)
            for point in (DESCHEDULE, BALANCE)
            for profile in profiles
            for name in profile.enabled_plugins(point)
        ]
        return [
            Running(profile.name, name, point, PLUGINS[name].args.help, _list_arguments(name, profile.args[name]))
            for profile, name, point in (*guards, *enabled)
        ]


def _list_arguments(plugin: str, args: Json) -> list[tuple[str, str]]:
    encoded = encode(PLUGINS[plugin].args, args)
    return [
        (path, value) for path, value in iter_leaves(encoded) if value not in ("", "false", "null", "[]", "{}", "0")
    ]


FORM: DocumentForm[DeschedulerChecked, DeschedulerEditor] = DocumentForm(
    DeschedulerEditor, check_descheduler, build_fields, write_form, ITEMS
)
open_editor, read_posted = FORM.open_editor, FORM.read_posted
