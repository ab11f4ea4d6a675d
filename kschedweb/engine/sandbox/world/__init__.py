"""What happens in a sandbox behind its API server: kubelets, controllers, use and happenings, on its own clock."""

from kschedweb.engine.sandbox.world.admission import Admission as admission
from kschedweb.engine.sandbox.world.catalogue import seed as load_catalogue
from kschedweb.engine.sandbox.world.world import World

__all__ = ["World", "admission", "load_catalogue"]
