// Checks of token compression, and where its windows are.
#include "ops/nsa_windows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>

#include "base/env.h"
#include "base/text.h"
#include "ops/require.h"

namespace openaclnn {

namespace {

Status invalid(std::string sentence) { return {ACLNN_ERR_PARAM_INVALID, std::move(sentence)}; }

constexpr int64_t kVendorMultiple = 16;  // of L, d and D

// Checks the entries one by one, and returns the length of each sequence.
Result<RecycledVector<int64_t>> sequence_lengths(const CompressionArgs& args) {
  const int64_t tokens = args.tokens.view.dims[0];
  if (args.lengths == nullptr || args.lengths->empty()) return RecycledVector<int64_t>{tokens};
  const std::span<const int64_t> entries(*args.lengths);
  const bool prefix_sums = args.length_type == kPrefixSums;
  const auto entry = [&](size_t b) { return text(args.lengths_name, "[", b, "] = ", entries[b]); };

  for (size_t b = 0; b < entries.size(); ++b) {
    if (entries[b] < 0) {
      return invalid(text(entry(b), " is negative; ",
                          prefix_sums ? "prefix sums of sequence lengths" : "sequence lengths",
                          " are at least 0"));
    }
  }
  for (size_t b = 1; prefix_sums && b < entries.size(); ++b) {
    if (entries[b] < entries[b - 1]) {
      return invalid(text(entry(b), " is below ", entry(b - 1),
                          "; with actSeqLenType 0 the entries are prefix sums and must not decrease"));
    }
  }
  RecycledVector<int64_t> lengths(entries.size());
  int64_t total = 0;
  for (size_t b = 0; b < entries.size(); ++b) {
    lengths[b] = prefix_sums ? entries[b] - total : entries[b];
    if (lengths[b] > tokens - total) {
      return invalid(text(entry(b),
                          prefix_sums ? " exceeds " : " makes the sum of the sequence lengths exceed ",
                          tokens, ", the number of tokens of ", args.tokens.name));
    }
    total += lengths[b];
  }
  if (total < tokens && environment().check == CheckMode::strict) {
    return invalid(text(entry(entries.size() - 1), " ends the last sequence at token ", total, " but ",
                        args.tokens.name, " has ", tokens,
                        " tokens; OPENACLNN_CHECK=strict wants every token in a sequence"));
  }
  return lengths;
}

}  // namespace

std::string quoted(const char* string) {
  constexpr size_t kMostShown = 16;
  std::string shown(string, strnlen(string, kMostShown + 1));
  const bool cut = shown.size() > kMostShown;
  shown.resize(std::min(shown.size(), kMostShown));
  for (char& c : shown) c = c >= 0x20 && c < 0x7F ? c : '?';
  return text("\"", shown, cut ? "…" : "", "\"");
}

Status require_vendor_multiple(const char* what, int64_t value) {
  if (value % kVendorMultiple == 0) return {};
  return invalid(
      text(what, " is ", value, "; OPENACLNN_LIMITS=vendor accepts multiples of ", kVendorMultiple));
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
    return invalid(text("compressBlockSize is ", args.block_size, "; it must be at least 1"));
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
  return invalid(text(args.compressed.name, " has shape ", shape_text(compressed.shape()), " but ",
                      args.tokens.name, " has shape ", shape_text(tokens.shape()),
                      "; dims 1 and 2, N and D, must be equal"));
}

Status check_attributes(const CompressionArgs& args) {
  if (args.stride < 1) return invalid(text("compressStride is ", args.stride, "; it must be at least 1"));
  if (args.length_type != kPrefixSums && args.length_type != kLengths) {
    return invalid(text("actSeqLenType is ", args.length_type,
                        "; it must be 0 (prefix sums of sequence lengths) or 1 (sequence lengths)"));
  }
  if (args.layout != nullptr && std::strcmp(args.layout, "TND") != 0) {
    return invalid(text(args.layout_name, " is ", quoted(args.layout), "; it must be NULL or \"TND\""));
  }
  return {};
}

Result<RecycledVector<Sequence>> find_sequences(const CompressionArgs& args) {
  const Result<RecycledVector<int64_t>> lengths = sequence_lengths(args);
  if (!lengths.ok()) return lengths.status();
  RecycledVector<Sequence> sequences;
  sequences.reserve(lengths->size());
  int64_t token = 0;
  int64_t windows = 0;
  for (const int64_t length : *lengths) {
    if (length >= args.block_size) {
      const int64_t count = (length - args.block_size) / args.stride + 1;
      sequences.push_back({token, windows, count});
      windows += count;
    }
    token += length;
  }
  const int64_t described = args.compressed.view.dims[0];
  if (windows != described) {
    return invalid(text(args.compressed.name, " has ", described, " windows in dim 0 but the sequences have ",
                        windows, " windows of ", args.block_size, " tokens, ", args.stride, " apart"));
  }
  return sequences;
}

Status check_vendor_limits(const CompressionArgs& args, std::initializer_list<const Argument*> tensors) {
  if (args.tokens.dtype() == ACL_FLOAT) {
    return invalid(text(args.tokens.name,
                        " has dtype ACL_FLOAT; OPENACLNN_LIMITS=vendor accepts ACL_FLOAT16 or ACL_BF16"));
  }
  OPENACLNN_TRY(require_vendor_multiple("compressBlockSize", args.block_size));
  OPENACLNN_TRY(require_vendor_multiple("compressStride", args.stride));
  OPENACLNN_TRY(
      require_vendor_multiple(text("dim 2 of ", args.tokens.name).c_str(), args.tokens.view.dims[2]));
  if (args.block_size < args.stride) {
    return invalid(text("compressBlockSize is ", args.block_size, " and compressStride is ", args.stride,
                        "; OPENACLNN_LIMITS=vendor accepts a stride of at most the block size"));
  }
  if (args.length_type != kPrefixSums) {
    return invalid(text("actSeqLenType is ", args.length_type, "; OPENACLNN_LIMITS=vendor accepts 0"));
  }
  for (const Argument* tensor : tensors) {
    if (!tensor->view.is_empty()) continue;
    return invalid(text(tensor->name, " has shape ", shape_text(tensor->view.shape()),
                        "; OPENACLNN_LIMITS=vendor accepts no empty tensor"));
  }
  return {};
}

}  // namespace openaclnn
