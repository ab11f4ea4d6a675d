"""What kubelets do: pods start, end and leave on their nodes, and nodes say how they are."""
