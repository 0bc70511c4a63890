# The formulas in NumPy double, written from the docstrings, with which the tests compare.
"""Every function takes and returns NumPy arrays of any dtype and computes in double."""
import numpy as np


def wide(array):
    return np.asarray(array).astype(np.float64)


def ema_adam(grad, var, m, v, s, step, lr=1e-3, ema_decay=0.9999, beta1=0.9, beta2=0.999, eps=1e-8, mode=1,
             bias_correction=True, weight_decay=0.0):
    grad, var, m, v, s = map(wide, (grad, var, m, v, s))
    g = grad + weight_decay * var if mode == 0 else grad
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g * g
    c1 = 1 - beta1**step if bias_correction else 1.0
    c2 = 1 - beta2**step if bias_correction else 1.0
    q = (m / c1) / (np.sqrt(v / c2) + eps)
    if mode == 1:
        q = q + weight_decay * var
    var = var - lr * q
    return var, m, v, ema_decay * s + (1 - ema_decay) * var


def adam_w(grad, var, m, v, t, lr=1e-3, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=1e-2, max_v=None, maximize=False):
    """Returns var, m, v and the largest second moment, which is v without max_v."""
    grad, var, m, v = map(wide, (grad, var, m, v))
    g = -grad if maximize else grad
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g * g
    n = v if max_v is None else np.maximum(wide(max_v), v)
    var = var - lr * weight_decay * var - lr * (m / (1 - beta1**t)) / (np.sqrt(n / (1 - beta2**t)) + eps)
    return var, m, v, n


def embedding_dense_backward(grad, indices, num_weights, padding_idx=-1, scale=False):
    grad, indices = wide(grad).reshape(-1, grad.shape[-1]), np.asarray(indices).reshape(-1)
    out = np.zeros((num_weights, grad.shape[-1]))
    for row, index in zip(grad, indices):
        if index != padding_idx:
            out[index] += row
    if scale:
        counts = np.bincount(indices, minlength=num_weights)[:num_weights]
        out /= np.maximum(counts, 1)[:, None]
    return out


def grouped_bias_add_grad(grad_y, ends):
    starts = [0, *ends[:-1]]
    return np.stack([wide(grad_y)[start:end].sum(0) for start, end in zip(starts, ends)])


def windows(ends, block, stride):
    """Returns the first tokens of all windows."""
    first = []
    for start, end in zip([0, *ends[:-1]], ends):
        first += list(range(start, end - block + 1, stride))
    return first


def nsa_compress(tokens, weight, block, stride, ends):
    tokens, weight = wide(tokens), wide(weight)
    first = windows(ends, block, stride)
    if not first:
        return np.zeros((0, *tokens.shape[1:]))
    return np.stack([(tokens[t:t + block] * weight[:, :, None]).sum(0) for t in first])


def nsa_compress_grad(grad, tokens, weight, block, stride, ends):
    grad, tokens, weight = wide(grad), wide(tokens), wide(weight)
    token_grad, weight_grad = np.zeros_like(tokens), np.zeros_like(weight)
    for j, t in enumerate(windows(ends, block, stride)):
        token_grad[t:t + block] += weight[:, :, None] * grad[j]
        weight_grad += (grad[j] * tokens[t:t + block]).sum(-1)
    return token_grad, weight_grad


def nsa_compress_with_cache(tokens, weight, slots, cache, block, stride, lengths):
    """Returns the updated cache. tokens[b] are those of sequence b, without pages."""
    cache = wide(cache).copy()
    for sequence, slot, length in zip(tokens, slots, lengths):
        if length >= block and (length - block) % stride == 0:
            cache[slot] = (wide(sequence)[length - block:length] * wide(weight)[:, :, None]).sum(0)
    return cache
