"""The world behind a sandbox's API server: kubelets, controllers, use and happenings, on its own clock."""

from kschedweb.engine.sandbox.world.admission import Admission as admission
from kschedweb.engine.sandbox.world.catalogue import seed_store as load_catalogue
from kschedweb.engine.sandbox.world.world import SandboxWorld

__all__ = ["SandboxWorld", "admission", "load_catalogue"]
