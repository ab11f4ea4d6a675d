"""A dashboard and policy playground for Kubernetes scheduling."""

__version__ = "0.1.0"
