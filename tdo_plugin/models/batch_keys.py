"""Keys of a batch in addition to fairseq's."""

CLEAN_SOURCE = "clean_source"  # (B, S), the source before noise was added, if it was
