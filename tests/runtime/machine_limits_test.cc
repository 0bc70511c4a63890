// Tests limits of memory and CPUs from made-up trees of /proc and /sys: both versions of control groups,
// containers of every kind, and invalid files.
#include "cpu/machine_limits.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "cpu/control_groups.h"

namespace openaclnn::cpu {
namespace {

constexpr size_t kGiB = size_t{1} << 30;
int trees_tried = 0;

// A machine with 16 GiB, of which 8 are available, in a temporary folder.
class MachineLimitsTest : public testing::Test {
 protected:
  MachineLimitsTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "limits-XXXXXX").string();
    root_ = mkdtemp(pattern.data());
    write("/proc/meminfo",
          "MemTotal:       16777216 kB\nMemFree:         4194304 kB\nMemAvailable:    8388608 kB\n");
    ++trees_tried;
  }
  ~MachineLimitsTest() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root_ + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void remove(const std::string& path) { std::filesystem::remove_all(root_ + path); }

  // The mounts of a system with version 2 alone, and with version 1.
  void mount_v2(const std::string& group_root = "/", const std::string& point = "/sys/fs/cgroup") {
    write("/proc/self/mountinfo", "22 28 0:20 / /proc rw - proc proc rw\n30 23 0:26 " + group_root + " " +
                                      point + " rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
  }
  void mount_v1(const std::string& group_root = "/") {
    write("/proc/self/mountinfo",
          "30 23 0:26 " + group_root +
              " /sys/fs/cgroup/memory rw shared:9 master:2 - cgroup cgroup rw,memory\n" + "31 23 0:27 " +
              group_root + " /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n" +
              "32 23 0:28 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
  }

  void expect_memory(size_t total, size_t free) {
    const std::optional<MemoryInfo> memory = machine_memory(root_);
    ASSERT_TRUE(memory.has_value());
    EXPECT_EQ(memory->total_bytes, total);
    EXPECT_EQ(memory->free_bytes, free);
  }
  void expect_quota(double cpus) {
    const std::optional<double> quota = cpu_quota(root_);
    ASSERT_TRUE(quota.has_value());
    EXPECT_EQ(*quota, cpus);
  }
  void expect_no_limits() {
    expect_memory(16 * kGiB, 8 * kGiB);
    expect_quota(HUGE_VAL);
  }

  std::string root_;
};

TEST_F(MachineLimitsTest, AMachineWithoutGroups) {
  write("/proc/self/cgroup", "");
  expect_no_limits();
}

TEST_F(MachineLimitsTest, TheOwnGroupOfVersion2) {
  mount_v2();
  write("/proc/self/cgroup", "0::/system.slice/train.service\n");
  write("/sys/fs/cgroup/system.slice/train.service/memory.max", "2147483648\n");
  write("/sys/fs/cgroup/system.slice/train.service/memory.current", "536870912\n");
  write("/sys/fs/cgroup/system.slice/train.service/cpu.max", "150000 100000\n");
  write("/sys/fs/cgroup/system.slice/other.service/memory.max", "4096\n");
  expect_memory(2 * kGiB, kGiB + kGiB / 2);
  expect_quota(1.5);
}

// A container that has read a data set is not out of memory.
TEST_F(MachineLimitsTest, PagesOfFilesThatNobodyReadsCountAsFree) {
  mount_v2();
  write("/proc/self/cgroup", "0::/train\n");
  write("/sys/fs/cgroup/train/memory.max", "4294967296\n");
  write("/sys/fs/cgroup/train/memory.current", "4294967296\n");
  write("/sys/fs/cgroup/train/memory.stat",
        "anon 1073741824\nfile 3221225472\ninactive_file 2147483648\nactive_file 1073741824\n");
  expect_memory(4 * kGiB, 2 * kGiB);
  write("/sys/fs/cgroup/train/memory.stat", "inactive_file 8589934592\n");  // more than is used
  expect_memory(4 * kGiB, 4 * kGiB);
  write("/sys/fs/cgroup/train/memory.stat", "inactive_file garbage\n");
  expect_memory(4 * kGiB, 0);
}

TEST_F(MachineLimitsTest, PagesOfFilesInVersion1) {
  mount_v1();
  write("/proc/self/cgroup", "5:memory:/job\n");
  write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2147483648\n");
  write("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "2147483648\n");
  write("/sys/fs/cgroup/memory/job/memory.stat", "inactive_file 4096\ntotal_inactive_file 1073741824\n");
  expect_memory(2 * kGiB, kGiB);
}

TEST_F(MachineLimitsTest, TheSmallestLimitOnTheWayUpDecides) {
  mount_v2();
  write("/proc/self/cgroup", "0::/a.slice/b.slice/c.scope\n");
  write("/sys/fs/cgroup/a.slice/memory.max", "3221225472\n");
  write("/sys/fs/cgroup/a.slice/memory.current", "3221225472\n");
  write("/sys/fs/cgroup/a.slice/cpu.max", "300000 100000\n");
  write("/sys/fs/cgroup/a.slice/b.slice/memory.max", "1073741824\n");
  write("/sys/fs/cgroup/a.slice/b.slice/cpu.max", "max 100000\n");
  write("/sys/fs/cgroup/a.slice/b.slice/c.scope/memory.max", "max\n");
  write("/sys/fs/cgroup/a.slice/b.slice/c.scope/cpu.max", "50000 100000\n");
  expect_memory(kGiB, 0);  // the limit of b.slice; that of a.slice is used up
  expect_quota(0.5);
}

TEST_F(MachineLimitsTest, Version1WithACommonMountOfTwoControllers) {
  mount_v1();
  write("/proc/self/cgroup",
        "12:cpuset:/x\n5:memory:/slurm/uid_1000/job_7/step_0\n4:cpu,cpuacct:/slurm/uid_1000\n0::/init\n");
  const std::string memory = "/sys/fs/cgroup/memory/slurm";
  write(memory + "/memory.limit_in_bytes", "9223372036854771712\n");
  write(memory + "/uid_1000/job_7/memory.limit_in_bytes", "4294967296\n");
  write(memory + "/uid_1000/job_7/memory.usage_in_bytes", "1073741824\n");
  write(memory + "/uid_1000/job_7/step_0/memory.limit_in_bytes", "9223372036854771712\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu,cpuacct/slurm/uid_1000/cpu.cfs_quota_us", "200000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/slurm/uid_1000/cpu.cfs_period_us", "100000\n");
  expect_memory(4 * kGiB, 3 * kGiB);
  expect_quota(2);
}

TEST_F(MachineLimitsTest, HybridTreesHaveControllersInVersion1) {
  write("/proc/self/mountinfo",
        "32 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  write("/proc/self/cgroup", "4:memory:/job/7\n1:name=systemd:/\n0::/user.slice\n");
  write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1073741824\n");
  write("/sys/fs/cgroup/unified/user.slice/cpu.max", "100000 100000\n");
  expect_memory(kGiB, kGiB);
  expect_quota(1);
}

TEST_F(MachineLimitsTest, AContainerThatSeesItsGroupAsTheRoot) {
  // With its own namespace the process is in "/", wherever that is.
  mount_v2();
  write("/proc/self/cgroup", "0::/\n");
  write("/sys/fs/cgroup/memory.max", "1073741824\n");
  write("/sys/fs/cgroup/cpu.max", "250000 100000\n");
  expect_memory(kGiB, kGiB);
  expect_quota(2.5);
}

TEST_F(MachineLimitsTest, AContainerWhosePathsAreThoseOfTheHost) {
  // Version 1 in a container: the mount shows the container's group, /proc names it from outside.
  mount_v1("/docker/0123abc");
  write("/proc/self/cgroup", "5:memory:/docker/0123abc\n4:cpu,cpuacct:/docker/0123abc/inner\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "300000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_quota_us", "100000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_period_us", "100000\n");
  expect_memory(kGiB, kGiB);
  expect_quota(1);
}

TEST_F(MachineLimitsTest, AGroupThatTheMountDoesNotShow) {
  mount_v2();
  write("/proc/self/cgroup", "0::/docker/0123abc\n");  // there is no such folder in the container
  write("/sys/fs/cgroup/memory.max", "1073741824\n");
  expect_memory(kGiB, kGiB);
  mount_v2("/docker/another");  // the mount of another container; the usual path is still ours
  expect_memory(kGiB, kGiB);
  mount_v2("/../..");
  write("/proc/self/cgroup", "0::/../outside\n");
  expect_memory(kGiB, kGiB);
}

TEST_F(MachineLimitsTest, AGroupWhoseNameBeginsLikeTheMountsIsAnotherOne) {
  mount_v2("/docker/ab", "/somewhere");
  write("/proc/self/cgroup", "0::/docker/abc\n");
  write("/somewhere/memory.max", "4096\n");
  write("/somewherec/memory.max", "4096\n");
  expect_no_limits();
}

TEST_F(MachineLimitsTest, UnusualMountPointsAndNames) {
  mount_v2("/", R"(/mnt/control\040groups)");
  write("/proc/self/cgroup", "0::/a b:c/d\n");
  write("/mnt/control groups/a b:c/d/memory.max", "1073741824\n");
  write("/mnt/control groups/a b:c/cpu.max", "100000 50000\n");
  expect_memory(kGiB, kGiB);
  expect_quota(2);
}

TEST_F(MachineLimitsTest, WithoutMountinfoGroupsAreAtTheUsualPlace) {
  write("/proc/self/cgroup", "3:memory:/job\n0::/job\n");
  write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2147483648\n");
  write("/sys/fs/cgroup/job/cpu.max", "100000 100000\n");
  expect_memory(2 * kGiB, 2 * kGiB);
  expect_quota(1);
}

TEST_F(MachineLimitsTest, WithoutProcTheUsualPlaceIsRead) {
  remove("/proc");
  EXPECT_FALSE(machine_memory(root_).has_value());
  EXPECT_FALSE(cpu_quota(root_).has_value());
  write("/sys/fs/cgroup/memory.max", "1073741824\n");
  write("/sys/fs/cgroup/memory.current", "1048576\n");
  write("/sys/fs/cgroup/cpu.max", "100000 100000\n");
  expect_memory(kGiB, kGiB - (size_t{1} << 20));
  expect_quota(1);
}

TEST_F(MachineLimitsTest, WithoutProcButWithVersion1) {
  remove("/proc");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_FALSE(machine_memory(root_).has_value());
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1073741824\n");
  expect_memory(kGiB, kGiB);
}

TEST_F(MachineLimitsTest, MemoryThatCannotBeReadIsUnknown) {
  write("/proc/self/cgroup", "0::/\n");
  for (const char* text : {"", "MemTotal: 0 kB\n", "MemTotal: -5 kB\n", "MemTotal: lots\n", "MemTotal:\n",
                           "MemTotal: 18446744073709551615 kB\n", "MemTotal: 99999999999999999999 kB\n",
                           "MemFree: 100 kB\nMemAvailable: 100 kB\n"}) {
    write("/proc/meminfo", text);
    EXPECT_FALSE(machine_memory(root_).has_value()) << text;
  }
}

TEST_F(MachineLimitsTest, OldKernelsDoNotSayWhatIsAvailable) {
  write("/proc/meminfo", "MemTotal: 16777216 kB\nMemFree: 4194304 kB\n");
  expect_memory(16 * kGiB, 4 * kGiB);
  write("/proc/meminfo", "MemTotal: 1024 kB\nMemAvailable: 4096 kB\n");
  expect_memory(size_t{1} << 20, size_t{1} << 20);
}

TEST_F(MachineLimitsTest, LimitsThatSayNothingAreNone) {
  mount_v2();
  write("/proc/self/cgroup", "0::/g\n");
  for (const char* text : {"", "\n", "max\n", "-1\n", "-9223372036854775808\n", "0\n", "1e9\n", "12 34\n",
                           "0x1000\n", "garbage\n", "18446744073709551616\n", "18446744073709551615\n",
                           "9223372036854775807\n", "9223372036854771712\n"}) {
    write("/sys/fs/cgroup/g/memory.max", text);
    expect_memory(16 * kGiB, 8 * kGiB);
  }
  for (const char* text :
       {"", "\n", "max\n", "max 100000\n", "-1 100000\n", "0 100000\n", "100000\n", "100000 0\n",
        "100000 -1\n", "100000 max\n", "nan nan\n", "1.5 1\n", "100000 100000 100000\n"}) {
    write("/sys/fs/cgroup/g/cpu.max", text);
    expect_quota(HUGE_VAL);
  }
}

TEST_F(MachineLimitsTest, MoreThanTheMachineHasIsNoLimit) {
  mount_v2();
  write("/proc/self/cgroup", "0::/g\n");
  write("/sys/fs/cgroup/g/memory.max", "1099511627776\n");
  expect_memory(16 * kGiB, 8 * kGiB);
}

TEST_F(MachineLimitsTest, UseBeyondTheLimitLeavesNothing) {
  mount_v2();
  write("/proc/self/cgroup", "0::/g\n");
  write("/sys/fs/cgroup/g/memory.max", "1073741824\n");
  write("/sys/fs/cgroup/g/memory.current", "2147483648\n");
  expect_memory(kGiB, 0);
  write("/sys/fs/cgroup/g/memory.current", "garbage\n");
  expect_memory(kGiB, kGiB);
}

// Only limits that end a process or reject memory count.
TEST_F(MachineLimitsTest, MemoryHighIsNoLimit) {
  mount_v2();
  write("/proc/self/cgroup", "0::/g\n");
  write("/sys/fs/cgroup/g/memory.high", "1073741824\n");
  expect_memory(16 * kGiB, 8 * kGiB);
}

TEST_F(MachineLimitsTest, GarbageInsteadOfGroupsAndMounts) {
  write("/sys/fs/cgroup/memory.max", "1073741824\n");
  const std::string long_line(5000, 'x'), long_name = "/" + std::string(3000, 'n');
  for (const std::string& groups :
       {std::string(":"), std::string("::\n:::\n"), std::string("0::"), std::string("0::relative\n"),
        std::string("x:y:z\n"), std::string("\0\n\xff:memory:/\n", 12), long_line, long_line + "\n0::/\n",
        "0::" + long_name + "\n"}) {
    write("/proc/self/cgroup", groups);
    for (const std::string& mounts :
         {std::string(), std::string(" - \n - cgroup2\n"), std::string("1 2 3 - cgroup2 x rw\n"),
          std::string(
              "1 2 3 / \\ - cgroup2\n1 2 3 / \\04 - cgroup2 c rw\n1 2 3 \\777 \\000 rw - cgroup c memory\n"),
          long_line + " - cgroup2 c rw\n", "1 2 3 " + long_name + " " + long_name + " rw - cgroup2 c rw\n"}) {
      write("/proc/self/mountinfo", mounts);
      const std::optional<MemoryInfo> memory = machine_memory(root_);
      ASSERT_TRUE(memory.has_value());
      EXPECT_TRUE(memory->total_bytes == 16 * kGiB || memory->total_bytes == kGiB) << groups << mounts;
      (void)cpu_quota(root_);
      ++trees_tried;
    }
  }
}

TEST_F(MachineLimitsTest, FoldersWhereFilesShouldBe) {
  for (const char* path :
       {"/proc/self/cgroup", "/proc/self/mountinfo", "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/cpu.max"})
    std::filesystem::create_directories(root_ + path);
  expect_memory(16 * kGiB, 8 * kGiB);
  (void)cpu_quota(root_);
}

// A pipe without a writer would block a reader.
TEST_F(MachineLimitsTest, PipesWhereFilesShouldBe) {
  write("/proc/self/cgroup", "0::/\n");
  std::filesystem::create_directories(root_ + "/sys/fs/cgroup");
  ASSERT_EQ(mkfifo((root_ + "/sys/fs/cgroup/memory.max").c_str(), 0600), 0);
  expect_no_limits();
}

TEST_F(MachineLimitsTest, FilesThatMayNotBeRead) {
  if (geteuid() == 0) GTEST_SKIP() << "root may read every file";
  mount_v2();
  write("/proc/self/cgroup", "0::/g\n");
  write("/sys/fs/cgroup/g/memory.max", "1073741824\n");
  std::filesystem::permissions(root_ + "/sys/fs/cgroup/g/memory.max", std::filesystem::perms::none);
  expect_memory(16 * kGiB, 8 * kGiB);
}

TEST_F(MachineLimitsTest, PathsBeyondTheBufferOpenNothing) {
  const std::string deep = "/" + std::string(2000, 'r');
  EXPECT_FALSE(machine_memory(deep).has_value());
  EXPECT_FALSE(cpu_quota(deep).has_value());
}

TEST(ThreadsWithin, RoundsUpAndStaysInRange) {
  EXPECT_EQ(threads_within(std::nullopt, 8), 8);
  EXPECT_EQ(threads_within(HUGE_VAL, 8), 8);
  EXPECT_EQ(threads_within(1e300, 8), 8);
  EXPECT_EQ(threads_within(8.0001, 8), 8);
  EXPECT_EQ(threads_within(2.5, 8), 3);
  EXPECT_EQ(threads_within(2.0, 8), 2);
  EXPECT_EQ(threads_within(0.01, 8), 1);
  EXPECT_EQ(threads_within(0.0, 8), 1);
}

// This process's own group: reading it must always give a valid result.
TEST(OwnMachine, IsKnown) {
  const std::optional<MemoryInfo> memory = machine_memory();
  ASSERT_TRUE(memory.has_value());
  EXPECT_GT(memory->total_bytes, size_t{1} << 20);
  EXPECT_LT(memory->total_bytes, size_t{1} << 60);
  EXPECT_LE(memory->free_bytes, memory->total_bytes);
  EXPECT_TRUE(cpu_quota().has_value());
}

// This is the last test, for ./dev check containers.
TEST(Trees, AreCounted) { std::printf("figure trees %d\n", trees_tried); }

}  // namespace
}  // namespace openaclnn::cpu
