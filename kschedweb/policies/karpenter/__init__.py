"""What Karpenter is told: documents of NodePools, instance types and options. No pod is placed by one."""
