"""Rows of parallel text: read, drawn, compared, left out."""
