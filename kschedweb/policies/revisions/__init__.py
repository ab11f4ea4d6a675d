"""Common parts of documents with immutable, numbered revisions, which are policies and scenarios."""
