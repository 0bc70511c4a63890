# Modules of PyTorch around the operators: Embedding, GroupedBiasAdd, NsaCompress.
"""They are used like those of torch.nn."""
import torch

from openaclnn.torch import ops


class Embedding(torch.nn.Embedding):
    """torch.nn.Embedding whose gradient is that of openaclnn: the same bits in every run, for any number of threads.

    Arguments as torch.nn.Embedding; sparse gradients and max_norm are not offered.
    """

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, **options):
        for name in ("sparse", "max_norm"):
            if options.get(name):
                raise ValueError(f"{name} is not offered by openaclnn.torch.Embedding; use torch.nn.Embedding")
        super().__init__(num_embeddings, embedding_dim, padding_idx, **options)

    def forward(self, input):
        padding = -1 if self.padding_idx is None else self.padding_idx
        return ops.embedding(self.weight, input, padding, self.scale_grad_by_freq)


class GroupedBiasAdd(torch.nn.Module):
    """Adds to each row the bias of its group, such as the expert that the row was sent to.

    groups: G; features: H. forward(x, group_idx, group_idx_type=0) as grouped_bias_add.
    """

    def __init__(self, groups, features, device=None, dtype=None):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(groups, features, device=device, dtype=dtype))

    def forward(self, x, group_idx, group_idx_type=0):
        return ops.grouped_bias_add(x, self.bias, group_idx, group_idx_type)

    def extra_repr(self):
        return "groups={}, features={}".format(*self.bias.shape)


class NsaCompress(torch.nn.Module):
    """Windows of tokens become one token each, by learnt weights: the compression of native sparse attention.

    heads: N; compress_block_size: tokens of a window; compress_stride: distance of windows. The weights, [L, N], begin as
    the mean. forward(input [T, N, D], actual_seq_len=None) gives [J, N, D].
    """

    def __init__(self, heads, compress_block_size, compress_stride, device=None, dtype=None):
        super().__init__()
        self.compress_block_size, self.compress_stride = compress_block_size, compress_stride
        weight = torch.full((compress_block_size, heads), 1.0 / compress_block_size, device=device, dtype=dtype)
        self.weight = torch.nn.Parameter(weight)

    def forward(self, input, actual_seq_len=None):
        return ops.nsa_compress(input, self.weight, self.compress_block_size, self.compress_stride,
                                actual_seq_len=actual_seq_len)

    def extra_repr(self):
        return f"heads={self.weight.shape[1]}, block={self.compress_block_size}, stride={self.compress_stride}"
