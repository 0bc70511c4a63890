# Goldens of openaclnn for `msprobe acc_check`. README.md beside this file says where to put it.
"""msprobe calls each function with the arguments of the operator on the CPU, in a wider dtype than on the device. The results are the
exact ones in that dtype, and gradients go through autograd."""
import numpy
import openaclnn
import torch


def _narrow(tensor, name):
    """Returns the numbers in float32, which has room for all numbers of float16, bfloat16 and float32."""
    if tensor is None or not tensor.is_floating_point():
        return tensor
    narrow = tensor.detach().float()
    if not torch.allclose(narrow.to(tensor.dtype), tensor.detach(), rtol=0, atol=0, equal_nan=True):
        raise ValueError(f"{name} has numbers that float32 cannot hold; the operator takes float32, float16 and bfloat16")
    return narrow


def _exact(output, like):
    return torch.from_numpy(output.exact).to(like.dtype)


class _NsaCompress(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input, weight, windows):
        ctx.save_for_backward(input, weight)
        ctx.windows = windows
        golden = openaclnn.golden("nsa_compress", input=_narrow(input, "input"), weight=_narrow(weight, "weight"), **windows)
        return _exact(golden["out"], input)

    @staticmethod
    def backward(ctx, grad):
        input, weight = ctx.saved_tensors
        golden = openaclnn.golden("nsa_compress_grad", grad=_narrow(grad, "grad"), input=_narrow(input, "input"),
                                  weight=_narrow(weight, "weight"), **ctx.windows)
        return _exact(golden["input_grad"], input), _exact(golden["weight_grad"], weight), None


def openaclnn_nsa_compress(input, weight, compress_block_size, compress_stride, *, actual_seq_len=None):
    windows = {"compress_block_size": compress_block_size, "compress_stride": compress_stride, "actual_seq_len": actual_seq_len}
    return _NsaCompress.apply(input, weight, windows)


def openaclnn_nsa_compress_grad(grad, input, weight, compress_block_size, compress_stride, *, actual_seq_len=None):
    golden = openaclnn.golden("nsa_compress_grad", grad=_narrow(grad, "grad"), input=_narrow(input, "input"),
                              weight=_narrow(weight, "weight"), compress_block_size=compress_block_size,
                              compress_stride=compress_stride, actual_seq_len=actual_seq_len)
    return _exact(golden["input_grad"], input), _exact(golden["weight_grad"], weight)


def openaclnn_nsa_compress_infer(input, weight, slot_mapping, compress_block_size, compress_stride, page_block_size, *,
                                 block_table=None, actual_seq_len=None, cache):
    golden = openaclnn.golden("nsa_compress_with_cache", input=_narrow(input, "input"), weight=_narrow(weight, "weight"),
                              slot_mapping=slot_mapping, cache=_narrow(cache, "cache"), block_table=block_table,
                              compress_block_size=compress_block_size, compress_stride=compress_stride,
                              page_block_size=page_block_size, actual_seq_len=actual_seq_len)
    return _exact(golden["cache"], cache)


def openaclnn_apply_fused_ema_adamw(grad, var, m, v, s, step, lr=1e-3, ema_decay=0.9999, beta1=0.9, beta2=0.999, eps=1e-8, mode=1,
                                    bias_correction=True, weight_decay=0.0):
    tensors = {"grad": grad, "var": var, "m": m, "v": v, "s": s}
    golden = openaclnn.golden("apply_fused_ema_adam", **{name: _narrow(tensor, name) for name, tensor in tensors.items()}, step=step,
                              lr=lr, ema_decay=ema_decay, beta1=beta1, beta2=beta2, eps=eps, mode=mode,
                              bias_correction=bias_correction, weight_decay=weight_decay)
    return tuple(_exact(golden[name], var) for name in ("var", "m", "v", "s"))


def openaclnn_apply_adam_w(beta1_power, beta2_power, lr, weight_decay, beta1, beta2, epsilon, grad, max_grad_norm=None,
                           amsgrad=None, maximize=None, *, out):
    numbers = {"beta1_power": beta1_power, "beta2_power": beta2_power, "lr": lr, "weight_decay": weight_decay, "beta1": beta1,
               "beta2": beta2, "eps": epsilon}
    tensors = {"var": out[0], "m": out[1], "v": out[2], "grad": grad, "max_grad_norm": max_grad_norm}
    golden = openaclnn.golden("aclnnApplyAdamW", **{name: numpy.array([number], numpy.float32) for name, number in numbers.items()},
                              **{name: _narrow(tensor, name) for name, tensor in tensors.items()}, amsgrad=bool(amsgrad),
                              maximize=bool(maximize))
    return tuple(_exact(golden[name], out[0]) for name in ("var", "m", "v"))
