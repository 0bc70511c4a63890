# A tiny transformer whose attention looks at compressed keys and values, trained for a minute, with a picture of the loss.
"""usage: nsa_transformer.py [--seconds N] [--plot FILE] [--text FILE]

Every token attends to the tokens of its own window and, through NsaCompress, to summaries of all windows before it. The
model predicts the next character of a text: that of the C++ demo or, if this file was copied without the project, Python's help().
"""
import argparse
import math
import pathlib
import time

import torch

from openaclnn.torch import Embedding, FusedEmaAdamW, NsaCompress

TEXT = pathlib.Path(__file__).resolve().parent.parent / "train" / "data" / "pride_and_prejudice.txt"
LENGTH, WIDTH, HEADS, BLOCK, STRIDE, LAYERS, BATCH = 128, 96, 4, 16, 8, 2, 16


class CompressedAttention(torch.nn.Module):
    """Attention to the last BLOCK tokens and to compressed windows that ended before them."""

    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.out = torch.nn.Linear(WIDTH, WIDTH)
        self.compress_keys = NsaCompress(HEADS, BLOCK, STRIDE)
        self.compress_values = NsaCompress(HEADS, BLOCK, STRIDE)
        token = torch.arange(LENGTH)
        near = (token[:, None] >= token) & (token[:, None] - token < BLOCK)
        window_end = torch.arange((LENGTH - BLOCK) // STRIDE + 1) * STRIDE + BLOCK
        self.register_buffer("visible", torch.cat([near, window_end <= token[:, None]], 1))

    def forward(self, x):
        count = x.shape[0]
        # All sequences of the batch are one row of tokens, in the operator's layout: [tokens, heads, features].
        q, k, v = self.qkv(x).reshape(count * LENGTH, 3, HEADS, WIDTH // HEADS).unbind(1)
        ends = [(n + 1) * LENGTH for n in range(count)]
        summaries = [compress(tokens.contiguous(), actual_seq_len=ends)
                     for compress, tokens in ((self.compress_keys, k), (self.compress_values, v))]
        by_head = lambda tokens: tokens.reshape(count, -1, HEADS, WIDTH // HEADS).transpose(1, 2)
        keys = torch.cat([by_head(k), by_head(summaries[0])], 2)
        values = torch.cat([by_head(v), by_head(summaries[1])], 2)
        scores = by_head(q) @ keys.transpose(2, 3) / math.sqrt(WIDTH // HEADS)
        scores = scores.masked_fill(~self.visible, float("-inf"))
        return self.out((scores.softmax(-1) @ values).transpose(1, 2).reshape(count, LENGTH, WIDTH))


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.mlp_norm = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.attention = CompressedAttention()
        self.mlp = torch.nn.Sequential(torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.GELU(), torch.nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.mlp(self.mlp_norm(x))


class Model(torch.nn.Module):
    def __init__(self, characters):
        super().__init__()
        self.embedding = Embedding(characters, WIDTH)
        self.position = torch.nn.Parameter(torch.zeros(LENGTH, WIDTH))
        self.layers = torch.nn.Sequential(*(Layer() for _ in range(LAYERS)))
        self.norm, self.head = torch.nn.LayerNorm(WIDTH), torch.nn.Linear(WIDTH, characters)

    def forward(self, ids):
        return self.head(self.norm(self.layers(self.embedding(ids) + self.position)))


def loss_of(model, ids, starts):
    rows = torch.stack([ids[start:start + LENGTH + 1] for start in starts])
    scores = model(rows[:, :-1])
    return torch.nn.functional.cross_entropy(scores.reshape(-1, scores.shape[-1]), rows[:, 1:].reshape(-1))


def text_to_learn(file):
    """Returns the text of a file, or of the project, or of Python."""
    if file is not None and not pathlib.Path(file).is_file():
        raise SystemExit(f"--text is {file}, which is not a file; it must be a text in UTF-8 of more than {LENGTH} characters")
    if file is not None or TEXT.is_file():
        return pathlib.Path(file or TEXT).read_text(encoding="utf-8")
    from pydoc_data.topics import topics

    print(f"{TEXT} not found; training on Python's own reference instead")
    return "\n".join(topics.values())


def plot(losses, file):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 3.5))
    axes.plot(losses, linewidth=0.8)
    axes.set_xlabel("step")
    axes.set_ylabel("loss in nats per character")
    figure.tight_layout()
    figure.savefig(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--plot", metavar="FILE", help="writes a picture of the loss (needs matplotlib)")
    parser.add_argument("--text", metavar="FILE", help="learns this text")
    options = parser.parse_args()
    torch.manual_seed(0)
    text = text_to_learn(options.text)
    alphabet = {character: n for n, character in enumerate(sorted(set(text)))}
    ids = torch.tensor([alphabet[character] for character in text])
    model = Model(len(alphabet))
    optimizer = FusedEmaAdamW(model.parameters(), lr=2e-3, ema_decay=0.98)
    start, losses = time.perf_counter(), []
    while time.perf_counter() - start < options.seconds or len(losses) < 2:
        loss = loss_of(model, ids, torch.randint(0, len(ids) - LENGTH - 1, (BATCH,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if len(losses) % 50 == 1:
            print(f"step {len(losses):4}: loss {losses[-1]:.3f}")
    fixed = torch.arange(0, len(ids) - LENGTH - 1, (len(ids) - LENGTH) // 32)
    with torch.no_grad():
        last = loss_of(model, ids, fixed).item()
        with optimizer.swap_ema():
            average = loss_of(model, ids, fixed).item()
    print(f"after {len(losses)} steps: loss {last:.3f}, of the averaged parameters {average:.3f} (at the start {losses[0]:.3f})")
    if options.plot:
        plot(losses, options.plot)
        print(f"the curve is in {options.plot}")
    assert last < losses[0], "nothing was learnt"


if __name__ == "__main__":
    main()
