"""The keys of quota queues in a scenario, with their types and help texts."""

from __future__ import annotations

from kschedweb.engine.documents.leaves import Flag, Quantity, Text
from kschedweb.engine.documents.types import REQUIRED, ListType, Struct, StructField
from kschedweb.engine.studies.document.actions import OBJECT_NAME
from kschedweb.engine.values import dataclass

# Quotas in one scenario.
MOST_QUOTAS = 1_000


@dataclass(frozen=True, slots=True)
class QuotaSettings:
    """A quota of a ClusterQueue or Cohort in place of its own; amounts are quantities, None for its own."""

    queue: str
    flavor: str
    resource: str
    nominal: str | None = None
    borrowing_limit: str | None = None
    lending_limit: str | None = None


@dataclass(frozen=True, slots=True)
class QueueSettings:
    """The settings of a scenario's quota queues."""

    # None: as the objects tell.
    fair_sharing: bool | None = None
    quotas: tuple[QuotaSettings, ...] = ()


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
QUEUES = Struct(
    "QueuesOf",
    "Kueue 0.19.2 admits jobs that name a LocalQueue of the objects.",
    (
        StructField("fairSharing", Flag(), "Whether queues share fairly. Default: as the objects tell."),
        StructField("quotas", ListType(QUOTA, max_items=MOST_QUOTAS), "Quotas in place of the objects' own.", ()),
    ),
    make=QueueSettings,
)
FIELD = StructField("queues", QUEUES, "Who lets jobs wait for quota; nobody where it is left out.")
