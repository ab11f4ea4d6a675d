"""The rules for scheduling a group: the configuration, and the feature gates that a group needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext, ngettext

from kschedweb.decisions.words import join_with_and
from kschedweb.engine.objects.podgroup import COMPOSITE
from kschedweb.engine.releases import RELEASES
from kschedweb.policies.selectors import load_configuration
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kschedweb.engine.config import Configuration
    from kschedweb.policies.models import Revision


@dataclass(frozen=True)
class GroupRules:
    """The configuration under which a group is scheduled."""

    configuration: Configuration
    # Feature gates that the group needs and the policy leaves off.
    off: tuple[str, ...]
    # True if they are on in ``configuration`` all the same.
    switched: bool

    @property
    def able(self) -> bool:
        """Return whether the release can schedule groups at all, with any gates."""
        return self.configuration.release.behaviour.pod_group_entities

    @property
    def note(self) -> str:
        """Return a sentence about gates that are on only here, "" for none."""
        text = gettext("Computed with the %(gates)s on, which the policy leaves off.")
        return text % {"gates": gates_named(self.off)} if self.switched else ""


def gates_named(names: Sequence[str]) -> str:
    """Return gates in words, such as "feature gates A and B"."""
    text = ngettext("feature gate %(names)s", "feature gates %(names)s", len(names))
    return text % {"names": join_with_and(list(names))}


def releases_with_groups() -> list[str]:
    """Return the releases that schedule groups."""
    return [name for name, release in RELEASES.items() if release.behaviour.pod_group_entities]


def group_rules(revision: Revision, version: str, gates: Sequence[str], *, switch: bool) -> GroupRules:
    """Return what ``revision`` runs on a cluster of ``version``; with ``switch`` the ``gates`` are on regardless.

    Raises ApplicationError for a classic policy, and if it cannot run with these gates.
    """
    rules = load_configuration(revision, version)
    if not rules.release.behaviour.pod_group_entities:
        return GroupRules(rules, (), switched=False)
    if not rules.release.behaviour.pod_group_hierarchies:
        # Such a release reads no trees: their groups are on their own.
        gates = [gate for gate in gates if gate != COMPOSITE]
    off = tuple(gate for gate in gates if not rules.release.is_enabled(gate))
    if not (off and switch):
        return GroupRules(rules, off, switched=False)
    try:
        rules = load_configuration(revision, version, gates=dict.fromkeys(off, True))
    except ValueError as error:
        message = f"{revision.policy.name}, revision {revision.number}: {error}"
        raise ApplicationError.at("policy", message) from None
    return GroupRules(rules, off, switched=True)
