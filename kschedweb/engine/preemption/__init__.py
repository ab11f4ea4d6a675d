"""Which pods would have to go for one that fits nowhere, and where."""
