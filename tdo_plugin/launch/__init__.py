"""The stock fairseq command of a config and a data folder, on any machine."""
