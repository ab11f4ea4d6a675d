"""Contents of an image: packages by hash, one version, a bill of materials, and all files the site needs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from kschedweb import __version__
from tests.support.processes import free_port, running, wait_until
from tests.support.site import ROOT, Site, clean_environment

DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
PIN = re.compile(r"^([A-Za-z0-9_.-]+)(?:\[[\w,-]+\])?==(\S+)", re.MULTILINE)


def plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(name: str) -> dict[str, str]:
    matches = PIN.findall((ROOT / name).read_text(encoding="utf-8"))
    return {plain(package): number for package, number in matches}


@pytest.mark.parametrize("name", ["requirements", "requirements-dev"])
def test_lock_says_what_is_pinned_each_by_hash(name: str) -> None:
    lock = pins(f"{name}.lock")
    assert pins(f"{name}.txt").items() <= lock.items(), "run make lock"
    entries = re.split(r"\n(?=\S)", (ROOT / f"{name}.lock").read_text(encoding="utf-8"))
    assert all("--hash=sha256:" in entry for entry in entries if PIN.match(entry))
    assert sum(bool(PIN.match(entry)) for entry in entries) == len(lock)


def test_both_locks_agree_and_are_what_is_installed() -> None:
    run, everything = pins("requirements.lock"), pins("requirements-dev.lock")
    assert run.items() <= everything.items()
    assert {name: version(name) for name in pins("requirements.txt")}.items() <= run.items()


def test_there_is_one_version() -> None:
    chart = yaml.safe_load((ROOT / "deploy/helm/kschedweb/Chart.yaml").read_text(encoding="utf-8"))
    assert chart["version"] == chart["appVersion"] == __version__
    (chart_image,) = yaml.safe_load(chart["annotations"]["artifacthub.io/images"])
    assert chart_image["image"] == f"kschedweb:{__version__}"
    headlamp = json.loads((ROOT / "deploy/headlamp/package.json").read_text(encoding="utf-8"))
    assert headlamp["version"] == __version__
    assert f"uses: OWNER/kschedweb@v{__version__}\n" in (ROOT / "docs/automating.md").read_text(encoding="utf-8")
    assert f"ARG KSCHEDWEB_VERSION={__version__}\n" in DOCKERFILE
    assert f"\n## {__version__} (" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_no_image_names_a_registry() -> None:
    images = re.findall(r"^ARG (?:NODE|PYTHON)=(\S+)", DOCKERFILE, re.MULTILINE)
    compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    images += [service["image"] for service in compose["services"].values()]
    assert len(images) > 3
    assert not [image for image in images if "/" in image.replace("${", "").split("@")[0]]


def test_bill_of_materials_names_every_package() -> None:
    command = [sys.executable, "deploy/sbom.py", "frontend/package-lock.json"]
    environment = clean_environment(SOURCE_DATE_EPOCH="0")
    process = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    bill: dict[str, Any] = json.loads(process.stdout)
    assert (bill["spdxVersion"], bill["creationInfo"]["created"]) == ("SPDX-2.3", "1970-01-01T00:00:00Z")
    package_urls = {reference["referenceLocator"] for item in bill["packages"] for reference in item["externalRefs"]}
    assert {f"pkg:pypi/{name}@{number}" for name, number in pins("requirements.txt").items()} <= package_urls
    frontend_packages = json.loads((ROOT / "frontend/package.json").read_text(encoding="utf-8"))["dependencies"]
    assert {
        f"pkg:npm/{name.replace('@', '%40')}@{number}" for name, number in frontend_packages.items()
    } <= package_urls
    assert not any(name.startswith("pkg:npm/typescript@") for name in package_urls), "a tool of the build"
    ids = [item["SPDXID"] for item in bill["packages"]]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"SPDXRef-[A-Za-z0-9.-]+", identifier) for identifier in ids)
    assert {item["relatedSpdxElement"] for item in bill["relationships"]} == set(ids)


def image(folder: Path) -> None:
    """The last stage of the Dockerfile by hand: what it copies from here, and what it runs with Python."""
    stage = DOCKERFILE[DOCKERFILE.rindex("\nFROM ") :]
    for line in re.findall(r"^COPY (.*)$", stage, re.MULTILINE):
        words = [word for word in line.split() if not word.startswith("--from=python")]
        if "--from=frontend" in words:
            words = ["frontend/dist/", words[-1]]
        *sources, target = words
        for source in sources:
            if source.startswith("/opt") or target.startswith("/tmp"):
                continue
            destination = (
                folder / target
                if target.endswith("/") and source.endswith("/")
                else folder / target / Path(source).name
            )
            copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
            destination.parent.mkdir(parents=True, exist_ok=True)
            copy(ROOT / source, destination)
    environment = clean_environment(KSCHEDWEB_SECRET_KEY="for-this-command-only", PYTHONDONTWRITEBYTECODE="1")
    command = [sys.executable, "manage.py", "collectstatic", "--noinput", "--verbosity", "0"]
    subprocess.run(command, cwd=folder, env=environment, check=True, timeout=120)


@pytest.mark.nightly
def test_site_runs_from_what_the_image_holds_and_writes_nothing_there(tmp_path: Path) -> None:
    app, data = tmp_path / "app", tmp_path / "data"
    image(app)
    data.mkdir()
    before = {path: path.stat().st_mtime_ns for path in app.rglob("*")}
    port = free_port()
    environment = clean_environment(
        KSCHEDWEB_SECRET_KEY="q8Zr3TnV0yLk5WbXc7DfGh2JmPsUa9EefJ4kQ9zXw2LrT7vBn0",
        KSCHEDWEB_DATA_DIR=str(data),
        KSCHEDWEB_PORT=str(port),
        PYTHONDONTWRITEBYTECODE="1",
    )
    migrate = [sys.executable, "manage.py", "migrate", "--noinput", "--verbosity", "0"]
    subprocess.run(migrate, cwd=app, env=environment, check=True, timeout=120)
    with running([sys.executable, "-m", "kschedweb.server"], tmp_path / "log", environment, app):
        site = Site(f"http://127.0.0.1:{port}")
        wait_until(lambda: site.answers("/readyz"), "the site is ready")
        assert site.answers("/login/")
    assert {path: path.stat().st_mtime_ns for path in app.rglob("*")} == before
    doctor = [sys.executable, "manage.py", "doctor"]
    process = subprocess.run(doctor, cwd=app, env=environment, capture_output=True, text=True, timeout=120)
    assert process.returncode == 1
    assert "FAIL beat: Beat, or the worker that does what it asks for, has given no sign of life yet." in process.stdout
    assert process.stdout.count("FAIL") == 1, process.stdout
