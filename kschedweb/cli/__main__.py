"""``kschedweb``, and ``python -m kschedweb.cli`` for a checkout that nobody installed."""

import os
import sys
from typing import NoReturn

from kschedweb.cli.main import main


def run() -> NoReturn:
    """End the process with the command: to take apart what is in memory takes a tenth of the time of an answer."""
    status = main()
    sys.stdout.flush()
    os._exit(status)


if __name__ == "__main__":
    run()
