"""The release before this one, as its own processes would run beside ours during an upgrade."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path
from shutil import copytree

from django.apps import apps

from tests.support.needs import missing
from tests.support.site import ROOT, clean_environment

# The state of main that was released last: raise it with each release, once its migrations may rely on ours.
COMMIT = "239636677333ee357569a5b2754cbc8689bab5c2"


def checkout(folder: Path) -> Path:
    """The previous release's files in ``folder``, with the static files that its pages name."""
    packed = folder.with_suffix(".tar")
    with packed.open("wb") as archive:
        command = ["git", "archive", "--format=tar", COMMIT]
        if subprocess.run(command, cwd=ROOT, stdout=archive, check=False).returncode:
            missing("a clone with the history, which holds the previous release")
    with tarfile.open(packed) as archive:
        archive.extractall(folder, filter="data")
    packed.unlink()
    copytree(ROOT / "frontend" / "dist", folder / "frontend" / "dist")
    settings = {"KSCHEDWEB_SECRET_KEY": "for-this-command-only", "KSCHEDWEB_DATA_DIR": str(folder)}
    install(folder)
    environment = clean_environment(**packages(folder), **settings)
    collect = [sys.executable, "manage.py", "collectstatic", "--noinput", "--verbosity", "0"]
    subprocess.run(collect, cwd=folder, env=environment, check=True, capture_output=True, timeout=120)
    return folder


def packages(folder: Path) -> dict[str, str]:
    """The setting by which the release in ``folder`` finds its own packages before ours."""
    return {"PYTHONPATH": str(folder / "packages")}


def install(folder: Path) -> None:
    """Install beside the release in ``folder`` the packages that it pins and ours does not."""
    if requirements := sorted(pins(folder) - pins(ROOT)):
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*command, "--target", str(folder / "packages"), *requirements], check=True, timeout=300)


def pins(root: Path) -> set[str]:
    """Each package with its version, as requirements.txt pins it."""
    lines = (root / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return {pin for line in lines if (pin := line.partition("#")[0].strip())}


def migrations() -> set[tuple[str, str]]:
    """(app, name) of each migration that the previous release has."""
    listed = subprocess.run(
        ["git", "ls-tree", "-r", "--name-only", COMMIT, "kschedweb"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode:
        missing("a clone with the history, which holds the previous release")
    labels = {tuple(config.name.split(".")): config.label for config in apps.get_app_configs()}
    paths = [Path(line) for line in listed.stdout.splitlines()]
    return {
        (labels[path.parts[:-2]], path.stem)
        for path in paths
        if path.parent.name == "migrations" and path.stem != "__init__" and path.parts[:-2] in labels
    }
