// Pages of the documentation that the program carries with it, so that it says what they say.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace openaclnn_cli {

// "errors", "python", or a room's folder such as "embedding"; empty when this build has no such page.
std::string_view page(std::string_view name);

// The page without Markdown: quotes of code and bold marks are gone.
std::string plain_text(std::string_view markdown);

// The cells of each row of the table under the heading "## <heading>", the heading row of the table first.
std::vector<std::vector<std::string>> table_under(std::string_view markdown, std::string_view heading);

// The first fenced block of the language.
std::string code_block(std::string_view markdown, std::string_view language);

}  // namespace openaclnn_cli
