"""Decoding many directions while loading the model only once."""
