"""Reads a cluster with the person's own rights: by their kubectl, else by the ``kubernetes`` package."""
