"""Ways out: a trained checkpoint as a folder for Hugging Face transformers or CTranslate2."""
