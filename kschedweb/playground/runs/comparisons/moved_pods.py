"""Pods that got other nodes under another policy, over all compared seeds, and the plugins that moved them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.urls import reverse

from kschedweb.engine.json_types import Json
from kschedweb.playground.runs import selectors
from kschedweb.playground.runs.rows import LazyRows, sort_rows
from kschedweb.web.translating import gettext_lazy as _

if TYPE_CHECKING:
    from uuid import UUID

    from kschedweb.playground.runs.models import Difference

# Stands for no plugin in an address.
NONE = "none"
# Filters that let every pod through.
ANY = {"plugin": "", "what": "", "search": ""}
ORDERS = ("pod", "what", "before", "after", "plugin", "lead", "seed")
CHANGE_KINDS = {
    "moved": _("moved"),
    "newly-unscheduled": _("newly unschedulable"),
    "newly-scheduled": _("newly scheduled"),
}


@dataclass(frozen=True)
class MovedRow:
    """A pod that went elsewhere under the other policy."""

    pod: str
    # Key of CHANGE_KINDS.
    change: str
    # Nodes under the reference and under the other policy; "" for none.
    before: str
    after: str
    # The plugin whose weighted score favours the new node most, or that rejects the node which the pod lost.
    plugin: str
    # Points by which that score favours the new node; None for a rejection.
    lead: float | None
    # The scheduler's message of the rejection, or why no plugin can be named.
    message: str
    # True if it moves because others moved before it; None in older comparisons, which did not store this.
    follows: bool | None
    seed: int
    policy: str
    reference_run: UUID
    other_run: UUID
    # Names of the pods that were last in its place, in the reference's run and in the other one.
    before_pod: str
    after_pod: str

    @property
    def words(self) -> str:
        return CHANGE_KINDS[self.change]

    @property
    def before_address(self) -> str:
        """The page of the decision in the reference's run."""
        return reverse("run-decision", args=[self.reference_run, *self.before_pod.split("/", 1)])

    @property
    def after_address(self) -> str:
        """The page of the decision in the other run."""
        return reverse("run-decision", args=[self.other_run, *self.after_pod.split("/", 1)])


class MovedList(LazyRows[MovedRow]):
    """The moved pods of the policy at ``position`` that match ``filters``: plugin, kind of change and search ("": any).

    ``ordering`` is one of ORDERS, descending after a "-"; the default is the order of tries, seed by seed. Unknown
    values come last.
    """

    def __init__(
        self, differences: Sequence[Difference], position: int, filters: dict[str, str], ordering: str = ""
    ) -> None:
        finished = [
            difference for difference in differences if difference.run.position == position and difference.counts
        ]
        self.counts: list[Json] = [difference.counts for difference in finished]
        self.seeds = sorted(difference.run.seed for difference in finished)
        # True while a comparison of this policy is still being made.
        self.waits = any(
            difference.run.position == position and not selectors.is_compared(difference) for difference in differences
        )
        ours = [
            difference.job
            for difference in differences
            if difference.run.position == position and difference.job is not None
        ]
        self.errors = [job.error for job in ours if job.error]
        # The page's sentence is about the first policy, whichever one the list shows.
        first = [difference.counts for difference in differences if difference.run.position == 1 and difference.counts]
        self.first_count: int | None = first[0]["moved"] if first else None
        self.pods: int = first[0]["pods"] if first else 0
        self.rows = [
            (difference, entry)
            for difference in sorted(finished, key=lambda difference: difference.run.seed)
            for entry in selectors.load_difference(difference)
            if (not filters["plugin"] or (entry["plugin"] or NONE) == filters["plugin"])
            and (not filters["what"] or entry["what"] == filters["what"])
            and filters["search"] in entry["pod"]
        ]
        if (key := ordering.removeprefix("-")) in ORDERS:
            self.rows = sort_rows(
                self.rows,
                lambda record: record[0].run.seed if key == "seed" else record[1][key],
                down=ordering.startswith("-"),
            )

    def sum_counts(self, field: str) -> int:
        """Return the sum of a count over the seeds."""
        return sum(entry.get(field, 0) for entry in self.counts)

    @property
    def only_before(self) -> int:
        """Number of pods that only the reference's runs have, over the seeds."""
        return self.sum_counts("onlyBefore")

    @property
    def only_after(self) -> int:
        """Number of pods that only the other policy's runs have, over the seeds."""
        return self.sum_counts("onlyAfter")

    @property
    def compared(self) -> int:
        """Number of pods that both have, over the seeds."""
        return self.sum_counts("pods")

    @property
    def totals(self) -> list[tuple[str, str, int]]:
        """The number of pods of each kind, over the seeds."""
        names = {"moved": "moved", "newly-unscheduled": "newlyUnscheduled", "newly-scheduled": "newlyScheduled"}
        return [(kind, CHANGE_KINDS[kind], self.sum_counts(name)) for kind, name in names.items()]

    def row(self, record: tuple[Difference, Json]) -> MovedRow:
        """Return the row of a stored change and the difference that it belongs to."""
        difference, entry = record
        return MovedRow(
            entry["pod"],
            entry["what"],
            entry["before"],
            entry["after"],
            entry["plugin"],
            entry["lead"],
            entry["said"],
            entry.get("follows"),
            difference.run.seed,
            difference.run.label,
            difference.against_id,
            difference.run_id,
            # Older comparisons have one name, which stands for both.
            entry.get("before_pod") or entry["pod"],
            entry.get("after_pod") or entry["pod"],
        )
