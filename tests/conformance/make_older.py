"""Record what kube-scheduler itself makes of configurations before v1: recorded/older.jsonl.xz.

python -m tests.conformance.make_older [--check]

Two small Go programs decode, default and convert with the code of kube-scheduler: that of 1.26.15 writes v1beta2 and
v1beta3 as v1, that of 1.22.17 writes v1beta1 with its defaults. They need ``go`` and the module proxy. With ``--check``
nothing is written, and the status says whether the recorded answers are the same.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.support.printed import PRINTED

GOLDENS = Path(__file__).parent / "recorded" / "older.jsonl.xz"
GROUP = "kubescheduler.config.k8s.io"
WRITES = {"v1beta1": ("1.22.17", "v1beta1"), "v1beta2": ("1.26.15", "v1"), "v1beta3": ("1.26.15", "v1")}
PROGRAM = """\
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
)

func answer(document []byte, encoder runtime.Encoder) map[string]any {
	object, _, err := scheme.Codecs.UniversalDecoder().Decode(document, nil, nil)
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	written, err := runtime.Encode(encoder, object)
	if err != nil {
		return map[string]any{"error": err.Error()}
	}
	return map[string]any{"document": json.RawMessage(written)}
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<24)
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), "application/json")
	to := schema.GroupVersion{Group: "kubescheduler.config.k8s.io", Version: os.Args[1]}
	encoder := scheme.Codecs.EncoderForVersion(info.Serializer, to)
	for lines.Scan() {
		line, _ := json.Marshal(answer(lines.Bytes(), encoder))
		fmt.Println(string(line))
	}
}
"""
STAGING = re.compile(r"^\s*(k8s\.io/[a-z0-9-]+) => \./staging", re.M)
FILTERS: tuple[str, ...] = (
    *("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit"),
    *("VolumeRestrictions", "VolumeZone", "PodTopologySpread", "InterPodAffinity", "VolumeBinding"),
)
SCORES: tuple[str, ...] = (
    *("NodeResourcesBalancedAllocation", "ImageLocality", "InterPodAffinity", "NodeAffinity", "PodTopologySpread"),
    "TaintToleration",
)
ROOM = {"v1beta1": ("NodeResourcesLeastAllocated", "NodeResourcesMostAllocated", "RequestedToCapacityRatio")}
EVERYWHERE = {"v1beta3": ("ImageLocality", "NodeAffinity", "TaintToleration", "InterPodAffinity", "NodeResourcesFit")}
RESOURCES = [{"name": "cpu", "weight": 3}, {"name": "memory", "weight": 1}]
SHAPE = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]


def documents() -> list[dict[str, Any]]:
    """The configurations that are asked about: those that articles print, and chance ones."""
    printed = [
        printed_config.document
        for printed_config in PRINTED
        if printed_config.document["apiVersion"].rpartition("/")[2] in WRITES
    ]
    rng = random.Random(20)
    return [*printed, *(_chance(rng, version) for version in WRITES for _ in range(60))]


def _chance(rng: random.Random, version: str) -> dict[str, Any]:
    profiles = [_profile(rng, version, name) for name in ("default-scheduler", "other")[: rng.randint(1, 2)]]
    document: dict[str, Any] = {"apiVersion": f"{GROUP}/{version}", "kind": "KubeSchedulerConfiguration"}
    for name, value in (("percentageOfNodesToScore", 40), ("parallelism", 8), ("podMaxBackoffSeconds", 20)):
        if rng.random() < 0.3:
            document[name] = value
    if rng.random() < 0.3:
        document["leaderElection"] = {"leaderElect": False, "resourceName": "mine"}
    if version != "v1beta3" and rng.random() < 0.3:
        document["healthzBindAddress"] = "0.0.0.0:10251"
    if rng.random() < 0.3:
        document["extenders"] = [{"urlPrefix": "http://127.0.0.1:8888/x", "filterVerb": "filter", "httpTimeout": "7s"}]
    return {**document, "profiles": profiles}


def _profile(rng: random.Random, version: str, name: str) -> dict[str, Any]:
    profile: dict[str, Any] = {"schedulerName": name}
    plugins = {
        "filter": _set(rng, FILTERS, version, weighed=False),
        "score": _set(rng, (*SCORES, *ROOM.get(version, ("NodeResourcesFit",))), version, weighed=True),
        "preScore": {"disabled": [{"name": "TaintToleration"}]} if rng.random() < 0.2 else {},
        "postFilter": {"disabled": [{"name": "DefaultPreemption"}]} if rng.random() < 0.3 else {},
    }
    if version in EVERYWHERE and rng.random() < 0.5:
        plugins["multiPoint"] = _set(rng, EVERYWHERE[version], version, weighed=True, all_off=False)
    if plugin_sets := {point: entry for point, entry in plugins.items() if entry}:
        profile["plugins"] = plugin_sets
    args = _arguments(version)
    scored = {entry["name"] for entry in plugins["score"].get("enabled", ())}
    needed = {"RequestedToCapacityRatio"} & scored  # which does not run without its curve
    if configs := [{"name": entry, "args": args[entry]} for entry in args if entry in needed or rng.random() < 0.3]:
        profile["pluginConfig"] = configs
    return profile


def _set(
    rng: random.Random, names: tuple[str, ...], version: str, *, weighed: bool, all_off: bool = True
) -> dict[str, Any]:
    off = rng.sample(names, rng.choice((0, 0, 1, 2)))
    if all_off and rng.random() < 0.2:
        off = ["*"]
    ask = off if version == "v1beta1" and off != ["*"] else list(names)  # there a default one is disabled first
    on = rng.sample(ask, min(len(ask), rng.choice((0, 1, 2)))) if not (version == "v1beta1" and not off) else []
    if version == "v1beta1" and weighed and off != ["*"] and rng.random() < 0.5:
        on.append(rng.choice(ROOM[version][1:]))
    enabled = [{"name": plugin, **({"weight": rng.randint(1, 9)} if weighed else {})} for plugin in dict.fromkeys(on)]
    disabled = [{"name": plugin} for plugin in off]
    return ({"enabled": enabled} if enabled else {}) | ({"disabled": disabled} if disabled else {})


def _arguments(version: str) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "InterPodAffinity": {"hardPodAffinityWeight": 7},
        "VolumeBinding": {"bindTimeoutSeconds": 30},
        "DefaultPreemption": {"minCandidateNodesPercentage": 20},
        "PodTopologySpread": {
            "defaultConstraints": [{"maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway"}],
            **({} if version == "v1beta1" else {"defaultingType": "List"}),
        },
        "NodeResourcesBalancedAllocation": {"resources": [{"name": "memory"}, {"name": "example.com/x", "weight": 1}]},
    }
    if version == "v1beta1":
        room = {"resources": RESOURCES}
        arguments |= {"NodeResourcesLeastAllocated": room, "NodeResourcesMostAllocated": {"resources": RESOURCES[:1]}}
        return arguments | {"RequestedToCapacityRatio": {"shape": SHAPE, "resources": RESOURCES}}
    ratio = {"type": "RequestedToCapacityRatio", "requestedToCapacityRatio": {"shape": SHAPE}}
    return arguments | {"NodeResourcesFit": {"ignoredResources": ["example.com/x"], "scoringStrategy": ratio}}


def build(version: str, folder: Path) -> Path:
    """The program that decodes as kube-scheduler ``version`` does."""
    environment = {**os.environ, "GOFLAGS": "-mod=mod"}

    def go(*arguments: str) -> str:
        return subprocess.run(
            ["go", *arguments], cwd=folder, env=environment, check=True, capture_output=True, text=True
        ).stdout

    (folder / "main.go").write_text(PROGRAM)
    (folder / "go.mod").write_text(f"module decode\n\ngo 1.21\n\nrequire k8s.io/kubernetes v{version}\n")
    module = json.loads(go("mod", "download", "-json", f"k8s.io/kubernetes@v{version}"))
    staged = STAGING.findall((Path(module["Dir"]) / "go.mod").read_text())
    part = f"v0.{version.partition('.')[2]}"
    with (folder / "go.mod").open("a") as file:
        file.writelines(f"replace {name} => {name} {part}\n" for name in sorted(set(staged)))
    go("build", "-o", "decode", ".")
    return folder / "decode"


def recorded() -> list[dict[str, Any]]:
    """The answers of all documents, asked anew."""
    answers = []
    with tempfile.TemporaryDirectory() as temporary:
        programs: dict[str, Path] = {}
        for document in documents():
            release, to = WRITES[document["apiVersion"].rpartition("/")[2]]
            if release not in programs:
                (folder := Path(temporary, release)).mkdir()
                programs[release] = build(release, folder)
            line = json.dumps(document)
            process = subprocess.run([programs[release], to], input=line, check=True, capture_output=True, text=True)
            answers.append({"config": document, "release": release, "expected": json.loads(process.stdout)})
    return answers


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="write nothing: say whether the answers are the same")
    options = parser.parse_args()
    lines = "".join(json.dumps(answer, ensure_ascii=False, separators=(",", ":")) + "\n" for answer in recorded())
    if options.check:
        with lzma.open(GOLDENS, "rt", encoding="utf-8") as file:
            return int(file.read() != lines)
    with lzma.open(GOLDENS, "wt", encoding="utf-8") as file:
        file.write(lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
