"""The pods that a descheduler would evict: sigs.k8s.io/descheduler 0.36.0 as a library (docs/rebalancing.md)."""

VERSION = "0.36.0"
