"""Usage histories that nobody wrote, in the form of ``recommend``: gaps, kills, late samples, equal ones, odd flags."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from kschedweb.engine.json_types import Json
from tests.conformance.making.chance import Chance

START = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp())
MIB = 1024 * 1024
CPUS = (0, 1, 9, 10, 11, 25, 250, 1_000, 9_999, 64_000, 999_999, 1_000_000, 5_000_000, 10**14)
MEMORIES = (0, 0, 1, 1023, 10**7 - 1, 10**7, 10**7 + 1, 64 * MIB, 250 * MIB, 4096 * MIB, 10**12, 10**12 + 1, 10**14)
KILLED = (-1, 0, 1, MIB, 500 * MIB, 524_288_000, 10**13)
STEPS = (1, 60, 300, 3_600, 43_200, 86_400, 7 * 86_400, 120 * 86_400)  # seconds
FLAGS: dict[str, tuple[Any, ...]] = {
    "safetyMarginFraction": (0, 0.05, 0.3, 1, 7.5),
    "podMinCPUMillicores": (0, 1, 29, 33.3, 500),
    "podMinMemoryMb": (0, 0.5, 10, 333, 4096),
    "targetCPUPercentile": (0, 0.2, 0.3, 0.5, 0.6, 0.7, 0.8, 1),
    "lowerBoundCPUPercentile": (0, 0.1, 0.4, 0.5),
    "upperBoundCPUPercentile": (0.6, 0.99, 1),
    "targetMemoryPercentile": (0, 0.3, 0.6, 0.7, 0.75, 1),
    "lowerBoundMemoryPercentile": (0, 0.2),
    "upperBoundMemoryPercentile": (0.8, 1),
    "confidenceIntervalCPU": ("1m", "90s", "6h", "240h"),
    "confidenceIntervalMemory": ("1s", "12h30m", "500h"),
    "cpuHistogramDecayHalfLife": ("1m", "1h", "7h13m", "168h", "25000h"),
    "memoryHistogramDecayHalfLife": ("30m", "1h", "5h1s", "720h"),
    "memoryAggregationInterval": ("1m", "1h", "7h", "48h"),
    "roundCPUMillicores": (0, 1, 5, 100, 1000),
    "roundMemoryBytes": (0, 1000, 1024, MIB, 128 * MIB),
}


class Histories(Chance):
    def scenario(self, name: str) -> Json:
        often = self.pick((0, 0.2, 0.6))
        flags = {key: self.pick(values) for key, values in FLAGS.items() if self.maybe(often)}
        names = self.some(("main", "side", "log", "init"), 4, 1)
        return {"name": name, "config": flags, "containers": {name: self._instances() for name in names}}

    def _instances(self) -> list[Json]:
        if self.maybe(0.4):
            return self.pick((self._aligned_instances, self._ebbing))()
        shape = self.pick((self._drawn, self._edges, self._even, self._spread))
        return [{"samples": shape()} for _ in range(self.pick((0, 1, 1, 2, 5)))]

    def _drawn(self) -> list[Json]:
        """Amounts at edges, at times with gaps, some of them late."""
        time = START + self.pick((0, 1, 40 * 86_400, -300 * 86_400))
        steps, samples = self.some(STEPS, 2, 1), []
        for _ in range(self.pick((0, 1, 2, 10, 60, 200))):
            time += -self.pick((0, 1, 3_600, 90_000)) if self.maybe(0.05) else self.pick(steps)
            sample: Json = {"time": self._format_time(time)}
            if self.maybe(0.8):
                sample["cpuMillicores"] = -1 if self.maybe(0.1) else self.pick(CPUS)
            if self.maybe(0.8):
                sample["memoryBytes"] = -5 if self.maybe(0.1) else self.pick(MEMORIES)
            if self.maybe(0.06):
                sample["oomMemoryRequest"] = self.pick(KILLED)
            samples.append(sample)
        return samples

    def _aligned_instances(self) -> list[Json]:
        """Instances that use different amounts at the same times: whether a share is reached, the last bit decides."""
        times = [START + self.random.randrange(30 * 86_400) for _ in range(self.pick((1, 3, 12)))]
        time_texts = [self._format_time(time) for time in sorted(times)]
        return [
            {
                "samples": [
                    {"time": time, "cpuMillicores": 20 * 2**place, "memoryBytes": MIB << place} for time in time_texts
                ]
            }
            for place in range(self.pick((3, 5, 7, 10)))
        ]

    def _edges(self) -> list[Json]:
        """Memory where a bucket ends and the next one begins, a byte more or less."""
        bucket = self.random.randrange(1, 175)
        return [
            {
                "time": self._format_time(START + place * 86_400),
                "memoryBytes": int(1e7 * (1.05**bucket - 1) / 0.05) + place,
            }
            for place in range(-1, 3)
        ]

    def _ebbing(self) -> list[Json]:
        """Samples so old that they weigh about as little as counts as nothing, beside one that is new."""
        ages = [0.0, *(self.random.uniform(9.8, 10.2) for _ in range(self.pick((1, 2, 5))))]  # days
        times = [self._format_time(START - int(86_400 * age)) for age in ages]
        return [
            {"samples": [{"time": time, "cpuMillicores": self.pick(CPUS), "memoryBytes": self.pick(MEMORIES)}]}
            for time in times
        ]

    def _even(self) -> list[Json]:
        """Few different amounts at even times: sums of weights come to the very share that is asked for."""
        draw, step = self.random, self.pick((1_800, 3_600, 86_400))
        amounts = [(draw.randint(1, 4_000), draw.randint(1, 4_000) * MIB) for _ in range(draw.randint(1, 10))]
        return [
            {"time": self._format_time(START + place * step), "cpuMillicores": cpu, "memoryBytes": memory}
            for place in range(self.pick((4, 10, 20, 100)))
            for cpu, memory in [amounts[place % len(amounts)]]
        ]

    def _spread(self) -> list[Json]:
        """Amounts of any size, with kills here and there."""
        draw, samples, time = self.random, [], START
        for _ in range(self.pick((3, 30, 300))):
            time += draw.randint(1, 7_200)
            cpu, memory = int(10 ** draw.uniform(0, 6)), int(10 ** draw.uniform(6, 12))
            kill = {"oomMemoryRequest": memory} if self.maybe(0.05) else {}
            samples.append({"time": self._format_time(time), "cpuMillicores": cpu, "memoryBytes": memory, **kill})
        return samples

    def _format_time(self, time: int) -> str:
        moment = datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        part = f".{self.pick((1, 25, 999_999_999))}" if self.maybe(0.1) else ""
        return moment + part + self.pick(("Z", "Z", "Z", "+00:00"))
