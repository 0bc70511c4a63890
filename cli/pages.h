// Documentation pages embedded in the program, so that both say the same.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace openaclnn_cli {

// `name`: "errors", "python", or a room's folder such as "embedding". Returns an empty text if this build has
// no such page.
std::string_view page(std::string_view name);

// Returns the page without Markdown's code quotes, bold marks and the targets of links.
std::string plain_text(std::string_view markdown);

// Returns the cells of each row of the table under "## <heading>", starting with the table's header row.
std::vector<std::vector<std::string>> table_under(std::string_view markdown, std::string_view heading);

// Returns the first fenced block of the language.
std::string code_block(std::string_view markdown, std::string_view language);

}  // namespace openaclnn_cli
