"""The keys of quota queues in a scenario, with their types and help texts."""

from __future__ import annotations

from kschedweb.engine.documents.leaves import EnumChoice, Flag, Quantity, Text
from kschedweb.engine.documents.types import REQUIRED, Either, ListType, Struct, StructField
from kschedweb.engine.queueing.quota.objects import (
    ANY,
    BEST_EFFORT_FIFO,
    LOWER_OR_NEWER_EQUAL_PRIORITY,
    LOWER_PRIORITY,
    MAY_STOP_SEARCH,
    NEVER,
    STRICT_FIFO,
    TRY_NEXT_FLAVOR,
)
from kschedweb.engine.studies.document.actions import OBJECT_NAME
from kschedweb.engine.values import dataclass

# Quotas in one scenario.
MOST_QUOTAS = 1_000


@dataclass(frozen=True, slots=True)
class QuotaSettings:
    """A quota of a ClusterQueue or Cohort instead of its own; amounts are quantities, None for its own."""

    queue: str
    flavor: str
    resource: str
    nominal: str | None = None
    borrowing_limit: str | None = None
    lending_limit: str | None = None


@dataclass(frozen=True, slots=True)
class QueueRules:
    """Rules of a ClusterQueue, or the place and weight of a Cohort, instead of its own; None for its own."""

    queue: str
    # "" for none.
    cohort: str | None = None
    queueing_strategy: str | None = None
    within_cluster_queue: str | None = None
    reclaim_within_cohort: str | None = None
    borrow_within_cohort: str | None = None
    when_can_borrow: str | None = None
    when_can_preempt: str | None = None
    weight: str | None = None


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """The settings of a scenario's quota queues."""

    # None: as the objects tell.
    fair_sharing: bool | None = None
    quotas: tuple[QuotaSettings, ...] = ()
    rules: tuple[QueueRules, ...] = ()
    # A label whose value, in lower case, is the LocalQueue of pods that name none; "" for no such label.
    queue_label: str = ""

    def with_changes(self, changes: QueueSettings) -> QueueSettings:
        """Return the settings with ``changes`` over them; of two settings of one thing the later one counts."""
        fair = self.fair_sharing if changes.fair_sharing is None else changes.fair_sharing
        label = changes.queue_label or self.queue_label
        return QueueSettings(fair, (*self.quotas, *changes.quotas), (*self.rules, *changes.rules), label)


QUOTA = Struct(
    "QuotaOf",
    "",
    (
        StructField("queue", OBJECT_NAME, "The ClusterQueue, or Cohort.", REQUIRED),
        StructField("flavor", OBJECT_NAME, "The ResourceFlavor.", REQUIRED),
        StructField("resource", Text(1, 253), "The resource, such as cpu.", REQUIRED),
        StructField("nominal", Quantity(), "The nominal quota. Default: its own."),
        StructField("borrowingLimit", Quantity(), "How much it may borrow. Default: its own."),
        StructField("lendingLimit", Quantity(), "How much it lends. Default: its own."),
    ),
    make=QuotaSettings,
)
# Where an object of Kueue has an amount of its quota.
AMOUNT_KEYS = {"nominal": "nominalQuota", "borrowingLimit": "borrowingLimit", "lendingLimit": "lendingLimit"}
FUNGIBILITY = (MAY_STOP_SEARCH, TRY_NEXT_FLAVOR)
RULES = Struct(
    "RulesOf",
    "",
    (
        StructField("queue", OBJECT_NAME, "The ClusterQueue, or Cohort.", REQUIRED),
        StructField("cohort", Either("", OBJECT_NAME, ""), "The cohort that it belongs to; empty for none."),
        StructField(
            "queueingStrategy",
            EnumChoice((BEST_EFFORT_FIFO, STRICT_FIFO)),
            "Whether the first may keep others waiting.",
        ),
        StructField(
            "withinClusterQueue",
            EnumChoice((NEVER, LOWER_PRIORITY, LOWER_OR_NEWER_EQUAL_PRIORITY)),
            "Whom it may evict in its own queue.",
        ),
        StructField(
            "reclaimWithinCohort",
            EnumChoice((NEVER, LOWER_PRIORITY, ANY)),
            "Whom it may evict in other queues to get its own quota.",
        ),
        StructField(
            "borrowWithinCohort",
            EnumChoice((NEVER, LOWER_PRIORITY)),
            "Whom it may evict in other queues while it borrows.",
        ),
        StructField("whenCanBorrow", EnumChoice(FUNGIBILITY), "Whether a flavor with borrowing ends the search."),
        StructField("whenCanPreempt", EnumChoice(FUNGIBILITY), "Whether a flavor with evictions ends the search."),
        StructField("weight", Quantity(), "Its weight in fair sharing."),
    ),
    make=QueueRules,
)
# Where the spec of a ClusterQueue, and of a Cohort as far as it has them, has its rules.
RULE_PLACES = {
    "queueingStrategy": ("queueingStrategy",),
    "withinClusterQueue": ("preemption", "withinClusterQueue"),
    "reclaimWithinCohort": ("preemption", "reclaimWithinCohort"),
    "borrowWithinCohort": ("preemption", "borrowWithinCohort", "policy"),
    "whenCanBorrow": ("flavorFungibility", "whenCanBorrow"),
    "whenCanPreempt": ("flavorFungibility", "whenCanPreempt"),
    "weight": ("fairSharing", "weight"),
}
# Its cohort, in the newest version and before.
COHORT_KEYS = {"ClusterQueue": ("cohortName", "cohort"), "Cohort": ("parentName", "parent")}
QUEUES = Struct(
    "QueuesOf",
    "Kueue 0.19.2 admits jobs that name a LocalQueue of the objects.",
    (
        StructField("fairSharing", Flag(), "Whether queues share fairly. Default: as the objects tell."),
        StructField("quotas", ListType(QUOTA, max_items=MOST_QUOTAS), "Quotas instead of the objects' own.", ()),
        StructField("rules", ListType(RULES, max_items=MOST_QUOTAS), "Rules of queues instead of their own.", ()),
        StructField(
            "queueLabel",
            Text(1, 317),
            "A label, such as team: pods that name no LocalQueue are of the one that its value names, in lower case.",
            "",
        ),
    ),
    make=QueueSettings,
)
FIELD = StructField("queues", QUEUES, "Who lets jobs wait for quota; nobody where it is left out.")
