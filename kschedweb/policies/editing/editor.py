"""The state of the editor: a document, shown as YAML and as the form of one of its profiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from django.utils.translation import gettext

from kschedweb.engine.config import Configuration
from kschedweb.engine.documents.marked import DocumentError, MarkedProblem, as_yaml, normalised, parse
from kschedweb.engine.releases import CURRENT, RELEASES, ReleaseError, read_gates, write_gates
from kschedweb.engine.releases.older import is_old
from kschedweb.policies.beside.selectors import beside
from kschedweb.policies.dialect import EditorState
from kschedweb.policies.editing import extenders, form, writing
from kschedweb.policies.editing.arguments import Field, leaves
from kschedweb.policies.editing.sections import BY_PLUGIN, USUAL, Showing
from kschedweb.policies.editing.switches import default_points
from kschedweb.policies.editing.tables import Tables, tables
from kschedweb.policies.older import as_v1
from kschedweb.policies.validation import NOTHING_SAID, Checked, check, release_of
from kschedweb.web import told

if TYPE_CHECKING:
    from kschedweb.policies.editing.form import ProfileForm


@dataclass(frozen=True)
class EffectivePlugin:
    """A plugin at an extension point; ``is_default`` if the default profile has it there with the same weight."""

    name: str
    weight: int
    is_default: bool


@dataclass(frozen=True)
class EffectiveArgument:
    plugin: str
    path: str
    value: str
    is_default: bool


@dataclass
class Editor(EditorState[Checked, Configuration]):
    """The editor. ``base`` is the document from which the form was filled; see ``writing.apply``."""

    document: str
    base: str
    checked: Checked
    form: ProfileForm
    process: dict[str, Any] = field(default_factory=dict)
    showing: Showing = field(default_factory=Showing)

    @property
    def problems(self) -> list[MarkedProblem]:
        """The problems in the order of lines; those of ``process`` are shown at their fields."""
        placed = [problem for problem in self.checked.errors if not problem.path.startswith("process.")]
        return sorted(placed, key=lambda problem: (problem.line, problem.column))

    @property
    def gates(self) -> str:
        """The feature gates as they are written; those that cannot be read as they were typed."""
        gates = self.process.get("featureGates") or ""
        return write_gates(gates) if isinstance(gates, Mapping) else str(gates)

    @property
    def release_fields(self) -> list[Field]:
        """The fields of ``process``: the release, and its feature gates as kube-scheduler's flag takes them."""
        fields = [
            Field(
                "choice",
                "process.release",
                gettext("Release of kube-scheduler"),
                value=self.process.get("release", ""),
                default=gettext("the cluster's, else %(release)s") % {"release": CURRENT.name},
                choices=list(dict.fromkeys([*RELEASES, *filter(None, [self.process.get("release")])])),
                help=gettext("The release that this policy is written for."),
            ),
            Field(
                "text",
                "process.featureGates",
                gettext("Feature gates"),
                value=self.gates,
                help=gettext("As for kube-scheduler's flag: Name=true,Other=false. Leave empty for the release's own."),
            ),
        ]
        for one in fields:
            one.problems = [problem for problem in self.checked.errors if problem.path == one.name]
        return fields

    @property
    def runs(self) -> Configuration | None:
        return self.checked.loaded.configuration if self.checked.loaded else None

    def taking(self, process: dict[str, Any]) -> Editor:
        if self.checked.document is None:
            return self
        found = opened(self.document, self.form.index, process, self.showing)
        return replace(found, base=self.base) if self.base != self.document else found

    @property
    def process_fields(self) -> dict[str, str]:
        return {"process.release": self.process.get("release", ""), "process.featureGates": self.gates}

    @property
    def query(self) -> dict[str, str]:
        return {"profile": str(self.form.index or ""), **self.showing.query}

    def draw(self, panels: Callable[[Editor], Mapping[str, object]]) -> bool:
        drawn = panels(self)
        for row in self.form.plugins:
            row.panel = drawn.get(row.name)
        return bool(drawn)

    def previewed(self) -> dict[str, Any]:
        return {
            "points": effective_points(self),
            "arguments": effective_arguments(self),
            "beside": beside(self.runs, self.form.index, self.showing.beside),
        }

    def explained(self) -> dict[str, Any]:
        return {**self.previewed(), "defaulted": as_yaml(self.runs.document) if self.runs else ""}

    @property
    def state(self) -> dict[str, Any]:
        more = {"release": self.process.get("release", ""), "query": self.query}
        return state(self.document, self.problems, self.checked.warnings) | more


def state(document: str, errors: list[MarkedProblem], warnings: list[MarkedProblem]) -> dict[str, Any]:
    """The state for the page's script."""
    return {
        "document": document,
        "errors": [_diagnostic(problem) for problem in errors],
        "warnings": [_diagnostic(problem) | {"message": told.words(problem.message)} for problem in warnings],
    }


def opened(
    document: str, profile: int = 0, process: Mapping[str, Any] = NOTHING_SAID, showing: Showing = USUAL
) -> Editor:
    """The editor for a saved document and its ``process`` (the release and its feature gates)."""
    checked = check(document, process)
    data = checked.document.data if checked.document else {}
    if checked.conversion:
        data = checked.conversion.document  # which is what the form can show, and change
    shown = form.build(data, profile, [*checked.errors, *checked.secrets], offered(process))
    showing.narrow(shown.plugins, shown.sections)
    return Editor(document, document, checked, shown, dict(process), showing)


def profile_of(asked: Mapping[str, str]) -> int:
    """The profile, by its place in the document, that posted fields or the query of an address name."""
    return _index(asked.get("profile", ""))


def offered(process: Mapping[str, Any]) -> Tables:
    """What the form offers for ``process``: where that cannot be read, what it offers for the current release."""
    try:
        return tables(release_of(process))
    except ReleaseError:
        return tables()


def posted(fields: Mapping[str, str], saved: Mapping[str, Any] = NOTHING_SAID) -> Editor:
    """The editor for posted fields and YAML, with the effect of a pressed button; ``saved`` is the saved process.

    The fields are read as those of the release that the form was made for, and shown as those of the chosen one.
    """
    process = _process(fields, saved)
    of = offered(_process(fields, saved, "base"))
    document = normalised(fields.get("document", ""))
    base = normalised(fields.get("base", document))
    profile = profile_of(fields)
    shows_form = "profile" in fields and "base" in fields
    old, before = document, _as_v1(document, process)
    if before:
        shows_form, document = shows_form and base == document, before
    base = _as_v1(base, process) or base
    try:
        if shows_form:
            document = writing.apply(document, base, fields, profile, of)
        document, profile = _pressed(document, fields, profile, of)
        document = old if document == before else document
    except DocumentError:
        return _unreadable(document, base, fields, profile, process, of)
    profile, showing = _shown(fields, profile)
    return opened(document, profile, process, showing)


def _shown(fields: Mapping[str, str], profile: int) -> tuple[int, Showing]:
    """The profile to show, and what of it, after a button that shows another one or a plugin."""
    showing = Showing.of(fields)
    if plugin := fields.get("show_plugin"):
        showing = replace(showing, find=plugin, by=BY_PLUGIN)
    if "show_profile" not in fields:
        return profile, showing
    chosen = _index(fields["show_profile"])
    return chosen, replace(showing, beside=profile) if showing.beside == chosen else showing


def _as_v1(document: str, process: Mapping[str, Any]) -> str:
    """What a valid ``document`` of a version before v1 becomes; "" for any other."""
    if not is_old(document):
        return ""
    conversion = check(document, process).conversion
    return as_v1(conversion) if conversion else ""


def _process(fields: Mapping[str, str], saved: Mapping[str, Any], of: str = "process") -> dict[str, Any]:
    """The release and the feature gates that were posted; those of ``saved`` where the form did not ask.

    ``of``: "process" for those that were chosen, "base" for those that the form was made for.
    """
    if f"{of}.release" not in fields:
        return dict(saved)
    written = fields.get(f"{of}.featureGates", "")
    try:
        gates: Any = read_gates(written)
    except ReleaseError:
        gates = written  # which is told when it is checked
    given = {"release": fields[f"{of}.release"], "featureGates": gates, "files": saved.get("files")}
    return {name: value for name, value in given.items() if value}


def effective_points(editor: Editor) -> list[tuple[str, list[EffectivePlugin]]]:
    """The plugins of the shown profile at each extension point, in calling order."""
    if editor.runs is None:
        return []
    default = {point: dict(plugins) for point, plugins in default_points(tables(editor.runs.release)).items()}
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


def effective_arguments(editor: Editor) -> list[EffectiveArgument]:
    """Every argument of the shown profile after defaulting, one leaf per row."""
    if editor.runs is None:
        return []
    default = tables(editor.runs.release).default_arguments
    rows = []
    for plugin, values in sorted(editor.runs.profiles[editor.form.index].args.items()):
        known = dict(leaves(default.get(plugin, {})))
        rows += [
            EffectiveArgument(plugin, path, value, known.get(path) == value)
            for path, value in leaves(values)
            if path not in ("kind", "apiVersion")
        ]
    return rows


def _pressed(document: str, fields: Mapping[str, str], profile: int, of: Tables) -> tuple[str, int]:
    """Apply a button that changes the document."""
    if "add_profile" in fields:
        document = writing.add_profile(document)
        data = parse(document).data
        return document, len(data["profiles"]) - 1
    if "remove_profile" in fields:
        return writing.remove_profile(document, profile), 0
    if point := fields.get("move"):
        return writing.move(document, profile, point, of), profile
    if (index := fields.get("remove_extender", "")).isdecimal():
        return extenders.remove(document, _index(index)), profile
    if fields.get("reset"):
        return writing.reset(document, profile, fields["reset"], of), profile
    return document, profile


def _unreadable(
    document: str, base: str, fields: Mapping[str, str], profile: int, process: Mapping[str, Any], of: Tables
) -> Editor:
    """The editor for invalid YAML; the form keeps its fields until they can be written into a valid document."""
    try:
        shown = writing.apply(base, base, fields, profile, of) if "profile" in fields and "base" in fields else base
        data = parse(shown).data
    except DocumentError:
        base, data = "", {}
    built, showing = form.build(data, profile, [], offered(process)), Showing.of(fields)
    showing.narrow(built.plugins, built.sections)
    return Editor(document, base, check(document, process), built, dict(process), showing)


def _index(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 6 else 0


def _diagnostic(problem: MarkedProblem) -> dict[str, Any]:
    return {
        "line": problem.line,
        "column": problem.column,
        "endColumn": problem.end_column,
        "message": problem.message,
    }
