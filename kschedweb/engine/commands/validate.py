"""The command ``validate``."""

from __future__ import annotations

import argparse
import sys

from kschedweb.engine.commands.lines import InputError, write_answer
from kschedweb.engine.commands.release import configure_release, read_release
from kschedweb.engine.config.specs import PluginError
from kschedweb.engine.plugins.dynamic.policyfile import is_policy_file, load_policy_file
from kschedweb.engine.releases import cli_validate

configure = configure_release


def answer(options: argparse.Namespace) -> int:
    """Write what is wrong with the document on stdin, or how it is defaulted. Raises InputError."""
    text, release = sys.stdin.read(), read_release(options)
    try:
        write_answer(load_policy_file(text).to_dict() if is_policy_file(text) else cli_validate(text, release))
    except PluginError as error:
        raise InputError(str(error)) from None
    return 0
