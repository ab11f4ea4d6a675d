"""Write the parts of deploy/ that come from code and chart: ``python -m tests.support.deploy`` (``make deploy``).

- ``helm/kschedweb/rights/``: rules of RBAC, from what ``manage.py rbac`` asks for and from docs/rbac-*.yaml.
- ``kustomize/``: the chart as it comes, and one component for each thing that it can do beside.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import django
import yaml

from kschedweb.engine.documents.writing import Dumper
from kschedweb.engine.json_types import Json
from tests.originals.charts import CHART, Helm
from tests.support.site import ROOT

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
django.setup()

from kschedweb.live.schedulers.rbac import EXTENDER, SCHEDULING, SHADOW, Needs, Right, policy_rules, rights_for  # noqa: E402

KUSTOMIZE = ROOT / "deploy" / "kustomize"
HEAD = "# Written by `make deploy` from {}; change it there.\n"
# Component -> the values that bring it, and the templates that it consists of.
COMPONENTS: dict[str, tuple[dict[str, str], list[str]]] = {
    "ingress": ({"ingress.enabled": "true"}, ["ingress"]),
    "httproute": (
        {
            "httpRoute.enabled": "true",
            "httpRoute.parentRefs[0].name": "gateway",
            "httpRoute.parentRefs[0].namespace": "gateways",
        },
        ["httproute"],
    ),
    "autoscaling": ({"autoscaling.enabled": "true"}, ["autoscaling"]),
    "servicemonitor": ({"serviceMonitor.enabled": "true"}, ["servicemonitor"]),
    **{f"rbac-{mode}": ({"rbac.mode": mode}, ["rbac"]) for mode in (SHADOW, EXTENDER, SCHEDULING)},
}
# What a pod needs for its service account to be of use, as a patch of each Deployment that talks to the cluster.
TOKEN = {"op": "replace", "path": "/spec/template/spec/automountServiceAccountToken", "value": True}


def rights_files() -> dict[Path, str]:
    """The rules of RBAC that the chart puts together, by file."""
    reading = rights_for(Needs(SHADOW))
    scheduling = Needs(SCHEDULING, lease="LEASE")

    def beyond(needs: Needs, less: list[Right]) -> list[Json]:
        return policy_rules([right for right in rights_for(needs) if right not in less and not right.namespace])

    objects_by_name = {
        SHADOW: policy_rules(reading),
        EXTENDER: policy_rules(rights_for(Needs(EXTENDER))),
        "extender-binds": policy_rules(rights_for(Needs(EXTENDER, binds=True))),
        SCHEDULING: beyond(scheduling, []),
        "preemption-delete": beyond(Needs(SCHEDULING, preemption=True), rights_for(scheduling)),
        "preemption-evict": beyond(Needs(SCHEDULING, preemption=True, keep_budgets=True), rights_for(scheduling)),
        "election": policy_rules([right for right in rights_for(scheduling) if right.namespace]),
        "annotations": _documented("annotations"),
        "metrics": _documented("metrics"),
    }
    head = HEAD.format("the rights that kschedweb asks for")
    return {CHART / "rights" / f"{name}.yaml": head + _yaml([item]) for name, item in objects_by_name.items()}


def _documented(name: str) -> list[Json]:
    text = (ROOT / "docs" / f"rbac-{name}.yaml").read_text(encoding="utf-8")
    (role,) = [item for item in yaml.safe_load_all(text) if item["kind"] == "ClusterRole"]
    rules: list[Json] = role["rules"]
    return rules


def kustomize_files(helm: Helm) -> dict[Path, str]:
    """The chart's manifests for those who have no helm, by file."""
    head = HEAD.format("the chart")
    base = [item for item in helm.objects() if item["metadata"].get("annotations", {}).get("helm.sh/hook") != "test"]
    files = {
        KUSTOMIZE / "base" / "kschedweb.yaml": head + _yaml(map(_plain, base)),
        KUSTOMIZE / "base" / "kustomization.yaml": head
        + _yaml([_kustomization("Kustomization", {"resources": ["kschedweb.yaml"]})]),
    }
    for name, (values, templates) in COMPONENTS.items():
        folder = KUSTOMIZE / "components" / name
        content: Json = {"resources": [f"{name}.yaml"]}
        if name.startswith("rbac-"):
            patch = yaml.safe_dump([TOKEN], sort_keys=False)
            content["patches"] = [
                {"target": {"kind": "Deployment", "name": f"kschedweb-{component}"}, "patch": patch}
                for component in ("web", "worker", "scheduler")
            ]
        if name == "autoscaling":
            drop = yaml.safe_dump([{"op": "remove", "path": "/spec/replicas"}], sort_keys=False)
            content["patches"] = [{"target": {"kind": "Deployment", "name": "kschedweb-web"}, "patch": drop}]
        files[folder / "kustomization.yaml"] = head + _yaml([_kustomization("Component", content)])
        files[folder / f"{name}.yaml"] = head + _yaml(map(_plain, helm.objects(values, templates)))
    return files


def _kustomization(kind: str, content: Json) -> Json:
    version = "v1beta1" if kind == "Kustomization" else "v1alpha1"
    return {"apiVersion": f"kustomize.config.k8s.io/{version}", "kind": kind, **content}


def _plain(item: Json) -> Json:
    """Without what is about helm."""
    metadata = dict(item["metadata"])
    annotations = {
        key: value for key, value in metadata.pop("annotations", {}).items() if not key.startswith("helm.sh/")
    }
    plain = {**item, "metadata": _unmanaged(metadata) | ({"annotations": annotations} if annotations else {})}
    template = item.get("spec", {}).get("template")
    if template:
        plain["spec"] = item["spec"] | {"template": template | {"metadata": _unmanaged(template["metadata"])}}
    return plain


def _unmanaged(metadata: Json) -> Json:
    labels = {key: value for key, value in metadata["labels"].items() if key != "app.kubernetes.io/managed-by"}
    return metadata | {"labels": labels}


def _yaml(items: Iterable[Any]) -> str:
    return "---\n".join(yaml.dump(item, Dumper=Dumper, sort_keys=False, width=120) for item in items)


def stale(files: dict[Path, str], folders: Iterable[Path]) -> Iterator[str]:
    """Files that differ from what they are written from, are missing, or are there without a source."""
    present = {path for folder in folders for path in folder.rglob("*.yaml")}
    for path in sorted(present | set(files)):
        if path not in files or not path.exists() or path.read_text(encoding="utf-8") != files[path]:
            yield str(path.relative_to(ROOT))


def main() -> None:
    files = rights_files()
    write(files)
    build = [str(ROOT / "tests" / "originals" / "charts" / "build")]
    folder = subprocess.run(build, capture_output=True, text=True, check=True).stdout.strip()
    write(kustomize_files(Helm(Path(folder))))


def write(files: dict[Path, str]) -> None:
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
