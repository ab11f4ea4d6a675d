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


def seeded(user: User, snapshot: str, revisions: int = 2, name: str = "Seeded") -> str:
    """A scenario on ``snapshot`` with changes, arrivals, a file, and so many revisions; its id."""
    from kschedweb.playground.scenarios import services, uploads

    text = (
        f"apiVersion: kschedweb/v1\nkind: Scenario\nname: {name}\ndescription: A zone is lost\n"
        f"base:\n  snapshot: {snapshot}\n"
        "changes:\n  - addNodes: {file: nodes.csv}\n  - at: 10m\n    cordonNodes: {nodes: [openb-node-0000]}\n"
        "arrivals:\n  - generate: {perHour: 60, shapes: [{cpu: 500m, memory: 1Gi, life: 2h}], until: 2h}\n"
        "run: {until: 4h}\n"
    )
    files = [uploads.read_upload("nodes.csv", NODES.encode(), limit=MIB)]
    scenario = services.scenario_create(text=text, author=user, files=files, comment="Beginning")
    for number in range(1, revisions):
        services.scenario_save(
            scenario=scenario, text=f"{text}# {number}\n", author=user, expected=number, comment="More"
        )
    return str(scenario.pk)


def explained(key: str = "spread-one-constraint") -> str:
    """The id of a scenario that comes with the site, with its run."""
    from kschedweb.playground.scenarios.ready_install import ready_place

    return str(ready_place(keys=[key])[0].scenario_id)
