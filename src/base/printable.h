// Makes external text (file names, arguments, file headers) safe to print on a terminal.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace openaclnn {

// Returns the text with '?' in place of each character that could control a terminal or is not UTF-8. These
// are control characters (C0, DEL, C1), including line breaks, and marks that change the text direction.
std::string printable(std::string_view text);

// The same in place, for callers that cannot allocate: each byte of such a character becomes '?'.
void make_printable(std::span<char> text) noexcept;

}  // namespace openaclnn
