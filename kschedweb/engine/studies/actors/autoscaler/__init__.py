"""Karpenter and cluster-autoscaler: nodes that come and go as pods need them."""
