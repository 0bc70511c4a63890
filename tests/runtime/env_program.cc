// Prints what the environment made of the library. Run by env_test. argv[1] "late" sets a variable after the first use.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "acl/acl.h"

int main(int argc, char** argv) {
  alarm(100);
  uint32_t devices = 0;
  const int count_code = aclrtGetDeviceCount(&devices);
  if (argc > 1 && std::strcmp(argv[1], "late") == 0) setenv("OPENACLNN_CPU_DEVICES", "7", 1);
  const int set_code = aclrtSetDevice(0);
  const char* text = aclGetRecentErrMsg();
  (void)aclrtGetDeviceCount(&devices);
  std::printf("count_code=%d devices=%u set_code=%d soc=%s text=%s\n", count_code, devices, set_code,
              aclrtGetSocName(), text != nullptr ? text : "none");
  return 0;
}
