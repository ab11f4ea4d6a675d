"""Commands about the person's own cluster, by the real kubectl and each kind of kubeconfig that people have."""

from __future__ import annotations

import datetime
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from kschedweb.engine.json_types import Json
from tests.cli.test_open import read_and_leave
from tests.conftest import ROOT
from tests.engine.builders import node, pod
from tests.support.controlplane import READ_EVERYTHING, ControlPlane
from tests.support.kubescheduler import kubeconfig
from tests.support.tiers import one_of

pytestmark = [pytest.mark.server, pytest.mark.live]
PERSON = "reader"
KINDS = ["token", "certificate", "exec"]


@dataclass(frozen=True)
class Terminal:
    """A person's terminal, with a kubeconfig of a kind."""

    kind: str
    environment: dict[str, str]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, and print how long it takes."""
        command = [sys.executable, "-m", "kschedweb.cli", *words]
        begin, used = time.perf_counter(), os.times()
        process = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=300)
        spent = os.times()
        cpu = spent.children_user + spent.children_system - used.children_user - used.children_system
        print(f"{self.kind}: kschedweb {words[0]}: {time.perf_counter() - begin:.1f} s, {cpu:.1f} s of a processor")
        print(process.stdout)
        return process


def write_certificate(folder: Path) -> None:
    """Write an authority of clients, ``ca.crt``, and ``client.crt`` with its key: ``PERSON``, signed by it."""
    names, keys = ("authority", PERSON), [ec.generate_private_key(ec.SECP256R1()) for _ in range(2)]
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, names[0])])
    now = datetime.datetime.now(datetime.UTC)
    for name, key, file in zip(names, keys, ("ca", "client"), strict=True):
        certificate = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=file == "ca", path_length=None), critical=True)
            .sign(keys[0], hashes.SHA256())
        )
        (folder / f"{file}.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_bytes = keys[1].private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "client.key").write_bytes(key_bytes)


@pytest.fixture(scope="module")
def plane(assets: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """An API server that knows certificates, with two nodes, a pod that fits and one that is too large."""
    folder = tmp_path_factory.mktemp("plane")
    write_certificate(folder)
    with ControlPlane(assets, folder, flags=["--client-ca-file", str(folder / "ca.crt")]).started() as plane:
        plane.grant(PERSON, READ_EVERYTHING)
        plane.create_nodes([node("a"), node("b")])
        plane.create_all("/api/v1/namespaces/default/pods", [pod("fits"), pod("big", requests={"cpu": "6"})])
        yield plane


@pytest.fixture
def terminal(plane: ControlPlane, kubectl_program: Path, kind: str, tmp_path: Path) -> Terminal:
    document = kubeconfig(plane, PERSON)
    if kind == "certificate":
        document["users"][0]["user"] = {
            "client-certificate": str(plane.folder / "client.crt"),
            "client-key": str(plane.folder / "client.key"),
        }
    if kind == "exec":
        version = "client.authentication.k8s.io/v1"
        credential = {"apiVersion": version, "kind": "ExecCredential", "status": {"token": plane.tokens[PERSON]}}
        script = tmp_path / "sign-in"
        script.write_text(f"#!/bin/sh\ncat <<'END'\n{json.dumps(credential)}\nEND\n")
        script.chmod(0o700)
        runs = {"apiVersion": version, "command": str(script), "interactiveMode": "Never"}
        document["users"][0]["user"] = {"exec": runs}
    config = tmp_path / "kubeconfig"
    config.write_text(json.dumps(document))
    environment = {
        "PATH": f"{kubectl_program.parent}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path),
        "KUBECONFIG": str(config), "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8",
    }  # fmt: skip

    return Terminal(kind, environment)


@pytest.mark.parametrize("kind", KINDS)
def test_each_command_answers_by_the_persons_kubeconfig(
    terminal: Terminal, plane: ControlPlane, tmp_path: Path
) -> None:
    release = plane.release.name
    why = terminal.run("why", "big")
    assert why.returncode == 1, why.stderr
    assert f"Answered as kube-scheduler {release} (the cluster is v{release}." in why.stdout
    answer: Json = json.loads(terminal.run("pending", "-o", "json").stdout)
    assert [(group["state"], group["pods"]) for group in answer["groups"]] == [
        ("stuck", ["default/big"]),
        ("fits", ["default/fits"]),
    ]
    manifest = tmp_path / "pod.json"
    manifest.write_text(json.dumps(pod("third", requests={"cpu": "3"})))
    (workload,) = json.loads(terminal.run("fit", "-f", str(manifest), "-o", "json").stdout)["workloads"]
    assert workload["fits"] == 2
    assert json.loads(terminal.run("node", "a", "-o", "json").stdout)["refused"][0]["pods"] == ["default/big"]


# It asks the same kubectl, from a whole site that takes more to start than all other commands together.
@pytest.mark.parametrize("kind", one_of("exec", "token", "certificate"))
def test_a_site_to_read_opens_by_the_persons_kubeconfig(terminal: Terminal) -> None:
    command = ["env", "--ignore-signal=INT", sys.executable, "-m", "kschedweb.cli", "open", "--no-browser"]
    with subprocess.Popen(command, env=terminal.environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            begin = time.perf_counter()
            read_and_leave(process, "here")
            print(f"kschedweb open, read and left: {time.perf_counter() - begin:.1f} s")
        finally:
            process.terminate()
