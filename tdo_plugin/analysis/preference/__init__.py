"""Linguistic preference: whether source states are closer to the source or the target language."""
