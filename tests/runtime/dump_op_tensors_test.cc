// Tests aclDumpOpTensors: the format of the files, refused arguments, folders that cannot be written.
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "runtime/counter.h"
#include "runtime/dump_test.h"
#include "runtime/gate.h"

namespace {

using namespace runtime_test;
namespace fs = std::filesystem;

class DumpOpTensorsTest : public DumpTest {};

TEST_F(DumpOpTensorsTest, WritesTheFormatOfMsprobe) {
  start_all();
  const float floats[] = {1, 2, 3, 4, 5, 6};
  const int64_t dims[] = {3, 2}, transposed[] = {1, 3}, all[] = {6};
  aclTensor* const strided =  // the columns of a 2 x 3 matrix
      aclCreateTensor(dims, 2, ACL_FLOAT, transposed, 0, ACL_FORMAT_ND, all, 1, const_cast<float*>(floats));
  const uint16_t halves[] = {0x3F80, 0x4000};  // BF16: 1, 2
  aclTensor* const bf16 = make_tensor({2}, ACL_BF16, const_cast<uint16_t*>(halves));
  int64_t integer = INT64_MAX;
  aclTensor* const scalar = make_tensor({}, ACL_INT64, &integer);
  expect(0, dump({strided, nullptr, bf16}, {scalar}, "my.op/x", "name"));
  for (const aclTensor* tensor : {strided, bf16, scalar}) expect(0, aclDestroyTensor(tensor));

  const std::string expected =
      head() + "\n" +
      R"("Aten.my_op_x.0.forward":{"input_args":[{"type":"torch.Tensor","dtype":"torch.float32","shape":[3,2],)"
      R"("Max":6.0,"Min":1.0,"Mean":3.5,"Norm":9.539392014169456,"requires_grad":false,)"
      R"("data_name":"Aten.my_op_x.0.forward.input.0.npy"},null,)"
      R"({"type":"torch.Tensor","dtype":"torch.bfloat16","shape":[2],"Max":2.0,"Min":1.0,"Mean":1.5,)"
      R"("Norm":2.23606797749979,"requires_grad":false,"data_name":"Aten.my_op_x.0.forward.input.2.npy"}],)"
      R"("input_kwargs":{},"output":[{"type":"torch.Tensor","dtype":"torch.int64","shape":[],)"
      R"("Max":9223372036854775807,"Min":9223372036854775807,"Mean":9223372036854775807,)"
      R"("Norm":9223372036854775807,"requires_grad":false,"data_name":"Aten.my_op_x.0.forward.output.0.npy"}],)"
      R"("op_name":"name"}}})"
      "\n";
  EXPECT_EQ(dump_json(), expected);  // complete before aclFinalize
  const float columns[] = {1, 4, 2, 5, 3, 6};
  EXPECT_EQ(tensor_file("Aten.my_op_x.0.forward.input.0.npy"), npy("<f4", "(3, 2)", columns, sizeof columns));
  EXPECT_EQ(tensor_file("Aten.my_op_x.0.forward.input.2.npy"), npy("<V2", "(2, )", halves, sizeof halves));
  EXPECT_EQ(tensor_file("Aten.my_op_x.0.forward.output.0.npy"), npy("<i8", "()", &integer, sizeof integer));
  EXPECT_EQ(tensor_files().size(), 3u) << "no temporary file stays";
}

// One tensor of each kind of statistics.
TEST_F(DumpOpTensorsTest, Statistics) {
  start_all();
  const auto statistics_of = [&](const std::vector<int64_t>& dims, aclDataType dtype, const void* data) {
    aclTensor* const tensor = make_tensor(dims, dtype, const_cast<void*>(data));
    expect(0, dump({}, {tensor}));
    expect(0, aclDestroyTensor(tensor));
    const std::string whole = dump_json();
    const size_t begin = whole.rfind("\"Max\""), end = whole.rfind(",\"requires_grad\"");
    return whole.substr(begin, end - begin);
  };
  const float nan[] = {1, NAN, 2}, inf[] = {-HUGE_VALF, 1};
  EXPECT_EQ(statistics_of({3}, ACL_FLOAT, nan), R"("Max":NaN,"Min":NaN,"Mean":NaN,"Norm":NaN)");
  EXPECT_EQ(statistics_of({2}, ACL_FLOAT, inf),
            R"("Max":1.0,"Min":-Infinity,"Mean":-Infinity,"Norm":Infinity)");
  const double doubles[] = {-0.5, 0.25};
  EXPECT_EQ(statistics_of({2}, ACL_DOUBLE, doubles), R"("Max":0.25,"Min":-0.5,"Mean":null,"Norm":null)");
  EXPECT_EQ(statistics_of({}, ACL_DOUBLE, doubles), R"("Max":-0.5,"Min":-0.5,"Mean":-0.5,"Norm":-0.5)");
  const uint16_t halves[] = {0x3C00, 0xC000};  // 1, -2
  EXPECT_EQ(statistics_of({2}, ACL_FLOAT16, halves),
            R"("Max":1.0,"Min":-2.0,"Mean":-0.5,"Norm":2.23606797749979)");
  const uint8_t bytes[] = {0, 2, 255};
  EXPECT_EQ(statistics_of({3}, ACL_BOOL, bytes), R"("Max":true,"Min":false,"Mean":null,"Norm":null)");
  EXPECT_EQ(statistics_of({}, ACL_BOOL, bytes + 1), R"("Max":true,"Min":true,"Mean":null,"Norm":null)");
  EXPECT_EQ(statistics_of({3}, ACL_UINT8, bytes), R"("Max":255,"Min":0,"Mean":null,"Norm":null)");
  EXPECT_EQ(statistics_of({3}, ACL_INT8, bytes), R"("Max":2,"Min":-1,"Mean":null,"Norm":null)");
  const float complex[] = {3, 4, 0, 0};
  EXPECT_EQ(statistics_of({2}, ACL_COMPLEX64, complex), R"("Max":5.0,"Min":0.0,"Mean":2.5,"Norm":null)");
  EXPECT_EQ(statistics_of({2, 0}, ACL_FLOAT, nullptr), R"("Max":null,"Min":null,"Mean":null,"Norm":null)");
}

TEST_F(DumpOpTensorsTest, RefusesBadArguments) {
  start_all();
  float data[2] = {};
  aclTensor* const good = make_tensor({2}, ACL_FLOAT, data);
  aclTensor* const stale = make_tensor({2}, ACL_FLOAT, data);
  expect(0, aclDestroyTensor(stale));
  aclTensor* const no_memory = make_tensor({2}, ACL_FLOAT, nullptr);
  aclTensor* const rank9 = make_tensor(std::vector<int64_t>(9, 1), ACL_FLOAT, data);
  aclTensor* const fp8 = make_tensor({2}, ACL_FLOAT8_E5M2, data);
  aclTensor* const huge = make_tensor({INT64_MAX, 8}, ACL_FLOAT, data);
  aclTensor* tensors[] = {good, good};
  expect(161001, aclDumpOpTensors(nullptr, "x", tensors, 1, 1, stream), {"aclDumpOpTensors: opType is NULL"});
  expect(161001, aclDumpOpTensors("Add", nullptr, tensors, 1, 1, stream), {"opName is NULL"});
  expect(161001, aclDumpOpTensors("Add", "x", nullptr, 1, 1, stream), {"tensors is NULL", "is 2"});
  expect(161002, aclDumpOpTensors("", "x", tensors, 1, 1, stream), {"opType has 0 bytes", "1 to 128"});
  expect(161002, aclDumpOpTensors(std::string(129, 'x').c_str(), "x", tensors, 1, 1, stream),
         {"opType has 129 bytes"});
  for (const size_t count : {size_t{65536}, SIZE_MAX, SIZE_MAX / 2 + 1}) {
    expect(161002, aclDumpOpTensors("Add", "x", tensors, 1, count, stream),
           {"outputTensorNum is " + std::to_string(count), "at most 65536"});
    expect(161002, aclDumpOpTensors("Add", "x", tensors, count, 1, stream), {"inputTensorNum is "});
  }
  expect(161002, dump({good}, {stale}), {"tensors[1] is not a live tensor"});
  expect(161001, dump({good, no_memory}, {}), {"the data address of tensors[1] is NULL", "[2]"});
  expect(161002, dump({rank9}, {}), {"tensors[0] has rank 9; at most 8"});
  expect(161002, dump({}, {fp8}), {"tensors[0] has dtype ACL_FLOAT8_E5M2", ".npy"});
  expect(161002, dump({huge}, {}), {"tensors[0]"});
  expect(107017, aclDumpOpTensors("Add", "x", tensors, 1, 1, this), {"stream"});
  EXPECT_FALSE(fs::exists(folder())) << "a refused call writes nothing";
  // Memory that the process cannot read is an error, not a crash.
  aclTensor* const unreadable = make_tensor({2}, ACL_FLOAT, reinterpret_cast<void*>(64));
  expect(100004, dump({good}, {unreadable}),
         {"Aten.Add.0.forward.output.0.npy' cannot be written: the memory cannot be read"});
  EXPECT_TRUE(tensor_files().empty());
  // Its elements are not visited one by one: 2^40 of them would take hours.
  aclTensor* const large = make_tensor({int64_t{1} << 40, 1}, ACL_FLOAT, reinterpret_cast<void*>(64));
  expect(100004, dump({good}, {large}), {"output.0.npy' cannot be written: the memory cannot be read"});
  expect(0, aclDestroyTensor(large));
  EXPECT_TRUE(tensor_files().empty());
  expect(0, dump({good}, {good}));
  EXPECT_NE(dump_json().find("\n\"Aten.Add.2.forward\""), std::string::npos);
  EXPECT_EQ(tensor_files().size(), 2u);
  for (const aclTensor* tensor : {good, no_memory, rank9, fp8, huge, unreadable})
    expect(0, aclDestroyTensor(tensor));
}

TEST_F(DumpOpTensorsTest, FollowsTheStreamsOrder) {
  start_all();
  Counter counter(1000);
  Gate gate;
  expect(0, gate.enqueue(stream));
  expect(0, counter.add(stream));
  std::thread opening([&] {
    gate.wait_until_reached();
    gate.open();
  });
  expect(0, dump({}, {counter.tensor(1)}));
  opening.join();
  const std::vector<float> ones(1000, 1.0f);
  EXPECT_EQ(tensor_file("Aten.Add.0.forward.output.0.npy"), npy("<f4", "(1000, )", ones.data(), 4000));
}

// A view of 2^50 elements that are all the same one.
TEST_F(DumpOpTensorsTest, RefusesTensorsThatFillTheDisk) {
  start_all();
  float element = 1;
  const int64_t dims[] = {int64_t{1} << 50}, strides[] = {0};
  aclTensor* tensor = aclCreateTensor(dims, 1, ACL_FLOAT, strides, 0, ACL_FORMAT_ND, dims, 1, &element);
  expect(100004, aclDumpOpTensors("Repeat", "", &tensor, 1, 0, stream),
         {"4503599627370496 bytes", "268435456"});
  expect(0, aclDestroyTensor(tensor));
}

TEST_F(DumpOpTensorsTest, FailsWholeWhenTheFolderCannotBeWritten) {
  start_all();
  std::vector<float> data(100000, 1.0f);
  aclTensor* const small = make_tensor({1}, ACL_FLOAT, data.data());
  aclTensor* const large = make_tensor({100000}, ACL_FLOAT, data.data());
  expect(0, dump({}, {small}));
  const std::string before = dump_json();
  {  // like a full disk: the second tensor doesn't fit
    rlimit limit = {};
    getrlimit(RLIMIT_FSIZE, &limit);
    const rlimit low = {65536, limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &low);
    const int code = dump({small}, {large});
    setrlimit(RLIMIT_FSIZE, &limit);
    expect(100004, code, {"Aten.Add.1.forward.output.0.npy' cannot be written: File too large"});
  }
  EXPECT_EQ(dump_json(), before);
  EXPECT_EQ(tensor_files(), std::set<std::string>{"Aten.Add.0.forward.output.0.npy"});
  {  // dump.json itself cannot grow
    rlimit limit = {};
    getrlimit(RLIMIT_FSIZE, &limit);
    const rlimit low = {before.size() + 20, limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &low);
    const int code = dump({}, {small});
    setrlimit(RLIMIT_FSIZE, &limit);
    expect(100004, code, {"dump.json' cannot be written: File too large"});
  }
  EXPECT_EQ(dump_json(), before);
  EXPECT_EQ(tensor_files().size(), 1u);
  fs::remove_all(folder() / "dump_tensor_data");
  expect(100004, dump({}, {small}), {"dump_tensor_data/Aten.Add.3.forward", "No such file"});
  std::ofstream(folder() / "dump.json") << "other";
  expect(100004, dump({}, {}), {"dump.json' cannot be extended: another program changed it"});
  fs::remove_all(folder());
  expect(100004, dump({}, {}), {"dump.json' cannot be written: No such file"});
  expect(0, aclDestroyTensor(small));
  expect(0, aclDestroyTensor(large));
}

TEST_F(DumpOpTensorsTest, FailsWhenTheFolderCannotBeCreated) {
  start_all();
  fs::remove_all(dump_path);
  std::ofstream(dump_path.c_str()) << "a file";
  expect(100004, dump({}, {}), {"/step0' cannot be written: Not a directory"});
}

TEST_F(DumpOpTensorsTest, ManyCallers) {
  start_all();
  constexpr int kThreads = 4, kCalls = 25;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      expect(0, aclrtSetDevice(0));
      const aclrtStream own = new_stream();
      float value = static_cast<float>(t);
      aclTensor* tensor = make_tensor({1}, ACL_FLOAT, &value);
      for (int k = 0; k < kCalls; ++k) expect(0, aclDumpOpTensors("Add", "", &tensor, 0, 1, own));
      expect(0, aclDestroyTensor(tensor));
      expect(0, aclrtDestroyStream(own));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(tensor_files().size(), size_t{kThreads * kCalls});
  const std::string whole = dump_json();
  for (int k = 0; k < kThreads * kCalls; ++k)
    EXPECT_NE(whole.find("\n\"Aten.Add." + std::to_string(k) + ".forward\":{"), std::string::npos) << k;
  EXPECT_EQ(std::count(whole.begin(), whole.end(), '\n'), kThreads * kCalls + 1);
}

}  // namespace
