# Derivatives of the operators: reverse and forward mode, of any order, also inside torch.func.
"""Every operator with a derivative has an autograd.Function, on the key Autograd of its PyTorch operator. All operators are
linear in each floating operand, so the formulas use the operators themselves."""
from __future__ import annotations

import torch

from openaclnn import _native
from openaclnn.torch import kernels, versions

_functions = {}


class _Ints(list):
    """A list that torch.func treats as one value. It would flatten a plain list and look for a gradient of each number."""


def call(name, *arguments):
    """Calls the operator with all its arguments. Transforms of torch.func look for derivatives above PyTorch's dispatcher,
    so they get the function instead of the operator."""
    if versions.in_functorch():
        return _functions[name].apply(*(_Ints(value) if isinstance(value, list) else value for value in arguments))
    return getattr(torch.ops.openaclnn, name)(*arguments)


def _save(ctx, *tensors):
    ctx.save_for_backward(*tensors)
    ctx.save_for_forward(*tensors)


def divided(rows, counts):
    """Returns rows divided by how often each occurs. Counts are at least float32: float16 has none above 65,504."""
    counts = counts.clamp(min=1).to(torch.promote_types(rows.dtype, torch.float32))
    return (rows / counts.unsqueeze(1)).to(rows.dtype)


class _Embedding:
    @staticmethod
    def setup_context(ctx, inputs, output):
        weight, indices, ctx.padding_idx, ctx.scale_grad_by_freq = inputs
        ctx.rows = weight.shape[0]
        _save(ctx, indices)

    @staticmethod
    def backward(ctx, grad):
        indices, = ctx.saved_tensors
        return call("embedding_dense_backward", grad, indices, ctx.rows, ctx.padding_idx, ctx.scale_grad_by_freq), None, None, None

    @staticmethod
    def jvp(ctx, weight, *_):
        return call("embedding", weight, *ctx.saved_tensors, ctx.padding_idx, ctx.scale_grad_by_freq)


class _EmbeddingDenseBackward:
    @staticmethod
    def setup_context(ctx, inputs, output):
        _, indices, *ctx.attributes = inputs
        _save(ctx, indices)

    @staticmethod
    def backward(ctx, grad):
        indices, = ctx.saved_tensors
        num_weights, padding_idx, scale_grad_by_freq = ctx.attributes
        if scale_grad_by_freq:
            counts = torch.ops.openaclnn.embedding_counts(indices, num_weights)
            grad = divided(grad, counts)
        rows = call("embedding", grad, indices, -1, False)
        if padding_idx >= 0:
            rows = rows.masked_fill((indices == padding_idx).unsqueeze(-1), 0)
        return rows, None, None, None, None

    @staticmethod
    def jvp(ctx, grad_output, *_):
        return call("embedding_dense_backward", grad_output, *ctx.saved_tensors, *ctx.attributes)


class _GroupedBiasAdd:
    @staticmethod
    def setup_context(ctx, inputs, output):
        _, bias, group_idx, ctx.group_idx_type = inputs
        ctx.bias_dtype = bias.dtype
        _save(ctx, group_idx)

    @staticmethod
    def backward(ctx, grad):
        if not ctx.needs_input_grad[1]:  # a frozen bias
            return grad, None, None, None
        wide = grad.to(torch.promote_types(grad.dtype, ctx.bias_dtype))  # the operator's sums have the dtype of its rows
        sums = call("grouped_bias_add_grad", wide, *ctx.saved_tensors, ctx.group_idx_type)
        return grad, sums.to(ctx.bias_dtype), None, None

    @staticmethod
    def jvp(ctx, x, bias, *_):
        return call("grouped_bias_add", x, bias, *ctx.saved_tensors, ctx.group_idx_type)


class _GroupedBiasAddGrad:
    @staticmethod
    def setup_context(ctx, inputs, output):
        grad_y, group_idx, ctx.group_idx_type = inputs
        ctx.shape = grad_y.shape
        _save(ctx, group_idx)

    @staticmethod
    def backward(ctx, grad):
        group_idx, = ctx.saved_tensors
        if group_idx is None:
            return grad.unsqueeze(1).expand(ctx.shape), None, None
        return call("grouped_bias_add", grad.new_zeros(ctx.shape), grad, group_idx, ctx.group_idx_type), None, None

    @staticmethod
    def jvp(ctx, grad_y, *_):
        return call("grouped_bias_add_grad", grad_y, *ctx.saved_tensors, ctx.group_idx_type)


class _NsaCompress:
    @staticmethod
    def setup_context(ctx, inputs, output):
        input, weight, block, stride, lengths, kind = inputs
        # Without lengths the gradient would search for batches with this number of windows, which may not be this one sequence.
        ctx.attributes = block, stride, lengths or [input.shape[0]], kind
        _save(ctx, input, weight)

    @staticmethod
    def backward(ctx, grad):
        return (*call("nsa_compress_grad", grad, *ctx.saved_tensors, *ctx.attributes), None, None, None, None)

    @staticmethod
    def jvp(ctx, input_tangent, weight_tangent, *_):
        input, weight = ctx.saved_tensors
        return (call("nsa_compress", input_tangent, weight, *ctx.attributes)
                + call("nsa_compress", input, weight_tangent, *ctx.attributes))


class _NsaCompressGrad:
    @staticmethod
    def setup_context(ctx, inputs, output):
        grad, input, weight, block, stride, lengths, kind = inputs
        if not lengths:  # derivatives use the windows of these sequences
            lengths, kind = _native.nsa_equal_ends(len(input), len(grad), block, stride), 0
        ctx.attributes = block, stride, lengths, kind
        _save(ctx, grad, input, weight)

    @staticmethod
    def backward(ctx, to_input, to_weight):
        """The product of to_input and to_weight with the result equals that of grad and nsa_compress with an operand
        replaced."""
        grad, input, weight = ctx.saved_tensors
        to_grad, to_operands = None, (None, None)
        if ctx.needs_input_grad[0]:
            to_grad = (call("nsa_compress", to_input, weight, *ctx.attributes)
                       + call("nsa_compress", input, to_weight, *ctx.attributes))
        if any(ctx.needs_input_grad[1:3]):
            to_operands = call("nsa_compress_grad", grad, to_input, to_weight, *ctx.attributes)
        return (to_grad, *to_operands, None, None, None, None)

    @staticmethod
    def jvp(ctx, grad_tangent, input_tangent, weight_tangent, *_):
        grad, input, weight = ctx.saved_tensors
        first = call("nsa_compress_grad", grad_tangent, input, weight, *ctx.attributes)
        second = call("nsa_compress_grad", grad, input_tangent, weight_tangent, *ctx.attributes)
        return first[0] + second[0], first[1] + second[1]


def _register(name, formulas):
    operator = getattr(torch.ops.openaclnn, name).default
    defaults = [argument.default_value for argument in operator._schema.arguments]

    def forward(*inputs):
        with versions.below_autograd():
            return operator(*inputs)

    def forward_with_context(ctx, *inputs):  # before 2.0
        output = forward(*inputs)
        formulas.setup_context(ctx, inputs, output)
        return output

    members = dict(forward=staticmethod(forward), generate_vmap_rule=True)
    if versions.VERSION < (2, 0):
        members = dict(forward=staticmethod(forward_with_context), setup_context=None)
    function = type(name, (formulas, torch.autograd.Function), members)

    def kernel(*inputs):
        if not versions.any_derivative(inputs):
            return forward(*inputs)
        if versions.in_functorch():
            raise RuntimeError(f"torch.ops.openaclnn.{name} has no derivatives inside transforms of torch.func; "
                               f"openaclnn.torch.{name} has")
        return function.apply(*inputs, *defaults[len(inputs):])

    _functions[name] = function
    kernels.library.impl(name, kernel, "Autograd")


for _name, _formulas in {"embedding": _Embedding, "embedding_dense_backward": _EmbeddingDenseBackward,
                         "grouped_bias_add": _GroupedBiasAdd, "grouped_bias_add_grad": _GroupedBiasAddGrad,
                         "nsa_compress": _NsaCompress, "nsa_compress_grad": _NsaCompressGrad}.items():
    _register(_name, _formulas)
