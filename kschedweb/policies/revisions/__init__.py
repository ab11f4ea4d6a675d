"""What documents with immutable, numbered revisions have in common: policies here, scenarios in their own app."""
