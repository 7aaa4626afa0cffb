"""fairseq 0.12.2 on today's Python and torch: patches, safe checkpoints, shutdown, error lines.

It stands beside ``tdo_plugin``, because importing anything of that registers models and tasks. It
needs nothing of it, and acts only when fairseq, or torchrun, is imported.
"""
