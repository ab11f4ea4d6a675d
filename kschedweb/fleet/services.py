"""Try one policy on many clusters, one after the other, in a job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kschedweb.clusters.selectors import snapshot_current
from kschedweb.engine.json_types import Json
from kschedweb.fleet import selectors
from kschedweb.fleet.models import FleetTrial
from kschedweb.jobs.inquiries import InquiryKind
from kschedweb.playground.trying import sentences
from kschedweb.playground.trying.changes import Content
from kschedweb.playground.trying.selectors import answer_of
from kschedweb.playground.trying.services import TryRequest, change_worked_out
from kschedweb.web.errors import ApplicationError, NotFound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kschedweb.accounts.models import User
    from kschedweb.clusters.models import Cluster
    from kschedweb.jobs.inquiries import Step
    from kschedweb.policies.models import Revision

MOST_CLUSTERS = 1_000
KIND = InquiryKind(
    FleetTrial,
    "fleet.trial",
    lambda trial, step: _try_everywhere(trial, step),
    nouns="trials on many clusters",
    verb="fleet.tried",
    related=("base__policy", "changed__policy", "created_by"),
    parameter="trial",
    result="trial",
    tell=lambda trial: {"clusters": len(trial.answers)},
    missing="The trial was deleted before there was an answer.",
)


@dataclass(frozen=True)
class FleetQuestion:
    """A trial of ``changed`` in place of ``base`` on the named clusters."""

    base: Revision
    changed: Revision
    # Names; empty for all clusters that have been read.
    clusters: Sequence[str] = ()


def trial_start(*, user: User | None, question: FleetQuestion) -> FleetTrial:
    """Start a job that tries a policy on many clusters. Raise ApplicationError at "instead" or "clusters"."""
    if (question.base.document, question.base.process) == (question.changed.document, question.changed.process):
        raise ApplicationError.at("instead", "Both policies are the same: choose another one.")
    clusters = selectors.choose_clusters(question.clusters)
    if missing := sorted({*question.clusters} - {cluster.name for cluster in clusters}):
        raise ApplicationError.at("clusters", f"There is no cluster {', '.join(missing)}, or it was never read.")
    if not clusters:
        raise ApplicationError.at("clusters", "No cluster has been read yet: connect or import one.")
    if len(clusters) > MOST_CLUSTERS:
        raise ApplicationError.at("clusters", f"Choose at most {MOST_CLUSTERS:,} clusters.")
    trial = FleetTrial(
        base=question.base,
        policy=sentences.policy_label(question.base),
        changed=question.changed,
        instead=sentences.policy_label(question.changed),
        clusters=[cluster.name for cluster in clusters],
        created_by=user,
    )
    if len(clusters) == 1:
        title = f"{trial.instead} instead of {trial.policy} on 1 cluster"
    else:
        title = f"{trial.instead} instead of {trial.policy} on {len(clusters):,} clusters"
    return KIND.ask(trial, title[:200], title[:200])


def _try_everywhere(trial: FleetTrial, step: Step) -> Json:
    """Try the policy on the clusters that have no answer yet. Each answer is stored at once."""
    base, changed = trial.base, trial.changed
    if base is None or changed is None:
        raise NotFound("A policy was deleted before there was an answer.")
    clusters = {cluster.name: cluster for cluster in selectors.choose_clusters(trial.clusters)}
    # After a restart the job continues behind the stored answers.
    for place in range(len(trial.answers), len(trial.clusters)):
        name = trial.clusters[place]
        step(f"Trying {name}", place, len(trial.clusters))
        trial.answers.append({"cluster": name, **_try_on_cluster(trial, clusters.get(name), base, changed, step)})
        trial.save(update_fields=["answers"])
    return {"answers": trial.answers}


def _try_on_cluster(trial: FleetTrial, cluster: Cluster | None, base: Revision, changed: Revision, step: Step) -> Json:
    snapshot = snapshot_current(cluster) if cluster is not None else None
    if snapshot is None:
        return {"error": "The cluster was deleted."}
    request = TryRequest(base, Content.from_revision(changed), snapshot)
    try:
        change = change_worked_out(
            user=trial.created_by, request=request, step=lambda text, completed, total: step(text, 0, 0)
        )
    except ApplicationError as error:
        return {"error": error.detail}
    answer = answer_of(change) or {}
    pending, anew = answer["pending"] or answer["anew"], answer["anew"]
    return {
        "tried": str(change.pk),
        "sentence": change.sentence,
        "pending": pending["placed"],
        "moved": anew["moved"],
        "pods": anew["pods"],
        "nodes": answer["nodes"],
    }
