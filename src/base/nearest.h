// "Did you mean": finds the valid word that is most similar to an unknown one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace openaclnn {

// Returns the candidate that differs least from the word, or an empty string if none is near. Ignores case
// and the difference between - and _. Near means one edit (a letter added, removed, changed, or two swapped)
// per three letters, another form of the word (the same start, and a similar length), or a candidate that
// contains the word.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> candidates);

// "; did you mean 'X'?", or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace openaclnn
