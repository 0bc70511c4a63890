// NsaCompress on the CPU: one pass over the tokens in memory order. Each token is read once and added to all
// windows that cover it. The accumulators of these windows stay in L1, and in registers while a few tokens are
// added. Every window's sum has the library's order of additions (cpu/rows.h).
#include <algorithm>
#include <type_traits>

#include "base/checked.h"
#include "base/plan_tensor.h"
#include "base/storage_types.h"
#include "base/workspace_part.h"
#include "cpu/caches.h"
#include "cpu/rows.h"
#include "cpu/scratch.h"
#include "cpu/threads.h"
#include "ops/kernels.h"
#include "ops/nsa/compress/plan.h"
#include "ops/nsa/windows_cpu.h"

namespace openaclnn::OPENACLNN_ISA_NAMESPACE {

namespace {

// The number of windows summed in one pass. If more overlap, further passes over the tokens sum the others.
constexpr int64_t kMostOpen = 8;
// The number of open windows to which a row is added together, so that it is converted only once.
constexpr int kWindowsTogether = 4;
// Tokens added together, whose sums stay in registers. With AVX-512, memory is fastest when read token by
// token, which is enough for the few sums of one window. Without, see kReadsStreams (cpu/add_rows.h).
constexpr int kTokensTogether = kReadsStreams ? 4 : 8;
constexpr bool kUnrollsTokens = kReadsStreams;  // twice as fast in the caches (Zen 3)
template <int kWindows>
constexpr bool kAddsTogether = kReadsStreams || kWindows > 1;

// The hardware doesn't prefetch so many rows together, so the kernel does: the same columns of later tokens, or
// what follows in memory if several tokens share a page.
template <int kWindows>
constexpr bool kPrefetches = kReadsStreams || kWindows > 1;
constexpr int64_t kTokenBytesPrefetched = int64_t{64} << 10;
constexpr int64_t kLinearBytesPrefetched = int64_t{16} << 10;

// Pairs of vectors whose sums stay in registers: as many as fit beside those of a token.
template <int kWindows>
constexpr int kPairsTogether = std::max(1, (F32::kLanes == 8 ? 4 : 8) / std::max(kWindows, 2));

// The address to prefetch for the first column of the first token, and its distances for later ones.
template <class T>
struct Prefetched {
  const T* first;
  int64_t column, row;  // elements
};

// Adds consecutive tokens to kWindows windows that cover them all, in one head with contiguous columns. A
// complete segment has kTokensTogether tokens.
template <int kWindows, class T>
struct Segment {
  const T* tokens;
  int64_t row;    // elements between tokens
  int64_t count;  // of tokens
  Prefetched<T> prefetched;
  const float* weights[kWindows];  // of all tokens
  float* accumulators[kWindows];
  bool is_first[kWindows];  // whether the first token is the first of a block of terms

  // Sets accumulators = (is_first ? +0 : accumulators) + weight * token, token by token.
  template <bool kIsComplete, bool kSomeFirst, int kPairs>
  HWY_INLINE void add(int64_t slot, int64_t column) const {
    F32x2 sum[kWindows][kPairs];
#pragma GCC unroll 8
    for (int w = 0; w < kWindows; ++w) {
#pragma GCC unroll 8
      for (int p = 0; p < kPairs; ++p) {
        sum[w][p] =
            kSomeFirst && is_first[w] ? F32x2() : load<F32x2>(accumulators[w] + slot + p * F32x2::kLanes);
      }
    }
    const T* from = tokens + column;
    const T* ahead = prefetched.first + column * prefetched.column;
    const auto add_token = [&](int64_t r) {
      if (kPrefetches<kWindows>) {
#pragma GCC unroll 8
        for (int p = 0; p < kPairs; ++p) fetch<F32x2>(ahead + p * F32x2::kLanes);
      }
      F32x2 x[kPairs];
#pragma GCC unroll 8
      for (int p = 0; p < kPairs; ++p) x[p] = load<F32x2>(from + p * F32x2::kLanes);
#pragma GCC unroll 8
      for (int w = 0; w < kWindows; ++w) {
        const F32 weight(weights[w][r]);
#pragma GCC unroll 8
        for (int p = 0; p < kPairs; ++p) sum[w][p] = multiply_add(weight, x[p], sum[w][p]);
      }
      from += row;
      ahead += prefetched.row;
    };
    if constexpr (kIsComplete) {
#pragma GCC unroll 8
      for (int64_t r = 0; r < kTokensTogether; ++r) add_token(r);
    } else {
      for (int64_t r = 0; r < count; ++r) add_token(r);
    }
#pragma GCC unroll 8
    for (int w = 0; w < kWindows; ++w) {
#pragma GCC unroll 8
      for (int p = 0; p < kPairs; ++p) store_numbers(sum[w][p], accumulators[w] + slot + p * F32x2::kLanes);
    }
  }

  // Returns the first column that is left.
  template <bool kIsComplete, bool kSomeFirst, int kPairs>
  HWY_INLINE int64_t add_strips(int64_t c, int64_t columns) const {
    constexpr int64_t kStep = kPairs * F32x2::kLanes;
    for (; c + kStep <= columns; c += kStep) add<kIsComplete, kSomeFirst, kPairs>(c, c);
    return c;
  }

  // Adds all columns, at least a pair of vectors. The last pair ends with the row, as in for_each_pair().
  template <bool kIsComplete, bool kSomeFirst>
  HWY_INLINE void add_all(int64_t columns) const {
    constexpr int kPairs = kPairsTogether<kWindows>;
    int64_t c = add_strips<kIsComplete, kSomeFirst, kPairs>(0, columns);
    if constexpr (kPairs > 2) c = add_strips<kIsComplete, kSomeFirst, 2>(c, columns);
    c = add_strips<kIsComplete, kSomeFirst, 1>(c, columns);
    if (c < columns) add<kIsComplete, kSomeFirst, 1>(c, columns - F32x2::kLanes);
  }
};

// Accumulators of the open windows, in the scratch memory of a thread. block[] is used for every token and
// stays in L1.
struct alignas(64) OpenWindows {
  // Whole pages of tokens for four windows, or as much of L1 as is best (Zen 4).
  static constexpr int64_t kColumns = kReadsStreams ? 8192 : 6144;
  float block[kColumns];
  float superblock[kColumns];
  double total[kColumns];
};

// A part of every row: whole heads, or a part of one head.
struct Tile {
  int64_t first_head, heads;
  int64_t first_column, columns;
};

// Divides rows into as few tiles as the accumulators allow, all of about the same width.
struct Tiles {
  Tiles(const CompressionSizes& all, int64_t open_windows)
      : sizes(all),
        most_columns(OpenWindows::kColumns / open_windows / kLine * kLine),
        heads_each(even_part(all.heads, std::max<int64_t>(most_columns / slots_for(all.columns), 1))),
        columns_each(ceil_div(even_part(all.columns, most_columns), kLine) * kLine),
        pieces(ceil_div(all.columns, columns_each)),
        count(ceil_div(all.heads, heads_each) * pieces) {}

  Tile operator[](int64_t index) const {
    const int64_t head = index / pieces * heads_each;
    const int64_t column = index % pieces * columns_each;
    return {head, std::min(sizes.heads - head, heads_each), column,
            std::min(sizes.columns - column, columns_each)};
  }

  static constexpr int64_t kLine = 64;  // columns; whole cache lines, and whole pairs of vectors
  const CompressionSizes& sizes;
  int64_t most_columns;  // per tile
  int64_t heads_each;    // per tile
  int64_t columns_each;  // per tile
  int64_t pieces;        // per head
  int64_t count;
};

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
        tiles_(sizes_, std::min(overlapping_, kMostOpen)),
        reads_in_place_(in_.column == 1 && (sizes_.columns - 1) % tiles_.columns_each + 1 >= F32x2::kLanes),
        shares_pages_(kReadsStreams && share_pages<T>(in_.row)),
        tokens_ahead_(
            std::clamp<int64_t>(rows_ahead<T>(sizes_.heads * sizes_.columns, kTokenBytesPrefetched), 8, 16)) {
    widen_weights(sizes_.heads, sizes_.block_size, plan_tensor<const T>(plan, io, kCompressWeight),
                  {plan.weight_strides[1], plan.weight_strides[0]}, weights_);
  }

  void run() const {
    const int64_t rows_read = std::min(sizes_.stride, sizes_.block_size);  // new rows per window
    const int64_t bytes =
        sizes_.windows * (rows_read + 1) * sizes_.heads * sizes_.columns * static_cast<int64_t>(sizeof(T));
    const int64_t chunks = cpu::chunks_for(bytes);
    const int64_t window_chunks = std::min(chunks, sizes_.windows);
    const int64_t tile_chunks = std::min(ceil_div(chunks, window_chunks), tiles_.count);
    cpu::parallel_for(window_chunks * tile_chunks, [&](int64_t chunk) {
      const cpu::Range tiles = cpu::chunk_range(tiles_.count, tile_chunks, chunk % tile_chunks, 1);
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
      walk(sequences[at], {windows.begin, end}, tile, open);
      windows.begin = end;
    }
  }

  // Sums the windows of the range, all of one sequence, in one pass over their tokens.
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
          add_tokens<kWindows>(tile, {token, end}, window, token - first_token(window), open);
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
        close_partial_sum(token - first_token(window), window, tile, open);
      if (token == first_token(oldest) + sizes_.block_size) write(oldest++, tile, open);
    }
  }

  // Returns the address of the weight of term i, followed by those of later terms.
  const float* weight(int64_t i, int64_t head) const { return weights_ + head * sizes_.block_size + i; }

  // Returns the offset of a window's accumulators for one head of the tile.
  int64_t slot_of(int64_t window, int64_t head, const Tile& tile) const {
    return (window % std::min(overlapping_, kMostOpen) * tile.heads + head) * slots_for(tile.columns);
  }

  // Adds the tokens to kWindows windows from `window` on. The first token is term i of that window.
  template <int kWindows>
  void add_tokens(const Tile& tile, cpu::Range tokens, int64_t window, int64_t i, OpenWindows& open) const {
    if (!reads_in_place_) {
      for (; tokens.begin < tokens.end; ++tokens.begin, ++i)
        add_gathered<kWindows>(tile, tokens.begin, window, i, open);
      return;
    }
    constexpr int64_t kTogether = kAddsTogether<kWindows> ? kTokensTogether : 1;
    for (; tokens.begin < tokens.end; tokens.begin += kTogether, i += kTogether) {
      const int64_t end = std::min(tokens.begin + kTogether, tokens.end);
      add_segment<kWindows>(tile, {tokens.begin, end}, window, i, open);
    }
  }

  template <int kWindows>
  void add_segment(const Tile& tile, cpu::Range tokens, int64_t window, int64_t i, OpenWindows& open) const {
    Segment<kWindows, T> segment;
    segment.row = in_.row;
    segment.count = tokens.end - tokens.begin;
    bool some_first = false;
    for (int w = 0; w < kWindows; ++w) {
      segment.is_first[w] = (i - w * sizes_.stride) % kBlockTerms == 0;
      some_first = some_first || segment.is_first[w];
    }
    for (int64_t h = 0; h < tile.heads; ++h) {
      const int64_t head = tile.first_head + h;
      segment.tokens = input_ + tokens.begin * in_.row + head * in_.head + tile.first_column;
      segment.prefetched = prefetched<kWindows>(segment.tokens, tokens.begin, head);
#pragma GCC unroll 8
      for (int w = 0; w < kWindows; ++w) {
        segment.accumulators[w] = open.block + slot_of(window + w, h, tile);
        segment.weights[w] = weight(i - w * sizes_.stride, head);
      }
      add_head(segment, some_first, tile.columns);
    }
  }

  template <int kWindows>
  static void add_head(const Segment<kWindows, T>& segment, bool some_first, int64_t columns) {
    if constexpr (kUnrollsTokens) {
      if (segment.count == kTokensTogether)
        return some_first ? segment.template add_all<true, true>(columns)
                          : segment.template add_all<true, false>(columns);
    }
    segment.template add_all<false, true>(columns);
  }

  template <int kWindows>
  Prefetched<T> prefetched(const T* tokens, int64_t token, int64_t head) const {
    if (shares_pages_) {
      const T* const first = input_ + token * in_.row + head * in_.head * kTokensTogether;
      return {first + kLinearBytesPrefetched / kBytes, kTokensTogether, kLineBytes / kBytes};
    }
    // Nothing new for one window: in FLOAT the hardware is a sixth faster, in 16 bits a sixth slower (Zen 3).
    constexpr bool kIsEnough = kWindows == 1 && (!kReadsStreams || std::is_same_v<T, float>);
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

  // Called after `terms` terms of a window. If they complete a partial sum, adds it to the larger ones.
  void close_partial_sum(int64_t terms, int64_t window, const Tile& tile, OpenWindows& open) const {
    if (sizes_.block_size <= kBlockTerms) return;  // there is only one partial sum
    if (terms % kBlockTerms != 0 && terms != sizes_.block_size) return;
    const int64_t slot = slot_of(window, 0, tile);
    join_term_block(terms, sizes_.block_size, tile.heads * slots_for(tile.columns), open.block + slot,
                    open.superblock + slot, open.total + slot);
  }

  void write(int64_t window, const Tile& tile, const OpenWindows& open) const {
    for (int64_t h = 0; h < tile.heads; ++h) {
      const int64_t first_slot = slot_of(window, h, tile);
      const float* const sums =
          (sizes_.block_size <= kBlockTerms ? open.block : open.superblock) + first_slot;
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
  const bool shares_pages_;     // whether several tokens are read from one page, where that matters
  const int64_t tokens_ahead_;  // the distance to the token that is prefetched
};

}  // namespace

Fault run_nsa_compress(const void* opaque_plan, const TaskIo& io) {
  const auto& plan = *static_cast<const NsaCompressPlan*>(opaque_plan);
  with_float_type(plan.dtype, [&](auto type) { Compression<decltype(type)>(plan, io).run(); });
  return {};
}

}  // namespace openaclnn::OPENACLNN_ISA_NAMESPACE
