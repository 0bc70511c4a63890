// Text from outside (file names, arguments, headers of files) as it may be shown on a terminal.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace openaclnn {

// The text with a '?' for each character that a terminal could obey or that is not UTF-8: control characters (C0, DEL, C1),
// line breaks among them, and marks that change the direction of text.
std::string printable(std::string_view text);

// The same in place, for callers that may have no memory: each byte of such a character becomes '?'.
void make_printable(std::span<char> text) noexcept;

}  // namespace openaclnn
