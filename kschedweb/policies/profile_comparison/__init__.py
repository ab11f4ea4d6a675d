"""Two profiles of a document side by side."""
