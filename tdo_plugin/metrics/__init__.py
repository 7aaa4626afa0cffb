"""Metrics on text: scores of hypotheses, and identification of their language."""
