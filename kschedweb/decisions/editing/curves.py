"""Score curves of a document's load-aware plugins, beside the fields of their arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kschedweb.decisions.forms import ConditionsForm, build_conditions
from kschedweb.decisions.load_aware import figures as load_figures
from kschedweb.decisions.load_aware.curves import MOVING, Conditions, compute_curve, compute_variations
from kschedweb.decisions.load_aware.sides import ScoringSide, list_load_aware_plugins, own_side
from kschedweb.policies.selectors import load_configuration
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from kschedweb.policies.editing.editor import ProfileEditor
    from kschedweb.policies.models import Revision
    from kschedweb.web.figures import Chart

FIELDS = ("pod", "average")
PREFIX = "curve"


@dataclass(frozen=True)
class Panel:
    """The curves of one plugin beside its arguments."""

    plugin: str
    form: ConditionsForm
    # None if there are no curves; ``error`` says why.
    chart: Chart | None = None
    error: str = ""

    @property
    def fields(self) -> list[object]:
        return [self.form[name] for name in FIELDS]


def build_panels(editor: ProfileEditor, saved: Revision, posted: Mapping[str, str]) -> dict[str, Panel]:
    """Build the panel of each load-aware plugin that scores in the shown profile."""
    now = editor.runs
    if now is None:
        return {}
    profile = now.profiles[min(editor.form.index, len(now.profiles) - 1)]
    scoring = {reference.name for reference in profile.points.get("score", ())}
    panels = {}
    for name in list_load_aware_plugins(now.release):
        if name in scoring:
            side, before = (own_side(rules, profile.scheduler_name, name) for rules in (now, load_configuration(saved)))
            panels[name] = _build_panel(side, before, posted)
    return panels


def _build_panel(side: ScoringSide, before: ScoringSide, posted: Mapping[str, str]) -> Panel:
    usual = {f"{PREFIX}-{name}": str(getattr(Conditions(), name)) for name in FIELDS}
    form = ConditionsForm({**usual, **{key: posted[key] for key in usual if posted.get(key)}}, prefix=PREFIX)
    if not form.is_valid():
        return Panel(side.plugin, form)
    conditions = build_conditions({name: form.cleaned_data[name] for name in FIELDS})
    try:
        drawn = [(str(MOVING[moving]), line) for moving, line in compute_variations(side, conditions)]
        whole = compute_curve(before, conditions)
        # The saved curve is drawn only if the edited arguments change it.
        changed = [(drawn[0][0], whole)] if whole.scores != drawn[0][1].scores else []
    except ApplicationError as error:
        return Panel(side.plugin, form, error=error.detail)
    return Panel(side.plugin, form, load_figures.build_curve_chart(drawn, saved=changed, height=300))
