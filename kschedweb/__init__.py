"""A dashboard and policy playground for Kubernetes scheduling."""

__version__ = "0.1.0"
KUBE_SCHEDULER = "1.36.3"  # what the engine reproduces
ENGINE = f"kschedweb {__version__}, kube-scheduler {KUBE_SCHEDULER}"
