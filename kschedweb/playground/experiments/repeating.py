"""The shell command that runs an experiment again, and the files that it reads."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.urls import reverse
from django.utils.text import slugify
from django.utils.translation import gettext

from kschedweb.engine.releases import write_gates
from kschedweb.playground.experiments import selectors
from kschedweb.policies.files import list_pinned_files

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from kschedweb.playground.experiments.models import Experiment

COMMAND = "python -m kschedweb.engine.experiment run"
# The name of the synthetic recording's file.
MADE_UP = "made-up-day"


@dataclass(frozen=True)
class NeededFile:
    """A file that the command reads."""

    # As the command names it.
    name: str
    # What it holds, in the language of the reader.
    label: str
    # Where the site gives it, over REST; "" if the policy was deleted.
    address: str


@dataclass(frozen=True)
class RepeatCommand:
    """The command, with an option a line."""

    text: str
    files: list[NeededFile]


def repeat_command(experiment: Experiment) -> RepeatCommand:
    """Return the command that gives the measures of ``experiment`` again."""
    built_in = [policy for policy in experiment.policies if "@" not in policy]
    options = [f"--seeds {' '.join(map(str, experiment.seeds))}"]
    options += [f"--setup {shlex.quote(json.dumps(experiment.setup))}"] if experiment.setup else []
    options += [f"--policies {' '.join(built_in)}"] if built_in else []
    files = [recording_file(experiment)]
    for policy in experiment.policies:
        if "@" in policy:
            policy_options, policy_files = _saved_policy(policy)
            options += policy_options
            files += policy_files
    return RepeatCommand(" \\\n  ".join([f"{COMMAND} {files[0].name}", *options]), list(dict.fromkeys(files)))


def recording_file(experiment: Experiment) -> NeededFile:
    """Return the file with the recording of ``experiment``."""
    name = slugify(experiment.recording.name) or "recording" if experiment.recording else MADE_UP
    address = reverse("api:experiment-recording", args=[experiment.pk])
    return NeededFile(f"{name}.csv.gz", gettext("the recording"), address)


def _saved_policy(policy: str) -> tuple[list[str], list[NeededFile]]:
    """Return the options of a saved revision, and its files."""
    name, _, number = policy.partition("@")
    revision = selectors.find_revision(policy)
    document = NeededFile(
        f"{name}-{number}.yaml",
        selectors.policy_label(policy),
        reverse("api:revision-document", args=[name, number]) if revision else "",
    )
    options, files = [f"--policy {policy}={document.name}"], [document]
    process: Mapping[str, Any] = revision.process if revision else {}
    if release := process.get("release"):
        options.append(f"--release {policy}={release}")
    if gates := process.get("featureGates"):
        options.append(f"--feature-gates {shlex.quote(f'{policy}={write_gates(gates)}')}")
    for pinned in list_pinned_files(process):
        if pinned.revision is None:
            # Its text is in the field ``process`` of the revision alone.
            base_name = slugify(pinned.path.rpartition("/")[2].removesuffix(".yaml")) or "file"
            file = NeededFile(
                f"{name}-{number}-{base_name}.yaml", pinned.path, reverse("api:revision", args=[name, number])
            )
        else:
            stored = (pinned.revision.policy.name, pinned.revision.number)
            file = NeededFile(
                f"{stored[0]}-{stored[1]}.yaml", pinned.path, reverse("api:revision-document", args=stored)
            )
        files.append(file)
        options.append(f"--file {shlex.quote(f'{policy}={pinned.path}={file.name}')}")
    return options, files
