"""Losses, in torch alone: the cross-entropy, and one file for each loss term."""
