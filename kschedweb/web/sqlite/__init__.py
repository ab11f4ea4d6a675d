"""Django's backend for SQLite, whose file nobody but its owner reads."""
