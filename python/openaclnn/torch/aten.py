# Opt-in: the gradient of every torch.nn.Embedding on the CPU computed by openaclnn, by overriding aten's kernel.
"""enable_embedding_backward() and disable_embedding_backward()."""
import warnings

import torch

from openaclnn import _native

_override = None
_SUPPORTED = (torch.float32, torch.float16, torch.bfloat16)


def _embedding_dense_backward(grad_output, indices, num_weights, padding_idx, scale_grad_by_freq):
    if grad_output.dtype in _SUPPORTED:
        return _native.embedding_dense_backward(grad_output, indices, int(num_weights), int(padding_idx),
                                                scale_grad_by_freq)
    # float64: what aten does, by operators that are not overridden.
    flat, rows = indices.reshape(-1), grad_output.reshape(-1, grad_output.shape[-1])
    keep = flat != padding_idx
    if scale_grad_by_freq:
        rows = rows / torch.bincount(flat, minlength=int(num_weights))[flat].unsqueeze(1).to(rows.dtype)
    out = rows.new_zeros(int(num_weights), rows.shape[1])
    return out.index_add_(0, flat[keep], rows[keep])


def enable_embedding_backward():
    """From now on aten::embedding_dense_backward on CPU tensors is openaclnn's: all dense embeddings of the program.

    Results then have the same bits in every run and for any number of threads. PyTorch says once that a kernel was
    overridden; that is the intention.
    """
    global _override
    if _override is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            library = torch.library.Library("aten", "IMPL")
            library.impl("embedding_dense_backward", _embedding_dense_backward, "CPU")
        _override = library


def disable_embedding_backward():
    """Gives aten its own kernel back. Needs PyTorch 2.1."""
    from openaclnn.torch import versions

    global _override
    if _override is not None:
        versions.require((2, 1), "disable_embedding_backward")
        _override._destroy()
        _override = None
