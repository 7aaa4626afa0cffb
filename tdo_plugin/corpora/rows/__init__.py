"""Rows of parallel text: reading, sampling, comparing, filtering."""
