// Makes requests of this process for memory, mappings, threads and files fail, including those of the
// library under test, and counts resources that were not released.
#pragma once

namespace runtime_test {

// ---- this thread's memory ----

// While true, no thread can be created.
void refuse_threads(bool refuse);

// The next `count` allocations of this thread succeed, then one fails; -1: none fails from now on.
void fail_allocation_after(long count);

// Allocations of this thread that failed since the last fail_allocation_after(count >= 0).
long failed_allocations();

// ---- all requests of all threads; builds without sanitizers only ----

enum class Request { memory, mapping, thread, file };
inline constexpr int kRequests = 4;

// The requests that fail, counted from 0 over those made while armed.
struct Injection {
  long first;    // this request
  bool onwards;  // and all that follow it
};
void inject(const Injection& injection);  // counting starts again at 0
void refuse_again(long first);            // counting continues
void stop_refusing();
long first_refused();  // the request that is to fail; -1: none

// Requests are counted, and fail, only while armed.
void arm(bool armed);

long requests();                // seen while armed, since inject()
long refused();                 // failed since inject()
long refused(Request request);  // of one kind

// The resources that the process holds.
struct Held {
  long allocations, mapped_bytes, files;
};
Held held();

}  // namespace runtime_test
