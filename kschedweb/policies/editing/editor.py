"""The state of the editor: a document, shown as YAML and as the form of one of its profiles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kschedweb.engine.config import Configuration
from kschedweb.engine.documents.marked import DocumentError, MarkedProblem, as_yaml, normalised, parse
from kschedweb.policies.dialect import EditorState
from kschedweb.policies.editing import form
from kschedweb.policies.validation import Checked, check

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
    """The editor. ``base`` is the document from which the form was filled; see ``form.apply``."""

    document: str
    base: str
    checked: Checked
    form: ProfileForm
    process: dict[str, Any] = field(default_factory=dict)

    @property
    def problems(self) -> list[MarkedProblem]:
        """The problems in the order of lines."""
        return sorted(self.checked.errors, key=lambda problem: (problem.line, problem.column))

    @property
    def runs(self) -> Configuration | None:
        return self.checked.loaded.configuration if self.checked.loaded else None

    @property
    def query(self) -> dict[str, str]:
        return {"profile": str(self.form.index)} if self.form.index else {}

    def draw(self, panels: Callable[[Editor], Mapping[str, object]]) -> bool:
        drawn = panels(self)
        for row in self.form.plugins:
            row.panel = drawn.get(row.name)
        return bool(drawn)

    def previewed(self) -> dict[str, Any]:
        return {"points": effective_points(self), "arguments": effective_arguments(self)}

    def explained(self) -> dict[str, Any]:
        return {**self.previewed(), "defaulted": as_yaml(self.runs.document) if self.runs else ""}

    @property
    def state(self) -> dict[str, Any]:
        return state(self.document, self.checked.errors, self.checked.warnings)


def state(document: str, errors: list[MarkedProblem], warnings: list[MarkedProblem]) -> dict[str, Any]:
    """The state for the page's script."""
    return {
        "document": document,
        "errors": [_diagnostic(problem) for problem in errors],
        "warnings": [_diagnostic(problem) for problem in warnings],
    }


def opened(document: str, profile: int = 0) -> Editor:
    """The editor for a saved document."""
    checked = check(document)
    data = checked.document.data if checked.document else {}
    return Editor(document, document, checked, form.build(data, profile, checked.errors))


def posted(fields: Mapping[str, str]) -> Editor:
    """The editor for posted fields and YAML, with the effect of a pressed button."""
    document = normalised(fields.get("document", ""))
    base = normalised(fields.get("base", document))
    profile = _index(fields.get("profile", ""))
    shows_form = "profile" in fields and "base" in fields
    try:
        if shows_form:
            document = form.apply(document, base, fields, profile)
        document, profile = _pressed(document, fields, profile)
    except DocumentError:
        return _unreadable(document, base, fields, profile, shows_form)
    if "show_profile" in fields:
        profile = _index(fields["show_profile"])
    return opened(document, profile)


def effective_points(editor: Editor) -> list[tuple[str, list[EffectivePlugin]]]:
    """The plugins of the shown profile at each extension point, in calling order."""
    if editor.runs is None:
        return []
    default = {point: dict(plugins) for point, plugins in form.default_points().items()}
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
    default = form.default_arguments()
    rows = []
    for plugin, values in sorted(editor.runs.profiles[editor.form.index].args.items()):
        known = dict(form.leaves(default.get(plugin, {})))
        rows += [
            EffectiveArgument(plugin, path, value, known.get(path) == value)
            for path, value in form.leaves(values)
            if path not in ("kind", "apiVersion")
        ]
    return rows


def _pressed(document: str, fields: Mapping[str, str], profile: int) -> tuple[str, int]:
    """Apply a button that changes the document."""
    if "add_profile" in fields:
        document = form.add_profile(document)
        data = parse(document).data
        return document, len(data["profiles"]) - 1
    if "remove_profile" in fields:
        return form.remove_profile(document, profile), 0
    if fields.get("reset"):
        return form.reset(document, profile, fields["reset"]), profile
    return document, profile


def _unreadable(document: str, base: str, fields: Mapping[str, str], profile: int, shows_form: bool) -> Editor:
    """The editor for invalid YAML; the form keeps its fields until they can be written into a valid document."""
    try:
        shown = form.apply(base, base, fields, profile) if shows_form else base
        data = parse(shown).data
    except DocumentError:
        base, data = "", {}
    return Editor(document, base, check(document), form.build(data, profile, []))


def _index(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 6 else 0


def _diagnostic(problem: MarkedProblem) -> dict[str, Any]:
    return {
        "line": problem.line,
        "column": problem.column,
        "endColumn": problem.end_column,
        "message": problem.message,
    }
