"""Start ``kschedweb``, or ``python -m kschedweb.cli`` in a checkout that is not installed."""

import os
import sys
from typing import NoReturn

from kschedweb.cli.main import main


def run() -> NoReturn:
    """End the process right after the command: freeing all memory would take a tenth of an answer's time."""
    status = main()
    sys.stdout.flush()
    os._exit(status)


if __name__ == "__main__":
    run()
