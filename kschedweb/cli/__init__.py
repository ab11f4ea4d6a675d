"""``kschedweb`` on the command line: over REST, or by the engine alone on files (docs/automating.md)."""
