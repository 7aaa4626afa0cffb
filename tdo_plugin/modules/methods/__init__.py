"""Each paper's parts of a model, a file each; the builder puts them where they go."""
