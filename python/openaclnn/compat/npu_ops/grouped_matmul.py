# Products of groups of rows or columns with a matrix each: npu_grouped_matmul and npu_grouped_matmul_add.
"""The functions of torch_npu with these names, without their quantised forms. Products are float32 and rounded once."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from openaclnn.compat.npu_ops import private
from openaclnn.compat.npu_ops.arguments import ignored, only, supported
from openaclnn.compat.npu_ops.numbers import FLOATS, invalid, product, require_bias, require_same_dtype, short, wide_dtype
from openaclnn.compat.npu_ops.registry import npu_function

__all__ = ["npu_grouped_matmul", "npu_grouped_matmul_add", "npu_grouped_matmul_add_"]

_QUANTISED = only(None, why="quantised products are not computed", example=[torch.zeros(1)], others="lists of tensors")
_ITS_DTYPE = only(None, why="it belongs to quantised products", example=torch.int8, others="dtypes")
_ENDS = supported("int64 [G], see group_list_type")
_LIST_TYPE = only(0, 1, why="pairs of group and size belong to int8", example=2, note="0: the ends of the groups; 1: their sizes")
_FUNCTION = "npu_grouped_matmul"
_ARGUMENTS = {
    "x": supported(f"lists of tensors of one dtype: {FLOATS}"), "weight": supported("lists of tensors; dtype of x"),
    "bias": supported("None, or [N] per group; one [G, N] with one 3-D weight", "it has a gradient").but(
        "tensors with group_type 2", "RuntimeError: a bias belongs to rows"),
    **dict.fromkeys(("scale", "offset", "antiquant_scale", "antiquant_offset", "per_token_scale", "activation_input",
                     "activation_quant_scale", "activation_quant_offset"), _QUANTISED),
    "group_list": supported("None; int64 [G], see group_list_type; a list of ints: the ends, with group_type None"),
    "split_item": supported("0, 1: a tensor per group; 2, 3: one tensor").but(
        "0, 1 with group_type 0", "RuntimeError: the sizes of the results would depend on numbers in group_list"),
    "group_type": supported("-1: no groups; 0: groups of rows; 2: groups of columns of x; None with a list of ints").but(
        "other values", "RuntimeError: torch_npu has no such groups"),
    "group_list_type": only(None, 0, 1, why="pairs of group and size belong to int8", example=2,
                            note="None, 0: the ends of the groups; 1: their sizes"),
    "act_type": only(None, 0, why="activations belong to quantised products", example=1),
    "tuning_config": ignored("lists of ints or None", "it tunes an NPU's tiles"),
    "output_dtype": only(None, torch.float32, torch.float16, torch.bfloat16, torch.float64, example=torch.int8,
                         why="results are floating-point numbers", note="None: the dtype of x"),
    **dict.fromkeys(("x_dtype", "weight_dtype", "scale_dtype", "per_token_scale_dtype"), _ITS_DTYPE)}


def _schema(name: str, group_list: str) -> str:
    lists = "".join(f"Tensor[]? {key}=None, " for key in
                    ("bias", "scale", "offset", "antiquant_scale", "antiquant_offset", "per_token_scale"))
    quantised = "".join(f"Tensor[]? {key}=None, " for key in
                        ("activation_input", "activation_quant_scale", "activation_quant_offset"))
    dtypes = ", ".join(f"ScalarType? {key}=None" for key in
                       ("output_dtype", "x_dtype", "weight_dtype", "scale_dtype", "per_token_scale_dtype"))
    return (f"{name}(Tensor[] x, Tensor[] weight, *, {lists}{group_list} group_list=None, {quantised}int? split_item=0, "
            f"int? group_type=None, int? group_list_type=0, int? act_type=0, int[]? tuning_config=None, {dtypes}) -> Tensor[]")


@npu_function(_schema("npu_grouped_matmul", "Tensor?"), arguments=_ARGUMENTS)
def npu_grouped_matmul(
        x: Sequence[torch.Tensor], weight: Sequence[torch.Tensor], *, bias: Sequence[torch.Tensor] | None = None,
        scale: None = None, offset: None = None, antiquant_scale: None = None, antiquant_offset: None = None,
        per_token_scale: None = None, group_list: torch.Tensor | Sequence[int] | None = None, activation_input: None = None,
        activation_quant_scale: None = None, activation_quant_offset: None = None, split_item: int | None = 0,
        group_type: int | None = None, group_list_type: int | None = 0, act_type: int | None = 0,
        tuning_config: Sequence[int] | None = None, output_dtype: torch.dtype | None = None, x_dtype: None = None,
        weight_dtype: None = None, scale_dtype: None = None, per_token_scale_dtype: None = None) -> list[torch.Tensor]:
    """Returns products of x and weight by groups. torch_npu has no gradient of it; here x, weight and bias have gradients.

    The groups depend on group_type:

    - -1: as many tensors in x, of 2 to 6 dimensions, as in weight, [K, N]; group_list is None. Returns x[i] @ weight[i].

    - 0: the rows of one x [M, K] are grouped; weight is one [G, K, N] or G tensors [K, N]. Instead of one x, a list of G
      tensors is joined; group_list may then be None. Returns one tensor [M, N].

    - 2: the columns of one x [M, K] and the rows of one weight [K, N], or of G tensors that are joined, are grouped. Returns
      one tensor [G, M, N], or with split_item 0 or 1 its G matrices.

    - None: group_list is a list of ints, the ends of the groups of rows of one x; weight is G tensors [K, N]. Returns G tensors,
      or with split_item 2 or 3 one tensor.

    Parameters
    ----------
    x, weight : lists of tensors of one dtype, as above. Any of them may have strides of its own.
    bias : None, or [N] for each group, of the dtype of x or float32; with one weight [G, K, N] also one [G, N].
    group_list : int64 [G], with group_list_type 0 (or None) the ends of the groups, with 1 their sizes. A group may be empty.
        The groups cover all rows or columns.
    split_item : 0 or 1 for a tensor per group, 2 or 3 for one tensor. With group_type -1 it must be 0 or 1.
    tuning_config : ignored.
    output_dtype : the dtype of the results; None: that of x.

    Returns
    -------
    A list of tensors.

    Raises
    ------
    RuntimeError : a shape, dtype, group_list or group_type is not as above.
    NotImplementedError : an argument of quantised products, or act_type, is given.
    """
    x, weight, biases = list(x), list(weight), list(bias or [])
    if not x or not weight:
        raise invalid(_FUNCTION, f"{'weight' if x else 'x'} is an empty list; it must have a tensor")
    require_same_dtype(_FUNCTION, **{f"x[{i}]": one for i, one in enumerate(x)},
                       **{f"weight[{i}]": one for i, one in enumerate(weight)})
    for i, one in enumerate(biases):
        require_bias(_FUNCTION, f"bias[{i}]", one, x[0].dtype)
    if split_item not in (None, 0, 1, 2, 3):
        raise invalid(_FUNCTION, f"split_item is {split_item}; accepted: 0, 1, 2, 3")
    joined, dtype = split_item in (2, 3), wide_dtype(*x)
    narrow, wide = output_dtype or x[0].dtype, (_cast(x, dtype), _cast(weight, dtype), _cast(biases, dtype))
    if group_list is not None and not isinstance(group_list, torch.Tensor):
        if group_type is not None:
            raise invalid(_FUNCTION, f"group_list is a list of ints and group_type is {group_type}; it must be None, or "
                                     "group_list a tensor")
        results = _listed(*wide, group_list, joined)
    elif group_type is None:
        raise invalid(_FUNCTION, "Requires manual passing group_type, unless group_list is a list of ints; accepted: -1, 0, 2")
    elif group_type == -1:
        results = _separate(*wide, group_list, joined)
    elif group_type == 0:
        results = _by_rows(*wide, group_list, group_list_type or 0, joined)
    elif group_type == 2:
        results = _by_columns(*wide, group_list, group_list_type or 0, joined)
    else:
        raise invalid(_FUNCTION, f"The group type must be -1, 0 or 2, but it is {group_type}")
    return [result.to(narrow) for result in results]


npu_function(_schema("npu_grouped_matmul.List", "SymInt[]?"), arguments=_ARGUMENTS)(npu_grouped_matmul)


_SUM = {
    "input": supported("float32 (float64 with float64); G * M * N elements"), "x": supported(f"{FLOATS}; [K, M]"),
    "weight": supported("dtype of x; [K, N]"), "group_list": _ENDS,
    "transpose_x": only(True, why="the groups are rows of x and weight", example=False),
    "transpose_weight": only(False, why="the groups are rows of x and weight", example=True),
    "group_type": only(2, why="torch_npu adds only groups along K", example=0, kind=RuntimeError), "group_list_type": _LIST_TYPE}
_SUM_SCHEMA = ("Tensor x, Tensor weight, Tensor group_list, *, bool transpose_x=True, bool transpose_weight=False, "
               "int group_type=2, int group_list_type=0")


@npu_function(f"npu_grouped_matmul_add(Tensor self, {_SUM_SCHEMA}) -> Tensor", arguments=_SUM)
def npu_grouped_matmul_add(input: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, group_list: torch.Tensor, *,
                           transpose_x: bool = True, transpose_weight: bool = False, group_type: int = 2,
                           group_list_type: int = 0) -> torch.Tensor:
    """Returns input plus the products x_g.T @ weight_g of all groups g, one after the other, in the shape of input.

    Parameters
    ----------
    input : float32 (float64 if x is), of G * M * N elements.
    x, weight : [K, M] and [K, N], of one dtype. A group is a range of their rows.
    group_list : int64 [G], with group_list_type 0 the ends of the groups, with 1 their sizes. They cover all rows.

    Returns
    -------
    The sum, of the dtype of input. Products are not rounded to the dtype of x.

    Raises
    ------
    RuntimeError : a shape, dtype, group_list or group_type is not as above.
    NotImplementedError : transpose_x is False, or transpose_weight is True.
    """
    function = "npu_grouped_matmul_add"
    require_same_dtype(function, x=x, weight=weight)
    if input.dtype != wide_dtype(x):
        raise invalid(function, f"input has dtype {short(input.dtype)}; accepted: {short(wide_dtype(x))}")
    if x.dim() != 2 or weight.dim() != 2 or x.shape[0] != weight.shape[0]:
        raise invalid(function, f"x has shape {list(x.shape)} and weight {list(weight.shape)}; they must be [K, M] and [K, N]")
    ends = _ends(group_list, group_list_type, x.shape[0], None, None, function)
    products = private.grouped_columns(x.to(input.dtype).t(), weight.to(input.dtype), ends)
    if products.numel() != input.numel():
        raise invalid(function, f"input has shape {list(input.shape)}; it must have {products.numel()} elements, those of "
                                f"{list(products.shape)}")
    total: torch.Tensor = input + products.reshape(input.shape)
    return total


@npu_function(f"npu_grouped_matmul_add_(Tensor(a!) self, {_SUM_SCHEMA}) -> Tensor(a!)", arguments=_SUM)
def npu_grouped_matmul_add_(input: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, group_list: torch.Tensor, *,
                            transpose_x: bool = True, transpose_weight: bool = False, group_type: int = 2,
                            group_list_type: int = 0) -> torch.Tensor:
    """npu_grouped_matmul_add in place: adds to input and returns it."""
    return input.copy_(npu_grouped_matmul_add(input, x, weight, group_list, transpose_x=transpose_x, group_type=group_type,
                                              transpose_weight=transpose_weight, group_list_type=group_list_type))


def _separate(x: list[torch.Tensor], weight: list[torch.Tensor], biases: list[torch.Tensor], group_list: Any,
              joined: bool) -> list[torch.Tensor]:
    if group_list is not None or joined:
        raise invalid(_FUNCTION, "group_type is -1, so there are no groups; group_list must be None and split_item 0 or 1")
    if len(x) != len(weight) or len(biases) not in (0, len(x)):
        raise invalid(_FUNCTION, f"x, weight and bias have {len(x)}, {len(weight)} and {len(biases)} tensors; they must have as "
                                 "many with group_type -1")
    return _products(x, weight, biases)


def _listed(x: list[torch.Tensor], weight: list[torch.Tensor], biases: list[torch.Tensor], ends: Sequence[int],
            joined: bool) -> list[torch.Tensor]:
    if len(x) != 1 or x[0].dim() != 2 or len(weight) != len(ends) or len(biases) not in (0, len(ends)):
        raise invalid(_FUNCTION, f"group_list has {len(ends)} ints, x {len(x)}, weight {len(weight)} and bias {len(biases)} "
                                 "tensors; accepted: one matrix in x, and a tensor per group in weight and bias")
    starts = [0, *ends[:-1]]
    if any(start > end for start, end in zip(starts, ends)) or ends[-1] != x[0].shape[0]:
        raise invalid(_FUNCTION, f"group_list is {list(ends)}; the ends of the groups must not decrease, and the last must be "
                                 f"{x[0].shape[0]}, the rows of x")
    rows = [x[0][start:end] for start, end in zip(starts, ends)]
    results = _products(rows, weight, biases)
    if joined and len({one.shape[1] for one in weight}) > 1:
        raise invalid(_FUNCTION, "the weights have different numbers of columns; split_item must be 0 or 1")
    return [torch.cat(results)] if joined else results


def _by_rows(x: list[torch.Tensor], weight: list[torch.Tensor], biases: list[torch.Tensor], group_list: torch.Tensor | None,
             kind: int, joined: bool) -> list[torch.Tensor]:
    if not joined:
        raise invalid(_FUNCTION, "split_item is 0 or 1; with group_type 0 it must be 2 or 3")
    matrices = weight[0] if len(weight) == 1 and weight[0].dim() == 3 else _stacked(weight)
    groups, depth, width = matrices.shape
    if any(one.dim() != 2 or one.shape[1] != depth for one in x) or len(x) not in (1, groups):
        raise invalid(_FUNCTION, f"x has the shapes {[list(one.shape) for one in x]}; with group_type 0 and {groups} matrices of "
                                 f"{depth} rows it must be one [M, {depth}], or {groups} of them")
    sizes = None if len(x) == 1 else [one.shape[0] for one in x]
    rows = x[0] if sizes is None else torch.cat(x)
    if group_list is None and sizes is not None:
        group_list, kind = torch.tensor(sizes, dtype=torch.int64, device=rows.device), 1
    ends = _ends(group_list, kind, rows.shape[0], groups, sizes)
    result = private.grouped_rows(rows, matrices, ends)
    if biases:
        table = biases[0] if len(biases) == 1 and biases[0].dim() == 2 else torch.stack(_same_length(biases))
        if list(table.shape) != [groups, width]:
            raise invalid(_FUNCTION, f"bias has the shape {list(table.shape)}; it must be {[groups, width]}")
        group_of_row = torch.searchsorted(ends, torch.arange(rows.shape[0], device=ends.device), right=True)
        result = result + table.index_select(0, group_of_row)
    return [result]


def _by_columns(x: list[torch.Tensor], weight: list[torch.Tensor], biases: list[torch.Tensor], group_list: torch.Tensor | None,
                kind: int, joined: bool) -> list[torch.Tensor]:
    if biases:
        raise invalid(_FUNCTION, "bias is given; with group_type 2 it must be None")
    if any(one.dim() != 2 or one.shape[1] != weight[0].shape[1] for one in weight):
        raise invalid(_FUNCTION, f"weight has the shapes {[list(one.shape) for one in weight]}; with group_type 2 it must have "
                                 "matrices with as many columns")
    columns = weight[0] if len(weight) == 1 else torch.cat(weight)
    if len(x) != 1 or x[0].dim() != 2 or x[0].shape[1] != columns.shape[0]:
        raise invalid(_FUNCTION, f"x has the shapes {[list(one.shape) for one in x]}; with group_type 2 and weights of "
                                 f"{columns.shape[0]} rows it must be one [M, {columns.shape[0]}]")
    sizes = None if len(weight) == 1 else [one.shape[0] for one in weight]
    ends = _ends(group_list, kind, columns.shape[0], None if sizes is None else len(sizes), sizes)
    result = private.grouped_columns(x[0], columns, ends)
    return [result] if joined else list(result.unbind(0))


def _products(x: list[torch.Tensor], weight: list[torch.Tensor], biases: list[torch.Tensor]) -> list[torch.Tensor]:
    each: list[torch.Tensor | None] = [*biases] or [None] * len(x)
    return [_product(f"[{i}]", *one) for i, one in enumerate(zip(x, weight, each))]


def _product(place: str, x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
    """Returns x @ weight + bias for the tensors at one place of the lists."""
    if not 2 <= x.dim() <= 6 or weight.dim() != 2 or x.shape[-1] != weight.shape[0]:
        raise invalid(_FUNCTION, f"x{place} has shape {list(x.shape)} and weight{place} {list(weight.shape)}; they must be "
                                 "[…, K] of 2 to 6 dimensions, and [K, N]")
    if bias is None:
        return product(x, weight)
    if list(bias.shape) != [weight.shape[1]]:
        raise invalid(_FUNCTION, f"bias{place} has shape {list(bias.shape)}; it must be {[weight.shape[1]]}")
    return product(x, weight) + bias


def _cast(tensors: Sequence[torch.Tensor], dtype: torch.dtype) -> list[torch.Tensor]:
    return [one.to(dtype) for one in tensors]


def _stacked(weight: list[torch.Tensor]) -> torch.Tensor:
    if any(one.dim() != 2 or one.shape != weight[0].shape for one in weight):
        raise invalid(_FUNCTION, f"weight has the shapes {[list(one.shape) for one in weight]}; with group_type 0 it must be one "
                                 "[G, K, N], or matrices of one shape")
    return torch.stack(weight)


def _same_length(biases: list[torch.Tensor]) -> list[torch.Tensor]:
    if any(one.dim() != 1 or one.shape != biases[0].shape for one in biases):
        raise invalid(_FUNCTION, f"bias has the shapes {[list(one.shape) for one in biases]}; it must have one of [N] per group")
    return biases


def _ends(group_list: torch.Tensor | None, kind: int, total: int, groups: int | None, sizes: list[int] | None,
          function: str = _FUNCTION) -> torch.Tensor:
    """Returns the ends of the groups after checks. groups, sizes: known from the shapes of other tensors, or None."""
    if group_list is None:
        raise invalid(function, "group_list is None; it must have an int64 number per group")
    if group_list.dtype != torch.int64 or group_list.dim() != 1:
        raise invalid(function, f"group_list has dtype {short(group_list.dtype)} and {group_list.dim()} dimensions; accepted: "
                                "int64, 1")
    if groups is not None and group_list.shape[0] != groups:
        raise invalid(function, f"group_list has {group_list.shape[0]} groups; it must have {groups}, as the other tensors")
    ends: torch.Tensor = private.group_ends(function, group_list, kind, total, sizes)
    return ends
