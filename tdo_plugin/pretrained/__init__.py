"""Conversion of pre-trained encoder-decoders (M2M-100, NLLB) to models of this package."""
