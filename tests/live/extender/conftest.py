from tests.live.schedulers.conftest import connected, default_policy, live

__all__ = ["connected", "default_policy", "live"]
