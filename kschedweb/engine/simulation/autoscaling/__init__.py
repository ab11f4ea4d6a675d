"""Autoscalers of nodes at work in a simulation: Karpenter, and cluster-autoscaler."""
