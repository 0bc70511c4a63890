// NsaCompress on the CPU: one pass over the tokens in memory order. Each token is read once and added to all
// windows that cover it. The accumulators of these windows stay in L1, and in registers while a few tokens are
// added. Every window's sum has the library's order of additions (cpu/rows.h).
#include <algorithm>

#include "base/checked.h"
#include "base/kernel_io.h"
#include "base/plan_tensor.h"
#include "base/storage_types.h"
#include "base/workspace_part.h"
#include "cpu/rows.h"
#include "cpu/scratch.h"
#include "cpu/threads.h"
#include "ops/nsa/compress/plan.h"
#include "ops/nsa/compress/segment_cpu.h"
#include "ops/nsa/windows_cpu.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

namespace {

// The number of windows summed in one pass. If more overlap, further passes over the tokens sum the others.
constexpr int64_t kMostOpen = 8;
// Accumulators of the open windows, in the scratch memory of a thread. block[] is used for every token and
// stays in L1.
struct alignas(64) OpenWindows {
  // Whole pages of tokens for four windows, or as much of L1 as is best (Zen 4).
  static constexpr int64_t kColumns = kReadsStreams ? 8192 : 6144;
  float block[kColumns];
  float superblock[kColumns];
  double total[kColumns];
};

// Divides rows into as few tiles as the accumulators allow, all of about the same width.
Tiles tiles_of(const CompressionSizes& sizes, int64_t open_windows) {
  constexpr int64_t kLine = 64;  // columns; whole cache lines, and whole pairs of vectors
  const int64_t most_columns = OpenWindows::kColumns / open_windows / kLine * kLine;
  const int64_t most_heads = std::max<int64_t>(most_columns / slots_for(sizes.columns), 1);
  const int64_t columns_each = ceil_div(even_part(sizes.columns, most_columns), kLine) * kLine;
  return {sizes.heads, sizes.columns, even_part(sizes.heads, most_heads), columns_each};
}

template <class T>
class Compression {
 public:
  Compression(const NsaCompressPlan& plan, const TaskIo& io)
      : plan_(plan),
        sizes_(plan.sizes),
        in_(plan.input_strides),
        out_(plan.output_strides),
        input_(plan_tensor<const T>(plan, io, kCompressInput)),
        output_(plan_tensor<T>(plan, io, kCompressOutput)),
        weights_(workspace_part<float>(io, plan.weights)),
        overlapping_(overlapping_windows(sizes_)),
        tiles_(tiles_of(sizes_, std::min(overlapping_, kMostOpen))),
        reads_in_place_(in_.column == 1 && tiles_.have_pairs()),
        shares_pages_(kReadsStreams && share_pages<T>(in_.row)),
        has_no_gaps_(in_.row == sizes_.heads * sizes_.columns),
        tokens_ahead_(
            std::clamp<int64_t>(rows_ahead<T>(sizes_.heads * sizes_.columns, kTokenBytesPrefetched), 8, 16)) {
    // Transposed: the weights of a head follow each other.
    widen_weights(sizes_.heads, sizes_.block_size, plan_tensor<const T>(plan, io, kCompressWeight),
                  {plan.weight_strides[1], plan.weight_strides[0]}, weights_);
  }

  void run() const {
    const int64_t rows_read = std::min(sizes_.stride, sizes_.block_size);  // new rows per window
    const int64_t bytes =
        sizes_.windows * (rows_read + 1) * sizes_.heads * sizes_.columns * static_cast<int64_t>(sizeof(T));
    const int64_t chunks = cpu::chunks_for(bytes);
    const int64_t window_chunks = std::min(chunks, sizes_.windows);
    const int64_t tile_chunks = std::min(ceil_div(chunks, window_chunks), tiles_.count());
    cpu::parallel_for(window_chunks * tile_chunks, [&](int64_t chunk) {
      const cpu::Range tiles = cpu::chunk_range(tiles_.count(), tile_chunks, chunk % tile_chunks, 1);
      OpenWindows& open = cpu::scratch_as<OpenWindows>();
      for (int64_t tile = tiles.begin; tile < tiles.end; ++tile)
        sum_windows(cpu::chunk_range(sizes_.windows, window_chunks, chunk / tile_chunks, 1), tiles_[tile],
                    open);
    });
  }

 private:
  void sum_windows(cpu::Range windows, const Tile& tile, OpenWindows& open) const {
    const Sequence* const sequences = plan_items<Sequence>(plan_);
    while (windows.begin < windows.end) {
      const int64_t at = sequence_of_window(sizes_, sequences, windows.begin);
      int64_t end = std::min(sequences[at].first_window + sequences[at].windows, windows.end);
      if (overlapping_ > kMostOpen) end = std::min(end, windows.begin + kMostOpen);
      windows.begin = sum_first_windows(sequences[at], {windows.begin, end}, tile, open);
    }
  }

  // Sums windows from the beginning of the range, all of one sequence, and returns the first that is left.
  int64_t sum_first_windows(const Sequence& sequence, cpu::Range windows, const Tile& tile,
                            OpenWindows& open) const {
    if constexpr (kStreamsNarrowTokens<T>) {
      const int64_t length = (windows.end - windows.begin) / kTokenStreams;
      if (shares_pages_ && reads_in_place_ && overlapping_ <= kMostStreamWindows &&
          length >= kLeastStreamLength && kTokenStreams * stream_slots(tile) <= OpenWindows::kColumns) {
        walk<kTokenStreams>(sequence, {windows.begin, windows.begin + length}, tile, open);
        return windows.begin + kTokenStreams * length;
      }
    }
    walk<1>(sequence, windows, tile, open);
    return windows.end;
  }

  // Sums the windows of kStreams ranges in one pass over their tokens: `windows` and the ranges of as many
  // windows behind it, all of one sequence.
  template <int kStreams>
  void walk(const Sequence& sequence, cpu::Range windows, const Tile& tile, OpenWindows& open) const {
    const auto first_token = [&](int64_t window) { return first_token_of(sizes_, sequence, window); };
    int64_t oldest = windows.begin;  // the oldest open window
    int64_t newest = windows.begin;  // one past the newest open window
    int64_t token = first_token(oldest);
    while (oldest < windows.end) {
      if (oldest == newest) token = first_token(oldest);  // tokens between the windows belong to none
      if (newest < windows.end && first_token(newest) == token) ++newest;
      // The range ends when the set of open windows changes or one of their partial sums is complete.
      int64_t end = newest < windows.end ? first_token(newest) : INT64_MAX;
      for (int64_t window = oldest; window < newest; ++window) {
        const int64_t i = token - first_token(window);
        end = std::min({end, token + sizes_.block_size - i, token + kBlockTerms - i % kBlockTerms});
      }
      for (int64_t window = oldest; window < newest; window += kWindowsTogether) {
        const auto add = [&]<int kWindows>() {
          const int64_t i = token - first_token(window);
          if constexpr (kStreams == 1) {
            add_tokens<kWindows>(tile, {token, end}, window, i, open);
          } else if constexpr (kWindows <= kMostStreamWindows) {
            add_streams<kWindows>(tile, {token, end}, window, i, windows.end - windows.begin, open);
          }
        };
        switch (newest - window) {
          case 1: add.template operator()<1>(); break;
          case 2: add.template operator()<2>(); break;
          case 3: add.template operator()<3>(); break;
          default: add.template operator()<kWindowsTogether>(); break;
        }
      }
      token = end;
      for (int64_t window = oldest; window < newest; ++window)
        close_partial_sums<kStreams>(token - first_token(window), window, tile, open);
      if (token != first_token(oldest) + sizes_.block_size) continue;
      for (int s = 0; s < kStreams; ++s)
        write(oldest + s * (windows.end - windows.begin), slot_of(oldest, 0, tile) + s * stream_slots(tile),
              tile, open);
      ++oldest;
    }
  }

  // Returns the address of the weight of term i, followed by those of later terms.
  const float* weight(int64_t i, int64_t head) const { return weights_ + head * sizes_.block_size + i; }

  // Returns the offset of a window's accumulators for one head of the tile.
  int64_t slot_of(int64_t window, int64_t head, const Tile& tile) const {
    return (window % std::min(overlapping_, kMostOpen) * tile.heads + head) * slots_for(tile.columns);
  }

  // Returns the number of accumulators of a stream of tokens.
  int64_t stream_slots(const Tile& tile) const {
    return std::min(overlapping_, kMostOpen) * tile.heads * slots_for(tile.columns);
  }

  // Adds the tokens to kWindows windows from `window` on. The first token is term i of that window.
  template <int kWindows>
  void add_tokens(const Tile& tile, cpu::Range tokens, int64_t window, int64_t i, OpenWindows& open) const {
    if (!reads_in_place_) {
      for (; tokens.begin < tokens.end; ++tokens.begin, ++i)
        add_gathered<kWindows>(tile, tokens.begin, window, i, open);
      return;
    }
    const int64_t together = kAddsTogether<kWindows> || reads_streams_ ? kTokensTogether : 1;
    for (; tokens.begin < tokens.end; tokens.begin += together, i += together) {
      const int64_t end = std::min(tokens.begin + together, tokens.end);
      add_segment<kWindows>(tile, {tokens.begin, end}, window, i, open);
    }
  }

  template <int kWindows>
  void add_segment(const Tile& tile, cpu::Range tokens, int64_t window, int64_t i, OpenWindows& open) const {
    Segment<kWindows, T> segment;
    segment.row = in_.row;
    segment.count = tokens.end - tokens.begin;
    bool some_first = false;
#pragma GCC unroll 8
    for (int w = 0; w < kWindows; ++w) {
      segment.is_first[w] = (i - w * sizes_.stride) % kBlockTerms == 0;
      some_first = some_first || segment.is_first[w];
      segment.accumulators[w] = open.block + slot_of(window + w, 0, tile);
      segment.weights[w] = weight(i - w * sizes_.stride, tile.first_head);
    }
    const T* const first = input_ + tokens.begin * in_.row + tile.first_head * in_.head + tile.first_column;
    const int64_t columns = tile.columns, slots = slots_for(columns), heads = tile.heads;
    for (int64_t h = 0; h < heads; ++h) {
      segment.tokens = first + h * in_.head;
      segment.prefetched = prefetched<kWindows>(segment.tokens, tokens.begin, tile.first_head + h);
      add_head(segment, some_first, columns);
#pragma GCC unroll 8
      for (int w = 0; w < kWindows; ++w) {
        segment.accumulators[w] += slots;
        segment.weights[w] += sizes_.block_size;
      }
    }
  }

  // Adds the tokens to kWindows windows from `window` on, and those of each further stream to its windows, which
  // are numbered `windows_apart` more.
  template <int kWindows>
  void add_streams(const Tile& tile, cpu::Range tokens, int64_t window, int64_t i, int64_t windows_apart,
                   OpenWindows& open) const {
    StreamStep<kWindows, T> step;
    step.tokens_apart = windows_apart * sizes_.stride * in_.row;
    step.slots_apart = stream_slots(tile);
    for (; tokens.begin < tokens.end; ++tokens.begin, ++i) {
      bool some_first = false;
      for (int w = 0; w < kWindows; ++w) {
        step.is_first[w] = (i - w * sizes_.stride) % kBlockTerms == 0;
        some_first = some_first || step.is_first[w];
        step.accumulators[w] = open.block + slot_of(window + w, 0, tile);
      }
      const T* const first = input_ + tokens.begin * in_.row + tile.first_head * in_.head + tile.first_column;
      for (int64_t h = 0; h < tile.heads; ++h) {
        step.token = first + h * in_.head;
#pragma GCC unroll 8
        for (int w = 0; w < kWindows; ++w)
          step.weight[w] = F32(*weight(i - w * sizes_.stride, tile.first_head + h));
        some_first ? step.template add_all<true>(tile.columns) : step.template add_all<false>(tile.columns);
#pragma GCC unroll 8
        for (int w = 0; w < kWindows; ++w) step.accumulators[w] += slots_for(tile.columns);
      }
    }
  }

  // Inlined, so that the segment has no address: stores to accumulators can't change it, and it stays in registers.
  template <int kWindows>
  static HWY_INLINE void add_head(const Segment<kWindows, T>& segment, bool some_first, int64_t columns) {
    if constexpr (kUnrollsTokens) {
      if (segment.count == kTokensTogether)
        return some_first ? segment.template add_all<true, true>(columns)
                          : segment.template add_all<true, false>(columns);
    }
    segment.template add_all<false, true>(columns);
  }

  // Returns what add_head() fetches while it adds the tokens of a head. The first line that applies:
  //   tokens share pages (AVX2)                       memory in its order, kLinearBytesPrefetched ahead
  //   four windows, 16 bits, no gaps, one tile (AVX2) the same: these take so long that it is best (Zen 3)
  //   FLOAT (AVX2), one window (AVX-512)              nothing new: up to a sixth faster (Zen 3)
  //   all others                                      the same columns of the token tokens_ahead_ rows ahead
  template <int kWindows>
  Prefetched<T> prefetched(const T* tokens, int64_t token, int64_t head) const {
    constexpr bool kIsSlow = kReadsStreams && kWindows == kWindowsTogether && sizeof(T) == 2;
    if (shares_pages_ || (kIsSlow && tiles_.count() == 1 && has_no_gaps_)) {
      const T* const first = input_ + token * in_.row + head * in_.head * kTokensTogether;
      return {first + kLinearBytesPrefetched / kBytes, kTokensTogether, kLineBytes / kBytes};
    }
    constexpr bool kIsEnough = kReadsStreams ? std::is_same_v<T, float> : kWindows == 1;
    return {kIsEnough ? tokens : tokens + tokens_ahead_ * in_.row, 1, in_.row};
  }

  // One token whose columns are not contiguous, or fewer than a pair of vectors.
  template <int kWindows>
  void add_gathered(const Tile& tile, int64_t token, int64_t window, int64_t i, OpenWindows& open) const {
    WindowUpdate<kWindows, 1, T> update;
    for (int64_t h = 0; h < tile.heads; ++h) {
      const int64_t head = tile.first_head + h;
      update.token[0] = update.ahead[0] =
          input_ + token * in_.row + head * in_.head + tile.first_column * in_.column;
#pragma GCC unroll 8
      for (int w = 0; w < kWindows; ++w) {
        const int64_t term = i - w * sizes_.stride;
        update.accumulators[w] = open.block + slot_of(window + w, h, tile);
        update.is_first[w] = term % kBlockTerms == 0;
        update.weight[w][0] = F32(*weight(term, head));
      }
      update.add_gathered_row(tile.columns, in_.column);
    }
  }

  // Called after `terms` terms of a window, and of the same window of each further stream. If they complete a
  // partial sum, adds it to the larger ones.
  template <int kStreams>
  void close_partial_sums(int64_t terms, int64_t window, const Tile& tile, OpenWindows& open) const {
    if (sizes_.block_size <= kBlockTerms) return;  // there is only one partial sum
    if (terms % kBlockTerms != 0 && terms != sizes_.block_size) return;
    for (int s = 0; s < kStreams; ++s) {
      const int64_t slot = slot_of(window, 0, tile) + s * stream_slots(tile);
      join_term_block(terms, sizes_.block_size, tile.heads * slots_for(tile.columns), open.block + slot,
                      open.superblock + slot, open.total + slot);
    }
  }

  // Writes a window, whose sums begin at `slot`.
  void write(int64_t window, int64_t slot, const Tile& tile, const OpenWindows& open) const {
    for (int64_t h = 0; h < tile.heads; ++h, slot += slots_for(tile.columns)) {
      const float* const sums = (sizes_.block_size <= kBlockTerms ? open.block : open.superblock) + slot;
      T* const to =
          output_ + window * out_.row + (tile.first_head + h) * out_.head + tile.first_column * out_.column;
      write_compressed(sums, to, out_.column, tile.columns, reads_in_place_);
    }
  }

  static constexpr int64_t kBytes = sizeof(T);

  const NsaCompressPlan& plan_;
  const CompressionSizes& sizes_;
  const HeadStrides in_, out_;
  const T* const input_;
  T* const output_;
  float* const weights_;       // [N, L]
  const int64_t overlapping_;  // windows that may cover one token
  const Tiles tiles_;
  const bool reads_in_place_;
  const bool reads_streams_ = reads_streams();  // then several tokens of one window are also added at once
  const bool shares_pages_;     // whether several tokens are read from one page, where that matters
  const bool has_no_gaps_;      // whether each row begins where the previous one ends
  const int64_t tokens_ahead_;  // the distance to the token that is prefetched
};

}  // namespace

Fault run_nsa_compress(const void* opaque_plan, const TaskIo& io) {
  const auto& plan = *static_cast<const NsaCompressPlan*>(opaque_plan);
  with_float_type(plan.dtype, [&](auto type) { Compression<decltype(type)>(plan, io).run(); });
  return {};
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
