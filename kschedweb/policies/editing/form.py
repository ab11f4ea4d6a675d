"""The structured form of one profile, built from a document. ``writing`` puts its fields back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kschedweb.engine.documents.marked_documents import MarkedProblem, Path
from kschedweb.engine.json_types import Json
from kschedweb.policies.editing import arguments, extenders
from kschedweb.policies.editing.arguments import ABSENT, FormField
from kschedweb.policies.editing.extenders import ExtenderForm
from kschedweb.policies.editing.field_problems import place_problems
from kschedweb.policies.editing.plugin_rows import PluginRow, plugin_row, unknown_plugins, unknown_row
from kschedweb.policies.editing.release_tables import Tables, load_tables
from kschedweb.policies.editing.sections import Section, build_sections
from kschedweb.policies.editing.switches import as_dict, as_list, merge_plugins

# Fields of the whole document that the form shows, in this order.
GENERAL = (
    "percentageOfNodesToScore",
    "parallelism",
    "podInitialBackoffSeconds",
    "podMaxBackoffSeconds",
    "leaderElection",
)
PROFILE = ("schedulerName", "percentageOfNodesToScore")
# The form names at most that many profiles; further ones are reached in the YAML.
PROFILE_LIMIT = 100


@dataclass
class ProfileForm:
    """The fields of one profile."""

    # The place of the profile in the document.
    index: int
    # The name of every profile of the document.
    tabs: list[str]
    # Fields of the whole document.
    general: list[FormField]
    # Fields of the profile itself.
    fields: list[FormField]
    plugins: list[PluginRow]
    sections: list[Section]
    extenders: list[ExtenderForm]
    # How many extenders of the document are not shown.
    extenders_left_out: int
    extender_problems: list[MarkedProblem] = field(default_factory=list)

    @property
    def current_name(self) -> str:
        return self.tabs[self.index] if self.index < len(self.tabs) else "default-scheduler"

    @property
    def general_changed(self) -> bool:
        return any(item.has_values for item in self.general)

    @property
    def shown_count(self) -> int:
        """The number of plugins that the list of plugins shows."""
        return sum(row.is_shown for row in self.plugins)

    @property
    def slider_limit(self) -> int:
        """The right end of every slider. All share one, so that weights can be compared by eye."""
        weights = [row.weight.value or row.weight.default for row in self.plugins if row.weight]
        return max([10, *(int(weight) for weight in weights if weight.isdecimal() and len(weight) < 4)])


def build_form(data: Any, index: int, problems: list[MarkedProblem], tables: Tables | None = None) -> ProfileForm:
    """Return the form for profile ``index`` of a document, with ``problems`` at their fields.

    ``tables`` are the tables of the release that the form offers; ``None`` for the current one.
    """
    tables = tables or load_tables()
    profiles = as_list(as_dict(data).get("profiles")) or [{}]
    index = min(max(index, 0), len(profiles) - 1)
    profile = as_dict(profiles[index])
    base: Path = ("profiles", index)
    now = merge_plugins(profile.get("plugins"), tables)
    rows = [
        *(plugin_row(name, profile, base, now, tables) for name in tables.plugins),
        *(unknown_row(name, profile, base, tables) for name in unknown_plugins(profile, tables)),
    ]
    form = ProfileForm(
        index,
        [str(as_dict(item).get("schedulerName") or "default-scheduler") for item in profiles[:PROFILE_LIMIT]],
        _plain_fields("general", as_dict(data), GENERAL, (), tables.properties_of("KubeSchedulerConfiguration")),
        _plain_fields("profile", profile, PROFILE, base, tables.properties_of("KubeSchedulerProfile")),
        rows,
        build_sections(rows, now, base, tables),
        extenders.build_forms(as_dict(data), tables),
        extenders.left_out(as_dict(data)),
    )
    _place_problems(form, problems)
    return form


def _plain_fields(prefix: str, values: Json, names: tuple[str, ...], path: Path, schema: Json) -> list[FormField]:
    return [
        arguments.form_field(
            schema[name],
            f"{prefix}.{name}",
            name,
            values.get(name, ABSENT),
            schema[name].get("default", ABSENT),
            (*path, name),
        )
        for name in names
    ]


def _place_problems(form: ProfileForm, problems: list[MarkedProblem]) -> None:
    fields = [*(item for top in form.general for item in top.walk()), *form.fields]
    fields += [item for extender in form.extenders for item in extender.group.walk()]
    for row in form.plugins:
        fields += [*(row.arguments.walk() if row.arguments else []), *([row.weight] if row.weight else [])]
    for problem in problems:
        for row in form.plugins:
            if row.is_told(problem):
                row.problems.append(problem)
    place_problems(
        problems,
        fields,
        [(("extenders",), form.extender_problems), *((section.path, section.problems) for section in form.sections)],
    )
