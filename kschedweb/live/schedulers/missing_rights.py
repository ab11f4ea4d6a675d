"""The rights that a live scheduler needs in its cluster for a mode, and those that its credentials lack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedweb.clusters.connecting.client import Client
from kschedweb.clusters.connecting.sources import endpoint_of, secret_of
from kschedweb.live.schedulers.election.terms import terms_of
from kschedweb.live.schedulers.rbac import Needs, Right, rights_for, rights_missing
from kschedweb.live.schedulers.selectors import live_configuration, revision_in_force

if TYPE_CHECKING:
    from kschedweb.live.schedulers.models import LiveScheduler

# Seconds for all access reviews together.
PATIENCE = 20.0


def needs_of(live: LiveScheduler, mode: str) -> Needs:
    """Return what ``live`` would need in ``mode``, which also depends on its policy."""
    configuration = live_configuration(live, revision_in_force(live))
    profile = configuration.profiles[0]
    preempts = any(ref.name == "DefaultPreemption" for ref in profile.points.get("postFilter", ()))
    # The endpoint is a row of the app ``extender`` above this one; a live scheduler may have none.
    endpoint, terms = getattr(live, "endpoint", None), terms_of(live)
    return Needs(
        mode,
        lock=terms.lock,
        lease=terms.name,
        lease_namespace=terms.namespace,
        preemption=preempts,
        groups=configuration.release.has_group_scheduling,
        binds=bool(getattr(endpoint, "binds", False)),
    )


def missing_rights(live: LiveScheduler, mode: str) -> list[Right]:
    """Return the rights that the credentials lack. Raise ApplicationError if the cluster does not answer."""
    secret = secret_of(live.cluster)
    with Client.open(secret, endpoint=endpoint_of(live.cluster.source, secret), patience=PATIENCE) as client:
        return rights_missing(client, rights_for(needs_of(live, mode)))
