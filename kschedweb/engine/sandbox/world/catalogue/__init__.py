"""What a new sandbox begins with."""

from kschedweb.engine.sandbox.world.catalogue.seeding import seed_store

__all__ = ["seed_store"]
