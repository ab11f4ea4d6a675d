"""Reads policies of kind Karpenter and loads them with the engine."""

from __future__ import annotations

from django.http import Http404
from django.utils.translation import gettext

from kschedweb.engine.autoscaling.document import Karpenter, KarpenterError, read_document
from kschedweb.engine.documents.marked_documents import parse_document
from kschedweb.policies.dialect import PolicyKind
from kschedweb.policies.karpenter.dialect import DEFAULTS
from kschedweb.policies.models import Revision
from kschedweb.policies.selectors import policy_get, revision_get
from kschedweb.web.errors import Unprocessable
from kschedweb.web.lru import LRU

# Loading costs far more than a look-up, and a revision never changes.
_karpenter_cache: LRU[Karpenter] = LRU(16)


def clear_cache() -> None:
    """Clear the cache. Tests need it because they use primary keys again."""
    _karpenter_cache.clear()


def list_choices() -> list[tuple[str, str]]:
    """Return the newest revisions of policies of kind Karpenter as choices of a form: (``name@revision``, label)."""
    rows = Revision.objects.filter(policy__kind=PolicyKind.KARPENTER).select_related("policy")
    newest = {row.policy.name: row.number for row in rows.order_by("policy__name", "number")}
    label = gettext("%(policy)s, revision %(item)s")
    return [(f"{name}@{number}", label % {"policy": name, "item": number}) for name, number in newest.items()]


def revision_named(text: str, path: str = "policy") -> Revision:
    """Return the revision that ``text`` names as "policy" or "policy@number". Raises Http404 or Unprocessable."""
    name, _, number = text.partition("@")
    if "\0" in name or (number and not (number.isascii() and number.isdecimal() and len(number) < 10)):
        raise Http404("There is no such policy or revision.")
    revision = revision_get(policy_get(name), int(number) if number else None)
    if revision.policy.kind != PolicyKind.KARPENTER:
        message = f"{name} holds {revision.policy.dialect.document_word}: choose a policy with NodePools of Karpenter."
        raise Unprocessable.at(path, message)
    return revision


def karpenter_of(revision: Revision | None) -> Karpenter:
    """Return Karpenter's settings of ``revision``, or those with the ready NodePool for ``None``. Raises
    Unprocessable.
    """
    if revision is None:
        # (0,) is the key of the ready NodePool: no row has the primary key 0.
        return _karpenter_cache.get((0,), lambda: read_document(DEFAULTS))
    return _karpenter_cache.get((revision.pk,), lambda: karpenter_read(revision.document))


def karpenter_read(document: str) -> Karpenter:
    """Return Karpenter's settings of a stored ``document``. Raises Unprocessable if this version refuses it."""
    try:
        return read_document(parse_document(document).data)
    except KarpenterError as error:
        raise Unprocessable.at("policy", f"This version does not accept the NodePools: {error}") from None
