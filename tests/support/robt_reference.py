"""Algorithm 1 as a plain loop, sentence by sentence, in words instead of numbers."""

import numpy as np
import torch
from support.data import LANGUAGES

WHOLE = {"share": 1.0, "ratio": 1.0, "languages": LANGUAGES}


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
    for period in range(1, len(half) + 1):
        if 2 * period <= len(half) and all(half[n] == half[n % period] for n in range(len(half))):
            return True
    return False


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
