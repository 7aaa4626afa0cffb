"""What a batch has beside fairseq's own entries."""

CLEAN_SOURCE = "clean_source"  # (B, S), the source before it was disturbed, where it was
