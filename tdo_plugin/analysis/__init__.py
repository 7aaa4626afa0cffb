"""Analysis of models, in torch alone: this package does not import fairseq."""
