"""Linguistic preference: whether a source's states are more of its own or the target's language."""
