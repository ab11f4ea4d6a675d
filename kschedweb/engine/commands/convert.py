"""The command ``convert_policy``."""

from __future__ import annotations

import argparse
import json
import sys

from kschedweb.engine.commands.lines import InputError, write_answer
from kschedweb.engine.commands.release import configure_release, read_release
from kschedweb.engine.config.specs import PluginError
from kschedweb.engine.json_types import Json
from kschedweb.engine.releases.classic import PolicyError, load_policy
from kschedweb.engine.releases.classic.conversion import convert_policy
from kschedweb.engine.releases.older import load_old
from kschedweb.engine.scenario.classic import read_edition
from kschedweb.engine.scenario.reading import ScenarioError


def configure(parser: argparse.ArgumentParser) -> None:
    configure_release(parser)
    parser.add_argument(
        "--classic", default="true", help="what kube-scheduler was started with (docs/classic.md), JSON"
    )


def answer(options: argparse.Namespace) -> int:
    """Write the profile for what stdin holds. Raises InputError."""
    text = sys.stdin.read()
    try:
        write_answer(_convert_text(text, options))
    except (PluginError, PolicyError, ScenarioError) as error:
        raise InputError(str(error)) from None
    return 0


def _convert_text(text: str, options: argparse.Namespace) -> Json:
    """The profile for the Policy or the old configuration in ``text``, or for the default provider.

    Raises InputError, ScenarioError, PolicyError.
    """
    try:
        classic_options = json.loads(options.classic)
    except ValueError as error:
        raise InputError(f"--classic: is not JSON: {error}") from None
    edition, release = read_edition(classic_options), read_release(options)
    if not text.strip():
        return convert_policy(None, edition, release).to_dict()
    if (old := load_old(text, release)) is not None:
        if old.conversion is None or old.errors:
            raise InputError("; ".join(old.errors))
        return old.conversion.to_dict()
    loaded = load_policy(text)
    if loaded.policy is None:
        raise InputError("; ".join(loaded.errors))
    warnings = [f"{warning.path}: {warning.text}" for warning in loaded.warnings]
    return convert_policy(loaded.policy, edition, release).to_dict() | ({"warnings": warnings} if warnings else {})
