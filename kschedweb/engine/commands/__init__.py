"""The commands of the engine's command line, a module each: only that of the command asked for is imported."""
