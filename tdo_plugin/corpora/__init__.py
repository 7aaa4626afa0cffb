"""Corpora from their sources: described, fetched, unpacked, read, cleaned."""
