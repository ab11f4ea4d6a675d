"""Changes of price tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from django.db import transaction
from django.utils import timezone

from kschedweb.accounts import audit
from kschedweb.clusters.models import Cluster
from kschedweb.clusters.prices.models import PriceSheet
from kschedweb.clusters.prices.selectors import sheet_get
from kschedweb.clusters.prices.validation import check_prices
from kschedweb.engine.documents.marked_documents import with_final_newline
from kschedweb.web.errors import NotFound, PreconditionFailed, Unprocessable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kschedweb.accounts.models import User
    from kschedweb.engine.documents.marked_documents import MarkedProblem
    from kschedweb.web.errors import FieldProblem


class InvalidTable(Unprocessable):
    """The text is no price table. ``errors`` have ``line`` and ``column`` as well."""

    def __init__(self, problems: Iterable[MarkedProblem]) -> None:
        errors = [cast("FieldProblem", problem.as_dict()) for problem in problems]
        super().__init__("The price table has errors, so it was not saved.", errors=errors)


@transaction.atomic
def prices_save(*, user: User | None, cluster: Cluster, text: str, expected: int) -> PriceSheet:
    """Save ``text`` as the price table of ``cluster``. An unchanged text makes no new version.

    ``expected`` is the version that was edited, 0 for none. Raises ``PreconditionFailed`` if it is not the current one,
    and ``InvalidTable``.
    """
    checked = check_prices(with_final_newline(text))
    if checked.table is None:
        raise InvalidTable(checked.errors)
    sheet = _lock_sheet(cluster, expected)
    if sheet.text == checked.text:
        return sheet
    verb = "prices.changed" if sheet.text else "prices.made"
    _write_sheet(user, sheet, checked.text)
    table = checked.table
    audit.record(
        user,
        verb,
        cluster,
        cluster.name,
        version=sheet.version,
        currency=table.currency,
        prices=len(table.prices),
        commitments=len(table.commitments),
    )
    return sheet


@transaction.atomic
def prices_delete(*, user: User | None, cluster: Cluster, expected: int) -> None:
    """Delete the price table of ``cluster``. Raises ``NotFound`` if there is none, and ``PreconditionFailed``."""
    sheet = _lock_sheet(cluster, expected)
    if not sheet.text:
        raise NotFound(f"Cluster {cluster.name} has no price table.")
    _write_sheet(user, sheet, "")
    audit.record(user, "prices.deleted", cluster, cluster.name, version=sheet.version)


def _lock_sheet(cluster: Cluster, expected: int) -> PriceSheet:
    """Lock the cluster and return its table. Raises ``PreconditionFailed`` unless its version is ``expected``."""
    # The cluster is locked because the sheet's row may not exist yet.
    if not Cluster.objects.select_for_update().filter(pk=cluster.pk).exists():
        raise NotFound(f"Cluster {cluster.name} was deleted in the meantime. Nothing was saved.")
    sheet = sheet_get(cluster)
    if sheet.version != expected:
        raise PreconditionFailed(
            f"Version {sheet.version} of the prices was saved in the meantime: you edited version {expected}. "
            "Nothing was saved."
        )
    return sheet


def _write_sheet(user: User | None, sheet: PriceSheet, text: str) -> None:
    sheet.text, sheet.version = text, sheet.version + 1
    sheet.changed_by, sheet.changed_at = user, timezone.now()
    sheet.save()
