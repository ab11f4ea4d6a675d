"""Karpenter's input as policies: NodePools, instance types and options. Such a document places no pod."""
