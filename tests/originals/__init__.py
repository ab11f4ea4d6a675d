"""The programs that tests ask for the right answer, built from their own modules: see README.md."""
