"""What is measured on text: scores of hypotheses, and the language that they are in."""
