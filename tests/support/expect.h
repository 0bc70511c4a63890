// Assertions about outcomes: success, and failures with the promised error message.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "support/verify.h"
#include "verify/runner.h"

namespace openaclnn_test {

// The name that the error text must show for a code; "" for codes that no test expects.
std::string_view code_name(int code);

// One line "<function>: <message> [<code> <NAME>]" of at most 1023 bytes, whose message contains every
// part.
::testing::AssertionResult is_error_line(std::string_view text, std::string_view function, int code,
                                         const std::vector<std::string>& parts);

// Both phases and the synchronise returned 0 without a message.
::testing::AssertionResult succeeded(const Outcome& outcome);

// Phase 1 failed in this way and did not write its out values.
::testing::AssertionResult failed_in_phase1(const Outcome& outcome, std::string_view function, int code,
                                            const std::vector<std::string>& parts);
::testing::AssertionResult failed_in_phase2(const Outcome& outcome, std::string_view function, int code,
                                            const std::vector<std::string>& parts);
// A FAULT: the synchronise returned 507035.
::testing::AssertionResult failed_in_sync(const Outcome& outcome, const std::vector<std::string>& parts);

}  // namespace openaclnn_test
