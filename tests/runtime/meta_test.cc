// Tests tensors, scalars, arrays and lists: the values they keep, the getters' results, and ownership.
#include <atomic>
#include <complex>
#include <limits>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/runtime_test.h"

namespace {

using namespace runtime_test;
using Dims = std::vector<int64_t>;

// The array that a shape getter returned; frees it as callers do.
Dims taken(int code, int64_t* dims, uint64_t count) {
  expect(0, code);
  EXPECT_NE(dims, nullptr);
  const std::unique_ptr<int64_t[]> owner(dims);
  return Dims(dims, dims + count);
}
Dims view_shape(const aclTensor* tensor) {
  int64_t* dims = nullptr;
  uint64_t count = 77;
  const int code = aclGetViewShape(tensor, &dims, &count);
  return taken(code, dims, count);
}
Dims view_strides(const aclTensor* tensor) {
  int64_t* dims = nullptr;
  uint64_t count = 77;
  const int code = aclGetViewStrides(tensor, &dims, &count);
  return taken(code, dims, count);
}
Dims storage_shape(const aclTensor* tensor) {
  int64_t* dims = nullptr;
  uint64_t count = 77;
  const int code = aclGetStorageShape(tensor, &dims, &count);
  return taken(code, dims, count);
}

TEST(TensorTest, KeepsCopiesOfEverything) {
  int64_t dims[] = {2, 3}, strides[] = {-5, 0}, storage[] = {100};
  float data = 0;
  aclTensor* tensor = aclCreateTensor(dims, 2, ACL_BF16, strides, 7, ACL_FORMAT_NCL, storage, 1, &data);
  ASSERT_NE(tensor, nullptr);
  dims[0] = strides[0] = storage[0] = 99;
  EXPECT_EQ(view_shape(tensor), Dims({2, 3}));
  EXPECT_EQ(view_strides(tensor), Dims({-5, 0}));
  EXPECT_EQ(storage_shape(tensor), Dims({100}));
  int64_t offset = 0;
  aclDataType dtype = ACL_DT_UNDEFINED;
  aclFormat format = ACL_FORMAT_UNDEFINED;
  void* address = nullptr;
  expect(0, aclGetViewOffset(tensor, &offset));
  expect(0, aclGetDataType(tensor, &dtype));
  expect(0, aclGetFormat(tensor, &format));
  expect(0, aclGetRawTensorAddr(tensor, &address));
  EXPECT_EQ(offset, 7);
  EXPECT_EQ(dtype, ACL_BF16);
  EXPECT_EQ(format, ACL_FORMAT_NCL);
  EXPECT_EQ(address, &data);
  expect(0, aclDestroyTensor(tensor));
}

TEST(TensorTest, NullStridesMeanContiguous) {
  const int64_t dims[] = {2, 3, 4};
  aclTensor* tensor = aclCreateTensor(dims, 3, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 0, nullptr);
  EXPECT_EQ(view_strides(tensor), Dims({12, 4, 1}));
  EXPECT_EQ(storage_shape(tensor), Dims());
  expect(0, aclDestroyTensor(tensor));
}

TEST(TensorTest, RankZero) {
  const int64_t dims[] = {5};
  for (const int64_t* pointer : {dims, static_cast<const int64_t*>(nullptr)}) {
    aclTensor* tensor =
        aclCreateTensor(pointer, 0, ACL_FLOAT, pointer, 3, ACL_FORMAT_ND, pointer, 0, nullptr);
    ASSERT_NE(tensor, nullptr);
    EXPECT_EQ(view_shape(tensor), Dims());
    EXPECT_EQ(view_strides(tensor), Dims());
    EXPECT_EQ(storage_shape(tensor), Dims());
    expect(0, aclDestroyTensor(tensor));
  }
}

TEST(TensorTest, ValidatesNothingElse) {
  const int64_t extremes[] = {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), -1};
  aclTensor* tensor = aclCreateTensor(extremes, 3, static_cast<aclDataType>(12345), extremes, extremes[1],
                                      static_cast<aclFormat>(-77), extremes, 3, reinterpret_cast<void*>(3));
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(view_shape(tensor), Dims(extremes, extremes + 3));
  expect(0, aclDestroyTensor(tensor));
  tensor = aclCreateTensor(extremes, 3, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, extremes, 3,
                           nullptr);  // strides overflow
  ASSERT_NE(tensor, nullptr);
  expect(0, aclDestroyTensor(tensor));
}

TEST(TensorTest, SixtyFourDimsAndNoMore) {
  const Dims dims(65, 1);
  aclTensor* tensor =
      aclCreateTensor(dims.data(), 64, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims.data(), 64, nullptr);
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(view_shape(tensor), Dims(64, 1));
  expect(0, aclDestroyTensor(tensor));
  struct Case {
    uint64_t view, storage;
    const char* says;
  };
  for (const Case& c : {Case{65, 1, "viewDimsNum is 65"},
                        {1, 65, "storageDimsNum is 65"},
                        {UINT64_MAX, 0, "viewDimsNum is"}}) {
    EXPECT_EQ(aclCreateTensor(dims.data(), c.view, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims.data(),
                              c.storage, nullptr),
              nullptr);
    expect(161002, 161002, {"aclCreateTensor: ", c.says, "at most 64"});
  }
}

TEST(TensorTest, NullDimsWithACount) {
  const int64_t dims[] = {1};
  EXPECT_EQ(aclCreateTensor(nullptr, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1, nullptr), nullptr);
  expect(161001, 161001, {"aclCreateTensor: viewDims is NULL"});
  EXPECT_EQ(aclCreateTensor(dims, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 1, nullptr), nullptr);
  expect(161001, 161001, {"aclCreateTensor: storageDims is NULL"});
}

TEST(TensorTest, GettersRefuseNull) {
  aclTensor* tensor = make_tensor({1}, ACL_FLOAT, nullptr);
  int64_t* dims = nullptr;
  uint64_t count = 77;
  for (auto* get : {aclGetViewShape, aclGetStorageShape, aclGetViewStrides}) {
    expect(161001, get(nullptr, &dims, &count), {"tensor is NULL"});
    expect(161001, get(tensor, nullptr, &count), {"NULL"});
    expect(161001, get(tensor, &dims, nullptr), {"NULL"});
  }
  EXPECT_EQ(dims, nullptr);
  EXPECT_EQ(count, 77u);
  expect(161001, aclGetViewOffset(tensor, nullptr), {"offset is NULL"});
  expect(161001, aclGetDataType(tensor, nullptr), {"dataType is NULL"});
  expect(161001, aclGetFormat(tensor, nullptr), {"format is NULL"});
  expect(161001, aclGetRawTensorAddr(tensor, nullptr), {"addr is NULL"});
  expect(0, aclDestroyTensor(tensor));
}

TEST(TensorTest, InitReplacesALiveTensor) {
  aclTensor* tensor = make_tensor({4, 4}, ACL_FLOAT, nullptr);
  int data = 0;
  const int64_t dims[] = {3}, strides[] = {2}, storage[] = {6};
  expect(0, aclInitTensor(tensor, dims, 1, ACL_INT32, strides, 1, ACL_FORMAT_NCHW, storage, 1, &data));
  EXPECT_EQ(view_shape(tensor), Dims({3}));
  EXPECT_EQ(view_strides(tensor), Dims({2}));
  EXPECT_EQ(storage_shape(tensor), Dims({6}));
  void* address = nullptr;
  expect(0, aclGetRawTensorAddr(tensor, &address));
  EXPECT_EQ(address, &data);
  expect(161001, aclInitTensor(tensor, nullptr, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1, nullptr),
         {"viewDims"});
  expect(161001, aclInitTensor(tensor, dims, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, nullptr, 1, nullptr),
         {"storageDims"});
  expect(161001, aclInitTensor(nullptr, dims, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1, nullptr),
         {"tensor is NULL"});
  EXPECT_EQ(view_shape(tensor), Dims({3}));
  expect(0, aclDestroyTensor(tensor));
  expect(161002, aclInitTensor(tensor, dims, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, dims, 1, nullptr),
         {"not live"});
}

TEST(TensorTest, RawAddress) {
  aclTensor* tensor = make_tensor({1}, ACL_FLOAT, nullptr);
  void* address = &address;
  expect(0, aclGetRawTensorAddr(tensor, &address));
  EXPECT_EQ(address, nullptr);
  expect(0, aclSetRawTensorAddr(tensor, &address));
  expect(0, aclGetRawTensorAddr(tensor, &address));
  EXPECT_EQ(address, &address);
  expect(0, aclSetRawTensorAddr(tensor, nullptr));
  expect(0, aclGetRawTensorAddr(tensor, &address));
  EXPECT_EQ(address, nullptr);
  expect(161001, aclSetRawTensorAddr(nullptr, nullptr), {"tensor is NULL"});
  expect(161001, aclGetRawTensorAddr(nullptr, &address), {"tensor is NULL"});
  expect(0, aclDestroyTensor(tensor));
  expect(161002, aclSetRawTensorAddr(tensor, nullptr), {"not live"});
}

// One thread replaces the whole descriptor, another only the address: neither may restore the other's old
// value.
TEST(TensorTest, ConcurrentUpdatesLoseNothing) {
  aclTensor* tensor = make_tensor({1}, ACL_FLOAT, nullptr);
  std::atomic<bool> stop{false};
  std::thread addresses([&] {
    while (!stop) expect(0, aclSetRawTensorAddr(tensor, &stop));
  });
  for (int64_t k = 2; k < 20000; ++k) {
    expect(0, aclInitTensor(tensor, &k, 1, ACL_FLOAT, nullptr, 0, ACL_FORMAT_ND, &k, 1, nullptr));
    ASSERT_EQ(view_shape(tensor), Dims({k}));
  }
  stop = true;
  addresses.join();
  expect(0, aclDestroyTensor(tensor));
}

TEST(ScalarTest, NeedsAValueAndATypeOfWholeBytes) {
  std::complex<double> value(1, 2);
  for (int dtype : {0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12, 16, 17, 27, 33, 34, 35, 36, 37}) {
    aclScalar* scalar = aclCreateScalar(&value, static_cast<aclDataType>(dtype));
    EXPECT_NE(scalar, nullptr) << dtype;
    expect(0, aclDestroyScalar(scalar));
  }
  for (int dtype : {-1, 13, 29, 30, 38, 39, 40, 41, 5, 1000, -1000}) {
    EXPECT_EQ(aclCreateScalar(&value, static_cast<aclDataType>(dtype)), nullptr) << dtype;
    expect(161002, 161002, {"aclCreateScalar: dataType is "});
  }
  EXPECT_EQ(aclCreateScalar(nullptr, ACL_FLOAT), nullptr);
  expect(161001, 161001, {"aclCreateScalar: value is NULL"});
}

// Tests create, size and destroy of one kind of array.
template <class Create, class Size, class Destroy, class Value>
void check_array(Create create, Size get_size, Destroy destroy, const Value* values) {
  for (uint64_t size : {0, 1, 5}) {
    auto* array = create(values, size);
    ASSERT_NE(array, nullptr);
    uint64_t found = 77;
    expect(0, get_size(array, &found));
    EXPECT_EQ(found, size);
    expect(161001, get_size(array, nullptr), {"size is NULL"});
    expect(0, destroy(array));
    expect(161002, get_size(array, &found), {"not live"});
    expect(161002, destroy(array), {"not live"});
  }
  auto* empty = create(nullptr, 0);
  ASSERT_NE(empty, nullptr);
  expect(0, destroy(empty));
  EXPECT_EQ(create(nullptr, 1), nullptr);
  expect(161001, 161001, {"value is NULL"});
  for (const uint64_t size : {uint64_t{1} << 31, uint64_t{1} << 60, uint64_t{1} << 63, UINT64_MAX}) {
    EXPECT_EQ(create(values, size), nullptr);
    expect(161002, 161002, {"size is " + std::to_string(size) + "; it must be at most 2147483647"});
  }
  uint64_t unused = 0;
  expect(161001, get_size(nullptr, &unused), {"NULL"});
  expect(0, destroy(nullptr));
}

TEST(ArrayTest, AllKinds) {
  const int64_t ints[5] = {};
  const float floats[5] = {};
  const bool bools[5] = {};
  check_array(aclCreateIntArray, aclGetIntArraySize, aclDestroyIntArray, ints);
  check_array(aclCreateFloatArray, aclGetFloatArraySize, aclDestroyFloatArray, floats);
  check_array(aclCreateBoolArray, aclGetBoolArraySize, aclDestroyBoolArray, bools);
}

TEST(ListTest, TakesOverItsElements) {
  aclTensor* tensors[] = {make_tensor({1}, ACL_FLOAT, nullptr), make_tensor({2}, ACL_FLOAT, nullptr),
                          make_tensor({3}, ACL_FLOAT, nullptr)};
  aclTensorList* list = aclCreateTensorList(tensors, 3);
  ASSERT_NE(list, nullptr);
  uint64_t size = 0;
  expect(0, aclGetTensorListSize(list, &size));
  EXPECT_EQ(size, 3u);
  expect(0, aclDestroyTensor(tensors[1]));  // permitted; the list skips it
  EXPECT_EQ(view_shape(tensors[0]), Dims({1}));
  expect(0, aclDestroyTensorList(list));
  for (aclTensor* tensor : tensors) expect(161002, aclDestroyTensor(tensor));
  expect(161002, aclDestroyTensorList(list));

  float value = 1;
  aclScalar* scalars[] = {aclCreateScalar(&value, ACL_FLOAT), nullptr};
  scalars[1] = scalars[0];  // named twice, destroyed once
  aclScalarList* scalar_list = aclCreateScalarList(scalars, 2);
  ASSERT_NE(scalar_list, nullptr);
  expect(0, aclGetScalarListSize(scalar_list, &size));
  EXPECT_EQ(size, 2u);
  expect(0, aclDestroyScalarList(scalar_list));
  expect(161002, aclDestroyScalar(scalars[0]));
}

TEST(ListTest, RefusesElementsThatAreNotLive) {
  aclTensor* tensors[] = {make_tensor({1}, ACL_FLOAT, nullptr), nullptr};
  EXPECT_EQ(aclCreateTensorList(tensors, 2), nullptr);
  expect(161001, 161001, {"aclCreateTensorList: value[1] is NULL"});
  tensors[1] = make_tensor({1}, ACL_FLOAT, nullptr);
  expect(0, aclDestroyTensor(tensors[1]));
  EXPECT_EQ(aclCreateTensorList(tensors, 2), nullptr);
  expect(161002, 161002, {"aclCreateTensorList: value[1] is not live (0x"});
  expect(0, aclDestroyTensor(tensors[0]));  // a list that was not made took no ownership
  EXPECT_EQ(aclCreateTensorList(nullptr, 1), nullptr);
  expect(161001, 161001, {"value is NULL"});
  EXPECT_EQ(aclCreateScalarList(nullptr, 1), nullptr);
  expect(161001, 161001, {"value is NULL"});
  aclTensorList* empty = aclCreateTensorList(nullptr, 0);
  ASSERT_NE(empty, nullptr);
  expect(0, aclDestroyTensorList(empty));
}

TEST(MetaTest, InitFinalizeAndDumpDoNothing) {
  expect(0, aclnnInit("/no/such/file"));
  expect(0, aclnnInit(nullptr));
  expect(0, aclnnFinalize());
  expect(0, aclnnFinalize());
  expect(0, aclDumpOpTensors(nullptr, "x", nullptr, 3, 4, nullptr));  // no acl.json asks for dumps
  expect(100037, aclFinalize());                                      // aclnnInit is not aclInit
}

}  // namespace
