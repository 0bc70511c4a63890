// "Did you mean": the nearest of the words that would have been right.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace openaclnn {

// The candidate that differs least from the word, case and the characters - and _ apart; empty when none is near. Near is one edit (a
// letter too many, too few, another, or two swapped) for each three letters, or a candidate that contains the word.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> candidates);

// "; did you mean 'X'?", or nothing.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace openaclnn
