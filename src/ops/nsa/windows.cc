// Checks the arguments of token compression and finds its windows.
#include "ops/nsa/windows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "base/equal_batches.h"
#include "base/text.h"
#include "base/window_count.h"
#include "ops/require.h"

namespace openaclnn {

namespace {

constexpr int64_t kVendorMultiple = 16;  // of L, d and D

WindowShape shape_of(const CompressionArgs& args) { return {args.block_size, args.stride}; }

std::string windows_text(const CompressionArgs& args, int64_t windows) {
  return text(windows, " windows of ", args.block_size, " tokens, ", args.stride, " apart");
}

// Collects the sequences that have windows, from consecutive lengths.
class SequenceList {
 public:
  SequenceList(const CompressionArgs& args, int64_t most) : shape_(shape_of(args)) {
    sequences_.reserve(static_cast<size_t>(most));
  }

  void add(int64_t length) {
    if (const int64_t count = count_windows(length, shape_); count > 0) {
      sequences_.push_back({token_, windows_, count});
      windows_ += count;
    }
    token_ += length;
  }

  int64_t windows() const { return windows_; }
  RecycledVector<Sequence> take() { return std::move(sequences_); }

 private:
  const WindowShape shape_;
  RecycledVector<Sequence> sequences_;
  int64_t token_ = 0;
  int64_t windows_ = 0;
};

Status require_right_entries(const CompressionArgs& args, const SequenceEntries& sequences, CheckMode mode) {
  const auto entry = [&](size_t b) { return text(args.lengths.name, "[", b, "] = ", sequences.entries[b]); };
  const bool are_ends = sequences.are_ends;
  const EntryCheck check = check_entries(sequences);
  switch (check.problem) {
    case WrongEntry::none: break;
    case WrongEntry::negative:
      return invalid(entry(check.position), " is negative; ",
                     are_ends ? "prefix sums of sequence lengths" : "sequence lengths",
                     " must be at least 0");
    case WrongEntry::decreasing:
      return invalid(entry(check.position), " is below ", entry(check.position - 1),
                     "; with actSeqLenType 0 the entries are prefix sums and must not decrease");
    case WrongEntry::beyond_tokens:
      return invalid(entry(check.position),
                     are_ends ? " exceeds " : " makes the sum of the sequence lengths exceed ",
                     sequences.tokens, ", the number of tokens of ", args.tokens.name);
  }
  if (check.total == sequences.tokens || mode != CheckMode::strict) return {};
  return invalid(entry(sequences.entries.size() - 1), " ends the last sequence at token ", check.total,
                 " but ", args.tokens.name, " has ", sequences.tokens,
                 " tokens; OPENACLNN_CHECK=strict requires every token to be in a sequence");
}

Result<RecycledVector<Sequence>> given_sequences(const CompressionArgs& args, CheckMode mode) {
  const SequenceEntries given = {*args.lengths.values, args.length_type == kPrefixSums,
                                 args.tokens.view.dims[0]};
  OPENACLNN_TRY(require_right_entries(args, given, mode));
  SequenceList sequences(args, static_cast<int64_t>(given.entries.size()));
  for (size_t b = 0; b < given.entries.size(); ++b) sequences.add(given.length(b));
  const int64_t described = args.compressed.view.dims[0];
  if (sequences.windows() == described) return sequences.take();
  return invalid(args.compressed.name, " has ", described, " windows in dim 0 but the sequences have ",
                 windows_text(args, sequences.windows()));
}

// Without lengths, the number of windows determines the number of batches of equal length.
Result<int64_t> count_equal_batches(const CompressionArgs& args, CheckMode mode) {
  const int64_t tokens = args.tokens.view.dims[0];
  const int64_t windows = args.compressed.view.dims[0];
  // If no sequence has a window, their number has no effect.
  const bool must_be_sure = mode == CheckMode::strict && windows > 0;
  const EqualBatches batches = find_equal_batches(
      tokens, windows, shape_of(args), must_be_sure ? SearchFor::two_smallest : SearchFor::smallest);
  const auto no_lengths = [&] {
    return text(args.lengths.name, args.lengths.is_given() ? " is empty" : " is NULL");
  };
  if (batches.smallest == 0) {
    return invalid(args.compressed.name, " has ", windows, " windows in dim 0 but ", no_lengths(),
                   ": one sequence of the ", tokens, " tokens has ",
                   windows_text(args, count_windows(tokens, shape_of(args))),
                   ", and no number of equally long sequences (up to ", kMostEqualBatches, ") has ", windows);
  }
  if (must_be_sure && batches.next > 0) {
    return invalid(no_lengths(), " and ", args.compressed.name, " has ", windows,
                   " windows in dim 0, which fit ", batches.smallest, " as well as ", batches.next,
                   " equally long sequences; OPENACLNN_CHECK=strict requires the lengths");
  }
  return batches.smallest;
}

Result<RecycledVector<Sequence>> equal_sequences(const CompressionArgs& args, CheckMode mode) {
  OPENACLNN_TRY_ASSIGN(batches, count_equal_batches(args, mode));
  if (args.compressed.view.is_empty()) return RecycledVector<Sequence>();  // no kernel processes windows
  SequenceList sequences(args, batches);
  for (int64_t b = 0; b < batches; ++b) sequences.add(args.tokens.view.dims[0] / batches);
  return sequences.take();
}

}  // namespace

std::string quoted(const TextArgument& argument) {
  constexpr size_t kMostShown = 16;
  std::string shown(argument.text, strnlen(argument.text, kMostShown + 1));
  const bool cut = shown.size() > kMostShown;
  shown.resize(std::min(shown.size(), kMostShown));
  for (char& c : shown) c = c >= 0x20 && c < 0x7F ? c : '?';
  return text("\"", shown, cut ? "…" : "", "\"");
}

Status require_vendor_multiple(const char* what, int64_t value) {
  if (value % kVendorMultiple == 0) return {};
  return invalid(what, " is ", value, "; OPENACLNN_LIMITS=vendor accepts multiples of ", kVendorMultiple);
}

double work_bytes(const CompressionArgs& args) {
  const TensorView& windows = args.compressed.view;
  return static_cast<double>(windows.numel()) * static_cast<double>(args.block_size) *
         static_cast<double>(windows.element_bytes());
}

CompressionSizes sizes_of(const CompressionArgs& args, size_t sequences) {
  const int64_t* const dims = args.tokens.view.dims;
  return {.tokens = dims[0],
          .heads = dims[1],
          .columns = dims[2],
          .block_size = args.block_size,
          .stride = args.stride,
          .windows = args.compressed.view.dims[0],
          .sequences = static_cast<int64_t>(sequences)};
}

Status check_block(const CompressionArgs& args) {
  if (args.block_size < 1) {
    return invalid("compressBlockSize is ", args.block_size, "; it must be at least 1");
  }
  const std::array<int64_t, 2> expected = {args.block_size, args.tokens.view.dims[1]};
  if (std::ranges::equal(args.weight.view.shape(), expected)) return {};
  return require_shape(args.weight, expected,
                       text("[compressBlockSize, N of ", args.tokens.name, "]").c_str());
}

Status check_compressed_dims(const CompressionArgs& args) {
  const TensorView& compressed = args.compressed.view;
  const TensorView& tokens = args.tokens.view;
  if (compressed.dims[1] == tokens.dims[1] && compressed.dims[2] == tokens.dims[2]) return {};
  return invalid(args.compressed.name, " has shape ", shape_text(compressed.shape()), " but ",
                 args.tokens.name, " has shape ", shape_text(tokens.shape()),
                 "; dims 1 and 2, N and D, must be equal");
}

Status check_attributes(const CompressionArgs& args) {
  if (args.stride < 1) return invalid("compressStride is ", args.stride, "; it must be at least 1");
  if (args.length_type != kPrefixSums && args.length_type != kLengths) {
    return invalid("actSeqLenType is ", args.length_type,
                   "; it must be 0 (prefix sums of sequence lengths) or 1 (sequence lengths)");
  }
  if (args.layout.text != nullptr && std::strcmp(args.layout.text, "TND") != 0) {
    return invalid(args.layout.name, " is ", quoted(args.layout), "; it must be NULL or \"TND\"");
  }
  return {};
}

Result<RecycledVector<Sequence>> find_sequences(const CompressionArgs& args, const PlanContext& context) {
  return args.has_lengths() ? given_sequences(args, context.check) : equal_sequences(args, context.check);
}

Status check_vendor_limits(const CompressionArgs& args, std::initializer_list<const Argument*> tensors) {
  if (args.tokens.dtype() == ACL_FLOAT) {
    return invalid(args.tokens.name,
                   " has dtype ACL_FLOAT; OPENACLNN_LIMITS=vendor accepts ACL_FLOAT16 or ACL_BF16");
  }
  OPENACLNN_TRY(require_vendor_multiple("compressBlockSize", args.block_size));
  OPENACLNN_TRY(require_vendor_multiple("compressStride", args.stride));
  OPENACLNN_TRY(
      require_vendor_multiple(text("dim 2 of ", args.tokens.name).c_str(), args.tokens.view.dims[2]));
  if (args.block_size < args.stride) {
    return invalid("compressBlockSize is ", args.block_size, " and compressStride is ", args.stride,
                   "; OPENACLNN_LIMITS=vendor accepts a stride of at most the block size");
  }
  if (args.length_type != kPrefixSums) {
    return invalid("actSeqLenType is ", args.length_type, "; OPENACLNN_LIMITS=vendor accepts 0");
  }
  for (const Argument* tensor : tensors) {
    if (!tensor->view.is_empty()) continue;
    return invalid(tensor->name, " has shape ", shape_text(tensor->view.shape()),
                   "; OPENACLNN_LIMITS=vendor accepts only non-empty tensors");
  }
  return {};
}

}  // namespace openaclnn
