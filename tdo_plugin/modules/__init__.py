"""The models' parts, in torch alone: nothing here knows fairseq."""
