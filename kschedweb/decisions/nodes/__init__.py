"""The page of a node: why it is as full as it is."""
