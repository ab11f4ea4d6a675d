"""``python -m kschedweb.cli``, for a checkout that nobody installed."""

import sys

from kschedweb.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
