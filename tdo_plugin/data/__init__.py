"""Corpora: describe, generate, segment and binarise them."""
