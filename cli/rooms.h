// Operators by room: their names for users, and the build's information about each.
#pragma once

#include <span>
#include <string>

namespace openaclnn_cli {

struct Room {
  std::string folder;    // "embedding"
  std::string name;      // "Embedding"
  std::string function;  // "aclnnEmbedding", or openaclnn… for an extension
};

std::span<const Room> rooms();

// Finds a room by name, function or folder, ignoring case; throws BadInput.
const Room& find_room(const std::string& word);

// Returns the signature of the room's Python function from its stub file, or an empty string.
std::string python_signature(const Room& room);

}  // namespace openaclnn_cli
