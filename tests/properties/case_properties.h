// Properties of any case of any room: the formula, and changes that must not change the bits.
#pragma once

#include "ops/relations.h"
#include "support/verify.h"
#include "verify/room_cases.h"

namespace openaclnn_test {

// Each fails by an assertion of gtest. The last returns a hash of all results of the case.
void follows_the_formula(const Case& c);
void views_change_nothing(const Case& c, Draw& draw);
void kept_executors_change_nothing(const Case& c);
uint64_t result_hash(const Case& c);

}  // namespace openaclnn_test
