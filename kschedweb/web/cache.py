"""The cache in Redis, without which everything goes on: each process then remembers on its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from typing import Any

import redis
import structlog
from django.core.cache.backends.base import BaseCache
from django.core.cache.backends.locmem import LocMemCache
from django.core.cache.backends.redis import RedisCache
from redis.backoff import NoBackoff
from redis.retry import Retry

PATIENCE = 0.5  # seconds that a call waits for Redis
REST = 3.0  # seconds after a failure in which no call waits
logger = structlog.get_logger(__name__)


class _Both:
    """The cache in Redis and the one of this process; which of them answers."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        patience = {"socket_timeout": PATIENCE, "socket_connect_timeout": PATIENCE, "retry": Retry(NoBackoff(), 0)}
        self._shared = RedisCache(server, {**params, "OPTIONS": patience})
        self._own = LocMemCache("while Redis is away", params)
        self._away_until = 0.0

    def ask(self, method: str, *arguments: Any, **options: Any) -> Any:
        if time.monotonic() >= self._away_until:
            try:
                return getattr(self._shared, method)(*arguments, **options)
            except redis.RedisError as error:
                self._away_until = time.monotonic() + REST
                logger.warning("cache_away", error=type(error).__name__)
        return getattr(self._own, method)(*arguments, **options)


@cache
def _both(server: str) -> _Both:
    """One a process: Django makes a cache object for each request, whose connections would be new each time."""
    return _Both(server, {})


def _asked(method: str) -> Callable[..., Any]:
    return lambda self, *arguments, **options: _both(self.server).ask(method, *arguments, **options)


class LenientRedisCache(BaseCache):
    """While Redis is away, what is kept is this process's own: throttles, for instance, go on counting."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        self.server = server

    add, get, set = _asked("add"), _asked("get"), _asked("set")
    touch, delete, clear = _asked("touch"), _asked("delete"), _asked("clear")
    has_key, incr = _asked("has_key"), _asked("incr")
    get_many, set_many, delete_many = _asked("get_many"), _asked("set_many"), _asked("delete_many")
