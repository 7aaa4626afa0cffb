"""Computed costs of models and trainings, from FLOPs; nothing here is measured."""
