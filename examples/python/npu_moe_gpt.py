# A small GPT with a mixture of experts, written for an Ascend NPU with torch_npu and MindSpeed. It runs here without a change.
"""usage: python -m openaclnn.compat npu_moe_gpt.py [--steps N] [--text FILE]

Sequences of different lengths are packed into one row of tokens, as training programs for NPUs do (layout TND). The model
predicts the next character of a text: that of the C++ demo or, if this file was copied without the project, Python's help().
"""
import argparse
import pathlib

import torch
import torch.nn.functional as F
import torch_npu
from mindspeed.optimizer.ema_adamw import FusedEmaAdamW

try:  # one operator for the gradient of all experts' biases
    from openaclnn.torch import grouped_bias_add
except ImportError:
    def grouped_bias_add(rows, bias, ends):
        sizes = torch.diff(ends, prepend=ends.new_zeros(1))
        return rows + bias.repeat_interleave(sizes, 0, output_size=len(rows))

TEXT = pathlib.Path(__file__).resolve().parent.parent / "train" / "data" / "pride_and_prejudice.txt"
LAYERS, WIDTH, HEADS, KEY_HEADS, DEPTH = 2, 128, 4, 2, 32
EXPERTS, PER_TOKEN, HIDDEN = 8, 2, 128
TOKENS, SHORTEST, LONGEST = 1024, 32, 256
BALANCE = 0.01


class RMSNorm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        return torch_npu.npu_rms_norm(x, self.weight, epsilon=1e-6)[0]


class Attention(torch.nn.Module):
    """Causal attention inside each sequence. Two heads of queries share one of keys and values."""

    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.Linear(WIDTH, (HEADS + 2 * KEY_HEADS) * DEPTH, bias=False)
        self.out = torch.nn.Linear(HEADS * DEPTH, WIDTH, bias=False)
        # The mask of sparse mode 3 has this size for sequences of all lengths.
        self.register_buffer("mask", torch.ones(2048, 2048, dtype=torch.bool).triu(1), persistent=False)

    def forward(self, x, ends, cos, sin):
        q, k, v = self.qkv(x).view(len(x), -1, DEPTH).split([HEADS, KEY_HEADS, KEY_HEADS], dim=1)
        q, k = torch_npu.npu_rotary_mul(q, cos, sin), torch_npu.npu_rotary_mul(k, cos, sin)
        attended = torch_npu.npu_fusion_attention(
            q, k, v.contiguous(), HEADS, "TND", atten_mask=self.mask, scale=DEPTH ** -0.5, keep_prob=1.0, sparse_mode=3,
            actual_seq_qlen=ends, actual_seq_kvlen=ends)[0]
        return self.out(attended.reshape(len(x), -1))


class GroupedMatmul(torch.autograd.Function):
    """Multiplies rows by the matrices of their experts. torch_npu's function has no gradient on an NPU, so it is here."""

    @staticmethod
    def forward(ctx, rows, weight, counts):
        ctx.save_for_backward(rows, weight, counts)
        return torch_npu.npu_grouped_matmul([rows], [weight], group_list=counts, split_item=3, group_type=0, group_list_type=1)[0]

    @staticmethod
    def backward(ctx, grad):
        rows, weight, counts = ctx.saved_tensors
        of_rows = torch_npu.npu_grouped_matmul([grad], [weight.transpose(1, 2)], group_list=counts, split_item=3, group_type=0,
                                               group_list_type=1)[0]
        of_weight = torch_npu.npu_grouped_matmul([rows.t()], [grad], group_list=counts, split_item=3, group_type=2,
                                                 group_list_type=1)[0]
        return of_rows, of_weight, None


class Experts(torch.nn.Module):
    """Each token is computed by two experts of eight. Also returns the loss that keeps the experts equally busy."""

    def __init__(self):
        super().__init__()
        self.router = torch.nn.Linear(WIDTH, EXPERTS, bias=False)
        self.w1 = torch.nn.Parameter(torch.randn(EXPERTS, WIDTH, 2 * HIDDEN) * WIDTH ** -0.5)
        self.b1 = torch.nn.Parameter(torch.zeros(EXPERTS, 2 * HIDDEN))
        self.w2 = torch.nn.Parameter(torch.randn(EXPERTS, HIDDEN, WIDTH) * HIDDEN ** -0.5)
        self.b2 = torch.nn.Parameter(torch.zeros(EXPERTS, WIDTH))

    def forward(self, x):
        scores = self.router(x).softmax(-1)
        probs, experts = scores.topk(PER_TOKEN, dim=-1)
        counts = torch.bincount(experts.flatten(), minlength=EXPERTS)
        ends = counts.cumsum(0)
        rows, places = torch_npu.npu_moe_token_permute(x, experts.to(torch.int32))
        rows = grouped_bias_add(GroupedMatmul.apply(rows, self.w1, counts), self.b1, ends)
        rows = torch_npu.npu_swiglu(rows, dim=-1)
        rows = grouped_bias_add(GroupedMatmul.apply(rows, self.w2, counts), self.b2, ends)
        balance = EXPERTS * (counts / counts.sum() * scores.mean(0)).sum()
        return torch_npu.npu_moe_token_unpermute(rows, places, probs=probs), balance


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.attention = RMSNorm(), Attention()
        self.experts_norm, self.experts = RMSNorm(), Experts()

    def forward(self, x, ends, cos, sin):
        x = x + self.attention(self.attention_norm(x), ends, cos, sin)
        change, balance = self.experts(self.experts_norm(x))
        return x + change, balance


class Model(torch.nn.Module):
    def __init__(self, characters):
        super().__init__()
        self.embedding = torch.nn.Embedding(characters, WIDTH)
        self.layers = torch.nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm, self.head = RMSNorm(), torch.nn.Linear(WIDTH, characters, bias=False)
        rate = 10000.0 ** (-torch.arange(0, DEPTH, 2) / DEPTH)
        angles = torch.outer(torch.arange(LONGEST), rate).repeat(1, 2)[:, None]
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, ids, targets, positions, ends):
        """Returns the loss of packed sequences, in nats per character, and the balance of the experts."""
        x, balance = self.embedding(ids), 0
        for layer in self.layers:
            x, more = layer(x, ends, self.cos[positions], self.sin[positions])
            balance = balance + more
        return F.cross_entropy(self.head(self.norm(x)).float(), targets), balance


def packed(ids, random):
    """Returns characters, next characters, positions and ends of sequences that together have TOKENS characters."""
    lengths = []
    while sum(lengths) < TOKENS:
        lengths.append(int(torch.randint(SHORTEST, LONGEST + 1, (), generator=random)))
    lengths[-1] -= sum(lengths) - TOKENS
    starts = [int(torch.randint(0, len(ids) - LONGEST - 1, (), generator=random)) for _ in lengths]
    rows = [ids[start:start + length + 1] for start, length in zip(starts, lengths)]
    positions = torch.cat([torch.arange(length) for length in lengths])
    batch = torch.cat([row[:-1] for row in rows]), torch.cat([row[1:] for row in rows]), positions
    return *(part.pin_memory().npu(non_blocking=True) for part in batch), torch.tensor(lengths).cumsum(0).tolist()


def text_to_learn(file):
    """Returns the text of a file, or of the project, or of Python."""
    if file is not None or TEXT.is_file():
        return pathlib.Path(file or TEXT).read_text(encoding="utf-8")
    from pydoc_data.topics import topics

    print(f"{TEXT} not found; training on Python's own reference instead")
    return "\n".join(topics.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[2])
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--text", metavar="FILE", help="learns this text")
    options = parser.parse_args()
    torch.npu.set_device("npu:0")
    torch.manual_seed(0)
    random = torch.Generator().manual_seed(0)
    text = text_to_learn(options.text)
    alphabet = {character: n for n, character in enumerate(sorted(set(text)))}
    ids = torch.tensor([alphabet[character] for character in text])
    model = Model(len(alphabet)).npu()
    optimizer = FusedEmaAdamW(model.parameters(), lr=2e-3, weight_decay=0.01, ema_decay=0.98)
    start, end = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    start.record()
    first = None
    for step in range(options.steps):
        loss, balance = model(*packed(ids, random))
        optimizer.zero_grad()
        (loss + BALANCE * balance).backward()
        optimizer.step()
        first = loss.item() if first is None else first
        if step % 20 == 0:
            print(f"step {step:4}: loss {loss.item():.3f}, balance {balance.item() / LAYERS:.2f}")
    end.record()
    torch.npu.synchronize()
    batch = packed(ids, random)
    with torch.no_grad():
        last = model(*batch)[0].item()
        optimizer.store(optimizer.param_groups)
        optimizer.copy_to()
        average = model(*batch)[0].item()
        optimizer.restore(optimizer.param_groups)
    print(f"after {options.steps} steps on {torch.npu.get_device_name(0)}: loss {last:.3f}, of the averaged parameters "
          f"{average:.3f} (at the start {first:.3f})")
    print(f"{start.elapsed_time(end) / options.steps:.0f} ms a step, at most "
          f"{torch.npu.max_memory_allocated() / 2**20:,.0f} MiB")
    assert last < first, "nothing was learnt"


if __name__ == "__main__":
    main()
