"""Experiment files, which define training runs, translations and figures, and their runner."""
