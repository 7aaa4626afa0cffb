"""Pre-trained encoder-decoders (M2M-100, NLLB) taken over into the models of this package."""
