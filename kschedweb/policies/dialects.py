"""The dialects of policies by kind, and the dialect of a document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext

from kschedweb.engine.autoscaling.document import KIND as KARPENTER_KIND
from kschedweb.engine.autoscaling.manifests import merge_manifests
from kschedweb.engine.autoscaling.offers.labels import GROUP as KARPENTER_GROUP
from kschedweb.engine.documents.configmaps import ConfigMapError, unpack_config_map
from kschedweb.engine.documents.marked_documents import (
    MarkedDocument,
    MarkedDocumentError,
    MarkedProblem,
    parse_document,
)
from kschedweb.engine.json_types import Json
from kschedweb.engine.plugins.dynamic.policyfile import GROUP, KIND
from kschedweb.engine.rebalancing.document import GROUP as DESCHEDULER_GROUP
from kschedweb.engine.rebalancing.document import KIND as DESCHEDULER_KIND
from kschedweb.engine.releases.classic.policy import is_policy
from kschedweb.engine.releases.older import make_readable
from kschedweb.policies.classic.dialect import ClassicDialect
from kschedweb.policies.crane.dialect import CraneDialect
from kschedweb.policies.descheduler.dialect import DeschedulerDialect
from kschedweb.policies.dialect import CheckedText, Dialect
from kschedweb.policies.karpenter.dialect import KarpenterDialect
from kschedweb.policies.profiles_dialect import ProfilesDialect
from kschedweb.policies.validation import CheckedProfiles

PROFILES, CLASSIC, CRANE = ProfilesDialect(), ClassicDialect(), CraneDialect()
DESCHEDULER, KARPENTER = DeschedulerDialect(), KarpenterDialect()
DIALECTS: dict[str, Dialect[Any, Any]] = {
    dialect.kind: dialect for dialect in (PROFILES, CLASSIC, CRANE, DESCHEDULER, KARPENTER)
}
DECIDING = tuple(kind for kind, dialect in DIALECTS.items() if dialect.decides)
WITH_PROFILES = tuple(kind for kind, dialect in DIALECTS.items() if dialect.has_profiles)
CONVERTIBLE = tuple(kind for kind, dialect in DIALECTS.items() if dialect.is_convertible)


def dialect_of(data: Any) -> Dialect[Any, Any]:
    """Return the dialect that ``data`` names by ``kind``, or by its fields if that is missing. Data that is not an
    object counts as profiles.
    """
    if not isinstance(data, dict):
        return PROFILES
    if data.get("kind") == KIND or str(data.get("apiVersion")).startswith(f"{GROUP}/"):
        return CRANE
    if data.get("kind") == DESCHEDULER_KIND or str(data.get("apiVersion")).startswith(f"{DESCHEDULER_GROUP}/"):
        return DESCHEDULER
    if data.get("kind") == KARPENTER_KIND or str(data.get("apiVersion")).startswith(f"{KARPENTER_GROUP}/"):
        return KARPENTER
    return CLASSIC if is_policy(data) else PROFILES


def extract_policy(text: str) -> str:
    """Return the policy in ``text``, which may be a ConfigMap, or Karpenter's manifests, which become one document.

    Raises ConfigMapError.
    """
    return merge_manifests(unpack_config_map(text))


def process_of_text(text: str) -> Json:
    """Return the start options for an unsaved document. They are empty for profiles, which name their release
    themselves.
    """
    try:
        dialect = dialect_of(parse_document(make_readable(extract_policy(text))).data)
    except (ConfigMapError, MarkedDocumentError):
        return {}
    return CLASSIC.settle_release({}) if dialect is CLASSIC else {}


def check_either(text: str, process: Mapping[str, Any] | None = None) -> CheckedText:
    """Check ``text``, or the policy in it (see ``extract_policy``), with the engine of its kind.

    ``process`` has the start options of kube-scheduler.
    """
    try:
        text = extract_policy(text)
    except ConfigMapError as error:
        return CheckedProfiles(text, None, None, [MarkedProblem(str(error), "data")], [])
    try:
        dialect = dialect_of(parse_document(make_readable(text)).data)
    except MarkedDocumentError:
        dialect = PROFILES
    checked: CheckedText = dialect.check(text, process or {})
    return checked


def other_kind(document: MarkedDocument, kind: str, name: str) -> MarkedProblem | None:
    """Return the problem of a document of another kind than the policy ``name``, at its line; ``None`` if it fits."""
    dialect = dialect_of(document.data)
    if dialect.kind == kind:
        return None
    message = gettext(
        "The document is %(document_word)s, but %(name)s holds %(document_word2)s. A policy "
        "keeps its kind: create another policy for this document."
    ) % {"document_word": dialect.document_word, "name": name, "document_word2": DIALECTS[kind].document_word}
    line, column, end = document.place(("kind",))
    return MarkedProblem(message, "kind", line, column, end, ("kind",))
