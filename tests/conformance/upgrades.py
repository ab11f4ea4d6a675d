"""Where kube-scheduler of each release puts the first pods of the recorded cluster, recorded from their oracles.

KSCHEDWEB_SHARED=<recorded data> python -m tests.conformance.upgrades FOLDER … takes a folder for each release, which
has its oracle and is named after its version, and writes goldens/upgrades.jsonl.xz.
"""

from __future__ import annotations

import json
import lzma
import os
import re
import sys
from pathlib import Path
from typing import Any

from tests.conformance.reference import Reference
from tests.support import openb

Json = dict[str, Any]
GOLDENS = Path(__file__).with_name("goldens") / "upgrades.jsonl.xz"
PODS = 600


def scenario(shared: Path) -> Json:
    config = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration", "parallelism": 1}
    objects, pending = openb.nodes(shared), openb.pods(shared, PODS)
    return {"name": "openb", "config": config, "objects": objects, "pending": pending, "mode": "sequence"}


def placed(reference: Reference, asked: Json) -> dict[str, str]:
    """The node of each pod, "" for none."""
    (answer,) = reference.answers("schedule", [asked])
    return {one["pod"]: one.get("node", "") for one in answer["placements"]}


def main(folders: list[str]) -> None:
    asked = scenario(Path(os.environ["KSCHEDWEB_SHARED"]))
    lines = []
    for folder in map(Path, folders):
        found = re.search(r"v(1\.\d+)\.", folder.name)
        if found is None:
            raise SystemExit(f"{folder}: is not named after a version")
        lines.append(json.dumps({"release": found[1], "nodes": placed(Reference(folder), asked)}))
    GOLDENS.write_bytes(lzma.compress(("\n".join(lines) + "\n").encode()))


if __name__ == "__main__":
    main(sys.argv[1:])
