"""The form of a sweep: scenario and policy, a row for each dimension, and objectives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django import forms
from django.utils.text import format_lazy
from django.utils.translation import gettext

from kschedweb.engine.json_types import Json
from kschedweb.playground.runs.forms import ComparisonForm, PolicyForm
from kschedweb.playground.runs.services import LARGEST_SEED
from kschedweb.playground.sweeps import services
from kschedweb.playground.sweeps.models import Method
from kschedweb.playground.sweeps.offers import FieldOffer
from kschedweb.policies.editing.arguments import parse_number
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from kschedweb.engine.studies.measure.spec import MeasureSpec
    from kschedweb.web.errors import FieldProblem

# Rows of the form for fields that are not offered; their path is typed in.
BLANK_ROWS = 2
# Inputs of a row, each posted as "<row>-<cell>".
CELLS = ("path", "low", "high", "step", "values")
# What should become better, by the measures that stand for it.
GOALS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "nodes": (_("Fewer nodes"), ("nodes_empty",)),
    "even": (_("More even"), ("skew_cpu",)),
    "pending": (_("Nothing pending"), ("unscheduled",)),
    "moves": (_("Fewer moves"), ("moved",)),
}
# The preset of dimensions: the weights of all plugins that score.
WEIGHTS = "weights"


class BaseForm(PolicyForm):
    """The scenario and policy of a sweep, on which the rest of the form depends."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["policy"].label = _("Base policy")


class SweepForm(BaseForm):
    title = forms.CharField(
        label=_("Title"), required=False, max_length=200, help_text=_("Leave empty to generate a title.")
    )
    method = forms.ChoiceField(
        label=_("Method"),
        choices=Method.choices,
        initial=Method.TPE,
        help_text=_("A grid tries every combination; Optuna searches where earlier trials did well."),
    )
    trials = forms.IntegerField(
        label=_("Trials"),
        min_value=2,
        max_value=services.MOST_TRIALS,
        initial=100,
        required=False,
        help_text=_("For a search with Optuna. At most a third of the trials changes one dimension at a time."),
    )
    seeds = forms.CharField(
        label=_("Seeds of the scenario"),
        initial="1",
        max_length=60,
        help_text=format_lazy(
            _("Up to {most} whole numbers, separated by spaces. Each trial is played with each seed."),
            most=services.MOST_SEEDS,
        ),
    )
    seed = forms.IntegerField(
        label=_("Seed of the search"),
        min_value=0,
        # The sampler adds the number of trials to the seed, and the sum must not exceed the largest seed.
        max_value=LARGEST_SEED - services.MOST_TRIALS,
        initial=1,
        required=False,
        help_text=_("Another seed starts the search elsewhere."),
    )

    clean_seeds = ComparisonForm.clean_seeds

    def clean(self) -> dict[str, object]:
        cleaned = super().clean() or {}
        if cleaned.get("method") != Method.GRID and not cleaned.get("trials") and "trials" not in self.errors:
            self.add_error("trials", gettext("Enter how many trials the search may have."))
        return cleaned


@dataclass
class DimensionRow:
    """A row of the form for one dimension."""

    # Prefix of the names of its inputs.
    name: str
    # None in a row whose path is typed in.
    offer: FieldOffer | None
    # True if the row is ticked: the sweep varies this field.
    used: bool = False
    # True if the range is searched on a logarithmic scale.
    log: bool = False
    # Text of the inputs by the names of CELLS.
    cells: dict[str, str] = field(default_factory=dict)
    # Problems that are shown at the row.
    errors: list[str] = field(default_factory=list)

    @property
    def low(self) -> str:
        return self.cells.get("low", "")

    @property
    def high(self) -> str:
        return self.cells.get("high", "")

    @property
    def step(self) -> str:
        return self.cells.get("step", "")

    @property
    def values(self) -> str:
        return self.cells.get("values", "")

    @property
    def path(self) -> str:
        return self.cells.get("path", "")

    @property
    def label(self) -> str:
        return self.offer.label if self.offer else self.path or gettext("another field")

    def to_dimension(self) -> Json:
        """Return the dimension as engine.studies.search.space reads it."""
        plain: Json = {"path": self.path}
        if self.values:
            return plain | {
                "values": [_parse_value(value.strip()) for value in self.values.split(",") if value.strip()]
            }
        plain |= {key: parse_number(text) for key, text in (("from", self.low), ("to", self.high)) if text}
        # A logarithmic range has no step.
        if self.log:
            return plain | {"log": True}
        return plain | ({"step": parse_number(self.step)} if self.step else {})


def _parse_value(text: str) -> Any:
    return {"true": True, "false": False}[text] if text in ("true", "false") else parse_number(text)


def dimension_rows(
    offers: Sequence[FieldOffer], posted: Mapping[str, str] | None, weights: int = 0
) -> list[DimensionRow]:
    """Return a row for each offer and some blank rows, filled with ``posted`` or else with the offers' ranges.

    The first ``weights`` offers are those that the preset of the weights stands for.
    """
    listed = [DimensionRow(f"d{place}", offer) for place, offer in enumerate(offers)]
    listed += [DimensionRow(f"d{len(offers) + place}", None) for place in range(BLANK_ROWS)]
    for place, row in enumerate(listed):
        _fill_row(row, posted, by_preset=place < weights and f"vary-{WEIGHTS}" in (posted or ()))
    return listed


def quota_rows(offers: Sequence[FieldOffer], posted: Mapping[str, str] | None) -> list[DimensionRow]:
    """Return a row for each offer among the settings of quota queues, named by its path: the scenario may change."""
    listed = [DimensionRow(f"q-{offer.path}", offer) for offer in offers]
    for row in listed:
        _fill_row(row, posted)
    return listed


def _fill_row(row: DimensionRow, posted: Mapping[str, str] | None, *, by_preset: bool = False) -> None:
    if posted is None:
        row.cells = _offered_cells(row.offer)
        return
    # Cut at 300 characters, so that a huge post is not echoed into the page.
    row.cells = {cell: posted.get(f"{row.name}-{cell}", "").strip()[:300] for cell in CELLS}
    row.log = f"{row.name}-log" in posted
    row.used = f"{row.name}-use" in posted or by_preset
    if by_preset and not any(row.cells.values()):
        row.cells = _offered_cells(row.offer)
    # The path of an offered field is not an input; a posted one is ignored.
    if row.offer is not None:
        row.cells["path"] = row.offer.path


def _offered_cells(offer: FieldOffer | None) -> dict[str, str]:
    if offer is None:
        return {}
    return {"path": offer.path, "low": offer.low, "high": offer.high, "step": offer.step, "values": offer.values}


def show_problems(listed: Sequence[DimensionRow], errors: Sequence[FieldProblem]) -> list[FieldProblem]:
    """Put the problems of dimensions into their rows and return the other problems."""
    # Problems count only the dimensions that were sent, which are the ticked rows.
    used = [row for row in listed if row.used]
    remaining = []
    for error in errors:
        path, _, _ = error["path"].partition("]")
        place = path.removeprefix("space[")
        if path.startswith("space[") and place.isdecimal() and int(place) < len(used):
            used[int(place)].errors.append(error["message"])
        else:
            remaining.append(error)
    return remaining


@dataclass
class ObjectiveChoice:
    """An objective of the form, and whether it is ticked."""

    objective: MeasureSpec
    chosen: bool
    # "lower" or "higher".
    direction: str


def objective_choices(objectives: Sequence[MeasureSpec], posted: Mapping[str, str] | None) -> list[ObjectiveChoice]:
    """Return the objectives to choose from, as posted; nothing is ticked in a new form."""
    preset = {name for goal, (_, names) in GOALS.items() if posted and f"goal-{goal}" in posted for name in names}
    choices = []
    for objective in objectives:
        fields = posted or {}
        direction = fields.get(f"direction-{objective.name}") or objective.direction
        chosen = f"objective-{objective.name}" in fields or objective.name in preset
        choices.append(ObjectiveChoice(objective, chosen, direction))
    return choices


def goal_choices(objectives: Sequence[MeasureSpec], posted: Mapping[str, str] | None) -> list[tuple[str, str, bool]]:
    """Return the goals that a form offers: name, label, and whether it is ticked."""
    names = {objective.name for objective in objectives}
    return [
        (goal, label, bool(posted) and f"goal-{goal}" in (posted or {}))
        for goal, (label, measures) in GOALS.items()
        if names & set(measures)
    ]
