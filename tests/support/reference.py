"""The family's models, written plainly: one joint sequence, an explicit mask matrix, no cache.

The reference shares the weights of a :class:`TranslationModel` and nothing of its code: it
concatenates [source ; target], masks a square, runs every layer over everything and, in decoding,
starts again from the tokens at each step. Float64 throughout.
"""

import math
from functools import partial

import torch
import torch.nn.functional as F
from support.parity_cases import languages_of


def positions_of(tokens, pad, first=0):
    counted = torch.full_like(tokens, pad)
    for row, before in enumerate(torch.as_tensor(first).expand(len(tokens)).tolist()):
        for number, column in enumerate(tokens[row].ne(pad).nonzero(), before + 1):
            counted[row, column] = number + pad
    return counted


def sinusoid(position, width, pad):
    half = width // 2
    angles = [position * math.exp(-i * math.log(10000) / (half - 1)) for i in range(half)]
    vector = [*map(math.sin, angles), *map(math.cos, angles)]
    return torch.tensor(vector, dtype=torch.float64) * (position != pad)


def equation_8(anchors, positives, temperature=1.0):
    """InstruCL's loss of each sentence, from the state (D,) of its tag and its identity pair's."""

    def kernel(a, b):
        return ((a @ b) / (a @ a).sqrt() / (b @ b).sqrt() / temperature).exp()

    losses = []
    for i, (anchor, positive) in enumerate(zip(anchors, positives, strict=True)):
        negatives = [kernel(anchor, other) for j, other in enumerate(anchors) if j != i]
        own = kernel(anchor, positive)
        losses.append(-(own / (own + sum(negatives))).log())
    return torch.stack(losses)


class Reference:
    """Computes with the parameters of ``model``; dropout must be off."""

    def __init__(self, model):
        self.model, self.spec, self.pad = model, model.spec, model.padding_idx

    # --- parts -------------------------------------------------------------------------------

    def norm(self, part, x):
        mean = x.mean(-1, keepdim=True)
        variance = ((x - mean) ** 2).mean(-1, keepdim=True)
        normed = (x - mean) / (variance + part.eps).sqrt()
        if part.weight.dim() == 1:
            return normed * part.weight + part.bias
        # a row for each language, and one more where some positions are of none
        rows = self.languages[:, None].expand(x.shape[:2]).clone()
        if part.weight.size(0) > self.spec.num_languages:
            split = 0 if self.spec.laln == "target" else self.split
            end = self.split if self.spec.laln == "target" else x.size(1)
            rows[:, split:end] = self.spec.num_languages
        return normed * part.weight[rows] + part.bias[rows]

    def linear(self, part, x):
        return x @ part.weight.T + part.bias

    def attention(self, part, x, memory, visible):
        """visible: (B, queries, keys)."""
        return self.linear(part.out, self.heads(part, x, memory, visible))

    def heads(self, part, x, memory, visible):
        outputs = []
        width = self.spec.model_dim // self.spec.num_heads
        query = self.linear(part.query, x)
        key, value = self.linear(part.key, memory), self.linear(part.value, memory)
        if self.spec.position_embedding == "rotary":
            query, key = self.turned(query, width), self.turned(key, width)
        for head in range(self.spec.num_heads):
            cut = slice(head * width, (head + 1) * width)
            scores = query[..., cut] @ key[..., cut].transpose(1, 2) / math.sqrt(width)
            weights = scores.masked_fill(~visible, -1e300).softmax(-1)
            outputs.append(weights @ value[..., cut])
        return torch.cat(outputs, -1)

    def turned(self, x, width):
        """Each head's halves as complex numbers, times exp(i * position * rate)."""
        output = torch.zeros_like(x)
        for head in range(self.spec.num_heads):
            for i in range(width // 2):
                first, second = head * width + i, head * width + i + width // 2
                angles = self.positions[:, : x.size(1)].double() * 10000 ** (-2 * i / width)
                turns = torch.complex(angles.cos(), angles.sin())
                vectors = torch.complex(x[..., first], x[..., second]) * turns
                output[..., first], output[..., second] = vectors.real, vectors.imag
        return output

    def merged(self, part, x, memory, visible, causal):
        """Cross-attention plus the mean of the own values so far; causal: (B, queries, queries)."""
        rows = zip(self.linear(part.value, x), causal, strict=True)
        means = [values[seen].mean(0) for values, queries in rows for seen in queries]
        mean = torch.stack(means).view(x.shape)
        return self.linear(part.out, self.heads(part, x, memory, visible) + mean)

    def ffn(self, part, x):
        if part.inner.weight.dim() == 3:
            rows = zip(x, self.languages, strict=True)
            return torch.stack([self.expert(part, row, language) for row, language in rows])
        return self.linear(part.outer, self.linear(part.inner, x).clamp(min=0))

    def expert(self, part, x, language):
        inner = x @ part.inner.weight[language].T + part.inner.bias[language]
        return inner.clamp(min=0) @ part.outer.weight[language].T + part.outer.bias[language]

    def sublayer(self, residual, x, function, carried=None):
        carried = x if carried is None else carried
        if self.spec.norm == "pre":
            return carried + function(self.norm(residual.norm, x))
        return self.norm(residual.norm, carried + function(x))

    def cut(self, x):
        """Without the source."""
        kept = x.clone()
        kept[:, : self.split] = 0
        return kept

    def head(self, part, x):
        inner = self.norm(part.norm, self.linear(part.inner, x)).clamp(min=0)
        outer = self.linear(part.outer, inner)
        return outer if part.output_norm is None else self.norm(part.output_norm, outer)

    def joint(self, layer, number, x, visible):
        x = self.sublayer(
            layer.attention_residual,
            x,
            lambda h: self.attention(layer.attention, h, h, visible),
            carried=self.cut(x) if number == self.spec.cut_residual else x,
        )
        if number == self.spec.tpdm_layer:
            self.disentangled_from, target = x[:, : self.split], x[:, self.split :]
            source = self.head(layer.pre_ffn.semantic, self.disentangled_from)
            x = torch.cat([source, target], 1)
        return self.feed_forward(layer, x)

    def feed_forward(self, layer, x):
        function = partial(self.ffn, layer.feed_forward)
        return self.sublayer(layer.feed_forward_residual, x, function)

    def sequence(self, parts, x):
        for part in parts:
            if hasattr(part, "feed_forward"):
                x = x + self.ffn(part.feed_forward, x)
            elif part.weight.dim() == 3:
                rows = zip(x, self.languages, strict=True)
                x = torch.stack([row @ part.weight[language] for row, language in rows])
            else:
                x = self.norm(part, x)
        return x

    # --- embeddings and masks ----------------------------------------------------------------

    def embed(self, tokens, weight, table, first=0):
        positions = positions_of(tokens, self.pad, first)
        embedded = F.embedding(tokens, weight) * math.sqrt(self.spec.model_dim)
        if self.spec.position_embedding == "sinusoidal":
            vectors = [
                [sinusoid(int(p), self.spec.model_dim, self.pad) for p in row] for row in positions
            ]
            embedded = embedded + torch.stack([torch.stack(row) for row in vectors])
        elif self.spec.position_embedding == "learned":
            embedded = embedded + table.embedding.weight[positions]
        return embedded

    def visible(self, source, target):
        """The square over [source ; target] as nested loops: true where a query may look."""
        joint = torch.cat([source, target], 1)
        length, split = joint.size(1), source.size(1)
        square = torch.zeros(len(joint), length, length, dtype=torch.bool)
        for row in range(len(joint)):
            for q in range(length):
                for k in range(length):
                    if q == k:
                        square[row, q, k] = True
                    elif joint[row, k] == self.pad:
                        continue
                    elif q < split:
                        prefix = self.spec.source_attention == "prefix"
                        square[row, q, k] = k < split and (prefix or k < q)
                        if self.spec.source_sees_start and k >= split:
                            square[row, q, k] = (joint[row, split:k] == self.pad).all()
                    else:
                        square[row, q, k] = k < q
        return square

    # --- models ------------------------------------------------------------------------------

    def forward(self, source, target):
        """Logits (B, T, V) and the source's state after every layer, a list from layer 1."""
        model, spec = self.model, self.spec
        split = self.split = source.size(1)
        if spec.language_aware:
            self.languages = languages_of(source, spec.num_languages)
        x = self.embed(source, model.embeddings.source.weight, model.source_positions)
        first = source.ne(self.pad).sum(1) if spec.positions == "continuous" else 0
        table = model.target_positions or model.source_positions
        y = self.embed(target, model.embeddings.target_weight, table, first)
        square = self.visible(source, target)
        counted = [positions_of(source, self.pad), positions_of(target, self.pad, first)]
        self.positions = torch.cat(counted, 1)  # of [source ; target]
        states = []
        if spec.topology == "decoder-only":
            for index, layer in enumerate(model.stack.layers):
                if index < spec.target_layer:
                    x = self.joint(layer, index + 1, x, square[:, :split, :split])
                    states.append(x)
                    continue
                if index == spec.target_layer:
                    x = self.sequence(model.stack.bridge, x)
                both = self.joint(layer, index + 1, torch.cat([x, y], 1), square)
                x, y = both[:, :split], both[:, split:]
                states.append(x)
        else:
            for index, layer in enumerate(model.stack.encoder_layers):
                x = self.joint(layer, index + 1, x, square[:, :split, :split])
                states.append(x)
            x = self.sequence(model.stack.bridge, x)
            for layer in model.stack.decoder_layers:
                y = self.decoder_layer(layer, y, x, square[:, split:])
        y = self.sequence(model.stack.output_block, y)
        return y @ model.embeddings.output_weight.T, states

    def decoder_layer(self, layer, y, x, visible):
        """visible: (B, targets, sources and targets)."""
        source, target = visible[..., : x.size(1)], visible[..., x.size(1) :]

        def own(h):
            if self.spec.decoder_attention == "merged":
                return self.merged(layer.merged_attention, h, x, source, target)
            return self.attention(layer.attention, h, h, target)

        def cross(h):
            return self.attention(layer.cross_attention, h, x, source)

        y = self.sublayer(layer.attention_residual, y, own)
        if self.spec.decoder_attention != "merged":
            y = self.sublayer(layer.cross_attention_residual, y, cross)
        return self.feed_forward(layer, y)
