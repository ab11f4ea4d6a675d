"""The configurations of kube-scheduler that the founding articles print, laid out as they are printed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import yaml

from kschedweb.engine.releases.older import make_readable

GROUP = "kubescheduler.config.k8s.io"


@dataclass(frozen=True)
class Printed:
    """``article`` is the number of its file; ``text`` what a person pastes."""

    name: str
    article: str
    text: str

    @property
    def document(self) -> dict[str, Any]:
        document: dict[str, Any] = yaml.safe_load(make_readable(self.text))
        return document


WATER_LEVEL = f"""\
apiVersion: {GROUP}/v1alpha2
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    preFilter:
      enabled:
      - name: HheWaterLevelBalance
    filter:
      enabled:
      - name: HheWaterLevelBalance
      - name: HkePodTopologySpread
    preScore:
      enabled:
      - name: HkePodTopologySpread
      - name: HheWaterLevelBalance
    score:
      enabled:
      - name: HkePodTopologySpread// 打开
      - name: HheWaterLevelBalance
      disabled:
      - name: ImageLocality// 关闭
      - name: InterPodAffinity
    postBind:
      enabled:
      - name: HheWaterLevelBalance
  pluginConfig:// 参数
  - name: HheWaterLevelBalance
    args:
      clusterCpuMinNodeWeight: 0.2
"""
ADDED_AFFINITY = f"""\
apiVersion: {GROUP}/v1beta3
kind: KubeSchedulerConfiguration

profiles:
  - schedulerName: default-scheduler
  - schedulerName: foo-scheduler
    pluginConfig:
      - name: NodeAffinity
        args:
          addedAffinity:
            requiredDuringSchedulingIgnoredDuringExecution:
              nodeSelectorTerms:
              - matchExpressions:
                - key: scheduler-profile
                  operator: In
                  values:
                  - foo
"""
CONSTRAINTS = f"""\
apiVersion: {GROUP}/v1beta3
kind: KubeSchedulerConfiguration

profiles:
  - schedulerName: default-scheduler
    pluginConfig:
      - name: PodTopologySpread
        args:
          defaultConstraints:
            - maxSkew: 1
              topologyKey: topology.kubernetes.io/zone
              whenUnsatisfiable: ScheduleAnyway
          defaultingType: List
"""
NO_CONSTRAINTS = f"""\
apiVersion: {GROUP}/v1beta3
kind: KubeSchedulerConfiguration

profiles:
  - schedulerName: default-scheduler
    pluginConfig:
      - name: PodTopologySpread
        args:
          defaultConstraints: []
          defaultingType: List
"""
PERCENTAGE = f"""\
apiVersion: {GROUP}/v1alpha1
kind: KubeSchedulerConfiguration
algorithmSource:
  provider: DefaultProvider

...

percentageOfNodesToScore: 50
"""
PRINTED = (
    Printed("water level", "001", WATER_LEVEL),
    Printed("added affinity", "004", ADDED_AFFINITY),
    Printed("default constraints", "004", CONSTRAINTS),
    Printed("no default constraints", "004", NO_CONSTRAINTS),
    Printed("percentage", "004", PERCENTAGE),
)


def of_today(printed: Printed) -> str:
    """The one that means the same in v1, written by hand; JSON."""
    return json.dumps({"apiVersion": f"{GROUP}/v1", "kind": "KubeSchedulerConfiguration", **_TODAY[printed.name]})


def _weights(**weights: int) -> dict[str, Any]:
    return {"multiPoint": {"enabled": [{"name": name, "weight": weight} for name, weight in weights.items()]}}


_BEFORE = {"NodeAffinity": 1, "PodTopologySpread": 1, "TaintToleration": 1}
_TODAY: dict[str, dict[str, Any]] = {
    "water level": {
        "profiles": [
            {
                "plugins": {
                    **_weights(**_BEFORE),
                    "preFilter": {"enabled": [{"name": "HheWaterLevelBalance"}]},
                    "filter": {"enabled": [{"name": "HheWaterLevelBalance"}, {"name": "HkePodTopologySpread"}]},
                    "preScore": {"enabled": [{"name": "HkePodTopologySpread"}, {"name": "HheWaterLevelBalance"}]},
                    "score": {
                        "enabled": [{"name": "HkePodTopologySpread"}, {"name": "HheWaterLevelBalance"}],
                        "disabled": [{"name": "ImageLocality"}, {"name": "InterPodAffinity"}],
                    },
                    "postBind": {"enabled": [{"name": "HheWaterLevelBalance"}]},
                },
                "pluginConfig": [{"name": "HheWaterLevelBalance", "args": {"clusterCpuMinNodeWeight": 0.2}}],
            }
        ]
    },
    **{
        printed.name: {"profiles": printed.document["profiles"]}
        for printed in PRINTED
        if printed.document["apiVersion"].endswith("/v1beta3")
    },
    "percentage": {
        "percentageOfNodesToScore": 50,
        "profiles": [{"plugins": _weights(**_BEFORE, InterPodAffinity=1)}],
    },
}
