"""The feature gates of each release: their stages, defaults and locks, generated from kube-scheduler's sources."""

from __future__ import annotations

from pathlib import Path

from kschedweb.engine.config.release import Gate

# One gate per line, one release per column: the stage, ``+`` (on) or ``-`` (off) by default, ``L`` if locked to that,
# then the gates that must be on with it. ``scheduler``: the scheduler's own code reads the gate.
TABLE = Path(__file__).with_name("gates.tsv")

# The gates that the engine's answers follow, in each release that knows them.
SIMULATED = frozenset(
    {
        "DRAAdminAccess",
        "DRAConsumableCapacity",
        "DRADeviceBindingConditions",
        "DRADeviceTaintRules",
        "DRADeviceTaints",
        "DRAExtendedResource",
        "DRAFractionalCapacityRange",
        "DRAPartitionableDevices",
        "DRAPrioritizedList",
        "DRAResourceClaimDeviceStatus",
        "DRASchedulerFilterTimeout",
        "InPlacePodLevelResourcesVerticalScaling",
        "NodeDeclaredFeatures",
        "PodLevelResourcesFixDefaulting",
        "StorageCapacityScoring",
        "TaintTolerationComparisonOperators",
        "VolumeLimitScaling",
    }
)
# The gates that the engine's answers follow since 1.37. Earlier designs of groups of pods are refused.
SIMULATED_SINCE_1_37 = frozenset(
    {"GenericWorkload", "InPlacePodVerticalScalingSchedulerPreemption", "TopologyAwareWorkloadScheduling"}
)
# The gates that the engine's answers follow since 1.38.
SIMULATED_SINCE_1_38 = SIMULATED_SINCE_1_37 | {"CompositePodGroup"}
# The gates that make kube-scheduler faster or let it do things later, without changing its decisions.
WITHOUT_EFFECT = frozenset(
    {
        "InterPodAffinityHostnameFastPath",
        "SchedulerAsyncAPICalls",
        "SchedulerAsyncPreemption",
        "SchedulerPopFromBackoffQ",
        "SchedulerPreQueueingHints",
    }
)


def load_gates(release: str, simulated: frozenset[str] = SIMULATED) -> dict[str, Gate]:
    """Return the gates that ``release`` ("1.36") knows, by name. ``simulated`` are those that answers follow."""
    head, *lines = (line.split("\t") for line in TABLE.read_text(encoding="utf-8").splitlines())
    column, used = map(head.index, (release, "scheduler"))
    followed = simulated | WITHOUT_EFFECT
    return {
        line[0]: _parse_gate(line[column], bool(line[used]) and line[0] not in followed)
        for line in lines
        if line[column]
    }


def _parse_gate(cell: str, outside: bool) -> Gate:
    state, *needs = cell.split()
    stage = state.rstrip("L")
    return Gate(stage[:-1], stage[-1] == "+", state.endswith("L"), tuple(needs), outside)
