# What the attention functions accept: rows of the coverage table, which the versions of the functions share.
"""FORWARD and GRADIENT have an Argument for each parameter of npu_fusion_attention and npu_fusion_attention_grad; names that end
in _V2 have those of the second version."""
from __future__ import annotations

from openaclnn.compat.npu_ops.arguments import Argument, ignored, only, supported
from openaclnn.compat.npu_ops.attention_layouts import LAYOUTS

_TENSOR = supported("float16, bfloat16, float32", "and float64, for gradient checks")
_NO_ROPE = only(None, why="what a separate rotary part adds to the scores is not published", example=1, others="tensors")
_BAND = supported("sparse_mode 0, 4, 7 and 8", "with 0 in addition to atten_mask, from the top left corner").unused(
    "other modes, or without atten_mask", "their rule has no band")

_COMMON: dict[str, Argument] = {
    "query": _TENSOR, "key": _TENSOR, "value": _TENSOR,
    "head_num": supported("heads of query", "a multiple of the heads of key"),
    "input_layout": only(*LAYOUTS, why="an NPU has no other layouts", example="NBSD", kind=RuntimeError),
    "pse": supported("None; [B or 1, N, Sq or 1, Skv]; [B or 1, N, 1024, S], the last rows of ALiBi"),
    "padding_mask": only(None, why="an NPU does not accept it either", example=1, others="tensors"),
    "atten_mask": supported("None; bool or uint8, 1 hides a key", "modes 2, 3, 4, 6, 7, 8: the compressed mask, whose values are "
                            "checked"),
    "keep_prob": supported("0 < keep_prob <= 1", "the bits are not those of an NPU"),
    "inner_precise": ignored("any", "scores are always float32, and queries without keys always give 0"),
    "prefix": supported("sparse_mode 6", "one number for each batch element").unused(
        "sparse_mode 5", "atten_mask has the prefix").unused("other modes", "their rule has no prefix"),
    "actual_seq_qlen": supported("TND: ends of the sequences", "list, tuple or tensor; zeros at the end are unused sequences"),
    "actual_seq_kvlen": supported("TND: ends of the sequences", "list, tuple or tensor"),
    "sparse_mode": only(*range(9), why="an NPU has no other modes", example=9, kind=RuntimeError,
                        note="5 and 6 not with TND; 7 and 8 with TND only"),
    "gen_mask_parallel": ignored("any", "how an NPU generates dropout bits; here they depend on seed and offset only"),
    "sync": ignored("any", "calls are synchronous"),
    "softmax_layout": only("", "TND", why="an NPU has no other orders", example="NTD", kind=RuntimeError, note='"TND" with TND only'),
    "sink": supported("None; float32 [N]", "the statistics include it"),
    "seed": supported("any", "the function draws seed and offset from PyTorch's generator if both are 0"),
    "offset": supported("any"),
}
_VERSION_2: dict[str, Argument] = {
    "query_rope": _NO_ROPE, "key_rope": _NO_ROPE,
    "pse_type": only(0, 1, 2, 3, why="an NPU has no other types", example=4, kind=RuntimeError,
                     note="0 adds pse after the scale, 1 before; 2 slopes; 3 slopes with the square root of distances"),
    "q_start_idx": supported("pse_type 2 and 3", "the first number counts").unused("pse_type 0 and 1", "pse has the positions"),
    "kv_start_idx": supported("pse_type 2 and 3", "the first number counts").unused("pse_type 0 and 1", "pse has the positions"),
    "pre_tokens": _BAND, "next_tokens": _BAND,
}
_VERSION_1 = {"pre_tockens": _BAND, "next_tockens": _BAND}
_SCALE = supported("any number")
_DROPOUT_MASK = supported("None; uint8, a bit for each weight", "of _npu_dropout_gen_mask; 1 keeps the weight")

FORWARD = {**_COMMON, **_VERSION_1, "scale": _SCALE, "dropout_mask": _DROPOUT_MASK}
FORWARD_V2 = {**_COMMON, **_VERSION_2, "scale": _SCALE, "dropout_mask": _DROPOUT_MASK}

_STATISTIC = supported("the result of the function", "it may cover more keys than this call")
_OF_GRADIENT = {
    **_COMMON, "dy": supported("shape and dtype of the output"), "scale_value": _SCALE, "softmax_max": _STATISTIC,
    "softmax_sum": _STATISTIC, "attention_in": supported("the output of the function"),
    "softmax_in": ignored("any", "the weights are computed from softmax_max and softmax_sum"),
    "numels": ignored("any", "dropout bits depend on seed, offset and positions only"),
    "seed": supported("the seed that the function returned"), "offset": supported("the offset that the function returned")}
GRADIENT = {**_OF_GRADIENT, **_VERSION_1}
GRADIENT_V2 = {**_OF_GRADIENT, **_VERSION_2}
