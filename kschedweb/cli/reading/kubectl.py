"""Reads a cluster by the person's kubectl, so that programs, proxies and sign-ins of the kubeconfig work as usual."""

from __future__ import annotations

import shutil
import subprocess

from kschedweb.cli.reading.source import SourceError, SourceOptions

# Seconds for one answer.
PATIENCE = 120


def find_kubectl() -> str:
    """Return the path of kubectl, "" if there is none."""
    return shutil.which("kubectl") or ""


class KubectlSource:
    """The API server that ``kubectl`` talks to."""

    def __init__(self, program: str, options: SourceOptions) -> None:
        choices = {"--kubeconfig": options.kubeconfig, "--context": options.context}
        flags = [part for name, value in choices.items() if value for part in (name, value)]
        self._command = [program, *flags]
        self.label = "kubectl"

    def get(self, path: str) -> bytes:
        """Return the answer to GET ``path``: unlike other forms of get, --raw neither decodes nor indents it."""
        command = [*self._command, "get", "--raw", path]
        try:
            answer = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)  # noqa: S603
        except subprocess.TimeoutExpired:
            raise SourceError(f"kubectl: no answer to {path} within {PATIENCE} s") from None
        except OSError as error:
            raise SourceError(f"kubectl: {error.strerror or error}") from None
        if answer.returncode == 0:
            return answer.stdout
        raise _read_failure(answer.stderr.decode("utf-8", "replace"))


def _read_failure(text: str) -> SourceError:
    """Return kubectl's last line of error; warnings come before it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    line = lines[-1] if lines else "it failed and said nothing"
    forbidden = "(Forbidden)" in line or "(Unauthorized)" in line or "Unauthorized" in line
    absent = "(NotFound)" in line or "could not find the requested resource" in line
    return SourceError(f"kubectl: {line}", forbidden=forbidden, absent=absent)
