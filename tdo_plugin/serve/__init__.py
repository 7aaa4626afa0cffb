"""A page and a JSON interface that translate, and show what the model did."""
