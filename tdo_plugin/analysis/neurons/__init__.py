"""Which neurons matter to which language pairs, and which of them a pair is given."""
