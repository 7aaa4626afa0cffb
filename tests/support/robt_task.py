"""ROBT: a lively model, what the task's hook makes of it, and Algorithm 1 as a plain loop.

The loop goes sentence by sentence, in words instead of numbers.
"""

import numpy as np
import torch
from support.built_models import varied
from support.data import CROSS_ENTROPY, ENCODER_DECODER, LANGUAGES, TAG, TASK, TDO, TRAIN, built

ROBT = ("--task", "tdo_robt", *TASK, *TRAIN, *TDO)
PREFIX = ("--tdo-target-layer", "0", "--tdo-adaptation-dim", "0")
MERGED = (*ENCODER_DECODER, "--tdo-decoder-attention", "merged")
TOPOLOGIES = {
    "tdo": (),
    "prefix": PREFIX,
    "encoder-decoder": ENCODER_DECODER,
    "language-aware": ("--tdo-laln", "both", "--tdo-lalt", "xavier"),
    "merged, language-aware": (*MERGED, "--tdo-laln", "both", "--tdo-lalt", "xavier"),
}
STRATEGIES = {
    "tgt": TAG,
    "decoder": ("--decoder-langtok",),
    "tgt and decoder": (*TAG, "--decoder-langtok"),
    "src and decoder": ("--encoder-langtok", "src", "--decoder-langtok"),
}
WHOLE = {"share": 1.0, "ratio": 1.0, "languages": LANGUAGES}
END = 2.5  # makes the end as likely as is good for a test
# a model whose next word depends on where it stands, so that not all is repetition
VARIED = (
    *("--tdo-share-embeddings", "none", "--tdo-position-embedding", "learned"),
    *("--max-source-positions", "24", "--max-target-positions", "24"),
)


def lively(*flags, seed=10, data=None):
    """Task, float64 model in training mode, and criterion; translations vary, and most go on."""
    task, model, criterion = built(*ROBT, *CROSS_ENTROPY, *VARIED, *flags, data=data)
    torch.manual_seed(seed)
    varied(model)
    with torch.no_grad():
        model.core.embeddings.output_weight[task.target_dictionary.eos()] *= END
    return task, model.double().train(), criterion


def made_of(task, model, sample, update=5):
    (hook,) = task.step_hooks
    batches, logs = hook.batches(sample, model, update)
    assert batches[0] is sample
    return batches[1:], logs


def text(task, batch):
    """Each instance of a batch, as the reference has it."""
    fed, rows = batch["net_input"], []
    for k, tokens in enumerate(fed["src_tokens"]):
        languages = [LANGUAGES[int(fed[f"{side}_lang_id"][k, 0]) - 1] for side in ("src", "tgt")]
        rows.append((read(task.source_dictionary, tokens), *languages))
    return rows


def read(dictionary, tokens):
    return [dictionary[int(token)] for token in tokens if int(token) != dictionary.pad()]


def greedy(model, source, begin, limit, task, target):
    """Words of the likeliest continuation, each by a pass over all, and whether it ended."""
    language = torch.tensor([[LANGUAGES.index(target) + 1]])
    dictionary, words = task.target_dictionary, []
    tokens = torch.tensor([[task.source_dictionary.index(symbol) for symbol in source]])
    while len(words) < limit:
        previous = [dictionary.index(symbol) for symbol in ("</s>", *begin, *words)]
        fed = tokens, None, torch.tensor([previous])
        logits = model(*fed, tgt_lang_id=language)[0][0, -1].clone()
        logits[dictionary.pad()] = -torch.inf
        if not words:
            logits[dictionary.eos()] = -torch.inf
        word = dictionary[int(logits.argmax())]
        if word == "</s>":
            return words, True
        words.append(word)
    return words, False


def circles(words):
    """Whether the second half is a cycle that is there at least twice."""
    half = words[len(words) // 2 :]
    periods = range(1, len(half) // 2 + 1)
    return any(all(word == half[n % period] for n, word in enumerate(half)) for period in periods)


@torch.no_grad()
def algorithm(task, model, sample, update, share, ratio, languages, targets=LANGUAGES):
    """The new instances (row, source words, languages of source and target), draws and ends."""
    of_source, of_target = task.args.langtoks["main"]
    fed = sample["net_input"]
    columns = (fed["src_lang_id"][:, 0], fed["tgt_lang_id"][:, 0])
    parts = (sample["id"], *columns)
    key = [task.args.seed, update, *(int(value) for part in parts for value in part)]
    names = [LANGUAGES[int(number) - 1] for number in columns[1]]
    random = np.random.default_rng(key)
    taken = random.random(len(names)) < share
    candidates = [[language for language in languages if language != t] for t in names]
    places = random.integers(0, [len(row) for row in candidates])
    instances, drawn, ends = [], [], 0
    for k, t in enumerate(names):
        if not taken[k] or t not in targets:
            continue
        pivot = candidates[k][places[k]]
        drawn.append(pivot)
        y = read(task.target_dictionary, sample["target"][k])[:-1]
        y = y[1:] if of_target else y

        def tagged(words, source, target):
            tag = {"src": [f"__{source}__"], "tgt": [f"__{target}__"], None: []}[of_source]
            return [*tag, *words, "</s>"]

        query = tagged(y, t, pivot)
        begin = [f"__{pivot}__"] if of_target else []
        limit = max(1, int(ratio * len(query)))
        words, ended = greedy(model, query, begin, limit, task, pivot)
        ends += ended
        if not ended and circles(words):
            continue
        if all(word.startswith(("__", "<")) and word != "<unk>" for word in words):
            continue
        instances.append((k, tagged(words, pivot, t), pivot, t))
    return instances, drawn, ends
