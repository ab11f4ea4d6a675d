"""/livez: the process answers. /readyz: it can do its work. Both need no login and no particular host name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import structlog
from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import JsonResponse

from kschedweb.clusters.credentials import canary_check

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse

logger = structlog.get_logger(__name__)


class HealthMiddleware:
    """Answers before anything else does: a probe knows neither the site's name nor its https address."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path == "/livez":
            return JsonResponse({"status": "ok"})
        if request.path == "/readyz":
            return readiness()
        return self.get_response(request)


def readiness() -> JsonResponse:
    """200 where every check holds, else 503; the reason of a failed check is in the log, not in the answer."""
    results = {name: _holds(name, check) for name, check in CHECKS.items()}
    ready = all(results.values())
    checks = {name: "ok" if held else "failed" for name, held in results.items()}
    return JsonResponse({"status": "ok" if ready else "failed", "checks": checks}, status=200 if ready else 503)


def _holds(name: str, check: Callable[[], None]) -> bool:
    try:
        check()
    except Exception:
        logger.warning("not_ready", check=name, exc_info=True)
        return False
    return True


def database() -> None:
    """The database answers and has every table of this version."""
    executor = MigrationExecutor(connection)
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise RuntimeError("migrations are missing")


def broker() -> None:
    """Redis answers (embedded, the broker is this process)."""
    if settings.REDIS_URL:
        cache.get("readyz")


def credentials() -> None:
    """The operator's keys open what was stored with them."""
    if unopened := canary_check():
        raise RuntimeError(f"no key opens the credentials of {', '.join(unopened)}")


CHECKS: dict[str, Callable[[], None]] = {"database": database, "broker": broker, "credentials": credentials}
