"""Looking at a model from outside, in torch alone: nothing here knows fairseq."""
