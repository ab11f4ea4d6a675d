"""One module a command: ``configure`` adds its options, ``run`` does it and returns the exit status."""
