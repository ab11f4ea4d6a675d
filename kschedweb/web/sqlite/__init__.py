"""Django's backend for SQLite, with a database file that only its owner can read."""
