// Prints the library's settings from the environment. env_test runs it. argv[1] "late" sets a variable
// after the first use, "file" opens the file argv[2] before it, "limit" permits only files of no bytes,
// "clear" leaves the process without an environment.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "acl/acl.h"

int main(int argc, char** argv) {
  alarm(100);
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "file" && argc > 2 && std::fopen(argv[2], "w") == nullptr) return 1;
  const rlimit no_bytes{0, RLIM_INFINITY};
  // Not set by the shell: a sanitizer writes a file before main().
  if (mode == "limit" && setrlimit(RLIMIT_FSIZE, &no_bytes) != 0) return 1;
  if (mode == "clear") clearenv();  // glibc then has no array of variables at all
  uint32_t devices = 0;
  const int count_code = aclrtGetDeviceCount(&devices);
  if (mode == "late") setenv("OPENACLNN_CPU_DEVICES", "7", 1);
  const int set_code = aclrtSetDevice(0);
  const char* text = aclGetRecentErrMsg();
  (void)aclrtGetDeviceCount(&devices);
  std::printf("count_code=%d devices=%u set_code=%d soc=%s text=%s\n", count_code, devices, set_code,
              aclrtGetSocName(), text != nullptr ? text : "none");
  return 0;
}
