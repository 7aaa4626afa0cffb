"""Losses in torch alone: the cross-entropy, and a file for each loss term."""
