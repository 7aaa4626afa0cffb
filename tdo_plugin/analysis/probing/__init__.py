"""What can be read of a trained model's states by a small classifier, from outside."""
