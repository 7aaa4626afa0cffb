"""Corpora from their sources: descriptions, downloads, extraction, reading, cleaning."""
