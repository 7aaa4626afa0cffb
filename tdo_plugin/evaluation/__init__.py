"""From fairseq's output to scores, tables and pictures."""
