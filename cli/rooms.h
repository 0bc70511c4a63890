// The operators by their rooms: names as users write them, and what the build knows of each.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace openaclnn_cli {

struct Room {
  std::string folder;    // "embedding"
  std::string name;      // "Embedding"
  std::string function;  // "aclnnEmbedding", or openaclnn… for an extension
};

std::span<const Room> rooms();

// By name, function or folder, in any case; throws BadInput.
const Room& find_room(const std::string& word);

// The room's function of the Python package, as its stub file declares it; empty when there is none.
std::string python_signature(const Room& room);

}  // namespace openaclnn_cli
