// nsa_compress, nsa_compress_grad and nsa_compress_with_cache_: token compression of native sparse attention.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "aclnnop/aclnn_nsa_compress.h"
#include "aclnnop/aclnn_nsa_compress_grad.h"
#include "aclnnop/aclnn_nsa_compress_with_cache.h"
#include "base/equal_batches.h"
#include "base/window_count.h"
#include "call.h"
#include "openaclnn/status.h"
#include "operators.h"
#include "scalars.h"

namespace openaclnn::python {

namespace {

using Lengths = std::vector<int64_t>;

struct Windowing {
  int64_t block, stride, type;

  Windowing(nb::handle compress_block_size, nb::handle compress_stride, nb::handle actual_seq_len_type)
      : block(to_integer(compress_block_size, "compress_block_size")),
        stride(to_integer(compress_stride, "compress_stride")),
        type(to_integer(actual_seq_len_type, "actual_seq_len_type")) {}
};

// A list of ints, or any array of them.
Lengths lengths_of(nb::handle object) {
  if (object.is_none()) return {};
  const nb::object list = nb::hasattr(object, "tolist") ? object.attr("tolist")() : nb::borrow(object);
  const nb::object entries = nb::steal(PySequence_Tuple(list.ptr()));
  if (!entries.is_valid() || PyUnicode_Check(list.ptr())) {
    PyErr_Clear();
    require_given(object, "actual_seq_len");
    throw nb::type_error(
        ("actual_seq_len is " + nb::cast<std::string>(nb::repr(object)) + "; a list of ints is needed")
            .c_str());
  }
  Lengths lengths;
  for (Py_ssize_t k = 0; k < NB_TUPLE_GET_SIZE(entries.ptr()); ++k) {
    const nb::object entry = nb::borrow(NB_TUPLE_GET_ITEM(entries.ptr(), k));
    lengths.push_back(to_integer(entry, Name{"actual_seq_len", k}.text().c_str()));
  }
  return lengths;
}

// Returns the number of windows; 0 if the lengths are wrong, which the operator then reports.
int64_t windows_of(const Lengths& lengths, int64_t tokens, const Windowing& w) {
  return count_all_windows({lengths, w.type == 0, tokens}, {w.block, w.stride});
}

// Counts windows without the operator, with its checks and error messages. `function` is the Python function
// that the user called.
class WindowCount {
 public:
  explicit WindowCount(const char* function) : function_(function) {}

  int64_t operator()(nb::handle actual_seq_len, nb::handle token_count, nb::handle compress_block_size,
                     nb::handle compress_stride, nb::handle actual_seq_len_type) const {
    const Lengths lengths = lengths_of(actual_seq_len);
    const int64_t tokens = to_integer(token_count, "tokens");
    const Windowing w(compress_block_size, compress_stride, actual_seq_len_type);
    require_at_least("tokens", tokens, 0);
    require_at_least("compress_block_size", w.block, 1);
    require_at_least("compress_stride", w.stride, 1);
    if (w.type != 0 && w.type != 1) {
      refuse("actual_seq_len_type is " + std::to_string(w.type) +
             "; it must be 0 (prefix sums of sequence lengths) or 1 (sequence lengths)");
    }
    require_right_entries(lengths, tokens, w.type == 0);
    return windows_of(lengths, tokens, w);
  }

 private:
  [[noreturn]] void refuse(const std::string& sentence) const {
    throw Failure(ACLNN_ERR_PARAM_INVALID, sentence + " [161002 ACLNN_ERR_PARAM_INVALID]", {function_});
  }

  void require_at_least(const char* name, int64_t value, int64_t least) const {
    if (value >= least) return;
    refuse(std::string(name) + " is " + std::to_string(value) + "; it must be at least " +
           std::to_string(least));
  }

  void require_right_entries(const Lengths& lengths, int64_t tokens, bool are_ends) const {
    const EntryCheck check = check_entries({lengths, are_ends, tokens});
    const auto entry = [&](size_t b) {
      return "actual_seq_len[" + std::to_string(b) + "] = " + std::to_string(lengths[b]);
    };
    switch (check.problem) {
      case WrongEntry::none: return;
      case WrongEntry::negative:
        refuse(entry(check.position) + " is negative; " +
               (are_ends ? "prefix sums of sequence lengths" : "sequence lengths") + " must be at least 0");
      case WrongEntry::decreasing:
        refuse(entry(check.position) + " is below " + entry(check.position - 1) +
               "; with actual_seq_len_type 0 the entries are prefix sums and must not decrease");
      case WrongEntry::beyond_tokens:
        refuse(entry(check.position) +
               (are_ends ? " exceeds " : " makes the sum of the sequence lengths exceed ") +
               std::to_string(tokens) + ", the number of tokens");
    }
  }

  const char* function_;
};

// Each element of a window is a sum over the tokens of a block. Heads with 1 element take as long as those
// with 128: 6 to 11 ns for a token on two cores of AMD Zen 4.
double terms_of(const Array& windows, int64_t block) {
  if (windows.rank != 3) return 0;
  const double tokens = static_cast<double>(windows.dims[0]) * static_cast<double>(windows.dims[1]) *
                        static_cast<double>(block);
  return tokens * static_cast<double>(std::max<int64_t>(windows.dims[2], 128));
}

nb::object nsa_compress(nb::handle input, nb::handle weight, nb::handle compress_block_size,
                        nb::handle compress_stride, nb::handle actual_seq_len, nb::handle actual_seq_len_type,
                        nb::handle out) {
  const Windowing w(compress_block_size, compress_stride, actual_seq_len_type);
  Place place("nsa_compress");
  const Array input_array = place.input(input, {"input"}), weight_array = place.input(weight, {"weight"});
  Lengths lengths = lengths_of(actual_seq_len);
  nb::object result = nb::borrow(out);
  if (out.is_none()) {
    std::vector<int64_t> dims(input_array.shape().begin(), input_array.shape().end());
    if (!dims.empty()) {
      if (lengths.empty())
        lengths = {dims[0]};  // without lengths the operator searches for batches with this number of windows
      dims[0] = windows_of(lengths, dims[0], w);
    }
    result = allocate(input, input_array, input_array.dtype, dims);
  }
  const Array out_array = place.output(result, {"out"});
  place.add_terms(terms_of(out_array, w.block));
  const Tensor tokens = make_tensor(input_array), weights = make_tensor(weight_array),
               compressed = make_tensor(out_array);
  const IntArray ends = make_int_array(lengths);
  run(
      place,
      [&](uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnNsaCompressGetWorkspaceSize(tokens.get(), weights.get(), ends.get(), nullptr, w.block,
                                                w.stride, w.type, compressed.get(), bytes, executor);
      },
      aclnnNsaCompress);
  return out.is_none() ? finished(std::move(result), input_array.library) : result;
}

nb::object nsa_compress_grad(nb::handle grad, nb::handle input, nb::handle weight,
                             nb::handle compress_block_size, nb::handle compress_stride,
                             nb::handle actual_seq_len, nb::handle actual_seq_len_type, nb::handle out) {
  const Windowing w(compress_block_size, compress_stride, actual_seq_len_type);
  Place place("nsa_compress_grad");
  const Array grad_array = place.input(grad, {"grad"}), input_array = place.input(input, {"input"}),
              weight_array = place.input(weight, {"weight"});
  nb::object input_grad, weight_grad;
  if (out.is_none()) {
    input_grad = allocate(input, input_array, input_array.dtype, input_array.shape());
    weight_grad = allocate(weight, weight_array, weight_array.dtype, weight_array.shape());
  } else {
    if (!PyTuple_Check(out.ptr()) || NB_TUPLE_GET_SIZE(out.ptr()) != 2)
      throw nb::type_error("out must be a tuple of two arrays: the gradients of input and weight");
    input_grad = nb::borrow(NB_TUPLE_GET_ITEM(out.ptr(), 0));
    weight_grad = nb::borrow(NB_TUPLE_GET_ITEM(out.ptr(), 1));
  }
  const Array input_out = place.output(input_grad, {"out", 0}),
              weight_out = place.output(weight_grad, {"out", 1});
  const Tensor grads = make_tensor(grad_array), tokens = make_tensor(input_array),
               weights = make_tensor(weight_array), token_grads = make_tensor(input_out),
               weight_grads = make_tensor(weight_out);
  const IntArray ends = make_int_array(lengths_of(actual_seq_len));
  place.add_terms(2 * terms_of(grad_array, w.block));  // of both gradients
  run(
      place,
      [&](uint64_t* bytes, aclOpExecutor** executor) {
        return aclnnNsaCompressGradGetWorkspaceSize(grads.get(), tokens.get(), weights.get(), ends.get(),
                                                    w.block, w.stride, w.type, nullptr, token_grads.get(),
                                                    weight_grads.get(), bytes, executor);
      },
      aclnnNsaCompressGrad);
  const Library library = out.is_none() ? input_array.library : Library::other;
  return nb::make_tuple(finished(std::move(input_grad), library), finished(std::move(weight_grad), library));
}

// Derivatives of nsa_compress_grad pass these lengths, so that all of them use the same windows.
nb::list equal_ends(int64_t tokens, int64_t windows, int64_t block, int64_t stride) {
  nb::list ends;
  if (tokens < 0 || windows < 0 || block < 1 || stride < 1) return ends;
  const int64_t batches = find_equal_batches(tokens, windows, {block, stride}, SearchFor::smallest).smallest;
  for (int64_t b = 1; b <= batches; ++b) ends.append(tokens / batches * b);
  return ends;
}

nb::object nsa_compress_with_cache(nb::handle input, nb::handle weight, nb::handle slot_mapping,
                                   nb::handle cache, nb::handle compress_block_size,
                                   nb::handle compress_stride, nb::handle actual_seq_len,
                                   nb::handle block_table, nb::handle page_block_size) {
  const int64_t block = to_integer(compress_block_size, "compress_block_size"),
                stride = to_integer(compress_stride, "compress_stride");
  const std::optional<int64_t> given_page = to_optional_integer(page_block_size, "page_block_size");
  if (actual_seq_len.is_none())
    throw nb::type_error("actual_seq_len is None; a list with the length of each sequence is needed");
  const Lengths sequences = lengths_of(actual_seq_len);
  const IntArray lengths = make_int_array(sequences);
  const bool has_pages = !block_table.is_none();
  Place place("nsa_compress_with_cache_");
  const Array input_array = place.input(input, {"input"}), weight_array = place.input(weight, {"weight"}),
              slot_array = place.input(slot_mapping, {"slot_mapping"}),
              table_array = has_pages ? place.input(block_table, {"block_table"}) : Array(),
              cache_array = place.output(cache, {"cache"});
  Array windows = cache_array;  // each sequence may write one slot
  windows.dims[0] = static_cast<int64_t>(sequences.size());
  place.add_terms(terms_of(windows, block));
  const int64_t page = given_page.value_or(input_array.rank > 1 ? input_array.dims[1] : 0);
  const Tensor tokens = make_tensor(input_array), weights = make_tensor(weight_array),
               slots = make_tensor(slot_array), table = has_pages ? make_tensor(table_array) : Tensor(),
               blocks = make_tensor(cache_array);
  run(
      place,
      [&](uint64_t* bytes, aclOpExecutor** executor) {
        constexpr int64_t kLengths = 1;
        return aclnnNsaCompressWithCacheGetWorkspaceSize(tokens.get(), weights.get(), slots.get(),
                                                         lengths.get(), table.get(), nullptr, block, stride,
                                                         kLengths, page, blocks.get(), bytes, executor);
      },
      aclnnNsaCompressWithCache);
  return nb::borrow(cache);
}

constexpr const char* kCompressDoc =
    R"(Token compression: windows of consecutive tokens become one token each, their weighted sum.

out[j, n, :] is the sum over i < L of weight[i, n] * input[t0(j) + i, n, :], with L = compress_block_size
and t0(j) the first token of window j. A sequence of S tokens has (S - L) // compress_stride + 1
windows, none when S < L; no window crosses the end of a sequence.

Parameters
----------
input : tokens of all sequences without padding, [T, N, D]; float32, float16 or bfloat16.
weight : [L, N], input's dtype.
compress_block_size : L, tokens of a window.
compress_stride : distance of window starts in tokens, at least 1.
actual_seq_len : the sequences, a list of ints (or an array of them): the end of each. If omitted, one
    sequence of T tokens. If out is given, sequences of equal length, as many as out has windows of.
actual_seq_len_type : 0: actual_seq_len holds ends; 1: lengths.
out : receives the windows, [J, N, D]. If omitted, a new array of input's library is returned.

Returns
-------
out

Raises
------
AclnnError : a dtype, shape or length is not as above. TypeError : not an array. ValueError : read-only, or another device.

Source: the compression of keys and values in native sparse attention. C function: aclnnNsaCompress.)";

constexpr const char* kGradDoc =
    R"(The gradients of nsa_compress with respect to its tokens and its weights, in one pass.

Parameters
----------
grad : gradient of the windows, [J, N, D]; float32, float16 or bfloat16.
input, weight, compress_block_size, compress_stride, actual_seq_len, actual_seq_len_type : as in
    nsa_compress, of grad's dtype. Without actual_seq_len the sequences have equal lengths, and J says
    how many there are: the smallest number that divides T and has J windows.
out : a tuple of two arrays that receive the results. If omitted, new arrays are returned.

Returns
-------
The tuple (gradient of input, [T, N, D]; gradient of weight, [L, N]).

Raises
------
AclnnError : a dtype, shape or length is not as above. TypeError : not an array. ValueError : read-only, or another device.

Source: the derivatives of nsa_compress. C function: aclnnNsaCompressGrad.)";

constexpr const char* kCacheDoc =
    R"(Token compression during inference: blocks that the newest tokens complete become tokens of a cache.

For each sequence b of S = actual_seq_len[b] tokens with S >= L and (S - L) % compress_stride == 0, where
L = compress_block_size:

    cache[slot_mapping[b], n, :] = sum over i < L of weight[i, n] * token(b, S - L + i)[n, :]

That is the last window that nsa_compress finds in those tokens, with the same bits. Other slots stay.

Parameters
----------
input : the tokens; float32, float16 or bfloat16. Without block_table [T, N, D], the sequences one behind
    the other; with it [pages, P, N, D], where P tokens make a page.
weight : [L, N], input's dtype.
slot_mapping : where the block of each sequence goes, int32 [B]; where several completed blocks
    have one slot, the last of these sequences wins. Entries of sequences that completed no block may be
    anything.
cache : [slots, N, D], input's dtype; updated in place.
compress_block_size : L, tokens of a block.
compress_stride : distance of block starts in tokens, at least 1.
actual_seq_len : the lengths of the B sequences, a list of ints (or an array of them); not their ends, as in
    nsa_compress.
block_table : the pages of each sequence in their order, int32 [B, pages of a sequence]: token t is
    input[block_table[b, t // P], t % P]. If omitted, input has no pages.
page_block_size : P, checked against the shape of input if given.

Returns
-------
cache

Raises
------
AclnnIndexError (an IndexError) : a slot is not in the cache or a page not in input; that block is left
    out, cache has all others. The error message counts the elements of block_table row by row.
AclnnError : a dtype, shape or length is not as above. TypeError : not an array. ValueError : read-only, or another device.

Source: the compression of keys and values in native sparse attention. C function: aclnnNsaCompressWithCache.)";

}  // namespace

void add_nsa(nb::module_& module) {
  using namespace nb::literals;
  module.def(
      "nsa_compress", &nsa_compress, required("input"), required("weight"), required("compress_block_size"),
      required("compress_stride"), nb::kw_only(), "actual_seq_len"_a = nb::none(),
      "actual_seq_len_type"_a.none() = 0, "out"_a = nb::none(),
      nb::sig("def nsa_compress(input, weight, compress_block_size, compress_stride, *, actual_seq_len=None, "
              "actual_seq_len_type=0, out=None)"),
      kCompressDoc);
  module.def("nsa_compress_grad", &nsa_compress_grad, required("grad"), required("input"), required("weight"),
             required("compress_block_size"), required("compress_stride"), nb::kw_only(),
             "actual_seq_len"_a = nb::none(), "actual_seq_len_type"_a.none() = 0, "out"_a = nb::none(),
             nb::sig("def nsa_compress_grad(grad, input, weight, compress_block_size, compress_stride, *, "
                     "actual_seq_len=None, actual_seq_len_type=0, out=None)"),
             kGradDoc);
  module.def("nsa_compress_with_cache_", &nsa_compress_with_cache, required("input"), required("weight"),
             required("slot_mapping"), required("cache"), required("compress_block_size"),
             required("compress_stride"), required("actual_seq_len"), nb::kw_only(),
             "block_table"_a = nb::none(), "page_block_size"_a = nb::none(),
             nb::sig("def nsa_compress_with_cache_(input, weight, slot_mapping, cache, compress_block_size, "
                     "compress_stride, actual_seq_len, *, block_table=None, page_block_size=None)"),
             kCacheDoc);
  module.def(
      "nsa_windows", WindowCount("nsa_windows"), required("actual_seq_len"), required("tokens"),
      required("compress_block_size"), required("compress_stride"), "actual_seq_len_type"_a.none() = 0,
      nb::sig("def nsa_windows(actual_seq_len, tokens, compress_block_size, compress_stride, "
              "actual_seq_len_type=0)"),
      "The number of windows J of nsa_compress for sequences and a number of tokens. Wrong arguments raise\n"
      "the AclnnError of nsa_compress.");
  module.def("nsa_compress_windows", WindowCount("nsa_compress"), "actual_seq_len"_a.none(),
             "tokens"_a.none(), "compress_block_size"_a.none(), "compress_stride"_a.none(),
             "actual_seq_len_type"_a.none(), "The same with error messages of nsa_compress.");
  module.def("nsa_equal_ends", &equal_ends, "tokens"_a, "windows"_a, "compress_block_size"_a,
             "compress_stride"_a,
             "The ends of the sequences that nsa_compress_grad assumes without actual_seq_len.");
}

}  // namespace openaclnn::python
