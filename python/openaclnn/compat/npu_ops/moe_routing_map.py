# Mixtures of experts with a map of tokens by experts: the permutation of tokens by expert and its inverse.
"""The functions of torch_npu whose names end in with_routing_map. A map is bool or int8, [T, E]; nonzero means that the expert
gets the token.

With drop_and_pad every expert gets C rows: its tokens in their order, then other tokens. Without it the rows are those of the
chosen pairs, sorted by expert and then by token.
"""
from __future__ import annotations

from collections.abc import Sequence

import torch

from openaclnn.compat.npu_ops import private
from openaclnn.compat.npu_ops.arguments import supported
from openaclnn.compat.npu_ops.numbers import (FLOATS, invalid, require_floats, require_integers, require_shape, short,
                                              wide_dtype)
from openaclnn.compat.npu_ops.registry import npu_function

__all__ = ["npu_moe_token_permute_with_routing_map", "npu_moe_token_permute_with_routing_map_grad",
           "npu_moe_token_unpermute_with_routing_map", "_npu_moe_token_unpermute_with_routing_map",
           "npu_moe_token_unpermute_with_routing_map_grad"]

_MAP = supported("bool, int8; [T, E]")
_PROBS = supported("None, or [T, E] of any floating-point dtype")
_SWITCH = supported("True, False")


@npu_function("npu_moe_token_permute_with_routing_map(Tensor tokens, Tensor routing_map, *, Tensor? probs=None, "
              "SymInt? num_out_tokens=None, bool drop_and_pad=False) -> (Tensor, Tensor?, Tensor)", arguments={
                  "tokens": supported(f"{FLOATS}; [T, H]"), "routing_map": _MAP, "probs": _PROBS,
                  "num_out_tokens": supported("None: T; the number of chosen pairs, or fewer").but(
                      "more than the chosen pairs, without drop_and_pad", "RuntimeError: no token belongs into the other rows"),
                  "drop_and_pad": _SWITCH})
def npu_moe_token_permute_with_routing_map(
        tokens: torch.Tensor, routing_map: torch.Tensor, *, probs: torch.Tensor | None = None, num_out_tokens: int | None = None,
        drop_and_pad: bool = False) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor]:
    """Copies each token once for each of its experts, and sorts the copies by expert and then by token.

    Parameters
    ----------
    tokens : [T, H].
    routing_map : [T, E], bool or int8.
    probs : None, or a probability per pair of token and expert, [T, E].
    num_out_tokens : the number of rows N; None: T. With drop_and_pad every expert gets C = N // E rows.
    drop_and_pad : see the module.

    Returns
    -------
    permuted : the rows, [N, H] or [E * C, H], of the dtype of tokens.
    permuted_probs : the probability of each row, or None.
    sorted_indices : int32. With drop_and_pad the token of each row. Otherwise the rows sorted by their token, cut to a multiple
        of T.

    Raises
    ------
    RuntimeError : a shape or dtype is not as above, or N exceeds the number of chosen pairs.
    """
    function = "npu_moe_token_permute_with_routing_map"
    require_floats(function, tokens=tokens)
    if tokens.dim() != 2:
        raise invalid(function, f"The dims of input tokens should be 2 dimensional, but got {tokens.dim()}")
    _require_map(function, routing_map, tokens.shape[0], probs)
    count = tokens.shape[0] if num_out_tokens is None else num_out_tokens
    ids, experts = _pairs(function, routing_map, count, drop_and_pad)
    permuted = tokens.to(wide_dtype(tokens)).index_select(0, ids).to(tokens.dtype)
    chosen = None if probs is None else probs.t().reshape(-1).index_select(0, experts * tokens.shape[0] + ids)
    if drop_and_pad:
        return permuted, chosen, ids.to(torch.int32)
    by_token = torch.sort(ids, stable=True)[1]
    length = count // max(tokens.shape[0], 1) * tokens.shape[0]
    return permuted, chosen, by_token[:length].to(torch.int32)


@npu_function("npu_moe_token_permute_with_routing_map_grad(Tensor permuted_token_out_grad, Tensor? probs_grad, "
              "Tensor sorted_indices, Tensor routing_map, SymInt experts_num, SymInt tokens_num, bool drop_and_pad) "
              "-> (Tensor, Tensor?)", arguments={
                  "permuted_token_out_grad": supported(f"{FLOATS}; [N, H]"), "probs_grad": supported("None, or [N]"),
                  "sorted_indices": supported("the third result of the forward call").unused(
                      "any value without drop_and_pad", "routing_map says the same"),
                  "routing_map": _MAP, "experts_num": supported("E"), "tokens_num": supported("T"), "drop_and_pad": _SWITCH})
def npu_moe_token_permute_with_routing_map_grad(
        permuted_token_out_grad: torch.Tensor, probs_grad: torch.Tensor | None, sorted_indices: torch.Tensor,
        routing_map: torch.Tensor, experts_num: int, tokens_num: int, drop_and_pad: bool,
        ) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Returns the gradients of npu_moe_token_permute_with_routing_map for tokens and probs.

    Parameters
    ----------
    permuted_token_out_grad, probs_grad : the gradients of permuted, [N, H], and of permuted_probs, [N], or None.
    sorted_indices : the third result of the forward call. Only drop_and_pad reads it.
    routing_map, drop_and_pad : as in the forward call.
    experts_num, tokens_num : E and T.

    Returns
    -------
    [T, H] of the dtype of permuted_token_out_grad, and [T, E] of the dtype of probs_grad, or None.

    Raises
    ------
    RuntimeError : a shape or dtype is not as above.
    """
    function = "npu_moe_token_permute_with_routing_map_grad"
    grad = permuted_token_out_grad
    require_floats(function, permuted_token_out_grad=grad)
    require_integers(function, sorted_indices=sorted_indices)
    _require_map(function, routing_map, tokens_num, None)
    require_shape(function, "routing_map", routing_map, [tokens_num, experts_num], "[tokens_num, experts_num]")
    rows = grad.shape[0]
    if drop_and_pad:
        require_shape(function, "sorted_indices", sorted_indices, [rows], "a token per row of permuted_token_out_grad")
        ids, experts = sorted_indices.long(), _expert_of_rows(rows, experts_num, grad.device)
    else:
        ids, experts = _pairs(function, routing_map, rows, False)
    of_tokens = grad.new_zeros((tokens_num, grad.shape[1]), dtype=wide_dtype(grad)).index_add(0, ids, grad.to(wide_dtype(grad)))
    if probs_grad is None:
        return of_tokens.to(grad.dtype), None
    require_floats(function, probs_grad=probs_grad)
    require_shape(function, "probs_grad", probs_grad, [rows], "a number per row of permuted_token_out_grad")
    of_probs = probs_grad.new_zeros(tokens_num * experts_num).index_add(0, ids * experts_num + experts, probs_grad)
    return of_tokens.to(grad.dtype), of_probs.reshape(tokens_num, experts_num)


_UNPERMUTE = ("Tensor permuted_tokens, Tensor sorted_indices, SymInt[] restore_shape, *, Tensor? probs=None, "
              "Tensor? routing_map=None, bool drop_and_pad=False")
_UNPERMUTE_ARGUMENTS = {
    "permuted_tokens": supported(f"{FLOATS}; [N, H]"),
    "sorted_indices": supported("the third result of npu_moe_token_permute_with_routing_map"),
    "restore_shape": supported("[T, H]"), "probs": _PROBS,
    "routing_map": supported("bool, int8; [T, E]; None without probs").unused(
        "any map without probs, or with drop_and_pad", "sorted_indices has the token of each row"),
    "drop_and_pad": _SWITCH}


@npu_function(f"npu_moe_token_unpermute_with_routing_map({_UNPERMUTE}) -> Tensor", arguments=_UNPERMUTE_ARGUMENTS)
def npu_moe_token_unpermute_with_routing_map(
        permuted_tokens: torch.Tensor, sorted_indices: torch.Tensor, restore_shape: Sequence[int], *,
        probs: torch.Tensor | None = None, routing_map: torch.Tensor | None = None, drop_and_pad: bool = False) -> torch.Tensor:
    """Returns, for each token, the sum over its rows, each times its probability.

    Parameters
    ----------
    permuted_tokens : the rows, [N, H].
    sorted_indices : the third result of npu_moe_token_permute_with_routing_map.
    restore_shape : [T, H], the shape of the result.
    probs : None, or a probability per pair of token and expert, [T, E].
    routing_map : [T, E], bool or int8. Needed with probs and without drop_and_pad. Every token then has as many experts as
        sorted_indices has entries for it.
    drop_and_pad : see the module.

    Returns
    -------
    [T, H], of the dtype of permuted_tokens.

    Raises
    ------
    RuntimeError : a shape or dtype is not as above, or routing_map is missing.
    """
    return _unpermuted("npu_moe_token_unpermute_with_routing_map", permuted_tokens, sorted_indices, restore_shape, probs,
                       routing_map, drop_and_pad)[0]


@npu_function(f"_npu_moe_token_unpermute_with_routing_map({_UNPERMUTE}) -> (Tensor, Tensor, Tensor, Tensor?)",
              arguments=_UNPERMUTE_ARGUMENTS)
def _npu_moe_token_unpermute_with_routing_map(
        permuted_tokens: torch.Tensor, sorted_indices: torch.Tensor, restore_shape: Sequence[int], *,
        probs: torch.Tensor | None = None, routing_map: torch.Tensor | None = None, drop_and_pad: bool = False,
        ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """npu_moe_token_unpermute_with_routing_map with what its gradient needs.

    Returns
    -------
    (out, out_index, permuted_token_id, permuted_probs) : the result, and for each summand, sorted by token, its row, its token
    and its probability, or None. torch_npu documents the order with drop_and_pad only; without it, it is the same here.
    """
    return _unpermuted("_npu_moe_token_unpermute_with_routing_map", permuted_tokens, sorted_indices, restore_shape, probs,
                       routing_map, drop_and_pad)


@npu_function("npu_moe_token_unpermute_with_routing_map_grad(Tensor unpermuted_tokens_grad, Tensor out_index, "
              "Tensor permuted_token_id, Tensor? routing_map, Tensor? permuted_tokens, Tensor? probs, bool drop_and_pad, "
              "SymInt[] restore_shape) -> (Tensor, Tensor?)", arguments={
                  "unpermuted_tokens_grad": supported(f"{FLOATS}; [T, H]"),
                  "out_index": supported("the second result of _npu_moe_token_unpermute_with_routing_map"),
                  "permuted_token_id": supported("its third result"), "permuted_tokens": supported("[N, H]; None without probs"),
                  **{key: _UNPERMUTE_ARGUMENTS[key] for key in ("routing_map", "probs", "drop_and_pad", "restore_shape")}})
def npu_moe_token_unpermute_with_routing_map_grad(
        unpermuted_tokens_grad: torch.Tensor, out_index: torch.Tensor, permuted_token_id: torch.Tensor,
        routing_map: torch.Tensor | None, permuted_tokens: torch.Tensor | None, probs: torch.Tensor | None, drop_and_pad: bool,
        restore_shape: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Returns the gradients of npu_moe_token_unpermute_with_routing_map for permuted_tokens, and for probs or None.

    Parameters
    ----------
    unpermuted_tokens_grad : the gradient of the result, [T, H].
    out_index, permuted_token_id : results of _npu_moe_token_unpermute_with_routing_map.
    routing_map, probs, drop_and_pad, restore_shape : as in the forward call.
    permuted_tokens : as in the forward call; needed with probs only.

    Returns
    -------
    The gradients, of the dtypes of unpermuted_tokens_grad and probs. The first has N rows; without permuted_tokens, a row per
    element of out_index.

    Raises
    ------
    RuntimeError : the shapes do not fit, or an argument is missing.
    """
    function, grad = "npu_moe_token_unpermute_with_routing_map_grad", unpermuted_tokens_grad
    require_floats(function, unpermuted_tokens_grad=grad)
    require_integers(function, out_index=out_index, permuted_token_id=permuted_token_id)
    require_shape(function, "unpermuted_tokens_grad", grad, list(restore_shape), "restore_shape")
    require_shape(function, "permuted_token_id", permuted_token_id, out_index.shape, "that of out_index")
    rows, ids = out_index.long(), permuted_token_id.long()
    wide = grad.to(wide_dtype(grad)).index_select(0, ids)
    of_rows = wide.new_zeros((rows.shape[0] if permuted_tokens is None else permuted_tokens.shape[0], wide.shape[1]))
    if probs is None:
        return of_rows.index_copy(0, rows, wide).to(grad.dtype), None
    if permuted_tokens is None:
        raise invalid(function, "permuted_tokens is None; with probs it must be a tensor")
    places = _places(function, rows, ids, restore_shape, probs, routing_map, drop_and_pad)
    factors = probs.reshape(-1).index_select(0, places).to(wide.dtype)
    of_factors = (permuted_tokens.to(wide.dtype).index_select(0, rows) * wide).sum(1)
    of_probs = wide.new_zeros(probs.numel()).index_copy(0, places, of_factors).reshape(probs.shape)
    return of_rows.index_copy(0, rows, wide * factors.unsqueeze(1)).to(grad.dtype), of_probs.to(probs.dtype)


def _unpermuted(function: str, permuted: torch.Tensor, sorted_indices: torch.Tensor, restore_shape: Sequence[int],
                probs: torch.Tensor | None, routing_map: torch.Tensor | None, drop_and_pad: bool,
                ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """Returns the result, and for each summand, sorted by token, its row, its token and its probability."""
    _require_rows(function, permuted, sorted_indices, restore_shape, drop_and_pad)
    tokens, indices = restore_shape[0], sorted_indices.long()
    if drop_and_pad:
        ids, rows = torch.sort(indices, stable=True)
    else:
        rows, ids = indices, torch.arange(tokens, device=indices.device).repeat_interleave(indices.shape[0] // max(tokens, 1))
    factors = None
    if probs is not None:
        places = _places(function, rows, ids, restore_shape, probs, routing_map, drop_and_pad)
        factors = probs.reshape(-1).index_select(0, places)
    dtype = torch.float64 if drop_and_pad else wide_dtype(permuted)
    summands = permuted.to(dtype).index_select(0, rows)
    if factors is not None:
        summands = summands * factors.to(dtype).unsqueeze(1)
    result = summands.new_zeros(list(restore_shape)).index_add(0, ids, summands)
    return result.to(permuted.dtype), rows.to(torch.int32), ids.to(torch.int32), factors


def _places(function: str, rows: torch.Tensor, ids: torch.Tensor, restore_shape: Sequence[int], probs: torch.Tensor,
            routing_map: torch.Tensor | None, drop_and_pad: bool) -> torch.Tensor:
    """Returns the flat position in probs of each summand."""
    require_floats(function, probs=probs)
    tokens, count = restore_shape[0], rows.shape[0]
    if probs.dim() != 2 or probs.shape[0] != tokens or probs.shape[1] == 0:
        raise invalid(function, f"probs has shape {list(probs.shape)}; it must be [{tokens}, E]")
    if drop_and_pad:
        return ids * probs.shape[1] + torch.div(rows, max(count // probs.shape[1], 1), rounding_mode="floor")
    if routing_map is None:
        raise invalid(function, "routing_map is None; with probs and without drop_and_pad it must be a tensor")
    _require_map(function, routing_map, tokens, probs)
    places: torch.Tensor = private.routed_order(function, routing_map, count, count // max(tokens, 1))
    return places


def _expert_of_rows(rows: int, experts: int, device: torch.device) -> torch.Tensor:
    """Returns the expert of each row with drop_and_pad."""
    return torch.div(torch.arange(rows, device=device), max(rows // experts, 1), rounding_mode="floor")


def _pairs(function: str, routing_map: torch.Tensor, count: int, padded: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the token and the expert of each row."""
    tokens, experts = routing_map.shape
    if not padded:
        places = private.routed_order(function, routing_map.t(), count, -1)
        return torch.remainder(places, max(tokens, 1)), torch.div(places, max(tokens, 1), rounding_mode="floor")
    capacity = count // experts
    if capacity > tokens:
        raise invalid(function, f"num_out_tokens is {count}, {capacity} rows per expert; with drop_and_pad it must be at most "
                                f"{tokens * experts}")
    first = torch.sort((routing_map.t() != 0).to(torch.int8), dim=1, descending=True, stable=True)[1]
    ids = first[:, :capacity].reshape(-1)
    return ids, _expert_of_rows(capacity * experts, experts, ids.device)


def _require_map(function: str, routing_map: torch.Tensor, tokens: int, probs: torch.Tensor | None) -> None:
    if routing_map.dtype not in (torch.bool, torch.int8):
        raise invalid(function, f"routing_map has dtype {short(routing_map.dtype)}; accepted: bool, int8")
    if routing_map.dim() != 2 or routing_map.shape[0] != tokens or routing_map.shape[1] == 0:
        raise invalid(function, f"routing_map has shape {list(routing_map.shape)}; it must be [{tokens}, E]")
    if probs is not None:
        require_floats(function, probs=probs)
        require_shape(function, "probs", probs, routing_map.shape, "that of routing_map")


def _require_rows(function: str, rows: torch.Tensor, sorted_indices: torch.Tensor, restore_shape: Sequence[int],
                  drop_and_pad: bool) -> None:
    require_floats(function, permuted_tokens=rows)
    require_integers(function, sorted_indices=sorted_indices)
    if rows.dim() != 2:
        raise invalid(function, f"The dims of input permuted_tokens should be 2 dimensional, but got {rows.dim()}")
    if len(restore_shape) != 2 or restore_shape[1] != rows.shape[1]:
        raise invalid(function, f"restore_shape is {list(restore_shape)}; it must be [T, {rows.shape[1]}]")
    if drop_and_pad:
        require_shape(function, "sorted_indices", sorted_indices, [rows.shape[0]], "a token per row of permuted_tokens")
    elif sorted_indices.dim() != 1 or sorted_indices.shape[0] % max(restore_shape[0], 1) != 0:
        raise invalid(function, f"sorted_indices has shape {list(sorted_indices.shape)}; it must have one dimension, with a multiple "
                                f"of {restore_shape[0]} elements")
