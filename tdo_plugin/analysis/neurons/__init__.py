"""Importance of neurons to language pairs, and allocation of neurons to pairs."""
