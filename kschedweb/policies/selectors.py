"""Reads policies and their revisions."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from django.http import Http404

from kschedweb.engine.json_types import Json
from kschedweb.policies.dialect import PolicyKind
from kschedweb.policies.dialects import DIALECTS
from kschedweb.policies.models import Policy, Revision
from kschedweb.policies.revisions.selectors import get_revision, with_newest
from kschedweb.web.errors import Unprocessable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from django.db.models import QuerySet

    from kschedweb.engine.config import Configuration
    from kschedweb.engine.releases.classic import Algorithm
    from kschedweb.policies.dialect import CheckedText
    from kschedweb.policies.diff import PolicyChange

# The policy of kube-scheduler's defaults; a migration creates it, and it cannot be deleted.
DEFAULT_POLICY = "default"


def policy_list() -> QuerySet[Policy]:
    """Return policies by name, each with ``newest`` (number), ``revision_count``, ``changed_at``, ``changed_by``."""
    policies = Policy.objects.select_related("file__repository")
    return with_newest(policies, Revision.objects.all(), "policy").order_by("name")


def policy_get(name: str) -> Policy:
    """Return the policy ``name``. Raises ``Http404`` if there is none."""
    policy = policy_list().filter(name=name).first()
    if policy is None:
        raise Http404(f"There is no policy named {name}.")
    return policy


def revision_list(policy: Policy) -> QuerySet[Revision]:
    """Return the revisions of ``policy``, newest first."""
    return policy.revisions.select_related("policy", "author", "commit").order_by("-number")


def revision_get(policy: Policy, number: int | None = None) -> Revision:
    """Return revision ``number``, by default the newest. Raises ``Http404`` if there is none."""
    return get_revision(revision_list(policy), number, f"Policy {policy.name}")


def profiles_only(revision: Revision, path: str = "") -> Revision:
    """Return ``revision``. Raises ``Unprocessable`` at the field ``path`` unless it has profiles."""
    if not revision.policy.dialect.has_profiles:
        message = (
            f"{revision.policy.name} is a classic policy, which runs no groups of pods, plugins or live schedulers: "
            "convert it into a KubeSchedulerConfiguration, and use that policy here."
        )
        if not revision.policy.dialect.decides:
            message = _decides_nothing(revision)
        raise Unprocessable.at(path, message) if path else Unprocessable(message)
    return revision


def deciding_only(revision: Revision, path: str = "") -> Revision:
    """Return ``revision``. Raises ``Unprocessable`` at the field ``path`` if it cannot place pods by itself."""
    if not revision.policy.dialect.decides:
        message = _decides_nothing(revision)
        raise Unprocessable.at(path, message) if path else Unprocessable(message)
    return revision


def _decides_nothing(revision: Revision) -> str:
    dialect = revision.policy.dialect
    return f"{revision.policy.name} holds {dialect.document_word}, which places no pod by itself: {dialect.use}."


def descheduling_only(revision: Revision, path: str = "") -> Revision:
    """Return ``revision``. Raises ``Unprocessable`` at the field ``path`` unless it holds a DeschedulerPolicy."""
    if revision.policy.kind != PolicyKind.DESCHEDULER:
        dialect = revision.policy.dialect
        message = (
            f"{revision.policy.name} holds {dialect.document_word}: choose a policy that holds a DeschedulerPolicy."
        )
        raise Unprocessable.at(path, message) if path else Unprocessable(message)
    return revision


def descheduler_policies() -> list[Policy]:
    """Return the policies that hold a DeschedulerPolicy, by name."""
    return list(Policy.objects.filter(kind=PolicyKind.DESCHEDULER).order_by("name"))


def classic_only(revision: Revision, path: str = "") -> Revision:
    """Return ``revision``. Raises ``Unprocessable`` at the field ``path`` unless it is a classic one."""
    if not revision.policy.dialect.is_convertible:
        message = f"{revision.policy.name} holds {revision.policy.dialect.document_word}: choose a classic Policy."
        raise Unprocessable.at(path, message) if path else Unprocessable(message)
    return revision


def load_revision(revision: Revision, version: str = "", gates: Mapping[str, bool] | None = None) -> Configuration:
    """Return what the engine runs for ``revision``. The result is cached, since a revision never changes.

    ``version`` is that of the cluster ("v1.35.4"), which decides if the policy names no release. ``gates`` override
    those of the policy. Raises ValueError if it cannot run with them.
    """
    process = revision.policy.dialect.process_on_version(revision.process, version)
    if gates:
        process["featureGates"] = {**process.get("featureGates", {}), **gates}
    return _load_cached(revision.pk, revision.policy.kind, revision.document, json.dumps(process, sort_keys=True))


def process_of_run(revision: Revision, version: str) -> Json:
    """Return the process that runs, searches and verdicts record for ``revision`` in a cluster of ``version``.

    It names a release: the policy's own, else the cluster's, else today's. So a question and the questions that follow
    from it are answered by one release.
    """
    dialect = revision.policy.dialect
    return dialect.settle_release(dialect.process_on_version(revision.process, version))


def load_configuration(revision: Revision, version: str = "", gates: Mapping[str, bool] | None = None) -> Configuration:
    """Load as ``load_revision`` does. Raises ``Unprocessable`` for a revision without profiles."""
    return load_revision(profiles_only(revision), version, gates)


def load_algorithm(revision: Revision) -> Algorithm:
    """Load as ``load_revision`` does. Raises ``Unprocessable`` for a revision that is not classic."""
    return cast("Algorithm", load_revision(classic_only(revision)))


@lru_cache(maxsize=128)
def _load_cached(_pk: int, kind: str, document: str, process: str) -> Configuration:
    # A saved document was valid, but a later engine may refuse it with a ValueError.
    loaded: Configuration = DIALECTS[kind].load(document, json.loads(process))
    return loaded


def changes_since(saved: Revision, checked: CheckedText) -> list[PolicyChange]:
    """Return the differences in behaviour from ``saved`` to ``checked``; empty if their kinds differ."""
    dialect = saved.policy.dialect
    return dialect.changes(saved.checked(), checked) if dialect.kind == checked.kind else []


def revision_changes(old: Revision, new: Revision) -> list[PolicyChange]:
    """Return the differences in behaviour between two revisions of a policy."""
    return changes_since(old, new.checked())
