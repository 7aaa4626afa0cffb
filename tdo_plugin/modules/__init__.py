"""The parts of the models, in torch alone: this package does not import fairseq."""
