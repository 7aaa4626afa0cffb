"""Probing: what a small classifier can predict from a trained model's states."""
