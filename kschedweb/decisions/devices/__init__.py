"""Which devices a pod gets on a node, and why others are not for it: the part of the decision page, and REST."""
