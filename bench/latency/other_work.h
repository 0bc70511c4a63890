// The work of other threads while tiny calls are measured.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace openaclnn_latency {

struct OtherWork {
  const char* name;               // in figures
  std::string description;        // in the table
  std::function<void()> prepare;  // not measured; may be empty
  std::function<void()> run;      // a piece of work, on the same thread
};

// The first one does nothing, as the baseline. Controls work without the library, to show the system's own
// effects. `most_bytes` are allocated and freed in huge pages, a quarter of that in small pages.
std::vector<OtherWork> all_other_work(size_t most_bytes);

// 8 GiB, or a third of the memory that is available now.
size_t bytes_to_free();

}  // namespace openaclnn_latency
