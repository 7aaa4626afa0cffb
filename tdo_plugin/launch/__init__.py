"""From a config and a data folder to the stock fairseq command, on whatever machine."""
