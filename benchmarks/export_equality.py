"""Compare the hypotheses of an exported folder with those of `tdo translate`.

    tdo translate DATA --path CHECKPOINT --out OUT --beam 4
    python benchmarks/export_equality.py FOLDER OUT/de-en.jsonl --limit 500

FOLDER is written by `tdo export` for transformers or CTranslate2; the file has the source
sentences, pieces and scores of `tdo translate`. The script needs only the library that reads the
folder and sentencepiece, so it also runs without fairseq and this package. It prints sentences per
CPU second, peak memory and CPU seconds until the first sentence, how many hypotheses are equal
piece by piece, and the others by their scores:

    tie     equal scores to 1e-4: several hypotheses are best in single precision
    ours    the hypothesis of `tdo translate` has the better score
    theirs  that of the library has
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Hypothesis = tuple[list[str], float]  # pieces, and log-probability by length
TIE = 1e-4


def transformers_hypotheses(
    args: argparse.Namespace, rows: list[dict[str, Any]]
) -> list[Hypothesis]:
    """The best hypotheses of transformers' `generate` with the folder's own settings."""
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    trusted = {"trust_remote_code": True}
    tokenizer = AutoTokenizer.from_pretrained(args.folder, **trusted)
    model = AutoModelForSeq2SeqLM.from_pretrained(args.folder, dtype=torch.float32, **trusted)
    model.eval().to(args.device)
    sides = dict(zip(("src_lang", "tgt_lang"), args.direction.split("-"), strict=True))
    kept = "output_scores" if args.beam > 1 else "output_logits"
    settings = {"num_beams": args.beam, kept: True, "return_dict_in_generate": True}
    if args.beam == 1:
        settings["early_stopping"] = False  # it belongs to beams
    settings |= {name: json.loads(value) for name, value in map(split, args.generate)}
    special = {*tokenizer.all_special_tokens}
    results: dict[int, Hypothesis] = {}
    for numbers in batches(rows, args.batch):
        sources = [rows[number]["source"] for number in numbers]
        batch = tokenizer(sources, **sides, padding=True, return_tensors="pt")
        with torch.no_grad():
            output = model.generate(**batch.to(args.device), **settings)
        if args.beam > 1:
            scores = output.sequences_scores.tolist()
        else:
            steps = model.compute_transition_scores(
                output.sequences, output.logits, normalize_logits=True
            )
            real = output.sequences[:, 1:] != tokenizer.pad_token_id
            scores = (steps.masked_fill(~real, 0).sum(1) / real.sum(1)).tolist()
        for number, ids, score in zip(numbers, output.sequences.tolist(), scores, strict=True):
            tokens = tokenizer.convert_ids_to_tokens(ids)
            results[number] = [token for token in tokens if token not in special], score
    return [results[number] for number in range(len(rows))]


def ctranslate2_hypotheses(
    args: argparse.Namespace, rows: list[dict[str, Any]]
) -> list[Hypothesis]:
    """The best hypotheses of CTranslate2."""
    import ctranslate2
    import sentencepiece

    pieces = sentencepiece.SentencePieceProcessor(
        model_file=str(args.folder / "sentencepiece.model")
    )
    translator = ctranslate2.Translator(
        str(args.folder), args.device, intra_threads=1, compute_type=args.compute_type
    )
    source_tag, target_tag = tags_of(args)
    first = [source_tag] if source_tag else []
    batch = [
        [*first, *" ".join(pieces.encode(row["source"], out_type=str)).split()] for row in rows
    ]
    prefix = [[target_tag]] * len(batch) if target_tag else None
    results = translator.translate_batch(
        batch,
        target_prefix=prefix,
        beam_size=args.beam,
        length_penalty=1,
        max_decoding_length=200,
        max_batch_size=args.batch,
        return_scores=True,
    )
    skipped = 1 if target_tag else 0
    return [(result.hypotheses[0][skipped:], result.scores[0]) for result in results]


def batches(rows: list[dict[str, Any]], size: int) -> Iterator[list[int]]:
    """Numbers of sentences of similar length."""
    order = sorted(range(len(rows)), key=lambda number: len(rows[number]["source"]))
    for start in range(0, len(order), size):
        yield order[start : start + size]


def split(setting: str) -> list[str]:
    """The name and the value, as JSON, of `NAME=VALUE`."""
    return setting.split("=", 1)


def tags_of(args: argparse.Namespace) -> list[str | None]:
    """The symbols before sources and targets of the direction; None for no tag."""
    languages = dict(zip(("src", "tgt"), args.direction.split("-"), strict=True))
    return [
        args.tag.format(languages[side]) if side != "none" else None
        for side in (args.source_tag, args.target_tag)
    ]


def report(rows: list[dict[str, Any]], hypotheses: list[Hypothesis], show: int) -> str:
    """Counts of equal hypotheses and of each kind of difference, with examples."""
    kinds, examples, largest = Counter(), [], 0.0
    for row, (pieces, score) in zip(rows, hypotheses, strict=True):
        ours = row["score"] * math.log(2)  # recorded in bits
        if row["pieces"].split() == pieces:
            kinds["equal"] += 1
            largest = max(largest, abs(ours - score))
            continue
        kind = "tie" if abs(ours - score) < TIE else "ours" if ours > score else "theirs"
        kinds[kind] += 1
        examples.append(
            f"{kind}: {ours:.6f} {row['pieces']}\n{'':{len(kind)}}  {score:.6f} {' '.join(pieces)}"
        )
    counts = ", ".join(f"{kinds[kind]} {kind}" for kind in ("equal", "tie", "ours", "theirs"))
    lines = [f"{len(rows)} sentences: {counts}; equal scores to {largest:.1e}", *examples[:show]]
    return "\n".join(lines)


def main() -> None:
    """Translate, compare and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    add = parser.add_argument
    add("folder", type=Path, help="folder of tdo export")
    add("reference", type=Path, help="DIRECTION.jsonl of tdo translate")
    add("--library", choices=LIBRARIES, default="transformers", help="(default transformers)")
    add("--beam", type=int, default=4, help="of both searches (default 4)")
    add("--limit", type=int, default=500, help="number of sentences (default 500)")
    add("--batch", type=int, default=32, help="sentences per batch (default 32)")
    side = {"choices": ("src", "tgt", "none")}
    add("--source-tag", **side, default="tgt", help="of CTranslate2's sources (default tgt)")
    add("--target-tag", **side, default="none", help="of CTranslate2's targets (default none)")
    add("--tag", default="__{}__", help="form of CTranslate2's tags (default __{}__)")
    add("--generate", nargs="*", default=[], metavar="NAME=JSON", help="settings of generate")
    add("--compute-type", default="default", help="of CTranslate2")
    add("--device", choices=("cpu", "cuda"), default="cpu", help="(default cpu)")
    add("--show", type=int, default=5, help="differences to print (default 5)")
    args = parser.parse_args()
    args.direction = args.reference.stem
    with args.reference.open(encoding="utf-8") as stream:
        rows = [json.loads(line) for line, _ in zip(stream, range(args.limit), strict=False)]
    LIBRARIES[args.library](args, rows[:1])  # imports, loads, and translates a first sentence
    first = time.process_time()
    hypotheses = LIBRARIES[args.library](args, rows)
    speed = len(rows) / (time.process_time() - first)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{args.direction}, beam {args.beam}, {args.library}: {speed:.0f} sentences per CPU "
        f"second, {memory:.0f} MiB, first sentence after {first:.1f} CPU seconds"
    )
    print(report(rows, hypotheses, args.show))


LIBRARIES = {
    "transformers": transformers_hypotheses,
    "ctranslate2": ctranslate2_hypotheses,
}

if __name__ == "__main__":
    main()
