"""Steps on stderr, for what takes more than a second."""

from __future__ import annotations

import sys
import threading
import time
from typing import TextIO

# Seconds of silence, and between two lines where stderr is no terminal.
SILENCE, PAUSE = 1.0, 5.0


class StepWriter:
    """Writes the latest step to stderr: on a terminal over the step before, else a line now and then."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._begin = self._last = time.monotonic()
        self._width = 0
        self._lock = threading.Lock()

    def step(self, text: str) -> None:
        """Show ``text`` unless the work has only just begun."""
        with self._lock:
            now = time.monotonic()
            if now - self._begin < SILENCE:
                return
            if self._stream.isatty():
                self._stream.write(f"\r{text:<{self._width}}")
                self._width = len(text)
            elif now - self._last >= PAUSE or self._last == self._begin:
                self._stream.write(f"{text}\n")
            else:
                return
            self._last = now
            self._stream.flush()

    def clear(self) -> None:
        """Remove the last step from a terminal."""
        with self._lock:
            if self._width:
                self._stream.write(f"\r{'':<{self._width}}\r")
                self._stream.flush()
                self._width = 0
