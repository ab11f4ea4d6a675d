"""Reads a cluster by the ``kubernetes`` package, for people without kubectl."""

from __future__ import annotations

from importlib.util import find_spec

from kschedweb.cli.reading.source import SourceError, SourceOptions


def is_installed() -> bool:
    return find_spec("kubernetes") is not None


class ClientSource:
    """The API server of a kubeconfig's context."""

    def __init__(self, options: SourceOptions) -> None:
        from kubernetes import config

        self.label = "the kubernetes package"
        try:
            self._client = config.new_client_from_config(options.kubeconfig or None, options.context or None)
        except Exception as error:  # the package raises its own and those of the kubeconfig's programs
            raise SourceError(f"kubeconfig: {_first_line(error)}") from None

    def get(self, path: str) -> bytes:
        """Return the answer to GET ``path``."""
        from kubernetes.client.exceptions import ApiException
        from urllib3.exceptions import HTTPError

        try:
            content: bytes = self._send(path)
        except ApiException as error:
            forbidden = error.status in (401, 403)
            text = f"the API server answers {error.status} to {path}: {error.reason}"
            raise SourceError(text, forbidden=forbidden, absent=error.status == 404) from None
        except HTTPError as error:
            raise SourceError(f"the API server cannot be reached: {_first_line(error)}") from None
        return content

    def _send(self, path: str) -> bytes:
        """Send a request by the calls of the package's newer releases, else by those of the older ones."""
        if hasattr(self._client, "param_serialize"):
            request = self._client.param_serialize(method="GET", resource_path=path, auth_settings=["BearerToken"])
            answer = self._client.call_api(*request)
            content: bytes = answer.read() or b""
            if answer.status >= 400:
                forbidden, absent = answer.status in (401, 403), answer.status == 404
                text = f"the API server answers {answer.status} to {path}: {answer.reason}"
                raise SourceError(text, forbidden=forbidden, absent=absent)
            return content
        answer = self._client.call_api(path, "GET", auth_settings=["BearerToken"], _preload_content=False)
        return bytes(answer[0].data)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
