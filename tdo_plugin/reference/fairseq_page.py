"""The page of fairseq options that this package's tasks refuse."""

from __future__ import annotations

from tdo_plugin.reference.markdown_table import codes, page, table
from tdo_plugin.tasks.fairseq_refusals import REFUSALS, Refusal


def fairseq_options() -> str:
    """Return the page: each refused option with its commands and the reason."""
    return page(
        "fairseq's options that are refused",
        "fairseq gives each command the options of everything that fairseq can do. With the tasks "
        "of this package, an option that nothing would read, or that the models cannot honour, is "
        "refused with one line unless its value is the default. All other options of "
        "`fairseq-train`, `fairseq-generate`, `fairseq-interactive` and `fairseq-validate` take "
        "effect; a test finds where each is read.",
        "`--ddp-backend` is `pytorch_ddp` or `legacy_ddp`, also under their other names `c10d` "
        "and `no_c10d`, or [`fully_sharded`](../guide/sharding.md); on CPUs it is not "
        "`pytorch_ddp`. "
        "`fairseq-generate --num-shards N --shard-id K` decodes the batches K, K + N, K + 2 N "
        "and so on of a set.",
        "The table is that of `tdo_plugin/tasks/fairseq_refusals.py`.",
        table(("options", "fairseq- commands", "why"), map(_row, REFUSALS)),
    )


def _row(row: Refusal) -> tuple[str, str, str]:
    options = codes(f"--{option.replace('_', '-')}" for option in row.options)
    when = f" ({row.when})" if row.when else ""
    return options + when, ", ".join(row.commands), row.reason
