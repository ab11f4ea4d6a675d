"""The devices that a pod gets on a node, and why others are refused: part of the decision page, and REST."""
