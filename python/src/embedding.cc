// embedding, embedding_dense_backward and embedding_counts: rows of a table, or of the part of a table that one process holds.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "aclnnop/aclnn_embedding.h"
#include "aclnnop/aclnn_embedding_dense_backward.h"
#include "array_sources.h"
#include "base/tensor_view.h"
#include "call.h"
#include "operators.h"
#include "scalars.h"

namespace openaclnn::python {

namespace {

using Bound = std::optional<int64_t>;

// The rows [start, end) of a table of `size` rows. If none of them is given: the whole table.
struct Part {
  Bound start, end, size;

  Part(nb::handle vocab_start, nb::handle vocab_end, nb::handle vocab_size)
      : start(to_optional_integer(vocab_start, "vocab_start")),
        end(to_optional_integer(vocab_end, "vocab_end")),
        size(to_optional_integer(vocab_size, "vocab_size")) {}
};

bool has_integers(const Array& array) { return array.dtype == ACL_INT32 || array.dtype == ACL_INT64; }

void require_aligned(const Array& array, const char* name) {
  const size_t size = aclDataTypeSize(array.dtype);
  if (array.is_empty() || reinterpret_cast<uintptr_t>(array.data) % size == 0) return;
  throw nb::value_error((std::string(name) + " has a data address that is not a multiple of " +
                         std::to_string(size) + " bytes, the size of its elements; pass a copy")
                            .c_str());
}

// Calls visit(position, value) for every integer of an array in row-major order. Requires integers at aligned
// addresses.
template <class Visit>
void for_each_integer(const Array& array, Visit&& visit) {
  const int64_t count = array.numel({"indices"});
  std::array<int64_t, kMostDims> at = {};
  int64_t offset = 0;
  for (int64_t n = 0; n < count; ++n) {
    visit(n, array.dtype == ACL_INT64 ? static_cast<const int64_t*>(array.data)[offset]
                                      : static_cast<const int32_t*>(array.data)[offset]);
    for (int k = array.rank - 1; k >= 0; --k) {
      if (++at[k] < array.dims[k]) {
        offset += array.strides[k];
        break;
      }
      // A dim of one element may have any stride, so steps that are not taken must not be added.
      offset -= array.strides[k] * (array.dims[k] - 1);
      at[k] = 0;
    }
  }
}

// Indices relative to the rows [start, end) of a table. Rows of other processes become -1, which the
// operators skip and report as a fault. These faults are therefore ignored, and this pass finds indices
// outside the whole table.
struct LocalIndices {
  std::shared_ptr<std::vector<int64_t>> values = std::make_shared<std::vector<int64_t>>();
  Array array;

  LocalIndices(const Array& indices, const Caller& caller, int64_t start, int64_t end, Bound vocab_size) {
    if (start < 0 || end < start || (vocab_size && *vocab_size < end)) {
      throw nb::value_error(("vocab_start is " + std::to_string(start) + ", vocab_end " +
                             std::to_string(end) +
                             (vocab_size ? ", vocab_size " + std::to_string(*vocab_size) : std::string()) +
                             "; they must be 0 <= vocab_start <= vocab_end <= vocab_size")
                                .c_str());
    }
    if (!has_integers(indices)) throw nb::type_error("with vocab_start, indices must be int32 or int64");
    require_aligned(indices, "indices");
    int64_t wrong_position = -1, wrong_value = 0;
    values->resize(static_cast<size_t>(indices.numel({"indices"})));
    {
      const nb::gil_scoped_release unlocked;
      for_each_integer(indices, [&](int64_t n, int64_t index) {
        (*values)[static_cast<size_t>(n)] = index >= start && index < end ? index - start : -1;
        if ((index < 0 || (vocab_size && index >= *vocab_size)) && wrong_position < 0) {
          wrong_position = n;
          wrong_value = index;
        }
      });
    }
    if (wrong_position >= 0) {
      const std::string limit = vocab_size ? "[0, " + std::to_string(*vocab_size) + ")" : "the table";
      throw Failure(ACL_ERROR_RT_VECTOR_CORE_EXCEPTION,
                    "indices[" + std::to_string(wrong_position) + "] = " + std::to_string(wrong_value) +
                        " is outside " + limit + " [507035 ACL_ERROR_RT_VECTOR_CORE_EXCEPTION]",
                    caller);
    }
    array = indices;
    array.data = values->data();
    array.dtype = ACL_INT64;
    set_contiguous(array, {"indices"});
  }
};

std::optional<LocalIndices> localise(Place& place, const Array& indices, const Part& part) {
  if (!part.start && !part.end) {
    if (part.size) throw nb::value_error("vocab_size requires vocab_start and vocab_end");
    return std::nullopt;
  }
  if (!part.start || !part.end)
    throw nb::value_error(
        "vocab_start requires vocab_end, and vocab_end requires vocab_start; pass both or neither");
  Place::require_host("a part of the table, given by vocab_start and vocab_end,");
  std::optional<LocalIndices> local(std::in_place, indices, place.caller(), *part.start, *part.end,
                                    part.size);
  place.use(local->values);
  return local;
}

constexpr int kSkippedAreExpected = ACL_ERROR_RT_VECTOR_CORE_EXCEPTION;

void require_rows(const char* name, const Part& part, int64_t rows) {
  if (!part.start || *part.end - *part.start == rows) return;
  throw nb::value_error((std::string(name) + " has " + std::to_string(rows) +
                         " rows but vocab_end - vocab_start is " + std::to_string(*part.end - *part.start) +
                         "; they must be equal")
                            .c_str());
}

int64_t row_count(nb::handle num_weights) {
  const int64_t rows = to_integer(num_weights, "num_weights");
  if (rows < 0)
    throw nb::value_error(("num_weights is " + std::to_string(rows) + "; it must not be negative").c_str());
  return rows;
}

nb::object embedding(nb::handle weight, nb::handle indices, nb::handle out, nb::handle vocab_start,
                     nb::handle vocab_end, nb::handle vocab_size) {
  const Part part(vocab_start, vocab_end, vocab_size);
  Place place("embedding");
  const Array weight_array = place.input(weight, {"weight"}), index_array = place.input(indices, {"indices"});
  const std::optional<LocalIndices> local = localise(place, index_array, part);
  if (weight_array.rank == 2) require_rows("weight", part, weight_array.dims[0]);
  nb::object result = nb::borrow(out);
  if (out.is_none()) {
    std::vector<int64_t> dims(index_array.shape().begin(), index_array.shape().end());
    dims.push_back(weight_array.rank > 0 ? weight_array.dims[weight_array.rank - 1] : 1);
    result = allocate(weight, weight_array, weight_array.dtype, dims);
  }
  const Array out_array = place.output(result, {"out"});
  const Tensor table = make_tensor(weight_array), positions = make_tensor(local ? local->array : index_array),
               rows = make_tensor(out_array);
  run(
      place,
      [&](uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnEmbeddingGetWorkspaceSize(table.get(), positions.get(), rows.get(), bytes, executor);
      },
      aclnnEmbedding, local ? kSkippedAreExpected : 0);
  return out.is_none() ? finished(std::move(result), weight_array.library) : result;
}

nb::object embedding_dense_backward(nb::handle grad, nb::handle indices, nb::handle num_weights,
                                    nb::handle padding_idx, nb::handle scale_grad_by_freq, nb::handle out,
                                    nb::handle vocab_start, nb::handle vocab_end, nb::handle vocab_size) {
  const int64_t row_total = row_count(num_weights), padding_row = to_integer(padding_idx, "padding_idx");
  const bool scales = to_flag(scale_grad_by_freq, "scale_grad_by_freq");
  const Part part(vocab_start, vocab_end, vocab_size);
  Place place("embedding_dense_backward");
  const Array grad_array = place.input(grad, {"grad"}), index_array = place.input(indices, {"indices"});
  const std::optional<LocalIndices> local = localise(place, index_array, part);
  require_rows("num_weights, the table,", part, row_total);
  nb::object result = nb::borrow(out);
  if (out.is_none()) {
    const int64_t dims[] = {row_total, grad_array.rank > 0 ? grad_array.dims[grad_array.rank - 1] : 1};
    result = allocate(grad, grad_array, grad_array.dtype, dims);
  }
  const Array out_array = place.output(result, {"out"});
  // padding_idx is a row of the whole table.
  const int64_t padding = local && padding_row >= 0 ? padding_row - *part.start : padding_row;
  const Tensor grads = make_tensor(grad_array), positions = make_tensor(local ? local->array : index_array),
               table = make_tensor(out_array);
  run(
      place,
      [&](uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnEmbeddingDenseBackwardGetWorkspaceSize(
            grads.get(), positions.get(), static_cast<uint64_t>(row_total), static_cast<uint64_t>(padding),
            scales, table.get(), bytes, executor);
      },
      aclnnEmbeddingDenseBackward, local ? kSkippedAreExpected : 0);
  return out.is_none() ? finished(std::move(result), grad_array.library) : result;
}

TensorView view_of(const Array& array, const char* name) {
  TensorView view{.data = array.data, .dtype = array.dtype, .rank = array.rank};
  std::ranges::copy(array.shape(), view.dims);
  std::copy_n(array.strides.begin(), array.rank, view.strides);
  if (const Status extent = check_extent(name, view); !extent.ok())
    throw nb::value_error(extent.sentence().c_str());
  return view;
}

// The rules of the C interface for outputs: aligned and distinct elements, in other memory than the input's.
void require_own_memory(const Array& out, const Array& indices) {
  require_aligned(out, "out");
  const TensorView view = view_of(out, "out");
  if (may_overlap_itself(view)) {
    throw nb::value_error(("out has shape " + shape_text(view.shape()) + " and strides " +
                           shape_text({view.strides, static_cast<size_t>(view.rank)}) +
                           ", so elements may share memory; an output's elements must be distinct")
                              .c_str());
  }
  if (provably_overlap(view, view_of(indices, "indices")))
    throw nb::value_error("out overlaps indices; they must not share memory");
}

nb::object embedding_counts(nb::handle indices, nb::handle num_weights, nb::handle out) {
  const int64_t row_total = row_count(num_weights);
  Place::require_host("embedding_counts");
  Place place("embedding_counts");
  const Array index_array = place.input(indices, {"indices"});
  if (!has_integers(index_array)) throw nb::type_error("indices must be int32 or int64");
  require_aligned(index_array, "indices");
  nb::object result =
      out.is_none() ? allocate(indices, index_array, ACL_INT64, {&row_total, 1}) : nb::borrow(out);
  const Array out_array = place.output(result, {"out"});
  if (out_array.dtype != ACL_INT64 || out_array.rank != 1 || out_array.dims[0] != row_total) {
    throw nb::value_error(("out has dtype " + std::string(array_dtype_name(out_array.dtype)) + " and shape " +
                           shape_text(out_array.shape()) + "; it must be int64 of shape [" +
                           std::to_string(row_total) + "]")
                              .c_str());
  }
  if (!out.is_none()) require_own_memory(out_array, index_array);
  auto* const counts = static_cast<int64_t*>(out_array.data);
  const int64_t stride = out_array.strides[0];
  {
    const nb::gil_scoped_release unlocked;
    for (int64_t w = 0; w < row_total; ++w) counts[w * stride] = 0;
    for_each_integer(index_array, [&](int64_t, int64_t index) {
      if (index >= 0 && index < row_total) ++counts[index * stride];
    });
  }
  return out.is_none() ? finished(std::move(result), index_array.library) : result;
}

constexpr const char* kEmbeddingDoc =
    R"(Rows of a table: out[i..., :] = weight[indices[i...], :], copied bit by bit.

Parameters
----------
weight : the table, [V, D], any strides; float16, bfloat16, float32, float64, int8 to int64, uint8, bool, complex64
    or complex128.
indices : row numbers from 0 to V - 1; int32 or int64, any shape of rank 0 to 7.
out : receives the rows; shape of indices followed by D, dtype of weight. If omitted, a new array of
    weight's library is returned.
vocab_start, vocab_end, vocab_size : weight holds the rows [vocab_start, vocab_end) of a table of
    vocab_size rows (unknown if omitted). Rows of other processes become zeros. The sum over all processes
    is the whole result.

Returns
-------
out

Raises
------
AclnnIndexError (an IndexError) : an index is outside the table. Its row of out is zero, all others are right.
AclnnError : a dtype or shape is not as above. TypeError : not an array. ValueError : read-only, or another device.

Source: the definition of a table lookup. C function: aclnnEmbedding.)";

constexpr const char* kBackwardDoc = R"(The gradient of a table lookup with respect to the table.

out[w, :] is the sum of grad[n, :] over the positions n with indices[n] == w, divided by their number
when scale_grad_by_freq; zero where there are none and for w == padding_idx.

Parameters
----------
grad : gradient of the rows, [..., D]; float32, float16 or bfloat16.
indices : as many as grad has rows; int8 to int64, uint8, bool, float16, float32 or float64 (floats are truncated
    toward zero).
num_weights : V, the rows of the table.
padding_idx : a row that gets no gradient; negative: none.
scale_grad_by_freq : divide each row by the number of its occurrences in indices.
out : receives the gradient, [V, D]; float32, float16 or bfloat16, not necessarily grad's dtype. If
    omitted, a new array of grad's library and dtype is returned.
vocab_start, vocab_end, vocab_size : num_weights == vocab_end - vocab_start rows of a table of vocab_size
    rows; gradients of rows that others hold are left out. padding_idx then is a row of the whole table.

Returns
-------
out

Raises
------
AclnnIndexError (an IndexError) : an index is outside the table; out is right for all others.
AclnnError : a dtype or shape is not as above. TypeError : not an array. ValueError : read-only, or another device.

Sums have a fixed order (docs/numerics.md), so that the bits don't depend on threads or machines.
Source: the derivative of a table lookup. C function: aclnnEmbeddingDenseBackward.)";

constexpr const char* kCountsDoc = R"(How often each row of a table occurs in indices.

Parameters
----------
indices : int32 or int64, any shape; values outside [0, num_weights) are not counted.
num_weights : V, the rows of the table.
out : int64, [V], with distinct elements in other memory than indices. If omitted, a new array of the
    library of indices is returned.

Returns
-------
out. Summed over all processes it is the `counts` of openaclnn.torch.embedding_dense_backward.

Raises
------
TypeError : indices are not int32 or int64. ValueError : out is not as above or read-only, or an array is not aligned.)";

}  // namespace

void add_embedding(nb::module_& module) {
  using namespace nb::literals;
  module.def("embedding", &embedding, required("weight"), required("indices"), nb::kw_only(),
             "out"_a = nb::none(), "vocab_start"_a = nb::none(), "vocab_end"_a = nb::none(),
             "vocab_size"_a = nb::none(),
             nb::sig("def embedding(weight, indices, *, out=None, vocab_start=None, vocab_end=None, "
                     "vocab_size=None)"),
             kEmbeddingDoc);
  module.def(
      "embedding_dense_backward", &embedding_dense_backward, required("grad"), required("indices"),
      required("num_weights"), "padding_idx"_a.none() = -1, "scale_grad_by_freq"_a.none() = false,
      nb::kw_only(), "out"_a = nb::none(), "vocab_start"_a = nb::none(), "vocab_end"_a = nb::none(),
      "vocab_size"_a = nb::none(),
      nb::sig("def embedding_dense_backward(grad, indices, num_weights, padding_idx=-1, "
              "scale_grad_by_freq=False, *, out=None, vocab_start=None, vocab_end=None, vocab_size=None)"),
      kBackwardDoc);
  module.def("embedding_counts", &embedding_counts, required("indices"), required("num_weights"),
             nb::kw_only(), "out"_a = nb::none(),
             nb::sig("def embedding_counts(indices, num_weights, *, out=None)"), kCountsDoc);
}

}  // namespace openaclnn::python
