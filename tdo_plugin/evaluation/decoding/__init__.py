"""From a checkpoint to hypotheses: many directions with one load of the model."""
