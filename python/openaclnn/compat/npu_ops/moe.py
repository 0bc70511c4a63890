# Mixtures of experts: the permutation of tokens by expert, its inverse, and the gate.
"""The functions of torch_npu with these names. npu_ops.moe_routing_map has the forms with a map of tokens by experts."""
from __future__ import annotations

from collections.abc import Sequence

import torch

from openaclnn.compat.npu_ops.arguments import Argument, only, supported
from openaclnn.compat.npu_ops.numbers import (FLOATS, invalid, require_floats, require_integers, require_shape, short,
                                              wide_dtype)
from openaclnn.compat.npu_ops.registry import npu_function

__all__ = ["npu_moe_token_permute", "npu_moe_token_permute_grad_v2", "npu_moe_token_unpermute",
           "npu_moe_token_unpermute_grad_v2", "npu_moe_gating_top_k_softmax", "npu_moe_gating_top_k_softmax_v2"]

_PADDED = only(False, why="torch_npu documents only False", example=True)
_SHAPE = Argument(()).unused("any", "padded_mode, which reads it, must be False")
_TOKENS = supported(f"{FLOATS}; [T, H]")
_INDICES = supported("int32, int64")
_PROBS = supported("None, or [T, K] of any floating-point dtype")


@npu_function("npu_moe_token_permute(Tensor tokens, Tensor indices, int? num_out_tokens=None, bool padded_mode=False) "
              "-> (Tensor, Tensor)", arguments={
                  "tokens": _TOKENS, "indices": supported("int32, int64; [T] or [T, K]"),
                  "num_out_tokens": supported("None, 0: all; > 0: at most as many; < 0: all but as many"),
                  "padded_mode": _PADDED})
def npu_moe_token_permute(tokens: torch.Tensor, indices: torch.Tensor, num_out_tokens: int | None = None,
                          padded_mode: bool = False) -> tuple[torch.Tensor, torch.Tensor]:
    """Copies each token once for each of its experts, and sorts the copies by expert. Copies of one expert keep their order.

    Parameters
    ----------
    tokens : [T, H].
    indices : the experts of the tokens, [T, K] or [T]; int32 or int64.
    num_out_tokens : the rows to return: None or 0 for all T * K, a positive number for at most as many, a negative one for
        all but as many.

    Returns
    -------
    permuted : the rows, of the dtype of tokens.
    sorted_indices : int32 [T * K]. Entry t * K + k is the row of the k-th copy of token t, also if it is cut off.

    Raises
    ------
    RuntimeError : a shape or dtype is not as above.
    NotImplementedError : padded_mode is True.
    """
    require_floats("npu_moe_token_permute", tokens=tokens)
    require_integers("npu_moe_token_permute", indices=indices)
    if tokens.dim() != 2:
        raise invalid("npu_moe_token_permute", f"The dims of input tokens should be 2 dimensional, but got {tokens.dim()}")
    if indices.dim() not in (1, 2):
        raise invalid("npu_moe_token_permute", f"The dims of input indices should be 2 or 1 dimensional, but got {indices.dim()}")
    if indices.shape[0] != tokens.shape[0]:
        raise invalid("npu_moe_token_permute", f"indices has shape {list(indices.shape)} but tokens has {list(tokens.shape)}; their "
                                               "first dimensions must be equal")
    per_token = indices.shape[1] if indices.dim() == 2 else 1
    order = torch.sort(indices.reshape(-1), stable=True)[1]
    count = _count(num_out_tokens, indices.numel())
    permuted = _rows(tokens, torch.div(order[:count], max(per_token, 1), rounding_mode="floor"))
    return permuted.to(tokens.dtype), torch.argsort(order).to(torch.int32)


@npu_function("npu_moe_token_permute_grad_v2(Tensor grad, Tensor sorted_indices, SymInt tokens_size_0, ScalarType tokens_dtype, "
              "SymInt num_topK, bool padded_mode=False) -> Tensor", arguments={
                  "grad": _TOKENS, "sorted_indices": _INDICES, "tokens_size_0": supported("T"),
                  "tokens_dtype": supported("the dtype of the result"), "num_topK": supported("K"), "padded_mode": _PADDED})
def npu_moe_token_permute_grad_v2(grad: torch.Tensor, sorted_indices: torch.Tensor, tokens_size_0: int,
                                  tokens_dtype: torch.dtype, num_topK: int,  # noqa: N803
                                  padded_mode: bool = False) -> torch.Tensor:
    """Returns the gradient of npu_moe_token_permute for tokens: each token gets the sum over the rows of its copies.

    Parameters
    ----------
    grad : the gradient of the rows. Copies that were cut off count as zero.
    sorted_indices : the second result of the forward call.
    tokens_size_0, tokens_dtype : T and the dtype of tokens.
    num_topK : K.

    Returns
    -------
    [T, H], of dtype tokens_dtype.

    Raises
    ------
    RuntimeError : the shapes do not fit.
    NotImplementedError : padded_mode is True.
    """
    _require_rows("npu_moe_token_permute_grad_v2", "grad", grad, sorted_indices)
    require_shape("npu_moe_token_permute_grad_v2", "sorted_indices", sorted_indices, [tokens_size_0 * num_topK],
                  "tokens_size_0 * num_topK")
    return _copies(grad, sorted_indices, num_topK).sum(1).to(tokens_dtype)


@npu_function("npu_moe_token_unpermute(Tensor permuted_tokens, Tensor sorted_indices, Tensor? probs=None, bool padded_mode=False, "
              "SymInt[]? restore_shape=None) -> Tensor", arguments={
                  "permuted_tokens": _TOKENS, "sorted_indices": supported("int32, int64; [T * K]"), "probs": _PROBS,
                  "padded_mode": _PADDED, "restore_shape": _SHAPE})
def npu_moe_token_unpermute(permuted_tokens: torch.Tensor, sorted_indices: torch.Tensor, probs: torch.Tensor | None = None,
                            padded_mode: bool = False, restore_shape: Sequence[int] | None = None) -> torch.Tensor:
    """Returns, for each token, the sum over its copies, each times its probability.

    Parameters
    ----------
    permuted_tokens : the rows of the copies, [N, H].
    sorted_indices : the second result of npu_moe_token_permute. Rows from N on, which it cut off, count as zero.
    probs : [T, K], or None for K = 1 without a factor. A dtype other than that of the rows is kept in its gradient.
    restore_shape : ignored, because padded_mode is False.

    Returns
    -------
    [T, H], of the dtype of permuted_tokens.

    Raises
    ------
    RuntimeError : a shape or dtype is not as above.
    NotImplementedError : padded_mode is True.
    """
    _require_rows("npu_moe_token_unpermute", "permuted_tokens", permuted_tokens, sorted_indices)
    per_token = _require_probs("npu_moe_token_unpermute", probs, sorted_indices)
    copies = _copies(permuted_tokens, sorted_indices, per_token)
    if probs is not None:
        copies = copies * probs.to(copies.dtype).unsqueeze(-1)
    return copies.sum(1).to(permuted_tokens.dtype)


@npu_function("npu_moe_token_unpermute_grad_v2(Tensor grad_unpermuted_tokens, Tensor sorted_indices, SymInt permuted_tokens_size_0, "
              "ScalarType permuted_tokens_dtype, Tensor? probs=None, bool padded_mode=False, SymInt[]? restore_shape=None, "
              "Tensor? permuted_tokens=None) -> (Tensor, Tensor?)", arguments={
                  "grad_unpermuted_tokens": _TOKENS, "sorted_indices": _INDICES, "permuted_tokens_size_0": supported("N"),
                  "permuted_tokens_dtype": supported("the dtype of the first result"), "probs": _PROBS, "padded_mode": _PADDED,
                  "restore_shape": _SHAPE, "permuted_tokens": supported("[N, H]; None without probs")})
def npu_moe_token_unpermute_grad_v2(
        grad_unpermuted_tokens: torch.Tensor, sorted_indices: torch.Tensor, permuted_tokens_size_0: int,
        permuted_tokens_dtype: torch.dtype, probs: torch.Tensor | None = None, padded_mode: bool = False,
        restore_shape: Sequence[int] | None = None, permuted_tokens: torch.Tensor | None = None,
        ) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Returns the gradients of npu_moe_token_unpermute for permuted_tokens, and for probs or None.

    Parameters
    ----------
    grad_unpermuted_tokens : the gradient of the result, [T, H].
    sorted_indices, probs : as in the forward call.
    permuted_tokens_size_0, permuted_tokens_dtype : N and the dtype of permuted_tokens.
    permuted_tokens : as in the forward call; needed with probs only.
    restore_shape : ignored, because padded_mode is False.

    Returns
    -------
    [N, H] of dtype permuted_tokens_dtype, and [T, K] of the dtype of probs.

    Raises
    ------
    RuntimeError : the shapes do not fit, or probs is given without permuted_tokens.
    NotImplementedError : padded_mode is True.
    """
    function = "npu_moe_token_unpermute_grad_v2"
    grad, size = grad_unpermuted_tokens, permuted_tokens_size_0
    _require_rows(function, "grad_unpermuted_tokens", grad, sorted_indices)
    per_token = _require_probs(function, probs, sorted_indices)
    wide = grad.to(wide_dtype(grad)).unsqueeze(1).expand(-1, per_token, -1)
    weighted = (wide if probs is None else wide * probs.to(wide.dtype).unsqueeze(-1)).reshape(-1, grad.shape[1])
    # Copies that were cut off have rows from N on. They are added to one more row, which is left out.
    of_rows = weighted.new_zeros((size + 1, grad.shape[1])).index_add(0, sorted_indices.long().clamp(max=size), weighted)
    if probs is None:
        return of_rows[:size].to(permuted_tokens_dtype), None
    if permuted_tokens is None:
        raise invalid(function, "permuted_tokens is None; with probs it must be a tensor")
    of_probs = (_copies(permuted_tokens, sorted_indices, per_token).to(wide.dtype) * wide).sum(-1)
    return of_rows[:size].to(permuted_tokens_dtype), of_probs.to(probs.dtype)


def _count(wanted: int | None, whole: int) -> int:
    if wanted is None or wanted == 0:
        return whole
    return min(wanted, whole) if wanted > 0 else max(whole + wanted, 0)


def _rows(tokens: torch.Tensor, indices: torch.Tensor) -> torch.Tensor:
    """Returns rows of a matrix, in the dtype of the computation so that their gradients are added in it."""
    return tokens.to(wide_dtype(tokens)).index_select(0, indices)


def _copies(rows: torch.Tensor, sorted_indices: torch.Tensor, per_token: int) -> torch.Tensor:
    """Returns the rows of the copies of each token, [T, K, H], in the dtype of the computation. Missing rows are zero."""
    indices = sorted_indices.long()
    if rows.shape[0] < indices.shape[0]:
        indices = indices.clamp(max=rows.shape[0])
        rows = torch.cat((rows, rows.new_zeros((1, rows.shape[1]))))
    return _rows(rows, indices).reshape(-1, per_token, rows.shape[1])


def _require_rows(function: str, name: str, rows: torch.Tensor, sorted_indices: torch.Tensor) -> None:
    require_floats(function, **{name: rows})
    require_integers(function, sorted_indices=sorted_indices)
    if rows.dim() != 2:
        raise invalid(function, f"The dims of input {name} should be 2 dimensional, but got {rows.dim()}")
    if sorted_indices.dim() != 1:
        raise invalid(function, f"The dims of input sorted_indices should be 1 dimensional, but got {sorted_indices.dim()}")


def _require_probs(function: str, probs: torch.Tensor | None, sorted_indices: torch.Tensor) -> int:
    """Returns the number of copies of each token."""
    if probs is None:
        return 1
    require_floats(function, probs=probs)
    if probs.dim() != 2:
        raise invalid(function, f"The dims of input probs should be 2 dimensional, but got {probs.dim()}")
    if probs.numel() != sorted_indices.numel():
        raise invalid(function, f"probs has shape {list(probs.shape)} but sorted_indices has {sorted_indices.numel()} elements; "
                                "they must have as many")
    return probs.shape[1]


_GATES = {"x": supported(f"{FLOATS}; 2 or 3 dimensions, the last E"),
          "finished": supported("None, or bool with the dimensions of x before the last"),
          "k": supported("1 to E").but("other numbers", "RuntimeError: there are E experts")}


@npu_function("npu_moe_gating_top_k_softmax(Tensor x, Tensor? finished=None, int k=1) -> (Tensor, Tensor, Tensor)",
              arguments=_GATES)
def npu_moe_gating_top_k_softmax(x: torch.Tensor, finished: torch.Tensor | None = None, k: int = 1,
                                 ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns the k largest probabilities of softmax(x), and their experts. The lower expert comes first among equal ones.

    Parameters
    ----------
    x : the scores of E experts, [rows, E] or [batches, rows, E].
    finished : None, or True for rows that get no expert.
    k : 1 to E.

    Returns
    -------
    y : the probabilities, of the dtype of x. They have a gradient, which torch_npu does not register.
    expert_idx : int32; E in finished rows.
    row_idx : int32; column c of the row r, counted over all batches, is c * (number of rows) + r.

    Raises
    ------
    RuntimeError : a shape, dtype or k is not as above.
    """
    _require_gates("npu_moe_gating_top_k_softmax", x, finished, k)
    y, experts = _largest(torch.softmax(x.to(wide_dtype(x)), -1), k)
    rows = x.numel() // x.shape[-1]
    numbers = torch.arange(rows * k, dtype=torch.int32, device=x.device).reshape(k, rows).t()
    return y.to(x.dtype), _without_finished(experts, finished, x.shape[-1]), numbers.reshape(experts.shape)


@npu_function("npu_moe_gating_top_k_softmax_v2(Tensor x, *, int k=1, Tensor? finished=None, int renorm=0, "
              "bool output_softmax=False) -> (Tensor, Tensor, Tensor)", arguments={
                  **_GATES, "renorm": only(0, 1, why="these are the two orders", example=2, kind=RuntimeError,
                                           note="0: softmax, then the k largest; 1: the k largest, then softmax"),
                  "output_softmax": supported("True, False").unused("any value with renorm 1", "there is no softmax of all experts")})
def npu_moe_gating_top_k_softmax_v2(x: torch.Tensor, *, k: int = 1, finished: torch.Tensor | None = None, renorm: int = 0,
                                    output_softmax: bool = False) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """npu_moe_gating_top_k_softmax with another order, or with all probabilities.

    Parameters
    ----------
    x, finished, k : as in npu_moe_gating_top_k_softmax.
    renorm : 0 for the k largest of softmax(x), 1 for the softmax of the k largest of x.
    output_softmax : whether the third result is softmax(x), with renorm 0.

    Returns
    -------
    (y, expert_idx, softmax) : y and expert_idx as there; softmax is float32 (float64 for float64), or empty.

    Raises
    ------
    RuntimeError : a shape, dtype, k or renorm is not as above.
    """
    _require_gates("npu_moe_gating_top_k_softmax_v2", x, finished, k)
    wide = x.to(wide_dtype(x))
    softmax = torch.softmax(wide, -1) if renorm == 0 else wide
    y, experts = _largest(softmax, k)
    if renorm == 1:
        y = torch.softmax(y, -1)
    shown = softmax if output_softmax and renorm == 0 else wide.new_empty((0,))
    return y.to(x.dtype), _without_finished(experts, finished, x.shape[-1]), shown


def _largest(values: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    ordered, indices = torch.sort(values, dim=-1, descending=True, stable=True)
    return ordered[..., :k], indices[..., :k].to(torch.int32)


def _without_finished(experts: torch.Tensor, finished: torch.Tensor | None, none: int) -> torch.Tensor:
    return experts if finished is None else experts.masked_fill(finished.unsqueeze(-1), none)


def _require_gates(function: str, x: torch.Tensor, finished: torch.Tensor | None, k: int) -> None:
    require_floats(function, x=x)
    if x.dim() not in (2, 3):
        raise invalid(function, f"the x shape support only 2d and 3d, but x has {x.dim()} dimensions")
    if not 1 <= k <= x.shape[-1]:
        raise invalid(function, f"k is {k}; accepted: 1 to {x.shape[-1]}, the number of experts")
    if finished is not None:
        if finished.dtype != torch.bool:
            raise invalid(function, f"finished has dtype {short(finished.dtype)}; accepted: bool")
        require_shape(function, "finished", finished, x.shape[:-1], "that of x without the last dimension")
