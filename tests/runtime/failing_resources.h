// Makes threads and C++ allocations of this process fail on purpose, those of the library under test too.
#pragma once

namespace runtime_test {

// While true no thread can be created.
void refuse_threads(bool refuse);

// The next `count` allocations of this thread succeed, then one fails; -1: none fails from now on.
void fail_allocation_after(long count);

// Allocations of this thread that failed since the last fail_allocation_after(count >= 0).
long failed_allocations();

}  // namespace runtime_test
