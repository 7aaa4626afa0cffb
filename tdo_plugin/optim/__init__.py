"""fairseq's optimizers in faster form."""
