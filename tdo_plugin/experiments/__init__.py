"""Experiment files, which define trainings, translations and figures, and their runner."""
