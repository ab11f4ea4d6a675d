"""Scenarios for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support import seed

if TYPE_CHECKING:
    from kschedweb.accounts.models import User

MIB = 1024 * 1024
EMPTY = """\
# What if nothing is there?
apiVersion: kschedweb/v1
kind: Scenario
name: Nothing at all
base:
  empty: true
"""
NODES = "sn,cpu_milli,memory_mib,gpu,model\nopenb-node-0000,64000,262144,2,P100\n"


def on_cluster(user: User, name: str = "Three more", changes: str = "") -> str:
    """A scenario that starts from three nodes, seven bound pods and two that wait."""
    snapshot = seed.imported("small", seed.cluster(3, 10), user)
    return f"apiVersion: kschedweb/v1\nkind: Scenario\nname: {name}\nbase:\n  snapshot: {snapshot}\n{changes}"
