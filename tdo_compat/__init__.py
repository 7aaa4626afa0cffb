"""fairseq 0.12.2 on today's Python and torch: patches, safe checkpoints, shutdown, error lines.

It is a package separate from ``tdo_plugin``, whose import registers models and tasks. It does not
depend on ``tdo_plugin``, and acts only when fairseq, or torchrun, is imported.
"""
