"""What a new sandbox begins with."""

from kschedweb.engine.sandbox.world.catalogue.making import seed

__all__ = ["seed"]
