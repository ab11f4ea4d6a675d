"""A cache in Redis that falls back to memory. While Redis is away, each process has its own cache."""

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

# Seconds that a call waits for Redis.
PATIENCE = 0.5
# Seconds after a failure without further attempts.
RETRY_PAUSE = 3.0
logger = structlog.get_logger(__name__)


class _FallbackCache:
    """The cache in Redis and that of this process, and the choice between them."""

    def __init__(self, server: str, params: dict[str, object]) -> None:
        patience = {"socket_timeout": PATIENCE, "socket_connect_timeout": PATIENCE, "retry": Retry(NoBackoff(), 0)}
        self._shared = RedisCache(server, {**params, "OPTIONS": patience})
        self._own = LocMemCache("while Redis is away", params)
        self._away_until = 0.0

    def call_method(self, method: str, *arguments: Any, **options: Any) -> Any:
        if time.monotonic() >= self._away_until:
            try:
                return getattr(self._shared, method)(*arguments, **options)
            except redis.RedisError as error:
                self._away_until = time.monotonic() + RETRY_PAUSE
                logger.warning("cache_away", error=type(error).__name__)
        return getattr(self._own, method)(*arguments, **options)


@cache
def _shared_instance(server: str) -> _FallbackCache:
    """Return the one instance of a process. Django makes a cache object for each request, which would open
    connections.
    """
    return _FallbackCache(server, {})


def _delegate_to(method: str) -> Callable[..., Any]:
    return lambda self, *arguments, **options: _shared_instance(self.server).call_method(method, *arguments, **options)


class LenientRedisCache(BaseCache):
    """Django's Redis cache with a fallback in this process, so that throttles, for instance, go on counting."""

    def __init__(self, server: str, params: dict[str, object]) -> None:
        super().__init__(params)
        self.server = server

    add, get, set = _delegate_to("add"), _delegate_to("get"), _delegate_to("set")
    touch, delete, clear = _delegate_to("touch"), _delegate_to("delete"), _delegate_to("clear")
    has_key, incr = _delegate_to("has_key"), _delegate_to("incr")
    get_many, set_many, delete_many = _delegate_to("get_many"), _delegate_to("set_many"), _delegate_to("delete_many")
