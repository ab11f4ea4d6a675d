"""Reads policies of kind Karpenter, and what the engine makes of them."""

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

_karpenter_cache: LRU[Karpenter] = LRU(16)


def clear_cache() -> None:
    """Clear the cache; for tests, which use primary keys again."""
    _karpenter_cache.clear()


def list_choices() -> list[tuple[str, str]]:
    """The newest revisions of policies of kind Karpenter as choices of a form: (``name@revision``, label)."""
    rows = Revision.objects.filter(policy__kind=PolicyKind.KARPENTER).select_related("policy")
    newest = {row.policy.name: row.number for row in rows.order_by("policy__name", "number")}
    label = gettext("%(policy)s, revision %(item)s")
    return [(f"{name}@{number}", label % {"policy": name, "item": number}) for name, number in newest.items()]


def revision_named(text: str, path: str = "policy") -> Revision:
    """The revision that ``text`` names as "policy" or "policy@number"; raises Http404 or Unprocessable."""
    name, _, number = text.partition("@")
    if "\0" in name or (number and not (number.isascii() and number.isdecimal() and len(number) < 10)):
        raise Http404("There is no such policy or revision.")
    revision = revision_get(policy_get(name), int(number) if number else None)
    if revision.policy.kind != PolicyKind.KARPENTER:
        message = f"{name} holds {revision.policy.dialect.document_word}: choose a policy with NodePools of Karpenter."
        raise Unprocessable.at(path, message)
    return revision


def karpenter_of(revision: Revision | None) -> Karpenter:
    """What Karpenter is told by ``revision``, or by the ready NodePool; raises Unprocessable."""
    if revision is None:
        return _karpenter_cache.get((0,), lambda: read_document(DEFAULTS))
    return _karpenter_cache.get((revision.pk,), lambda: karpenter_read(revision.document))


def karpenter_read(document: str) -> Karpenter:
    """What Karpenter is told by a stored ``document``; raises Unprocessable where this version refuses it."""
    try:
        return read_document(parse_document(document).data)
    except KarpenterError as error:
        raise Unprocessable.at("policy", f"This version does not accept the NodePools: {error}") from None
