"""The terms of a live scheduler's election: kind, place and durations of its lock, and the source of each.

A setting of the live scheduler wins, then the site's (``KSCHEDWEB_LEASE_SECONDS``), then ``leaderElection`` of the
policy's revision, then the default. The default name is kschedweb's own, because a policy that names no lock must not
keep the cluster's own kube-scheduler from leading.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import models

from kschedweb.engine.json_types import Json
from kschedweb.engine.validation.golang import parse_seconds
from kschedweb.live.schedulers.election.elector import (
    COARSE,
    JITTER,
    LEASE_SECONDS,
    RENEW_SECONDS,
    RETRY_SECONDS,
)
from kschedweb.live.schedulers.election.locks import LEASES
from kschedweb.live.schedulers.models import LiveScheduler, Lock, Mode
from kschedweb.live.schedulers.selectors import revision_in_force
from kschedweb.policies.selectors import load_configuration
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from kschedweb.policies.models import Revision

# Names as apimachinery's validation accepts them: DNS-1123 subdomain and label.
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
# Maps a name in the policy to the column of the live scheduler that wins over it.
COLUMNS = {"resourceLock": "lock", "resourceNamespace": "lease_namespace", "resourceName": "lease_name"}
DURATIONS = {"leaseDuration": LEASE_SECONDS, "renewDeadline": RENEW_SECONDS, "retryPeriod": RETRY_SECONDS}


class SettingSource(models.TextChoices):
    """The source of a setting in use."""

    SCHEDULER = "scheduler", "set for this live scheduler"
    SITE = "site", "set for the whole site"
    POLICY = "policy", "the policy"
    DEFAULT = "default", "the default"


@dataclass(frozen=True)
class ElectionSetting:
    """A field of ``leaderElection``: the value in use and its source."""

    name: str
    # As text, durations in Go's notation.
    value: str
    # A value of ``SettingSource``.
    source: str
    # The policy's value where another one wins; "" where the policy names none or the same.
    overruled: str = ""

    @property
    def said_by(self) -> str:
        return str(SettingSource(self.source).label)


@dataclass(frozen=True)
class ElectionTerms:
    """The lock by which a leader is elected, and its durations."""

    lock: str
    namespace: str
    name: str
    # The durations are seconds.
    lease: float
    renew: float
    retry: float
    settings: tuple[ElectionSetting, ...]

    @property
    def lock_label(self) -> str:
        return str(Lock(self.lock).label)

    @property
    def place(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def title(self) -> str:
        """Return a title such as ``leases kube-system/kschedweb-batch``; of equal titles only one leads."""
        return f"{self.lock} {self.place}"

    @property
    def problem(self) -> str:
        """Return why nobody could be elected by these terms, beginning with the path of the field; "" if one can."""
        # The pattern and the greatest length of each name, as the API server validates them.
        for field, value, pattern, longest in (
            ("resourceNamespace", self.namespace, LABEL, 63),
            ("resourceName", self.name, SUBDOMAIN, 253),
        ):
            if len(value) > longest or not pattern.fullmatch(value):
                return f"leaderElection.{field}: {value} is no name in Kubernetes: lower-case letters, digits, hyphens."
        if self.renew <= self.retry * JITTER:
            return (
                "leaderElection.renewDeadline: renewDeadline must be greater than retryPeriod*JitterFactor, "
                f"which is {JITTER}."
            )
        if int(self.lease) - COARSE < self.renew:
            return (
                "leaderElection.leaseDuration: must be at least 1 s longer than renewDeadline, in whole seconds: "
                "locks keep times in seconds, and two could lead for a moment otherwise."
            )
        return ""

    def to_list(self) -> list[Json]:
        """Return the settings as plain data for REST."""
        return [asdict(setting) for setting in self.settings]


def terms_of(live: LiveScheduler, revision: Revision | None = None) -> ElectionTerms:
    """Return the terms of the election of ``live`` under ``revision``, by default the one that it runs."""
    policy_terms = _policy_election(live, revision or revision_in_force(live))
    defaults = {
        "resourceLock": LEASES,
        "resourceNamespace": "kube-system",
        "resourceName": f"kschedweb-{live.scheduler_name}",
        **{name: f"{value:g}s" for name, value in DURATIONS.items()},
    }
    site = {name: f"{settings.LEASE_SECONDS * value / LEASE_SECONDS:g}s" for name, value in DURATIONS.items()}
    # Several processes may host a live scheduler, and each would bind pods without an election: it cannot be off.
    used_settings = [
        ElectionSetting(
            "leaderElect", "true", SettingSource.SITE, "false" if policy_terms.get("leaderElect") is False else ""
        )
    ]
    for name, default in defaults.items():
        own_value = getattr(live, COLUMNS[name]) if name in COLUMNS else ""
        # The first value that is set wins.
        wins = [
            (own_value, SettingSource.SCHEDULER),
            (site.get(name, "") if settings.LEASE_SECONDS else "", SettingSource.SITE),
            (policy_terms.get(name, ""), SettingSource.POLICY),
            (default, SettingSource.DEFAULT),
        ]
        value, source = next((value, source) for value, source in wins if value)
        policy_value = policy_terms.get(name, "")
        used_settings.append(ElectionSetting(name, value, source, policy_value if policy_value != value else ""))
    value = {setting.name: setting.value for setting in used_settings}
    lease, renew, retry = (parse_seconds(value[name]) for name in DURATIONS)
    place = value["resourceNamespace"], value["resourceName"]
    return ElectionTerms(value["resourceLock"], *place, lease, renew, retry, tuple(used_settings))


def election_of(live: LiveScheduler) -> str:
    """Return ``terms_of(live).title``; "" in a mode without an election."""
    return terms_of(live).title if live.mode == Mode.SCHEDULING else ""


def _policy_election(live: LiveScheduler, revision: Revision) -> Json:
    """Return the revision's ``leaderElection``; nothing if its document cannot run."""
    try:
        return load_configuration(revision, live.cluster.server_version).leader_election
    except (ValueError, ApplicationError):
        return {}
