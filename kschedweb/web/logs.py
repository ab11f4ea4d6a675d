"""Logging of all processes: one JSON object per line, with request id and without secrets.

With DEBUG, lines are coloured text instead.
"""

from __future__ import annotations

from typing import Any

import structlog
from django.core.exceptions import ImproperlyConfigured

from kschedweb.web.redaction import redact_event

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")


def _shared_processors() -> list[Any]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.PositionalArgumentsFormatter(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
        structlog.processors.UnicodeDecoder(),
    ]


def _drop_expected(logger: Any, method: str, event: Any) -> Any:
    """Drop messages about cut streams. They occur whenever somebody leaves a page with live figures."""
    if event.get("event") == "streaming_cancelled":
        raise structlog.DropEvent
    return event


def configure_logging(*, json_lines: bool, level: str) -> dict[str, object]:
    """Configure structlog, and return the dict for Django's ``LOGGING``. An invalid level stops the start."""
    if level not in LEVELS:
        raise ImproperlyConfigured(f"KSCHEDWEB_LOG_LEVEL must be one of {', '.join(LEVELS)}.")
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            _drop_expected,
            *_shared_processors(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    renderer = structlog.processors.JSONRenderer() if json_lines else structlog.dev.ConsoleRenderer()
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "lines": {
                "()": structlog.stdlib.ProcessorFormatter,
                "foreign_pre_chain": _shared_processors(),
                "processors": [
                    structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                    redact_event,
                    renderer,
                ],
            },
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "lines"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            "django": {"handlers": [], "level": level, "propagate": True},
            # These repeat the lines of django-structlog for each request.
            "django.server": {"handlers": [], "level": "WARNING", "propagate": True},
            "django.request": {"level": "CRITICAL"},
            # Its warnings are in the audit trail and its log lines.
            "axes": {"level": "ERROR"},
            "kombu": {"level": "WARNING"},
        },
    }
