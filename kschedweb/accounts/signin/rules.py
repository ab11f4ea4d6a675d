"""Rules that map groups of an identity provider to roles of this site. The first rule that fits decides."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kschedweb.accounts.grant_syntax import LABEL, describe_target, has_label, label_read, namespaces_read

if TYPE_CHECKING:
    from kschedweb.accounts.grant_targets import ClusterRef

# The roles of roles.py, which settings cannot import.
ROLES = ("viewer", "editor", "approver", "admin", "none")
REFUSED, NONE = "refused", "none"
# The written form of a grant; see ``grant_read``.
GRANT = re.compile(rf"(?P<group>.+?)=(?P<role>[a-z]+)@(?P<where>\*|[a-z0-9-]+|{LABEL.pattern})(?::(?P<namespaces>.+))?")


@dataclass(frozen=True)
class RoleRule:
    """A rule that gives ``role``, or refusal, to members of groups that match ``group``, where ``*`` is anything."""

    group: str
    role: str

    def matches_any(self, groups: Iterable[str]) -> bool:
        # DOTALL, because a provider's names may hold newlines, which must not end the match.
        pattern = re.compile(".*".join(map(re.escape, self.group.split("*"))), re.DOTALL)
        return any(pattern.fullmatch(group) for group in groups)


@dataclass(frozen=True)
class GrantRule(RoleRule):
    """A rule that grants ``role`` to members of groups: in ``cluster``, in clusters with ``label``, or else in all.

    It covers ``namespaces`` there, or all of them.
    """

    cluster: str = ""
    label: str = ""
    namespaces: list[str] = field(default_factory=list)

    @property
    def everywhere(self) -> bool:
        """True if it covers all clusters in whole."""
        return not (self.cluster or self.label or self.namespaces)

    def covers(self, cluster: ClusterRef) -> bool:
        """Return whether it covers ``cluster``, in whole or in part."""
        if self.cluster:
            return cluster.name == self.cluster
        return not self.label or has_label(cluster.labels, self.label)

    def __str__(self) -> str:
        return f"{self.role} in {describe_target(self.cluster or self.label or 'all clusters', self.namespaces)}"


@dataclass(frozen=True)
class RoleRules:
    """The rules of a provider."""

    # Rules for roles, of which the first that fits decides.
    rules: tuple[RoleRule, ...] = ()
    # The role of users that match no rule.
    otherwise: str = REFUSED
    # Rules for grants, of which all that fit count.
    grants: tuple[GrantRule, ...] = ()

    def role_of(self, groups: Iterable[str]) -> str | None:
        """Return the role of a member of ``groups``; ``None`` if they are refused. A fitting grant alone lets them
        in.
        """
        groups = list(groups)
        rule_role = next((rule.role for rule in self.rules if rule.matches_any(groups)), None)
        if rule_role is None and self.otherwise == REFUSED and self.grants_for(groups):
            return NONE
        role = rule_role or self.otherwise
        return None if role == REFUSED else role

    def grants_for(self, groups: Iterable[str]) -> list[GrantRule]:
        """Return the grants of a member of ``groups``."""
        groups = list(groups)
        return [rule for rule in self.grants if rule.matches_any(groups)]


def role_read(text: str) -> str:
    """Return ``text`` if it is a role or ``refused``. Raises ValueError with a sentence."""
    if text not in (*ROLES, REFUSED):
        raise ValueError(f"{text!r} is not one of {', '.join(ROLES)}, {REFUSED}")
    return text


def granted_read(text: str) -> str:
    """Return ``text`` if it is a role that can be granted. Raises ValueError with a sentence."""
    if text not in ROLES or text == NONE:
        raise ValueError(f"{text!r} is not one of {', '.join(role for role in ROLES if role != NONE)}")
    return text


def rules_read(words: Iterable[str], otherwise: str, grants: Iterable[str] = ()) -> RoleRules:
    """Read rules written as ``group=role``, and grants as ``grant_read`` does. Raises ValueError with a sentence."""
    rules = []
    for word in words:
        # From the right, because names of groups may hold "=", as LDAP's do.
        group, equals, role = word.rpartition("=")
        if not equals or not group.strip():
            raise ValueError(f"{word!r} is not like group=role")
        rules.append(RoleRule(group.strip(), role_read(role.strip())))
    return RoleRules(tuple(rules), role_read(otherwise), tuple(map(grant_read, grants)))


def grant_read(word: str) -> GrantRule:
    """Read a grant written as group=role@cluster, group=role@key=value or group=role@*, and :namespace+namespace."""
    match = GRANT.fullmatch(word.strip())
    if match is None:
        raise ValueError(f"{word!r} is not like group=role@cluster:namespace")
    target = match["where"]
    return GrantRule(
        match["group"],
        granted_read(match["role"]),
        cluster="" if target == "*" or "=" in target else target,
        label=target if "=" in target else "",
        namespaces=namespaces_read((match["namespaces"] or "").split("+")),
    )


GRANT_KEYS = ("group", "role", "cluster", "label", "namespaces")


def grant_of(entry: Any) -> GrantRule:
    """Read a grant from a mapping with ``GRANT_KEYS``. Raises ValueError with a sentence."""
    if not isinstance(entry, Mapping) or not {"group", "role"} <= set(entry) <= set(GRANT_KEYS):
        raise ValueError(f"each is a mapping with group and role, and may have {', '.join(GRANT_KEYS[2:])}")
    texts = {name: value for name, value in entry.items() if name != "namespaces"}
    if wrong := [name for name, value in texts.items() if not isinstance(value, str) or not value]:
        raise ValueError(f"{wrong[0]} must be a text")
    spaces = entry.get("namespaces", [])
    if not isinstance(spaces, list) or not all(isinstance(space, str) for space in spaces):
        raise ValueError("namespaces must be a list of names")
    if "cluster" in entry and "label" in entry:
        raise ValueError("name a cluster or a label, not both")
    if "label" in entry:
        label_read(entry["label"])
    granted_read(entry["role"])
    return GrantRule(**texts, namespaces=namespaces_read(spaces))
