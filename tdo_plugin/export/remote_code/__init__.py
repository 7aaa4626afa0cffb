"""Folders for transformers with the model's own code, loaded with `trust_remote_code=True`."""
