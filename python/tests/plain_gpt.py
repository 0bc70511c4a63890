# The model of examples/python/npu_moe_gpt.py in plain PyTorch, and ten steps of both; test_npu_example.py runs it.
"""usage: python -m openaclnn.compat plain_gpt.py EXAMPLE"""
import importlib.util
import sys

import torch
import torch.nn.functional as F

spec = importlib.util.spec_from_file_location("example", sys.argv[1])
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)

STEPS, LEARNING_RATE, DECAY = 10, 2e-3, 0.01


def rms_norm(x, weight):
    return x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt() * weight


def rotated(x, positions):
    """Turns pairs of features by angles that grow with the position; pairs are half of the features apart."""
    half = x.shape[-1] // 2
    angles = positions[:, None] * 10000.0 ** (-torch.arange(half) / half)
    cos, sin = angles.cos()[:, None], angles.sin()[:, None]
    left, right = x[..., :half], x[..., half:]
    return torch.cat([left * cos - right * sin, right * cos + left * sin], -1)


class Plain(torch.nn.Module):
    """Loops over sequences and experts, with the parameters of the example under their names."""

    def __init__(self, model):
        super().__init__()
        self.weights = torch.nn.ParameterDict({name.replace(".", "/"): value.detach().clone()
                                               for name, value in model.named_parameters()})

    def attention(self, x, part, positions, ends):
        q, k, v = F.linear(x, part["attention/qkv/weight"]).view(len(x), -1, example.DEPTH).split(
            [example.HEADS, example.KEY_HEADS, example.KEY_HEADS], 1)
        q, k = rotated(q, positions), rotated(k, positions)
        group = example.HEADS // example.KEY_HEADS
        outputs = []
        for start, end in zip([0, *ends], ends):
            heads = [rows[start:end].transpose(0, 1) for rows in (q, k, v)]
            keys, values = (rows.repeat_interleave(group, 0) for rows in heads[1:])
            outputs.append(F.scaled_dot_product_attention(heads[0], keys, values, is_causal=True).transpose(0, 1))
        return F.linear(torch.cat(outputs).reshape(len(x), -1), part["attention/out/weight"])

    def experts(self, x, part):
        scores = F.linear(x, part["experts/router/weight"]).softmax(-1)
        probs, chosen = scores.topk(example.PER_TOKEN, -1)
        result = torch.zeros_like(x)
        for expert in range(example.EXPERTS):
            token, place = torch.where(chosen == expert)
            gate, value = (x[token] @ part["experts/w1"][expert] + part["experts/b1"][expert]).chunk(2, -1)
            rows = (F.silu(gate) * value) @ part["experts/w2"][expert] + part["experts/b2"][expert]
            result = result.index_add(0, token, probs[token, place, None] * rows)
        share = F.one_hot(chosen, example.EXPERTS).float().mean((0, 1))
        return result, example.EXPERTS * (share * scores.mean(0)).sum()

    def forward(self, ids, targets, positions, ends):
        x, balance = F.embedding(ids, self.weights["embedding/weight"]), 0
        for layer in range(example.LAYERS):
            prefix = f"layers/{layer}/"
            part = {name[len(prefix):]: value for name, value in self.weights.items() if name.startswith(prefix)}
            x = x + self.attention(rms_norm(x, part["attention_norm/weight"]), part, positions, ends)
            change, more = self.experts(rms_norm(x, part["experts_norm/weight"]), part)
            x, balance = x + change, balance + more
        scores = F.linear(rms_norm(x, self.weights["norm/weight"]), self.weights["head/weight"])
        return F.cross_entropy(scores, targets), balance


def losses(model, optimizer, ids):
    random, found = torch.Generator().manual_seed(1), []
    for _ in range(STEPS):
        loss, balance = model(*example.packed(ids, random))
        optimizer.zero_grad()
        (loss + example.BALANCE * balance).backward()
        optimizer.step()
        found.append(loss.item())
    return found


torch.manual_seed(0)
ids = torch.tensor([ord(character) % 96 for character in example.text_to_learn(None)[:20000]])
model = example.Model(96).npu()
for name, parameter in model.named_parameters():
    if name.endswith(("b1", "b2")):  # biases that are zero would hide a wrong one
        torch.nn.init.normal_(parameter, std=0.1)
plain = Plain(model)
theirs = losses(model, example.FusedEmaAdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=DECAY, ema_decay=0.98), ids)
ours = losses(plain, torch.optim.AdamW(plain.parameters(), lr=LEARNING_RATE, weight_decay=DECAY), ids)
worst = max(abs(one - two) for one, two in zip(theirs, ours))
print(f"losses {theirs[0]:.6f} to {theirs[-1]:.6f}; largest difference {worst:.1e}")
assert worst <= 1e-5 and theirs[-1] < theirs[0] - 0.5, (theirs, ours)
