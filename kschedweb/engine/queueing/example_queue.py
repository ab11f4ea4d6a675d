"""The queues of the demo and of the sandbox, as their tables write them."""

from __future__ import annotations

from kschedweb.engine.json_types import Json
from kschedweb.engine.values import dataclass

# Resources of a quota, in the order of the tables.
RESOURCES = ("cpu", "memory", "nvidia.com/gpu")


@dataclass(frozen=True)
class ExampleQueue:
    """A ClusterQueue of Kueue, and the LocalQueue of its name."""

    name: str
    namespace: str
    cohort: str
    # Flavor -> nominal quota of CPU, GiB of memory, and GPUs where the flavor has any.
    quotas: dict[str, tuple[int, ...]]
    preemption: Json
    strategy: str = "BestEffortFIFO"
    # (flavor, limit, CPU)
    limit: tuple[str, str, int] | None = None

    def to_spec(self) -> Json:
        """Return the spec of the ClusterQueue."""
        flavors = []
        for flavor, amounts in self.quotas.items():
            resources: list[Json] = [
                {"name": name, "nominalQuota": f"{amount}Gi" if name == "memory" else str(amount)}
                for name, amount in zip(RESOURCES, amounts, strict=False)
            ]
            if self.limit is not None and self.limit[0] == flavor:
                resources[0][self.limit[1]] = str(self.limit[2])
            flavors.append({"name": flavor, "resources": resources})
        covered = list(RESOURCES[: len(next(iter(self.quotas.values())))])
        return {
            "cohortName": self.cohort,
            "namespaceSelector": {},
            "queueingStrategy": self.strategy,
            "preemption": self.preemption,
            "resourceGroups": [{"coveredResources": covered, "flavors": flavors}],
        }
