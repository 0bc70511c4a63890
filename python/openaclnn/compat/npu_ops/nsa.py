# Token compression of native sparse attention: torch_npu's names for operators of this library.
"""npu_nsa_compress, npu_nsa_compress_grad and npu_nsa_compress_infer."""
from typing import Any

import torch

import openaclnn.torch
from openaclnn.compat.npu_ops.arguments import supported
from openaclnn.compat.npu_ops.registry import npu_function
from openaclnn.errors import named_as_called

__all__ = ["npu_nsa_compress", "npu_nsa_compress_grad", "npu_nsa_compress_infer"]

_WINDOWS = "int compress_block_size, int compress_stride"
_WINDOW_ARGUMENTS = {
    "input": supported("float32, float16, bfloat16"), "weight": supported("dtype of input"),
    "compress_block_size": supported("windows of any length"), "compress_stride": supported("any"),
    "actual_seq_len": supported("cumulative lengths: list, tuple, array, tensor or None")}


@npu_function(f"npu_nsa_compress(Tensor input, Tensor weight, {_WINDOWS}, *, SymInt[]? actual_seq_len=None) -> Tensor",
              arguments=_WINDOW_ARGUMENTS)
@named_as_called
def npu_nsa_compress(input: torch.Tensor, weight: torch.Tensor, compress_block_size: int, compress_stride: int, *,
                     actual_seq_len: Any = None) -> torch.Tensor:
    """Token compression of native sparse attention; with gradients. See openaclnn.nsa_compress."""
    windows: torch.Tensor = openaclnn.torch.nsa_compress(input, weight, compress_block_size, compress_stride,
                                                         actual_seq_len=actual_seq_len)
    return windows


@npu_function(f"npu_nsa_compress_grad(Tensor grad, Tensor input, Tensor weight, {_WINDOWS}, *, "
              "SymInt[]? actual_seq_len=None) -> (Tensor, Tensor)",
              arguments={"grad": supported("dtype of input"), **_WINDOW_ARGUMENTS})
@named_as_called
def npu_nsa_compress_grad(grad: torch.Tensor, input: torch.Tensor, weight: torch.Tensor, compress_block_size: int,
                          compress_stride: int, *, actual_seq_len: Any = None) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the gradients of npu_nsa_compress for tokens and weights. See openaclnn.nsa_compress_grad."""
    of_tokens, of_weight = openaclnn.torch.nsa_compress_grad(grad, input, weight, compress_block_size, compress_stride,
                                                             actual_seq_len=actual_seq_len)
    return of_tokens, of_weight


@npu_function(f"npu_nsa_compress_infer(Tensor input, Tensor weight, Tensor slot_mapping, {_WINDOWS}, int page_block_size, *, "
              "Tensor? block_table=None, SymInt[]? actual_seq_len=None, Tensor(a!) cache) -> Tensor(a!)",
              arguments={**_WINDOW_ARGUMENTS, "slot_mapping": supported("int32"), "page_block_size": supported("any"),
                         "block_table": supported("int32 or None"), "cache": supported("dtype of input; written in place")})
@named_as_called
def npu_nsa_compress_infer(input: torch.Tensor, weight: torch.Tensor, slot_mapping: torch.Tensor, compress_block_size: int,
                           compress_stride: int, page_block_size: int, *, block_table: torch.Tensor | None = None,
                           actual_seq_len: Any = None, cache: torch.Tensor) -> torch.Tensor:
    """Compresses the blocks that the newest tokens complete into cache; returns cache. See
    openaclnn.nsa_compress_with_cache_."""
    return openaclnn.torch.nsa_compress_with_cache_(input, weight, slot_mapping, cache, compress_block_size, compress_stride,
                                                    actual_seq_len, block_table=block_table, page_block_size=page_block_size)
