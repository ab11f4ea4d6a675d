"""The types of the objects that a sandbox keeps, and decoding by Go's rules, which refuses what does not fit.

``types.tsv`` has the Go types of Kubernetes 1.37, as tests/originals/apitypes prints them.
"""

from kschedweb.engine.sandbox.schema.decoding import DecodeError, decode_body, decode_object, decode_stored

__all__ = ["DecodeError", "decode_body", "decode_object", "decode_stored"]
