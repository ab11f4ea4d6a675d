"""The first contents of a new sandbox."""

from kschedweb.engine.sandbox.world.catalogue.seeding import seed_store

__all__ = ["seed_store"]
