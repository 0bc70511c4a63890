# Attention of torch_npu: npu_fusion_attention and its second version, in blocks, with gradients.
"""The functions compute what their pages for NPUs document. Where these say nothing:

- A query that sees no key has the output 0 and passes on no gradient. Its softmax_max is the smallest float32 and its
  softmax_sum is 1, so that merging it with statistics of other keys gives theirs.
- With a sink, softmax_max and softmax_sum include it. exp(score - softmax_max) / softmax_sum is always the weight.
- softmax_max and softmax_sum have no gradient.
- With pse_type 3 the addend is -slope * sqrt(distance).
- Tokens after the last sequence of TND have the output 0.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from openaclnn.compat.npu_ops import attention_arguments, attention_dropout, attention_operator
from openaclnn.compat.npu_ops.attention_checks import Extras, Prepared, prepare
from openaclnn.compat.npu_ops.attention_layouts import from_heads, statistics_out
from openaclnn.compat.npu_ops.attention_options import Options
from openaclnn.compat.npu_ops.registry import npu_function

__all__ = ["npu_fusion_attention", "npu_fusion_attention_v2"]

MOST = 2147483647  # no limit, in tokens

Results = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, int, int, int]

TENSORS = "Tensor query, Tensor key, Tensor value, SymInt head_num, str input_layout"
BAND = f"SymInt pre_tockens={MOST}, SymInt next_tockens={MOST}, int inner_precise=0"
BAND_V2 = BAND.replace("tockens", "tokens")
LENGTHS = "SymInt[]? prefix=None, SymInt[]? actual_seq_qlen=None, SymInt[]? actual_seq_kvlen=None"
MODE = "int sparse_mode=0, bool gen_mask_parallel=True, bool sync=False"
_END = 'str softmax_layout="", Tensor? sink=None, Tensor? dropout_mask=None, SymInt seed=0, SymInt offset=0'


@npu_function(
    f"npu_fusion_attention({TENSORS}, Tensor? pse=None, Tensor? padding_mask=None, Tensor? atten_mask=None, float scale=1.0, "
    f"float keep_prob=1.0, {BAND}, {LENGTHS}, {MODE}, {_END}) -> (Tensor, Tensor, Tensor, Tensor, SymInt, SymInt, SymInt)",
    arguments=attention_arguments.FORWARD)
def npu_fusion_attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, head_num: int, input_layout: str,
                         pse: torch.Tensor | None = None, padding_mask: None = None, atten_mask: torch.Tensor | None = None,
                         scale: float = 1.0, keep_prob: float = 1.0, pre_tockens: int = MOST, next_tockens: int = MOST,
                         inner_precise: int = 0, prefix: Sequence[int] | None = None, actual_seq_qlen: Any = None,
                         actual_seq_kvlen: Any = None, sparse_mode: int = 0, gen_mask_parallel: bool = True, sync: bool = False,
                         softmax_layout: str = "", sink: torch.Tensor | None = None, dropout_mask: torch.Tensor | None = None,
                         seed: int = 0, offset: int = 0) -> Results:
    """Returns softmax(scale * (query @ key^T + pse), masked) @ value, and the statistics of the softmax.

    The scores exist in blocks only, so memory is linear in the number of tokens. Blocks that the mask hides are skipped.
    Gradients go to query, key, value, pse and sink.

    Parameters
    ----------
    query, key, value : of one dtype, in one of the layouts below. Numbers of a value may differ from those of a key.
    head_num : N, the heads of query, a multiple of the heads of key. Query head h reads key head h // (N / heads of key).
    input_layout : "BSH" [B, S, N * D], "SBH" [S, B, N * D], "BSND", "BNSD", or "TND" with packed sequences.
    pse : added to the products before the scale. [B or 1, N, Sq or 1, Skv], or the last 1,024 rows of ALiBi.
    padding_mask : None.
    atten_mask : bool or uint8, 1 hides the key. None: every query sees all keys, whatever sparse_mode is.
    scale : factor of the scores.
    keep_prob : share of the weights that dropout keeps. The others are 0, the kept ones are divided by it.
    pre_tockens, next_tockens : the band of sparse_mode 0, 4, 7 and 8: keys this far before and after the diagonal.
    inner_precise, gen_mask_parallel, sync : no effect.
    prefix : for sparse_mode 6 the number of keys that all queries see, one for each batch element.
    actual_seq_qlen, actual_seq_kvlen : with "TND" the ends of the sequences, without the leading 0.
    sparse_mode : what atten_mask is. 0 and 1: the mask itself. 2: causal from the top left corner. 3: causal from the bottom
        right corner. 4: a band from the bottom right corner. 5: the mask itself, with a prefix. 6: mode 3 and a prefix. 7: the
        last sequence as 4, others as 3. 8: the first sequence as 4, others as 2. Modes 2, 3, 4, 7 and 8 take
        torch.triu(torch.ones(2048, 2048), diagonal=1) for masks of any size.
    softmax_layout : with "TND" the order of the statistics: "TND", or "" for one block [N, tokens, 8] for each sequence.
    sink : one more score of each head, float32 [N], which has no value.
    dropout_mask : the bits of dropout from _npu_dropout_gen_mask. None: they depend on seed and offset.
    seed, offset : state of dropout. If both are 0, PyTorch's generator gives them.

    Returns
    -------
    The output in the layout and dtype of query; softmax_max and softmax_sum, float32 [B, N, Sq, 8] or [T, N, 8] with eight equal
    numbers; an empty tensor; seed, offset and number of dropout bits, which are 0 without dropout.

    Raises
    ------
    RuntimeError : an argument that an NPU does not accept either; the message has the accepted values.
    NotImplementedError : an argument that is not supported.

    Examples
    --------
    >>> tokens = torch.randn(1, 4096, 8 * 64, requires_grad=True)
    >>> mask = torch.triu(torch.ones(2048, 2048), diagonal=1).bool()
    >>> out = npu_fusion_attention(tokens, tokens, tokens, 8, "BSH", atten_mask=mask, scale=64 ** -0.5, sparse_mode=2)[0]
    >>> out.sum().backward()
    """
    extras = Extras(pse, atten_mask, sink, dropout_mask, prefix, actual_seq_qlen, actual_seq_kvlen, softmax_layout)
    seed, offset = _state(keep_prob, dropout_mask, seed, offset)
    options = Options(scale, keep_prob, sparse_mode, pre_tockens, next_tockens, None, None, None, 1, 0, 0, seed, offset)
    return _attention(prepare("npu_fusion_attention", query, key, value, head_num, input_layout, extras, options), softmax_layout)


@npu_function(
    f"npu_fusion_attention_v2({TENSORS}, *, Tensor? pse=None, Tensor? padding_mask=None, Tensor? atten_mask=None, "
    f"Tensor? query_rope=None, Tensor? key_rope=None, float scale=1.0, float keep_prob=1.0, {BAND_V2}, {LENGTHS}, {MODE}, "
    f"int pse_type=1, SymInt[]? q_start_idx=None, SymInt[]? kv_start_idx=None, {_END}) "
    "-> (Tensor, Tensor, Tensor, Tensor, SymInt, SymInt, SymInt)", arguments=attention_arguments.FORWARD_V2)
def npu_fusion_attention_v2(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, head_num: int, input_layout: str, *,
                            pse: torch.Tensor | None = None, padding_mask: None = None, atten_mask: torch.Tensor | None = None,
                            query_rope: None = None, key_rope: None = None, scale: float = 1.0, keep_prob: float = 1.0,
                            pre_tokens: int = MOST, next_tokens: int = MOST, inner_precise: int = 0,
                            prefix: Sequence[int] | None = None, actual_seq_qlen: Any = None, actual_seq_kvlen: Any = None,
                            sparse_mode: int = 0, gen_mask_parallel: bool = True, sync: bool = False, pse_type: int = 1,
                            q_start_idx: Sequence[int] | None = None, kv_start_idx: Sequence[int] | None = None,
                            softmax_layout: str = "", sink: torch.Tensor | None = None,
                            dropout_mask: torch.Tensor | None = None, seed: int = 0, offset: int = 0) -> Results:
    """npu_fusion_attention with other kinds of position encodings.

    Parameters
    ----------
    pre_tokens, next_tokens : as pre_tockens and next_tockens of npu_fusion_attention.
    query_rope, key_rope : None.
    pse_type : 0 adds pse after the scale, 1 before it. 2: pse has slopes, float32 [N] or [B, N], and -slope * distance is
        added after the scale, where distance is |row + q_start_idx - column - kv_start_idx|. 3: as 2, with the square root of
        the distance.
    q_start_idx, kv_start_idx : positions of the first query and the first key for pse_type 2 and 3; the first number of the
        list counts. None: 0.
    others : as in npu_fusion_attention, which also has the results and exceptions.
    """
    extras = Extras(pse, atten_mask, sink, dropout_mask, prefix, actual_seq_qlen, actual_seq_kvlen, softmax_layout)
    seed, offset = _state(keep_prob, dropout_mask, seed, offset)
    options = Options(scale, keep_prob, sparse_mode, pre_tokens, next_tokens, None, None, None, pse_type, start(q_start_idx),
                      start(kv_start_idx), seed, offset)
    return _attention(prepare("npu_fusion_attention_v2", query, key, value, head_num, input_layout, extras, options),
                      softmax_layout)


def start(positions: Sequence[int] | None) -> int:
    """Returns the position of the first token of q_start_idx or kv_start_idx."""
    return positions[0] if positions else 0


def _state(keep_prob: float, dropout_mask: torch.Tensor | None, seed: int, offset: int) -> tuple[int, int]:
    drawn = 0 < keep_prob < 1 and dropout_mask is None and seed == 0 and offset == 0
    return attention_dropout.next_state() if drawn else (seed, offset)


def _attention(prepared: Prepared, softmax_layout: str) -> Results:
    options = prepared.options
    out, *statistics = attention_operator.attention(*prepared.tensors, *options.values())
    top, total = (statistics_out(one, options.q_ends, softmax_layout) for one in statistics)
    count = prepared.weights if options.keep_prob < 1 else 0
    return from_heads(out, prepared.layout), top, total, out.new_empty(0), options.seed, options.offset, count
