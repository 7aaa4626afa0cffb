"""Loads exported folders with transformers, where neither this package nor fairseq can be imported.

It reads a JSON list of jobs, and prints one of results. A job has a `folder`, and a file `expected`
with a batch and the logits that the model must have, or `texts` to translate with a language pair
each, or `sentences` for the pipeline, with their `direction`.
"""

import json
import sys
from functools import partial

FORBIDDEN = ("fairseq", "tdo_plugin", "tdo_compat")


class Refusing:
    """The first of Python's finders of modules."""

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in FORBIDDEN:
            raise ModuleNotFoundError(f"{name} must not be imported here")


for loaded in [name for name in sys.modules if name.partition(".")[0] in FORBIDDEN]:
    del sys.modules[loaded]
sys.meta_path.insert(0, Refusing())

import torch  # noqa: E402
from safetensors.torch import load_file  # noqa: E402
from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, pipeline  # noqa: E402
from transformers.utils import logging  # noqa: E402

logging.set_verbosity_error()
logging.disable_progress_bar()
TRUSTED = {"trust_remote_code": True, "local_files_only": True}
SEARCH = {"max_new_tokens": 6, "return_dict_in_generate": True, "output_scores": True}
BEAM = {**SEARCH, "num_beams": 3, "early_stopping": True}
SAMPLE = {"do_sample": True, "num_beams": 1, "num_return_sequences": 2, "early_stopping": False}
PAD = 1


def compared(job):
    """The largest differences of a model's numbers from those that are expected."""
    options = {"dtype": torch.float64, **TRUSTED}
    model = AutoModelForSeq2SeqLM.from_pretrained(job["folder"], **options).eval()
    stored = load_file(f"{job['folder']}/model.safetensors")
    state = model.state_dict()
    expected = torch.load(job["expected"], weights_only=True)
    source, target, logits = (expected[name] for name in ("source", "target", "logits"))
    ids = {name: expected[name] for name in ("src_lang_id", "tgt_lang_id")}
    given = {"input_ids": source, "attention_mask": source.ne(PAD).long(), **ids}
    left = {**given, "input_ids": turned(source), "attention_mask": turned(source).ne(PAD).long()}
    real = target.ne(PAD)
    whole = model(**given, decoder_input_ids=target)
    steps, cache = [], None
    encoded = model.get_encoder()(**given)
    for token in target.split(1, 1):
        step = model(encoder_outputs=encoded, decoder_input_ids=token, cache=cache, use_cache=True)
        cache = step.cache
        steps.append(step.logits)
    searched = [
        model.generate(**inputs, **BEAM, use_cache=use_cache)
        for inputs, use_cache in ((given, True), (given, False), (left, True))
    ]
    labels = torch.cat([target[:, 1:], torch.full_like(target[:, :1], PAD)], 1)
    return {
        "same_weights": stored.keys() == state.keys()
        and all(torch.equal(value, state[name]) for name, value in stored.items()),
        "logits": gap(whole.logits, logits, real),
        "padding": gap(model(**left, decoder_input_ids=target).logits, logits, real),
        "cache": gap(torch.cat(steps, 1), logits, real),
        "beams": [
            torch.equal(searched[0].sequences, other.sequences)
            and gap(searched[0].sequences_scores, other.sequences_scores)
            for other in searched[1:]
        ],
        **sampled(model, given),
        "loss": float(model(**given, labels=labels).loss.detach()),
        "finite_gradients": finite_gradients(model, given, labels),
    }


def turned(rows):
    """Padding on the other side."""
    lists = [row[row.ne(PAD)].tolist() for row in rows]
    return torch.tensor([[PAD] * (rows.size(1) - len(row)) + row for row in lists])


def gap(tensor, other, where=...):
    same = torch.where(tensor == other, 0.0, tensor - other)  # also of what is masked
    return float(same[where].detach().abs().max())


def sampled(model, given):
    """Two samples of each sentence, and their logits against a pass over the whole targets.

    The search keeps logits in single precision.
    """
    torch.manual_seed(5)
    output = model.generate(**given, **SEARCH, **SAMPLE, output_logits=True)
    sequences = output.sequences
    twice = {name: value.repeat_interleave(2, 0) for name, value in given.items()}
    whole = model(**twice, decoder_input_ids=sequences[:, :-1]).logits
    drawn = sequences[:, 1:].ne(PAD)
    return {
        "samples": gap(torch.stack(output.logits, 1).double(), whole, drawn),
        "different_samples": not torch.equal(sequences[::2], sequences[1::2]),
    }


def finite_gradients(model, given, labels):
    model.train()
    model(**given, labels=labels).loss.backward()
    gradients = [part.grad for part in model.parameters() if part.grad is not None]
    return bool(gradients) and all(bool(gradient.isfinite().all()) for gradient in gradients)


def translated(job):
    """Translations of sentences with a language pair each, and of one alone by its default."""
    tokenizer = AutoTokenizer.from_pretrained(job["folder"], **TRUSTED)
    model = AutoModelForSeq2SeqLM.from_pretrained(job["folder"], **TRUSTED).eval()
    texts, sources, targets = zip(*job["texts"], strict=True)
    languages = {"src_lang": list(sources), "tgt_lang": list(targets)}
    shape = {"padding": True, "return_tensors": "pt"}
    batch = tokenizer(list(texts), **languages, **shape)
    output = model.generate(**batch)
    folder = f"{job['folder']}-again"
    model.save_pretrained(folder)
    tokenizer.src_lang, tokenizer.tgt_lang = sources[0], targets[0]
    tokenizer.save_pretrained(folder)
    again = AutoModelForSeq2SeqLM.from_pretrained(folder, **TRUSTED).eval()
    tokenizer_again = AutoTokenizer.from_pretrained(folder, **TRUSTED)
    first = again.generate(**tokenizer_again(texts[0], return_tensors="pt"))
    half = AutoModelForSeq2SeqLM.from_pretrained(folder, dtype=torch.bfloat16, **TRUSTED)
    labels = tokenizer(text_target=list(texts), tgt_lang=list(targets), **shape)["input_ids"]
    single, rounded = (each(**batch, labels=labels).logits.float() for each in (model, half))
    both = tokenizer(list(texts), text_target=list(texts), **languages, padding=True)
    return {
        "texts": tokenizer.batch_decode(output, skip_special_tokens=True),
        "first": tokenizer_again.decode(first[0], skip_special_tokens=True),
        "ids": batch["input_ids"].tolist(),
        "awkward": tokenizer("one </s> <pad> __de__", add_special_tokens=False)["input_ids"],
        "labels": both["labels"],
        "dtype": str(half.dtype),
        "half": float((rounded - single).abs().mean() / single.std()),
    }


def piped(job):
    """Translations by the pipeline: in batches, one by one, from a folder that it saved itself."""
    source, target = job["direction"].split("-")
    sides, sentences = {"src_lang": source, "tgt_lang": target}, job["sentences"]
    load = partial(pipeline, "translation", trust_remote_code=True)
    whole = load(model=job["folder"])
    batched = whole(sentences, batch_size=7, **sides)
    again = f"{job['folder']}-piped"
    whole.save_pretrained(again)
    saved = load(model=again, **sides, batch_size=2)
    results = {"batched": batched, "saved": saved(sentences[-3:]), "single": saved(sentences[-1])}
    several = saved(sentences[-2:], num_return_sequences=2)
    return {
        "numbers": [len(found) for found in several],
        **{how: [each["translation_text"] for each in found] for how, found in results.items()},
    }


def result(job):
    return (
        piped(job) if "sentences" in job else translated(job) if "texts" in job else compared(job)
    )


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as stream:
        jobs = json.load(stream)
    print(json.dumps([result(job) for job in jobs]))
