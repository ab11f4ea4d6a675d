"""Groups that an identity provider names, to roles of this site: rules in order, the first that fits decides."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kschedweb.accounts.grant_syntax import LABEL, describe_target, has_label, label_read, namespaces_read

if TYPE_CHECKING:
    from kschedweb.accounts.grant_targets import ClusterRef

ROLES = ("viewer", "editor", "approver", "admin", "none")  # of roles.py, which settings cannot import
REFUSED, NONE = "refused", "none"
GRANT = re.compile(rf"(?P<group>.+?)=(?P<role>[a-z]+)@(?P<where>\*|[a-z0-9-]+|{LABEL.pattern})(?::(?P<namespaces>.+))?")


@dataclass(frozen=True)
class RoleRule:
    """Who is in a group that fits ``group``, where ``*`` stands for anything, has ``role``, or is refused."""

    group: str
    role: str

    def matches_any(self, groups: Iterable[str]) -> bool:
        pattern = re.compile(".*".join(map(re.escape, self.group.split("*"))), re.DOTALL)
        return any(pattern.fullmatch(group) for group in groups)


@dataclass(frozen=True)
class GrantRule(RoleRule):
    """Who is in a group that fits is granted ``role``: in ``cluster``, in those with ``label``, or in all clusters; and
    there in ``namespaces``, or in all of them.
    """

    cluster: str = ""
    label: str = ""
    namespaces: list[str] = field(default_factory=list)

    @property
    def everywhere(self) -> bool:
        """Whether it is for all of all clusters."""
        return not (self.cluster or self.label or self.namespaces)

    def covers(self, cluster: ClusterRef) -> bool:
        """Whether it is about the cluster ``ground``, in whole or in part."""
        if self.cluster:
            return cluster.name == self.cluster
        return not self.label or has_label(cluster.labels, self.label)

    def __str__(self) -> str:
        return f"{self.role} in {describe_target(self.cluster or self.label or 'all clusters', self.namespaces)}"


@dataclass(frozen=True)
class RoleRules:
    """``rules`` for roles, of which the first that fits decides; ``grants``, of which all count that fit."""

    rules: tuple[RoleRule, ...] = ()
    otherwise: str = REFUSED  # the role of whom no rule fits
    grants: tuple[GrantRule, ...] = ()

    def role_of(self, groups: Iterable[str]) -> str | None:
        """The role of somebody in ``groups``; ``None``: they are refused. Whom only a grant fits is let in."""
        groups = list(groups)
        rule_role = next((rule.role for rule in self.rules if rule.matches_any(groups)), None)
        if rule_role is None and self.otherwise == REFUSED and self.grants_for(groups):
            return NONE
        role = rule_role or self.otherwise
        return None if role == REFUSED else role

    def grants_for(self, groups: Iterable[str]) -> list[GrantRule]:
        """The grants of somebody in ``groups``."""
        groups = list(groups)
        return [rule for rule in self.grants if rule.matches_any(groups)]


def role_read(text: str) -> str:
    """``text`` if it is a role or ``refused``; raises ValueError with a sentence."""
    if text not in (*ROLES, REFUSED):
        raise ValueError(f"{text!r} is not one of {', '.join(ROLES)}, {REFUSED}")
    return text


def granted_read(text: str) -> str:
    """``text`` if it is a role that can be granted; raises ValueError with a sentence."""
    if text not in ROLES or text == NONE:
        raise ValueError(f"{text!r} is not one of {', '.join(role for role in ROLES if role != NONE)}")
    return text


def rules_read(words: Iterable[str], otherwise: str, grants: Iterable[str] = ()) -> RoleRules:
    """Rules written as ``group=role``, grants as ``grant_read`` says; raises ValueError with a sentence."""
    rules = []
    for word in words:
        group, equals, role = word.rpartition("=")
        if not equals or not group.strip():
            raise ValueError(f"{word!r} is not like group=role")
        rules.append(RoleRule(group.strip(), role_read(role.strip())))
    return RoleRules(tuple(rules), role_read(otherwise), tuple(map(grant_read, grants)))


def grant_read(word: str) -> GrantRule:
    """A grant written as group=role@cluster, group=role@key=value or group=role@*, each with :namespace+namespace."""
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
    """A grant as a mapping with ``GRANT_KEYS``; raises ValueError with a sentence."""
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
