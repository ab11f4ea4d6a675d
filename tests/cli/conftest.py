"""The wheel, built and installed into a fresh environment without Django, and a whole site for it to talk to."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.engine.studies.gates import PACKED, cluster
from tests.support.once import made_once
from tests.support.site import PASSWORD, Site, made_run

NEEDED_PACKAGES = ("numpy", "numpy.libs", "yaml", "_yaml")  # all that the wheel may need
Command = Callable[..., subprocess.CompletedProcess[str]]


def _install(folder: Path) -> None:
    """Build the wheel, and install it into two new environments: beside numpy and PyYAML, and beside all packages."""
    options = ["--quiet", "--no-deps", "--disable-pip-version-check"]
    build = [sys.executable, "-m", "pip", "wheel", *options, "--no-build-isolation", "-w", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True, timeout=300)
    (wheel,) = folder.glob("*.whl")
    packages = Path(importlib.import_module("numpy").__file__ or "").parents[1]
    for name in ("venv", "site"):
        environment, place = folder / name, folder.with_suffix("") / name
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True, timeout=120)
        (site,) = environment.glob("lib/python*/site-packages")
        if name == "site":
            (site / "packages.pth").write_text(f"{packages}\n")
        else:
            for package in NEEDED_PACKAGES:
                if (packages / package).exists():
                    (site / package).symlink_to(packages / package)
        into = [sys.executable, "-m", "pip", "--python", str(environment / "bin" / "python"), "install"]
        subprocess.run([*into, *options, "--no-index", str(wheel)], check=True, capture_output=True, timeout=120)
        # They name their interpreter, and the folder is about to get its name.
        for script in (environment / "bin").iterdir():
            if not script.is_symlink() and script.name.startswith(("kschedweb", "kubectl")):
                script.write_text(script.read_text().replace(str(environment), str(place)))


@pytest.fixture(scope="session")
def bin_folder() -> Path:
    """The folder of the installed commands."""
    return made_once("wheel", _install) / "venv" / "bin"


@pytest.fixture(scope="session")
def wheel(bin_folder: Path) -> Path:
    (path,) = bin_folder.parents[1].glob("*.whl")
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A cluster's dump and policies, as files."""
    (tmp_path / "cluster.json").write_text(json.dumps({"kind": "List", "items": cluster()}))
    (tmp_path / "packed.yaml").write_text(PACKED)
    (tmp_path / "defaults.yaml").write_text("\n".join(PACKED.splitlines()[:2]) + "\n")
    return tmp_path


def clean_variables(bin_folder: Path, home: Path, **variables: str) -> dict[str, str]:
    """Nothing of this process but where programs are: no PYTHONPATH, no setting."""
    return {
        "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        **variables,
    }


@pytest.fixture
def run(bin_folder: Path, folder: Path) -> Command:
    """Run one of the installed commands in ``folder``."""

    def call(*words: str, program: str = "kschedweb", **variables: str) -> subprocess.CompletedProcess[str]:
        command = [str(bin_folder / program), *words]
        environment = clean_variables(bin_folder, folder, **variables)
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)

    return call


@pytest.fixture(scope="session")
def site(bin_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site as ``kschedweb serve`` of the wheel starts it, with its sandbox, and the admin logged in."""
    settings = {"KSCHEDWEB_ADMIN_PASSWORD": PASSWORD}
    command = [str(bin_folder.parents[1] / "site" / "bin" / "kschedweb"), "serve"]
    with made_run(tmp_path_factory.mktemp("cli-site"), command, **settings) as running:
        running.site.login("admin", PASSWORD)
        yield running.site


@pytest.fixture(scope="session")
def tokens(site: Site) -> Callable[[str], dict[str, str]]:
    """Environment variables for the site and for a token of a scope."""
    variables: dict[str, dict[str, str]] = {}

    def variables_of(scope: str) -> dict[str, str]:
        if scope not in variables:
            key = site.ask("POST", "tokens/", {"name": f"cli {scope}", "scope": scope, "days": 1})["key"]
            variables[scope] = {"KSCHEDWEB_URL": site.url, "KSCHEDWEB_TOKEN": key}
        return variables[scope]

    return variables_of
