"""What Karpenter would launch and consolidate: its core 1.15.0 as a library (docs/autoscaling.md)."""

VERSION = "1.15.0"
