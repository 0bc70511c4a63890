# Gradients of attention from given statistics: npu_fusion_attention_grad and its second version.
"""Callers that split the keys, as ring attention does, pass the statistics and the output of all keys with a part of them. The
gradients of the parts then add up to that of the whole."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from openaclnn.compat.npu_ops import attention_arguments, attention_operator
from openaclnn.compat.npu_ops.arguments import text
from openaclnn.compat.npu_ops.attention import BAND, BAND_V2, LENGTHS, MODE, MOST, TENSORS, start
from openaclnn.compat.npu_ops.attention_checks import Extras, Prepared, prepare, require
from openaclnn.compat.npu_ops.attention_layouts import from_heads, statistics_in, to_heads
from openaclnn.compat.npu_ops.attention_options import Options
from openaclnn.compat.npu_ops.registry import npu_function

__all__ = ["npu_fusion_attention_grad", "npu_fusion_attention_grad_v2"]

Gradients = tuple[torch.Tensor, torch.Tensor, torch.Tensor, "torch.Tensor | None", torch.Tensor]

_TENSORS = TENSORS.replace("value,", "value, Tensor dy,")
_GIVEN = ("Tensor? pse=None, Tensor? padding_mask=None, Tensor? atten_mask=None, Tensor? softmax_max=None, Tensor? softmax_sum=None, "
          "Tensor? softmax_in=None, Tensor? attention_in=None")
_STATE = "SymInt seed=0, SymInt offset=0, SymInt numels=0"
_END = 'str softmax_layout="", Tensor? sink=None'


@npu_function(f"npu_fusion_attention_grad({_TENSORS}, *, {_GIVEN}, float scale_value=1.0, float keep_prob=1.0, {BAND}, {_STATE}, "
              f"{LENGTHS}, {MODE}, {_END}) -> (Tensor, Tensor, Tensor, Tensor, Tensor)", arguments=attention_arguments.GRADIENT)
def npu_fusion_attention_grad(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, dy: torch.Tensor, head_num: int,
                              input_layout: str, *, pse: torch.Tensor | None = None, padding_mask: None = None,
                              atten_mask: torch.Tensor | None = None, softmax_max: torch.Tensor | None = None,
                              softmax_sum: torch.Tensor | None = None, softmax_in: torch.Tensor | None = None,
                              attention_in: torch.Tensor | None = None, scale_value: float = 1.0, keep_prob: float = 1.0,
                              pre_tockens: int = MOST, next_tockens: int = MOST, inner_precise: int = 0, seed: int = 0,
                              offset: int = 0, numels: int = 0, prefix: Sequence[int] | None = None, actual_seq_qlen: Any = None,
                              actual_seq_kvlen: Any = None, sparse_mode: int = 0, gen_mask_parallel: bool = True,
                              sync: bool = False, softmax_layout: str = "", sink: torch.Tensor | None = None) -> Gradients:
    """Returns the gradients of npu_fusion_attention for query, key, value, pse and sink.

    Parameters
    ----------
    dy : the gradient of the output.
    softmax_max, softmax_sum, attention_in : results 1, 2 and 0 of npu_fusion_attention. The weights are
        exp(score - softmax_max) / softmax_sum.
    scale_value : scale of npu_fusion_attention.
    seed, offset : results 4 and 5 of npu_fusion_attention, which give the same bits of dropout.
    softmax_in, numels : no effect.
    others : as in npu_fusion_attention.

    Returns
    -------
    Gradients with shape and dtype of query, key, value, pse and sink. None for pse if it is None, and a tensor without
    elements for sink if it is None.

    Raises
    ------
    RuntimeError : an argument that an NPU does not accept either; the message has the accepted values.
    NotImplementedError : an argument that is not supported.
    """
    name = "npu_fusion_attention_grad"
    extras = Extras(pse, atten_mask, sink, None, prefix, actual_seq_qlen, actual_seq_kvlen, softmax_layout)
    options = Options(scale_value, keep_prob, sparse_mode, pre_tockens, next_tockens, None, None, None, 1, 0, 0, seed, offset)
    prepared = prepare(name, query, key, value, head_num, input_layout, extras, options)
    dq, dk, dv, dpse, dsink = _gradients(name, prepared, dy, softmax_max, softmax_sum, attention_in, softmax_layout)
    return dq, dk, dv, dpse if pse is not None else None, dsink


@npu_function(f"npu_fusion_attention_grad_v2({_TENSORS}, *, {_GIVEN}, Tensor? query_rope=None, Tensor? key_rope=None, "
              f"float scale_value=1.0, float keep_prob=1.0, {BAND_V2}, {_STATE}, {LENGTHS}, {MODE}, int pse_type=1, "
              f"SymInt[]? q_start_idx=None, SymInt[]? kv_start_idx=None, {_END}) "
              "-> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)", arguments=attention_arguments.GRADIENT_V2)
def npu_fusion_attention_grad_v2(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, dy: torch.Tensor, head_num: int,
                                 input_layout: str, *, pse: torch.Tensor | None = None, padding_mask: None = None,
                                 atten_mask: torch.Tensor | None = None, softmax_max: torch.Tensor | None = None,
                                 softmax_sum: torch.Tensor | None = None, softmax_in: torch.Tensor | None = None,
                                 attention_in: torch.Tensor | None = None, query_rope: None = None, key_rope: None = None,
                                 scale_value: float = 1.0, keep_prob: float = 1.0, pre_tokens: int = MOST,
                                 next_tokens: int = MOST, inner_precise: int = 0, seed: int = 0, offset: int = 0,
                                 numels: int = 0, prefix: Sequence[int] | None = None, actual_seq_qlen: Any = None,
                                 actual_seq_kvlen: Any = None, sparse_mode: int = 0, gen_mask_parallel: bool = True,
                                 sync: bool = False, pse_type: int = 1, q_start_idx: Sequence[int] | None = None,
                                 kv_start_idx: Sequence[int] | None = None, softmax_layout: str = "",
                                 sink: torch.Tensor | None = None) -> tuple[torch.Tensor, ...]:
    """Returns the gradients of npu_fusion_attention_v2 for query, key, value, pse, query_rope, key_rope and sink.

    Arguments are those of npu_fusion_attention_v2 and npu_fusion_attention_grad. The gradients of query_rope and key_rope have
    no elements, nor do those of pse and sink if these are None.
    """
    name = "npu_fusion_attention_grad_v2"
    extras = Extras(pse, atten_mask, sink, None, prefix, actual_seq_qlen, actual_seq_kvlen, softmax_layout)
    options = Options(scale_value, keep_prob, sparse_mode, pre_tokens, next_tokens, None, None, None, pse_type, start(q_start_idx),
                      start(kv_start_idx), seed, offset)
    prepared = prepare(name, query, key, value, head_num, input_layout, extras, options)
    dq, dk, dv, dpse, dsink = _gradients(name, prepared, dy, softmax_max, softmax_sum, attention_in, softmax_layout)
    return dq, dk, dv, dpse, query.new_empty(0), query.new_empty(0), dsink


def _gradients(name: str, prepared: Prepared, dy: torch.Tensor, softmax_max: torch.Tensor | None,
               softmax_sum: torch.Tensor | None, attention_in: torch.Tensor | None, softmax_layout: str,
               ) -> tuple[torch.Tensor, ...]:
    query, _, value, _, pse, *_ = prepared.tensors
    assert query is not None and value is not None
    layout, of_value = prepared.layout, value.shape[3]
    shape = tuple(from_heads(query[..., :1].expand(*query.shape[:3], of_value), layout).shape)
    wide: list[torch.Tensor] = []
    for key, tensor in (("dy", dy), ("attention_in", attention_in)):
        require(tensor is not None and tuple(tensor.shape) == shape, name,
                f"{key} is {text(tensor)}; it must have the shape of the output, {list(shape)}")
        assert tensor is not None
        wide.append(to_heads(tensor, layout, of_value))
    rows = tuple(query.shape[:3]) if layout != "TND" else (query.shape[2], query.shape[1])
    statistics: list[torch.Tensor] = []
    for key, tensor in (("softmax_max", softmax_max), ("softmax_sum", softmax_sum)):
        require(tensor is not None and tuple(tensor.shape[:-1]) == rows and tensor.shape[-1] > 0, name,
                f"{key} is {text(tensor)}; it must have the shape {[*rows, 8]}")
        assert tensor is not None
        statistics.append(statistics_in(tensor, prepared.options.q_ends, softmax_layout))
    dq, dk, dv, dpse, dsink = attention_operator.attention_backward(*wide, *statistics, pse is not None, *prepared.tensors,
                                                                    *prepared.options.values())
    return *(from_heads(one, layout) for one in (dq, dk, dv)), dpse, dsink
