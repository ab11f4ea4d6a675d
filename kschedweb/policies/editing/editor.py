"""The state of the editor: a document, shown as YAML and as the form of one of its profiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext

from kschedweb.engine.config import Configuration
from kschedweb.engine.documents.marked_documents import (
    MarkedDocumentError,
    MarkedProblem,
    as_yaml,
    normalise_text,
    parse_document,
)
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases import CURRENT, RELEASES, ReleaseError, read_gates, write_gates
from kschedweb.engine.releases.older import is_old
from kschedweb.policies.dialect import EditorState
from kschedweb.policies.editing import extenders, form, writing
from kschedweb.policies.editing.arguments import FormField, iter_leaves
from kschedweb.policies.editing.release_tables import Tables, load_tables
from kschedweb.policies.editing.sections import BY_PLUGIN, DEFAULT_FILTER, FormFilter
from kschedweb.policies.editing.switches import default_points
from kschedweb.policies.old_versions import as_v1
from kschedweb.policies.profile_comparison.selectors import compare_profiles_at
from kschedweb.policies.validation import NO_OPTIONS, CheckedProfiles, check_profiles, release_of
from kschedweb.web import messages

if TYPE_CHECKING:
    from kschedweb.policies.editing.form import ProfileForm


@dataclass(frozen=True)
class EffectivePlugin:
    """A plugin at an extension point."""

    name: str
    # 0 but at score.
    weight: int
    # True if the default profile has it at this point with the same weight.
    is_default: bool


@dataclass(frozen=True)
class EffectiveArgument:
    plugin: str
    path: str
    value: str
    is_default: bool


@dataclass
class ProfileEditor(EditorState[CheckedProfiles, Configuration]):
    """The editor of profiles."""

    # The YAML that the editor shows.
    document: str
    # The document from which the form was filled; see ``writing.apply_form``.
    base: str
    checked: CheckedProfiles
    form: ProfileForm
    # The release and its feature gates, as they are stored or were typed.
    process: Json = field(default_factory=dict)
    # What of the form is shown: this changes no document.
    showing: FormFilter = field(default_factory=FormFilter)

    @property
    def problems(self) -> list[MarkedProblem]:
        """The problems in the order of lines. Problems of ``process`` are shown at their fields instead."""
        placed = [problem for problem in self.checked.errors if not problem.path.startswith("process.")]
        return sorted(placed, key=lambda problem: (problem.line, problem.column))

    @property
    def gates(self) -> str:
        """The feature gates as text: well-formed ones as the flag takes them, others as they were typed."""
        gates = self.process.get("featureGates") or ""
        return write_gates(gates) if isinstance(gates, Mapping) else str(gates)

    @property
    def release_fields(self) -> list[FormField]:
        """The fields of ``process``: the release, and its feature gates as kube-scheduler's flag takes them."""
        fields = [
            FormField(
                "choice",
                "process.release",
                gettext("Release of kube-scheduler"),
                value=self.process.get("release", ""),
                default=gettext("same as the cluster (%(release)s if unknown)") % {"release": CURRENT.name},
                choices=list(dict.fromkeys([*RELEASES, *filter(None, [self.process.get("release")])])),
                labels={name: release.label for name, release in RELEASES.items()},
                help=gettext("The release that this policy is written for."),
            ),
            FormField(
                "text",
                "process.featureGates",
                gettext("Feature gates"),
                value=self.gates,
                help=gettext(
                    "As in kube-scheduler's flag: Name=true,Other=false. Leave empty for the release's defaults."
                ),
            ),
        ]
        for process_field in fields:
            process_field.problems = [problem for problem in self.checked.errors if problem.path == process_field.name]
        return fields

    @property
    def runs(self) -> Configuration | None:
        return self.checked.loaded.configuration if self.checked.loaded else None

    def with_process(self, process: Json) -> ProfileEditor:
        # Without YAML there is nothing that another release could read differently.
        if self.checked.document is None:
            return self
        editor = open_editor(self.document, self.form.index, process, self.showing)
        return replace(editor, base=self.base) if self.base != self.document else editor

    @property
    def process_fields(self) -> dict[str, str]:
        return {"process.release": self.process.get("release", ""), "process.featureGates": self.gates}

    @property
    def query(self) -> dict[str, str]:
        return {"profile": str(self.form.index or ""), **self.showing.query}

    def draw_panels(self, panels: Callable[[ProfileEditor], Mapping[str, object]]) -> bool:
        drawn = panels(self)
        for row in self.form.plugins:
            row.panel = drawn.get(row.name)
        return bool(drawn)

    def preview_context(self) -> dict[str, object]:
        return {
            "points": effective_points(self),
            "arguments": effective_arguments(self),
            "profile_comparison": compare_profiles_at(self.runs, self.form.index, self.showing.compared_profile),
        }

    def effective_context(self) -> dict[str, object]:
        return {**self.preview_context(), "defaulted": as_yaml(self.runs.document) if self.runs else ""}

    @property
    def state(self) -> Json:
        more = {"release": self.process.get("release", ""), "query": self.query}
        return build_state(self.document, self.problems, self.checked.warnings) | more


def build_state(document: str, errors: list[MarkedProblem], warnings: list[MarkedProblem]) -> Json:
    """Return the state for the page's script."""
    return {
        "document": document,
        "errors": [_to_diagnostic(problem) for problem in errors],
        "warnings": [
            _to_diagnostic(problem) | {"message": messages.translate_words(problem.message)} for problem in warnings
        ],
    }


def open_editor(
    document: str, profile: int = 0, process: Mapping[str, Any] = NO_OPTIONS, showing: FormFilter = DEFAULT_FILTER
) -> ProfileEditor:
    """Return the editor for a saved document and its ``process`` (the release and its feature gates)."""
    checked = check_profiles(document, process)
    data = checked.document.data if checked.document else {}
    if checked.conversion:
        # The form shows the document of v1, and changes are written to that.
        data = checked.conversion.document
    profile_form = form.build_form(data, profile, [*checked.errors, *checked.secrets], offered_tables(process))
    showing.mark_shown(profile_form.plugins, profile_form.sections)
    return ProfileEditor(document, document, checked, profile_form, dict(process), showing)


def profile_of(query: Mapping[str, str]) -> int:
    """Return the place in the document of the profile that posted fields or a query name."""
    return _parse_index(query.get("profile", ""))


def offered_tables(process: Mapping[str, Any]) -> Tables:
    """Return the tables of the release that ``process`` names, or of the current release if it cannot be read."""
    try:
        return load_tables(release_of(process))
    except ReleaseError:
        return load_tables()


def read_posted(fields: Mapping[str, str], saved: Mapping[str, Any] = NO_OPTIONS) -> ProfileEditor:
    """Return the editor for posted fields and YAML, after a pressed button. ``saved`` is the saved process.

    The fields are read as those of the release that the form was made for, and shown as those of the chosen one.
    """
    process = _read_process(fields, saved)
    tables = offered_tables(_read_process(fields, saved, "base"))
    document = normalise_text(fields.get("document", ""))
    base = normalise_text(fields.get("base", document))
    profile = profile_of(fields)
    shows_form = "profile" in fields and "base" in fields
    old, before = document, _as_v1(document, process)
    # A document of an older version is converted before the form is written into it: the form shows v1.
    if before:
        shows_form, document = shows_form and base == document, before
    base = _as_v1(base, process) or base
    try:
        if shows_form:
            document = writing.apply_form(document, base, fields, profile, tables)
        document, profile = _apply_button(document, fields, profile, tables)
        # If the form changed nothing, the old document stays as it was typed.
        document = old if document == before else document
    except MarkedDocumentError:
        return _open_unreadable(document, base, fields, profile, process, tables)
    profile, showing = _choose_shown(fields, profile)
    return open_editor(document, profile, process, showing)


def _choose_shown(fields: Mapping[str, str], profile: int) -> tuple[int, FormFilter]:
    """Return the profile to show and the filter, after a button that shows another profile or a plugin."""
    showing = FormFilter.from_query(fields)
    if plugin := fields.get("show_plugin"):
        showing = replace(showing, find=plugin, by=BY_PLUGIN)
    if "show_profile" not in fields:
        return profile, showing
    chosen = _parse_index(fields["show_profile"])
    return chosen, replace(showing, compared_profile=profile) if showing.compared_profile == chosen else showing


def _as_v1(document: str, process: Mapping[str, Any]) -> str:
    """Return ``document`` converted to v1; "" if it is of v1 already, or invalid."""
    if not is_old(document):
        return ""
    conversion = check_profiles(document, process).conversion
    return as_v1(conversion) if conversion else ""


def _read_process(fields: Mapping[str, str], saved: Mapping[str, Any], prefix: str = "process") -> Json:
    """Return the release and the feature gates that were posted, or those of ``saved`` if the form did not show them.

    ``prefix`` is "process" for the chosen ones, "base" for those that the form was made for.
    """
    if f"{prefix}.release" not in fields:
        return dict(saved)
    gates_text = fields.get(f"{prefix}.featureGates", "")
    try:
        gates: Any = read_gates(gates_text)
    except ReleaseError:
        # The check reports them as they were typed.
        gates = gates_text
    process = {"release": fields[f"{prefix}.release"], "featureGates": gates, "files": saved.get("files")}
    return {name: value for name, value in process.items() if value}


def effective_points(editor: ProfileEditor) -> list[tuple[str, list[EffectivePlugin]]]:
    """Return the plugins of the shown profile at each extension point, in calling order."""
    if editor.runs is None:
        return []
    default = {point: dict(plugins) for point, plugins in default_points(load_tables(editor.runs.release)).items()}
    return [
        (
            point,
            [
                EffectivePlugin(
                    reference.name,
                    reference.weight if point == "score" else 0,
                    reference.name in default[point]
                    and (point != "score" or default[point][reference.name] == reference.weight),
                )
                for reference in references
            ],
        )
        for point, references in editor.runs.profiles[editor.form.index].points.items()
    ]


def effective_arguments(editor: ProfileEditor) -> list[EffectiveArgument]:
    """Return every argument of the shown profile after defaulting, one leaf per row."""
    if editor.runs is None:
        return []
    default = load_tables(editor.runs.release).default_arguments
    rows = []
    for plugin, values in sorted(editor.runs.profiles[editor.form.index].args.items()):
        defaults = dict(iter_leaves(default.get(plugin, {})))
        rows += [
            EffectiveArgument(plugin, path, value, defaults.get(path) == value)
            for path, value in iter_leaves(values)
            if path not in ("kind", "apiVersion")
        ]
    return rows


def _apply_button(document: str, fields: Mapping[str, str], profile: int, tables: Tables) -> tuple[str, int]:
    """Return the document and the shown profile after a button that changes the document."""
    if "add_profile" in fields:
        document = writing.add_profile(document)
        data = parse_document(document).data
        return document, len(data["profiles"]) - 1
    if "remove_profile" in fields:
        return writing.remove_profile(document, profile), 0
    if point := fields.get("move"):
        return writing.move_plugin(document, profile, point, tables), profile
    if (index := fields.get("remove_extender", "")).isdecimal():
        return extenders.remove_extender(document, _parse_index(index)), profile
    if fields.get("reset"):
        return writing.reset_plugin(document, profile, fields["reset"], tables), profile
    return document, profile


def _open_unreadable(
    document: str, base: str, fields: Mapping[str, str], profile: int, process: Mapping[str, Any], tables: Tables
) -> ProfileEditor:
    """Return the editor for invalid YAML. The form keeps its fields until they can be written into a valid document."""
    try:
        base_text = (
            writing.apply_form(base, base, fields, profile, tables)
            if "profile" in fields and "base" in fields
            else base
        )
        data = parse_document(base_text).data
    except MarkedDocumentError:
        base, data = "", {}
    built, showing = form.build_form(data, profile, [], offered_tables(process)), FormFilter.from_query(fields)
    showing.mark_shown(built.plugins, built.sections)
    return ProfileEditor(document, base, check_profiles(document, process), built, dict(process), showing)


def _parse_index(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 6 else 0


def _to_diagnostic(problem: MarkedProblem) -> Json:
    return {
        "line": problem.line,
        "column": problem.column,
        "endColumn": problem.end_column,
        "message": problem.message,
    }
