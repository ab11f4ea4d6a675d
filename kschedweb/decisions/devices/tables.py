"""The devices of one node as tables, one for each request of the pod's claims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kschedweb.decisions.devices import words

if TYPE_CHECKING:
    from kschedweb.engine.allocation.inspection import ChoiceInspection, DeviceVerdict, SelectorVerdict
    from kschedweb.engine.plugins.dynamicresources.inspecting import PodInspection

# Devices in a table of the page; REST has all.
MOST_ROWS = 40


@dataclass(frozen=True)
class SelectorColumn:
    """A selector's expression, as a column of the table."""

    number: int
    expression: str
    # The class or request that has the selector.
    of: str
    # True if, for some device, its answer is outside the simulation.
    outside: bool


@dataclass(frozen=True)
class DeviceRow:
    """One device in a table."""

    name: str
    pool: str
    driver: str
    # "chosen", "other" (chosen for another request), "free" or "refused".
    state: str
    selectors: tuple[SelectorVerdict, ...]
    compared: tuple[tuple[str, str], ...]
    holders: tuple[str, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class RequestTable:
    """The devices that a node sees, for one request or one of its alternatives."""

    claim: str
    name: str
    # The number and class of devices, in words.
    wants: str
    passing: int
    total: int
    # The name of a DeviceClass that does not exist, "" if it does.
    class_missing: str
    selectors: tuple[SelectorColumn, ...]
    compares: bool
    rows: tuple[DeviceRow, ...]
    # Number of devices that are not listed.
    hidden: int


@dataclass(frozen=True)
class HeldRow:
    """A claim that has its devices already."""

    claim: str
    devices: tuple[str, ...]
    # Why they cannot be used on the node, "" if they can.
    problem: str


@dataclass(frozen=True)
class DevicesOnNode:
    """The devices of a node for a pod."""

    node: str
    problem: str
    held: tuple[HeldRow, ...]
    # None if no claim needs devices.
    found: bool | None
    # kube-scheduler's error.
    failed: str
    # What the answer depends on that the simulation does not know.
    unknown: str
    # Sentences.
    refusals: tuple[str, ...]
    # Claim, and its condition in words.
    constraints: tuple[tuple[str, str], ...]
    # Pool, and its state.
    unusable: tuple[tuple[str, str], ...]
    requests: tuple[RequestTable, ...]


def build_tables(node: str, inspection: PodInspection) -> DevicesOnNode:
    """Build the tables of ``node`` for the page."""
    searched = inspection.searched
    return DevicesOnNode(
        node=node,
        problem=inspection.problem,
        held=tuple(
            HeldRow(
                claim.claim, tuple("/".join(device) for _, device in claim.devices), words.describe_held_claim(claim)
            )
            for claim in inspection.held
        ),
        found=None if searched is None else searched.has_devices,
        failed="" if searched is None else searched.failed,
        unknown="" if searched is None else searched.unknown,
        refusals=()
        if searched is None
        else tuple(words.describe_refusal(refusal, searched) for refusal in searched.refusals),
        constraints=()
        if searched is None
        else tuple((claim, words.describe_constraint(constraint)) for claim, constraint in searched.constraints),
        unusable=() if searched is None else searched.unusable,
        requests=() if searched is None else tuple(_build_table(choice) for choice in searched.choices),
    )


def _build_table(choice: ChoiceInspection) -> RequestTable:
    # A long table begins with the devices that matter: the chosen ones, then those that pass.
    listed = sorted(choice.devices, key=lambda device: (not device.chosen, not device.passes))[:MOST_ROWS]
    shown_devices = choice.devices if len(choice.devices) <= MOST_ROWS else listed
    outside = {place for device in choice.devices for place, verdict in enumerate(device.selectors) if verdict.outside}
    return RequestTable(
        claim=choice.claim,
        name=choice.name,
        wants=words.describe_count(choice),
        passing=choice.passing,
        total=len(choice.devices),
        class_missing="" if choice.class_exists else choice.device_class,
        selectors=tuple(
            SelectorColumn(place + 1, expression, source, place in outside)
            for place, (expression, source) in enumerate(choice.selectors)
        ),
        compares=any(device.compared for device in choice.devices),
        rows=tuple(map(_build_row, shown_devices)),
        hidden=len(choice.devices) - len(shown_devices),
    )


def _build_row(device: DeviceVerdict) -> DeviceRow:
    driver, pool, name = device.device
    problems = [
        f"selector {number}: {verdict.problem}" for number, verdict in enumerate(device.selectors, 1) if verdict.problem
    ]
    reasons = [words.describe_objection(objection, device) for objection in device.objections]
    if not device.chosen:
        reasons += [f"it is chosen for {request}" for request in device.chosen_for]
    return DeviceRow(
        name,
        pool,
        driver,
        device_state(device),
        device.selectors,
        device.compared,
        device.holders,
        (*problems, *reasons),
    )


def device_state(device: DeviceVerdict) -> str:
    """Return "chosen", "other", "free" or "refused", as in a row."""
    if device.chosen:
        return "chosen"
    if not device.passes:
        return "refused"
    return "other" if device.chosen_for else "free"
