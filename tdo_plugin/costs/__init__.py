"""Computed costs of models and training runs, from FLOPs; nothing here is measured."""
