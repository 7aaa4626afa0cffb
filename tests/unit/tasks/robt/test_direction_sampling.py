"""What the draws of languages to translate back into depend on."""

import torch

from tdo_plugin.tasks.robt.direction_sampling import draw
from tdo_plugin.tasks.step_hooks import key_of

LANGUAGES = (2, 3, 5, 7)


def sample(ids, source=(1, 2, 3), target=(2, 3, 1)):
    fed = {
        "src_lang_id": torch.tensor(source)[:, None],
        "tgt_lang_id": torch.tensor(target)[:, None],
    }
    return {"id": torch.tensor(ids), "net_input": fed}


def test_draws_are_a_function_of_seed_update_and_sentences():
    batch = sample([7, 8, 9])
    key = key_of(batch, 3, 40)
    targets = [2, 3, 1] * 5

    def drawn(key):
        return draw(key, targets, LANGUAGES, 1.0)

    assert drawn(key) == drawn(key_of(sample([7, 8, 9]), 3, 40))
    other_keys = [
        key_of(batch, 4, 40),
        key_of(batch, 3, 41),
        key_of(sample([7, 8, 10]), 3, 40),
        key_of(sample([7, 8, 9], source=(1, 2, 4)), 3, 40),
        key_of(sample([7, 8, 9], target=(2, 3, 4)), 3, 40),
    ]
    draws = [tuple(drawn(sampling_key)) for sampling_key in (key, *other_keys)]
    assert len(set(draws)) == len(draws)


def test_a_negative_seed():
    assert draw(key_of(sample([7, 8, 9]), -1, 0), [2, 3, 5], LANGUAGES, 1.0)
