"""Sources of archives, and extraction of texts."""
