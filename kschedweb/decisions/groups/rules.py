"""What schedules a group: the configuration, and the feature gates that a group needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.utils.translation import gettext, ngettext

from kschedweb.decisions.words import listed
from kschedweb.engine.releases import RELEASES
from kschedweb.policies.selectors import configuration
from kschedweb.web.errors import ApplicationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kschedweb.engine.config import Configuration
    from kschedweb.policies.models import Revision


@dataclass(frozen=True)
class GroupRules:
    """``off`` are the feature gates that the group needs and the policy leaves off; with ``switched`` they are on."""

    configuration: Configuration
    off: tuple[str, ...]
    switched: bool

    @property
    def able(self) -> bool:
        """Whether the release can schedule groups as such, with whatever gates."""
        return self.configuration.release.behaviour.groups_are_entities

    @property
    def note(self) -> str:
        """What has to be said of gates that are on here alone; "" for none."""
        said = gettext("Worked out with the %(gates)s on, which the policy leaves off.")
        return said % {"gates": gates_named(self.off)} if self.switched else ""


def gates_named(names: Sequence[str]) -> str:
    """Such as "feature gates A and B"."""
    said = ngettext("feature gate %(names)s", "feature gates %(names)s", len(names))
    return said % {"names": listed(list(names))}


def able() -> list[str]:
    """The releases that schedule groups as such."""
    return [name for name, release in RELEASES.items() if release.behaviour.groups_are_entities]


def group_rules(revision: Revision, version: str, gates: Sequence[str], *, switch: bool) -> GroupRules:
    """What ``revision`` runs on a cluster of ``version``; with ``switch`` the ``gates`` are on, whatever it says.

    Raises ApplicationError for a classic policy, and where it cannot run with these gates.
    """
    found = configuration(revision, version)
    if not found.release.behaviour.groups_are_entities:
        return GroupRules(found, (), switched=False)
    off = tuple(gate for gate in gates if not found.release.on(gate))
    if not (off and switch):
        return GroupRules(found, off, switched=False)
    try:
        found = configuration(revision, version, gates=dict.fromkeys(off, True))
    except ValueError as error:
        said = f"{revision.policy.name}, revision {revision.number}: {error}"
        raise ApplicationError.at("policy", said) from None
    return GroupRules(found, off, switched=True)
