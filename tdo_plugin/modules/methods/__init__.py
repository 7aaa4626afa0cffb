"""The methods' parts of a model, one file each; the builder puts them in place."""
