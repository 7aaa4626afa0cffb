"""Languages for the sentences of tests that know of none."""

from dataclasses import replace

from support.parity_cases import PAD

from tdo_plugin.modules.token_context import TokenContext


def languages_of(tokens, count):
    """Language (B,) of each sentence, from 0, told by its first real token, as by a tag."""
    first = tokens.ne(PAD).int().argmax(1)
    return tokens.gather(1, first[:, None])[:, 0] % count


def tell_languages(model):
    """Sources of a model that asks for it are in the language that their first token tells."""
    count = model.spec.num_languages or model.spec.num_pairs
    encode_all, forward = model.encode_all, model.forward
    if not count:
        return model

    def with_context(requests):
        rows = [languages_of(request.tokens, count) for request in requests]
        return [
            replace(request, context=replace(TokenContext.of_targets(row), pair=row))
            for request, row in zip(requests, rows, strict=True)
        ]

    model.encode_all = lambda requests: encode_all(with_context(requests))
    model.forward = lambda requests, previous: forward(with_context(requests), previous)
    return model
