"""Data: generates, segments and binarises text."""
