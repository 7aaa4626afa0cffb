"""What a training leaves beside its checkpoints: a log, its settings and origins, a page."""
