"""`tdo start`: from a folder of parallel text to an experiment, step by step."""
