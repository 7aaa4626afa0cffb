"""Experiments: files that say what is trained, translated and drawn, and their runner."""
