"""Groups that an identity provider names, to roles of this site: rules in order, the first that fits decides."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

ROLES = ("viewer", "editor", "approver", "admin", "none")  # of roles.py, which settings cannot import
REFUSED = "refused"


@dataclass(frozen=True)
class Rule:
    """Who is in a group that fits ``group``, where ``*`` stands for anything, has ``role``, or is refused."""

    group: str
    role: str

    def fits(self, groups: Iterable[str]) -> bool:
        pattern = re.compile(".*".join(map(re.escape, self.group.split("*"))), re.DOTALL)
        return any(pattern.fullmatch(group) for group in groups)


@dataclass(frozen=True)
class Rules:
    rules: tuple[Rule, ...] = ()
    otherwise: str = REFUSED  # the role of whom no rule fits

    def role_of(self, groups: Iterable[str]) -> str | None:
        """The role of somebody in ``groups``; ``None``: they are refused."""
        groups = list(groups)
        role = next((rule.role for rule in self.rules if rule.fits(groups)), self.otherwise)
        return None if role == REFUSED else role


def role_read(text: str) -> str:
    """``text`` if it is a role or ``refused``; raises ValueError with a sentence."""
    if text not in (*ROLES, REFUSED):
        raise ValueError(f"{text!r} is not one of {', '.join(ROLES)}, {REFUSED}")
    return text


def rules_read(words: Iterable[str], otherwise: str) -> Rules:
    """Rules written as ``group=role``; raises ValueError with a sentence."""
    rules = []
    for word in words:
        group, equals, role = word.rpartition("=")
        if not equals or not group.strip():
            raise ValueError(f"{word!r} is not like group=role")
        rules.append(Rule(group.strip(), role_read(role.strip())))
    return Rules(tuple(rules), role_read(otherwise))
