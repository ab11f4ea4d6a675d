"""Karpenter's provisioning and consolidation: its core 1.15.0 as a library (docs/autoscaling.md)."""

VERSION = "1.15.0"
