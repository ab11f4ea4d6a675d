"""Autoscalers with what they see at each look, and pods of which some are deleted."""

from __future__ import annotations

import json
from random import Random

from kschedweb.engine.json_types import Json

SYNC = 15
MONTH = 86400 * 31


def moment(seconds: int) -> str:
    """The clock begins with the year 2000, as the one of testing/synctest does."""
    day, time = divmod(seconds, 86400)
    return f"2000-01-{day + 1:02d}T{time // 3600:02d}:{time % 3600 // 60:02d}:{time % 60:02d}Z"


class Looks:
    """An autoscaler over a few minutes: load that rises and falls, pods that start, fail, end and are not measured."""

    behaviors = False

    def __init__(self, random: Random) -> None:
        self.random = random

    def scenario(self, name: str) -> Json:
        random = self.random
        first = random.randint(0, 12) if random.random() < 0.9 else 0
        hpa = self._autoscaler()
        steps, replicas = [], first
        level = random.uniform(0.1, 2.5)
        pods = [self._pod(number, 0) for number in range(first)]
        for step in range(random.randint(3, 45)):
            if random.random() < 0.2:
                level = random.choice([0.0, 0.3, 0.6, 0.95, 1.0, 1.05, 1.5, 4.0]) * random.uniform(0.9, 1.1)
            change = random.choice([0, 0, 0, 1, 2, -1, -3])
            pods = pods[: max(0, len(pods) + change)] + [
                self._pod(len(pods) + offset, step) for offset in range(change)
            ]
            for pod in pods:
                self._turn(pod, step)
            look: Json = {"pods": json.loads(json.dumps(pods)), "metrics": self._metrics(pods, level, step)}
            if random.random() < 0.06:
                replicas = random.randint(0, 15)
                look["replicas"] = replicas
            steps.append(look)
        return {"name": name, "hpa": hpa, "replicas": first, "steps": steps}

    def _autoscaler(self) -> Json:
        random = self.random
        min_replicas = random.choice([None, 1, 1, 2, 3])
        spec: Json = {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "maxReplicas": (min_replicas or 1) + random.choice([0, 2, 5, 10, 40]),
        }
        if min_replicas is not None:
            spec["minReplicas"] = min_replicas
        raw = {"kind": "HorizontalPodAutoscaler", "metadata": {"name": "web", "namespace": "default"}, "spec": spec}
        if random.random() < 0.1:
            if random.random() < 0.8:
                spec["targetCPUUtilizationPercentage"] = random.choice([30, 50, 120])
            return {"apiVersion": "autoscaling/v1", **raw}
        if random.random() < 0.9:
            spec["metrics"] = [
                self._metric(name) for name in random.choice([["cpu"], ["cpu"], ["memory"], ["cpu", "memory"]])
            ]
        if self.behaviors:
            spec["behavior"] = {key: self._rules() for key in ("scaleUp", "scaleDown") if random.random() < 0.8}
        return {"apiVersion": "autoscaling/v2", **raw}

    def _metric(self, name: str) -> Json:
        random = self.random
        target: Json = {"type": "Utilization", "averageUtilization": random.choice([20, 50, 80, 100, 150])}
        if random.random() < 0.3:
            value = random.choice(["100m", "300m", "1"]) if name == "cpu" else random.choice(["100Mi", "1Gi", "1500M"])
            target = {"type": "AverageValue", "averageValue": value}
        return {"type": "Resource", "resource": {"name": name, "target": target}}

    def _rules(self) -> Json:
        random = self.random
        rules: Json = {}
        if random.random() < 0.6:
            rules["stabilizationWindowSeconds"] = random.choice([0, 15, 20, 30, 45, 60, 120, 300])
        if random.random() < 0.6:
            rules["selectPolicy"] = random.choice(["Max", "Min", "Disabled", "Max", "Min"])
        if random.random() < 0.7:
            rules["policies"] = [
                {
                    "type": random.choice(["Pods", "Percent"]),
                    "value": random.choice([1, 2, 3, 10, 25, 50, 100, 150]),
                    "periodSeconds": random.choice([1, 15, 16, 30, 45, 60, 90, 180]),
                }
                for _ in range(random.randint(1, 3))
            ]
        if random.random() < 0.3:
            rules["tolerance"] = random.choice(["0", "0.05", "0.1", "0.25", "500m"])
        return rules

    def _pod(self, number: int, step: int) -> Json:
        random = self.random
        requests = {"cpu": random.choice(["100m", "500m", "1"]), "memory": random.choice(["100Mi", "1Gi"])}
        spec: Json = {"nodeName": "n", "containers": [{"name": "main", "resources": {"requests": requests}}]}
        if random.random() < 0.1:
            more = {"name": "side", "resources": {"requests": {"cpu": "50m", "memory": "10Mi"}}}
            if random.random() < 0.5:
                more["restartPolicy"] = "Always"
            spec["initContainers"] = [more]
        if random.random() < 0.05:
            spec["resources"] = {
                "requests": {"cpu": "700m"} if random.random() < 0.3 else {"cpu": "1", "memory": "2Gi"}
            }
        if random.random() < 0.01:
            del requests[random.choice(["cpu", "memory"])]
        created = moment(max(0, step * SYNC - random.choice([0, 0, 5, 20])))
        return {
            "metadata": {
                "name": f"web-{number}-{step}",
                "namespace": "default",
                "uid": f"{random.getrandbits(64):016x}",
                "labels": {"app": "web"},
                "creationTimestamp": created,
            },
            "spec": spec,
            "status": self._status(step),
        }

    def _status(self, step: int) -> Json:
        random = self.random
        now = step * SYNC
        phase = random.choices(["Running", "Pending", "Failed", "Unknown"], [85, 8, 3, 1])[0]
        status: Json = {"phase": phase}
        started = max(0, now - random.choice([0, 10, 40, 100, 290, 300, 310, 2000]))
        if random.random() < 0.97:
            status["startTime"] = moment(started)
        if random.random() < 0.97:
            since = max(started, now - random.choice([0, 5, 14, 15, 16, 30, 60, 400]))
            ready = random.choices(["True", "False", "Unknown"], [85, 13, 1])[0]
            status["conditions"] = [{"type": "Ready", "status": ready, "lastTransitionTime": moment(since)}]
        return status

    def _turn(self, pod: Json, step: int) -> None:
        """The pod may have become another since the last look."""
        if self.random.random() < 0.1:
            pod["status"] = self._status(step)
        if self.random.random() < 0.02:
            pod["metadata"]["deletionTimestamp"] = moment(step * SYNC)

    def _metrics(self, pods: list[Json], level: float, step: int) -> Json:
        random = self.random
        metrics: Json = {}
        for name, unit in (("cpu", 1000), ("memory", 1 << 30)):
            if random.random() < 0.02:
                continue
            scale = 1000 if name == "memory" else 1
            values = {}
            for pod in pods:
                if random.random() < 0.06:
                    continue
                load_factor = random.choice([0.1, 0.5, 1.0])
                value = int(level * load_factor * unit * random.uniform(0.5, 1.2)) * scale
                at = step * SYNC - random.choice([0, 0, 0, 5, 15])
                values[pod["metadata"]["name"]] = {"value": value, "at": at, "window": random.choice([15, 15, 30])}
            metrics[name] = values
        return metrics


class Behaviors(Looks):
    """The same with rules on how fast may be scaled."""

    behaviors = True


class Orders:
    """Pods of a ReplicaSet of which some are deleted."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def scenario(self, name: str) -> Json:
        random = self.random
        now = random.choice([100, 5000, 100_000, MONTH - 1])
        pods = [self._pod(number, now) for number in range(random.randint(1, 40))]
        related = pods + [self._pod(100 + number, now) for number in range(random.choice([0, 0, 10]))]
        return {
            "name": name,
            "order": {"pods": pods, "related": related, "now": now, "delete": random.randint(1, len(pods))},
        }

    def _pod(self, number: int, now: int) -> Json:
        random = self.random
        created = random.randint(0, now - 1) if random.random() < 0.5 else now - random.choice([1, 2, 3, 5, 10, 60])
        ready_since = random.randint(max(0, created), now)
        phase = random.choices(["Running", "Pending", "Unknown", "Succeeded"], [80, 15, 3, 2])[0]
        status: Json = {"phase": phase}
        if random.random() < 0.9:
            ready = random.choice(["True", "True", "True", "False"])
            status["conditions"] = [{"type": "Ready", "status": ready, "lastTransitionTime": moment(ready_since)}]
        if random.random() < 0.3:
            status["containerStatuses"] = [{"name": "main", "restartCount": random.randint(0, 3)}]
        metadata: Json = {
            "name": f"web-{number}",
            "namespace": "default",
            "uid": f"{random.getrandbits(64):016x}",
            "creationTimestamp": moment(max(0, created)),
        }
        if random.random() < 0.2:
            cost = random.choice(["-5", "0", "7", "100", "+3", "007", "-0", "-08", "x", "", "99999999999"])
            metadata["annotations"] = {"controller.kubernetes.io/pod-deletion-cost": cost}
        if random.random() < 0.03:
            metadata["deletionTimestamp"] = moment(now)
        node = random.choice(["", "a", "a", "b", "b", "c", "d"])
        return {
            "metadata": metadata,
            "spec": {"containers": [{"name": "main"}], **({"nodeName": node} if node else {})},
            "status": status,
        }


class Crons:
    """Cron expressions, some of them wrong."""

    RANGES = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))

    def __init__(self, random: Random) -> None:
        self.random = random

    def scenario(self, name: str) -> Json:
        random = self.random
        parts = [self._part(place) for place in range(5)]
        if random.random() < 0.02:
            parts = parts[: random.randint(0, 4)]
        expression = " ".join(parts)
        if random.random() < 0.05:
            expression = random.choice(["@daily", "@hourly", "@weekly", "@monthly", "@yearly", "@midnight", "@never"])
        count = random.randint(1, 30)
        return {"name": name, "cron": {"expression": expression, "from": random.randint(0, 10**8), "count": count}}

    def _part(self, place: int) -> str:
        random = self.random
        if random.random() < 0.3:
            return random.choice(["*", "*", "?", "*/5", "*/1"])
        return ",".join(self._range(place) for _ in range(random.choice([1, 1, 1, 2, 3])))

    def _range(self, place: int) -> str:
        random = self.random
        lowest, highest = self.RANGES[place]
        if random.random() < 0.01:
            return random.choice(["x", "", "1-", "-3", "*/0", "5/0", "99", "1-2-3", "7-3", "1/2/3", "*-3"])
        low = random.randint(lowest, highest)
        if place == 3 and random.random() < 0.3:
            return random.choice(["jan", "FEB", "Dec"])
        if place == 4 and random.random() < 0.3:
            return random.choice(["mon", "SUN", "Fri", "mon-fri"])
        text = str(low) if random.random() < 0.5 else f"{low}-{random.randint(low, highest)}"
        return f"{text}/{random.randint(1, 9)}" if random.random() < 0.2 else text
