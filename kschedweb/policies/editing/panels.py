"""Panels beside the arguments of a plugin in the editor. Apps that draw panels register here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kschedweb.policies.editing.editor import ProfileEditor
    from kschedweb.policies.models import Revision

# Draws panels, by plugin, from the editor, the saved revision and the posted fields.
Drawing = Callable[["ProfileEditor", "Revision", Mapping[str, str]], Mapping[str, object]]

_drawings: list[Drawing] = []


def register_drawing(drawing: Drawing) -> None:
    _drawings.append(drawing)


def draw_panels(editor: ProfileEditor, saved: Revision, posted: Mapping[str, str]) -> dict[str, object]:
    """Return the panel of each plugin that has one, by plugin."""
    return {plugin: panel for drawing in _drawings for plugin, panel in drawing(editor, saved, posted).items()}
