"""Records that a training run writes beside its checkpoints: log, settings, provenance, page."""
