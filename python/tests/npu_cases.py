# Calls of torch_npu's functions, a few of each, for the tests of what all functions share.
import pytest
import torch

from npu_functions import Case
from openaclnn.compat.npu_ops import (activation, grouped_matmul, layout, matmul, moe, moe_routing_map, norm,  # noqa: F401
                                      rotary, scaled_masked_softmax)


def random(*shape, dtype=torch.float32, seed=0):
    generator = torch.Generator().manual_seed(1000 * seed + sum(shape))
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(torch.bfloat16).to(dtype)


def _many(*shapes):
    return lambda dtype: [random(*shape, dtype=dtype, seed=seed) for seed, shape in enumerate(shapes)]


def _then(make, *others):
    return lambda dtype: [*make(dtype), *others]


EXPERTS = torch.tensor([[1, 3], [0, 1], [3, 0], [1, 2], [2, 0]])
MAP = torch.zeros(5, 4, dtype=torch.bool).scatter(1, EXPERTS, True)
SORTED = torch.tensor([3, 8, 0, 4, 9, 1, 5, 6, 7, 2], dtype=torch.int32)
PADDED = torch.tensor([1, 2, 0, 1, 3, 4, 0, 2], dtype=torch.int32)  # two rows of each of four experts
HIDDEN = torch.tensor([[0, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 1]]).bool()
ENDS, SIZES = torch.tensor([2, 2, 5]), torch.tensor([2, 0, 3])


def _lists(x, weight):
    return lambda dtype: [[random(*shape, dtype=dtype, seed=seed) for seed, shape in enumerate(shapes)] for shapes in (x, weight)]


_GROUPED = [
    Case("npu_grouped_matmul", _lists([(3, 4), (2, 3, 5)], [(4, 2), (5, 3)]), {"group_type": -1}),
    Case("npu_grouped_matmul", _lists([(5, 4)], [(3, 4, 2)]), {"group_type": 0, "group_list": ENDS, "split_item": 3}),
    Case("npu_grouped_matmul", _lists([(5, 4)], [(4, 2)] * 3),
         {"group_type": 0, "group_list": SIZES, "group_list_type": 1, "split_item": 2}),
    Case("npu_grouped_matmul", _lists([(2, 4), (3, 4)], [(4, 2)] * 2), {"group_type": 0, "split_item": 2}),
    Case("npu_grouped_matmul", _lists([(4, 5)], [(5, 2)]), {"group_type": 2, "group_list": ENDS, "split_item": 3}),
    Case("npu_grouped_matmul", _lists([(4, 5)], [(2, 2), (3, 2)]), {"group_type": 2, "group_list": torch.tensor([2, 5])}),
    Case("npu_grouped_matmul.List", _lists([(5, 4)], [(4, 2), (4, 3)]), {"group_list": [2, 5]}),
    Case("npu_grouped_matmul_add", _then(lambda dtype: [random(3, 4, 2, dtype=torch.promote_types(dtype, torch.float32)),
                                                        random(5, 4, dtype=dtype), random(5, 2, dtype=dtype)], ENDS)),
]

CASES = [
    Case("npu_scaled_masked_softmax_backward", lambda dtype: [random(2, 2, 3, 4, dtype=dtype), random(2, 2, 3, 4, dtype=dtype, seed=1),
                                                              HIDDEN, 0.5, False]),
    Case("npu_rms_norm", _many((2, 3, 8), (8,))),
    Case("npu_rms_norm", _many((4, 3, 2), (3, 2)), {"epsilon": 0.25}),
    Case("npu_rms_norm_backward", lambda dtype: [random(2, 8, dtype=dtype, seed=3), random(2, 8, dtype=dtype), random(8, dtype=dtype),
                                                 random(2, 1, seed=4, dtype=torch.promote_types(dtype, torch.float32)).abs()]),
    Case("npu_add_rms_norm", _many((2, 3, 8), (2, 3, 8), (8,)), rounds_once=False),  # the sum is rounded first
    Case("npu_add_rms_norm_v2_functional", _many((4, 8), (4, 8), (8,)), {"epsilon": 0.5}, rounds_once=False),
    Case("npu_rotary_mul", _many((2, 3, 2, 4), (1, 3, 1, 4), (1, 3, 1, 4))),
    Case("npu_rotary_mul", _many((3, 2, 4), (3, 1, 4), (3, 1, 4)), {"rotary_mode": "interleave"}),
    Case("npu_rotary_mul_backward", _many((2, 3, 2, 4), (2, 3, 2, 4), (1, 3, 1, 4), (1, 3, 1, 4))),
    Case("npu_rotary_mul_backward", _many((3, 2, 4), (3, 2, 4), (3, 1, 4), (3, 1, 4)), {"rotary_mode": "interleave"}),
    Case("npu_swiglu", _many((3, 8))),
    Case("npu_swiglu", _many((2, 6, 3)), {"dim": 1}),
    Case("npu_swiglu_backward", _many((3, 4), (3, 8))),
    Case("npu_gelu", _many((3, 8))),
    Case("npu_gelu", _many((3, 8)), {"approximate": "tanh"}),
    Case("npu_gelu_backward", _many((3, 8), (3, 8))),
    Case("npu_gelu_backward", _many((3, 8), (3, 8)), {"approximate": "tanh"}),
    Case("npu_fast_gelu", _many((3, 8))),
    Case("fast_gelu", _many((3, 8))),
    Case("npu_fast_gelu_backward", _many((3, 8), (3, 8))),
    Case("npu_linear", _many((3, 4), (5, 4), (5,))),
    Case("npu_linear_backward", _many((3, 5), (3, 4), (5, 4))),
    Case("npu_bmmV2", _then(_many((3, 2, 4), (3, 4, 5)), [])),
    Case("npu_bmmV2", _then(_many((2, 1, 3, 4), (3, 4, 2)), [6, 6])),
    Case("npu_bmmV2", _then(_many((4,), (4, 5)), [])),
    Case("npu_bmm_v2_mat1_backward", _then(_many((2, 3, 3, 2), (2, 1, 3, 4), (3, 4, 2)), [2, 1, 3, 4])),
    Case("npu_bmm_v2_mat2_backward", _then(_many((2, 3, 3, 2), (2, 1, 3, 4), (3, 4, 2)), [3, 4, 2])),
    *_GROUPED,
    Case("npu_moe_token_permute", _then(_many((5, 3)), EXPERTS)),
    Case("npu_moe_token_permute", _then(_many((5, 3)), EXPERTS[:, 0], -2)),
    Case("npu_moe_token_permute_grad_v2", lambda dtype: [random(7, 3, dtype=dtype), SORTED, 5, dtype, 2]),
    Case("npu_moe_token_unpermute", lambda dtype: [random(10, 3, dtype=dtype), SORTED, random(5, 2, dtype=dtype)]),
    Case("npu_moe_token_unpermute", lambda dtype: [random(7, 3, dtype=dtype), SORTED]),
    Case("npu_moe_token_unpermute_grad_v2", lambda dtype: [random(5, 3, dtype=dtype), SORTED, 7, dtype, random(5, 2, dtype=dtype), False,
                                                           None, random(7, 3, dtype=dtype, seed=5)]),
    Case("npu_moe_token_permute_with_routing_map", _then(_many((5, 3)), MAP), {"num_out_tokens": 10}),
    Case("npu_moe_token_permute_with_routing_map", _then(_many((5, 3)), MAP), {"num_out_tokens": 8, "drop_and_pad": True}),
    Case("npu_moe_token_permute_with_routing_map_grad", lambda dtype: [random(10, 3, dtype=dtype), random(10, dtype=dtype), SORTED, MAP, 4,
                                                                       5, False]),
    Case("npu_moe_token_permute_with_routing_map_grad", lambda dtype: [random(8, 3, dtype=dtype), random(8, dtype=dtype), PADDED, MAP, 4, 5,
                                                                       True]),
    Case("npu_moe_token_unpermute_with_routing_map", _then(_many((10, 3)), SORTED, [5, 3])),
    Case("npu_moe_token_unpermute_with_routing_map", _then(_many((8, 3)), PADDED, [5, 3]), {"drop_and_pad": True}),
    Case("_npu_moe_token_unpermute_with_routing_map", _then(_many((8, 3)), PADDED, [5, 3]),
         {"drop_and_pad": True, "probs": random(5, 4, seed=7)}),
    Case("_npu_moe_token_unpermute_with_routing_map", _then(_many((10, 3)), SORTED, [5, 3]),
         {"routing_map": MAP, "probs": random(5, 4, seed=7)}),
    Case("npu_moe_token_unpermute_with_routing_map_grad", lambda dtype: [
        random(5, 3, dtype=dtype), SORTED, torch.arange(10) // 2, MAP, random(10, 3, dtype=dtype), random(5, 4, dtype=dtype), False,
        [5, 3]]),
    Case("npu_moe_gating_top_k_softmax", _then(_many((4, 6)), None, 2)),
    Case("npu_moe_gating_top_k_softmax", _then(_many((2, 3, 6)), torch.tensor([[True, False, True], [False] * 3]), 3)),
    Case("npu_moe_gating_top_k_softmax_v2", _many((4, 6)), {"k": 2, "renorm": 1}),
    Case("npu_moe_gating_top_k_softmax_v2", _many((4, 6)), {"k": 2, "output_softmax": True}),
    Case("npu_confusion_transpose", _then(_many((2, 3, 4)), [1, 0, 2], [3, 8], True)),
    Case("npu_confusion_transpose", _then(_many((2, 12)), [2, 0, 1], [2, 3, 4], False)),
    Case("npu_confusion_transpose_backward", _then(_many((3, 8)), [1, 0, 2], [2, 3, 4], False)),
    Case("npu_format_cast", _then(_many((2, 12)), 29)),
]

every_case = pytest.mark.parametrize("case", CASES, ids=[f"{number}-{case}" for number, case in enumerate(CASES)])
_FIRST = {case.name: case for case in reversed(CASES)}
every_function = pytest.mark.parametrize("case", list(_FIRST.values()), ids=list(_FIRST))
