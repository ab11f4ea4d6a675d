"""A classic policy in a ConfigMap of a cluster, where kube-scheduler read it."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import Http404

from kschedweb.clusters.configmaps import config_map_read
from kschedweb.clusters.selectors import cluster_get
from kschedweb.engine.releases.classic import from_config_map
from kschedweb.web.errors import ApplicationError, FieldProblem, NotFound, Unprocessable

# The default of --policy-configmap-namespace, and the one key that kube-scheduler read.
NAMESPACE, KEY = "kube-system", "policy.cfg"
FIELD = "source"


@dataclass(frozen=True)
class ConfigMapSource:
    """A key of a ConfigMap."""

    cluster: str
    name: str
    namespace: str = NAMESPACE
    key: str = KEY

    def __str__(self) -> str:
        return f"ConfigMap {self.namespace}/{self.name} of cluster {self.cluster}, key {self.key}"

    def read_document(self) -> str:
        """Read the document. Raises ApplicationError with errors under ``source``."""
        try:
            config_map = config_map_read(cluster=cluster_get(self.cluster), namespace=self.namespace, name=self.name)
        except Http404 as error:
            raise _at_field(NotFound(str(error)), "cluster") from None
        except ApplicationError as error:
            for problem in error.errors:
                problem["path"] = f"{FIELD}.{problem['path']}"
            raise
        data = config_map.get("data")
        if not isinstance(data, dict) or not isinstance(data.get(self.key), str):
            message = from_config_map(config_map, self.key).problems[0].text
            keys = ", ".join(sorted(map(str, data))) if isinstance(data, dict) and data else "none"
            raise _at_field(Unprocessable(f"{message}; its keys: {keys}."), "key")
        return str(data[self.key])


def _at_field(error: ApplicationError, field: str) -> ApplicationError:
    error.errors = [FieldProblem(path=f"{FIELD}.{field}", message=error.detail)]
    return error
