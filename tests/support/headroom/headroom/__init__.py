"""A load-aware plugin in two files."""
