// Readers of tensor files: real files of torch.save, raw files, and hostile variants of each.
#include "files/tensor_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "files/bin.h"
#include "files/dtype_names.h"
#include "files/errors.h"
#include "files/npy.h"
#include "files/pickle.h"
#include "files/pt.h"
#include "files/zip.h"
#include "judge/scratch_folder.h"
#include "support/paths.h"

namespace {

namespace fs = std::filesystem;
using namespace openaclnn_files;
using openaclnn_test::ScratchFolder;

const fs::path kPtFolder = test_paths::pt_folder;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Returns the error message, or an empty text if the source is accepted.
std::string refusal(const std::string& source) {
  try {
    read_tensor(source);
    return "";
  } catch (const BadInput& error) {
    return error.what();
  }
}
std::string refusal_of_pt(std::string_view bytes) {
  try {
    read_pt(Memory(bytes), "");
    return "";
  } catch (const BadInput& error) {
    return error.what();
  }
}

std::string replaced(std::string text, const std::string& old, const std::string& replacement) {
  const size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  EXPECT_EQ(old.size(), replacement.size());
  return text.replace(at, old.size(), replacement);
}

void expect_equal(const FileTensor& one, const FileTensor& other) {
  EXPECT_EQ(one.dtype, other.dtype);
  EXPECT_EQ(one.dims, other.dims);
  EXPECT_EQ(one.bytes, other.bytes);
}

TEST(PtFiles, HaveTheElementsOfTheirNpyFiles) {
  int compared = 0;
  for (const char* version : {"torch_1.13", "torch_2.15"}) {
    for (const fs::directory_entry& entry : fs::directory_iterator(kPtFolder / version)) {
      if (entry.path().extension() != ".npy") continue;
      SCOPED_TRACE(entry.path());
      fs::path pt = entry.path();
      expect_equal(read_tensor(pt.replace_extension(".pt")), read_tensor(entry.path()));
      ++compared;
    }
  }
  EXPECT_EQ(compared, 27);
}

TEST(PtFiles, OfDictionariesNeedAName) {
  for (const char* version : {"torch_1.13", "torch_2.15"}) {
    const std::string folder = kPtFolder / version;
    EXPECT_EQ(read_tensor(folder + "/dictionary.pt:b").dims, std::vector<int64_t>{3});
    EXPECT_EQ(read_tensor(folder + "/state_dict.pt:weight").dims, (std::vector<int64_t>{1, 2}));
    EXPECT_EQ(refusal(folder + "/dictionary.pt"),
              folder + "/dictionary.pt: the file has 2 tensors; select one with :NAME: a, b");
    EXPECT_EQ(refusal(folder + "/dictionary.pt:c"),
              folder + "/dictionary.pt:c: the file has no tensor 'c'; it has a, b");
  }
}

TEST(PtFiles, WithOtherObjectsAreRefused) {
  const std::string folder = kPtFolder / "torch_2.15";
  EXPECT_EQ(refusal(folder + "/list.pt"),
            folder +
                "/list.pt: data.pkl of the file has an object that isn't a tensor, which isn't accepted; "
                "save one tensor with torch.save(tensor.detach().cpu(), file)");
  EXPECT_EQ(refusal(folder + "/module.pt"),
            folder +
                "/module.pt: data.pkl of the file has the name torch.nn.modules.linear.Linear, which isn't "
                "accepted; save one tensor with torch.save(tensor.detach().cpu(), file)");
  EXPECT_EQ(refusal(folder + "/legacy.pt"),
            folder +
                "/legacy.pt: the file has the format of torch.save before PyTorch 1.6; convert it with "
                "torch.save(torch.load(file), file)");
}

// Same-length replacements in a real file, and what the reader says about each.
TEST(PtFiles, HostileVariantsAreRefused) {
  const std::string good = contents(kPtFolder / "torch_2.15" / "transposed.pt");
  ASSERT_EQ(refusal_of_pt(good), "");
  using namespace std::string_literals;
  const std::string dims = "K\x03K\x02\x86"s;  // the shape [3, 2]
  struct Variant {
    std::string old, replacement, expected;
  };
  const Variant variants[] = {
      {"torch._utils\n", "posix.system\n",
       "has the name posix.system._rebuild_tensor_v2, which isn't accepted"},
      {"ctorch\nFloatStorage", "c__builtin__\neval\nx",
       "has the name __builtin__.eval, which isn't accepted"},
      {"FloatStorage", "HalftStorage", "has the name torch.HalftStorage, which isn't accepted"},
      {"FloatStorage", "QInt8Storage", "has the name torch.QInt8Storage, which isn't accepted"},
      {"storage", "sturage", "data.pkl of the file is malformed"},
      {"collections\nOrderedDict", "collections\ndefaultdict", "has the name collections.defaultdict"},
      {dims, "K\xFFK\x02\x86"s, "the tensor leaves its storage, which has 6 elements in the file"},
      {dims, "K\x04K\x02\x86"s, "the tensor leaves its storage, which has 6 elements in the file"},
      {dims, "K\x03N\x02\x86\x86"s.substr(0, 5), "has the pickle opcode 0x02, which isn't accepted"},
      {"\x80\x02", "\x80\x01", "data.pkl has pickle protocol 1; accepted are 2 to 5"},
      {"\x80\x02", "\x80\x06", "data.pkl has pickle protocol 6; accepted are 2 to 5"},
      {"little", "bigend", "the byte order of the file is 'bigend'; accepted is 'little'"},
      {"PK\x03\x04", "PK\x03\x05", "the file isn't a zip archive as torch.save writes it"},
      {"PK\x05\x06", "PK\x05\x07", "the file has no zip directory at its end"},
  };
  for (const Variant& variant : variants) {
    const std::string said = refusal_of_pt(replaced(good, variant.old, variant.replacement));
    EXPECT_NE(said.find(variant.expected), std::string::npos) << variant.replacement << ": " << said;
  }
  EXPECT_EQ(refusal_of_pt("PK\x03\x04PK\x05\x06" + std::string(18, '\0')),
            "the zip archive has no data.pkl; it isn't a file of torch.save");
}

// Longer numbers take the space of an entry of the memo.
TEST(PtFiles, NegativeNumbersAreRefused) {
  const std::string good = contents(kPtFolder / "torch_2.15" / "transposed.pt");
  using namespace std::string_literals;
  const std::string offset = "K\x00K\x03K\x02\x86q"s, strides = "K\x01K\x03\x86q"s;
  const auto with_memo = [&](const std::string& text) {
    return good.substr(good.find(text), text.size() + 1);
  };
  EXPECT_EQ(refusal_of_pt(replaced(good, with_memo(offset), "\x8a\x02\xFF\xFFK\x03K\x02\x86"s)),
            "the tensor has a negative offset");
  EXPECT_EQ(refusal_of_pt(replaced(good, with_memo(strides), "\x8a\x01\xFD\x8a\x01\x03\x86"s)),
            "the tensor has a negative stride");
}

TEST(PtFiles, EveryTruncationIsRefused) {
  for (const char* version : {"torch_1.13", "torch_2.15"}) {
    const std::string good = contents(kPtFolder / version / "permuted.pt");
    ASSERT_EQ(refusal_of_pt(good), "");
    for (size_t size = 0; size < good.size(); ++size)
      EXPECT_NE(refusal_of_pt(std::string_view(good).substr(0, size)), "") << size;
  }
}

// Any byte may be wrong: the reader either accepts other elements or says what it found.
TEST(PtFiles, EveryChangedByteIsReadOrRefused) {
  const std::string good = contents(kPtFolder / "torch_1.13" / "transposed.pt");
  int refused = 0;
  for (size_t at = 0; at < good.size(); ++at) {
    for (const int change : {0x01, 0x80, 0xFF}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ change);
      refused += refusal_of_pt(bad).empty() ? 0 : 1;
    }
  }
  EXPECT_GT(refused, 300);
}

// The first entry of the directory is changed in its flags, then in its sizes.
TEST(PtFiles, BadDirectoriesAreRefused) {
  const std::string good = contents(kPtFolder / "torch_2.15" / "transposed.pt");
  const size_t entry = good.find("PK\x01\x02");
  const auto said = [&](std::initializer_list<size_t> places) {
    std::string bad = good;
    for (const size_t place : places) bad[entry + place] = static_cast<char>(bad[entry + place] ^ 1);
    return refusal_of_pt(bad);
  };
  for (const size_t place : {8, 10, 20, 24})  // encrypted, compressed, fewer bytes than there are
    EXPECT_NE(said({place}).find("is compressed or encrypted"), std::string::npos) << place;
  EXPECT_NE(said({23, 27}).find("is outside the file"), std::string::npos);
}

TEST(Pickles, MalformedOnesAreRefused) {
  using namespace std::string_literals;
  const auto said = [](const std::string& rest) {
    try {
      return parse_pickle("\x80\x02" + rest + ".").empty() ? "no tensors"s : ""s;
    } catch (const BadInput& error) {
      return std::string(error.what()).substr(std::string("data.pkl of the file ").size());
    }
  };
  const auto tensor = [](const std::string& strides, const std::string& metadata) {
    return "ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0"s +
           "0X\3\0\0\0cpuK\x06tQK\0K\2K\3\x86"s + strides + "\x89}" + metadata + "tR";
  };
  EXPECT_EQ(said(tensor("K\3K\1\x86", "")), "");
  EXPECT_EQ(said(tensor("K\3\x85", "")), "is malformed");
  EXPECT_TRUE(
      said(tensor("K\3K\1\x86", "}X\4\0\0\0conj\x88s"s)).starts_with("has a tensor with a conjugate"));
  const std::string malformed[] = {
      "ctorch._utils\n_rebuild_parameter\n(K\1tR",  // not a tensor
      "ccollections\nOrderedDict\n(NNNNNNNNNtR",    // too many arguments
      "K\1K\1\x93",                                 // numbers as the name of a function
      "NNb",                                        // attributes of a value without any
      "}(K\1u",                                     // a key without a value
      "NN(\x86",                                    // values before the mark
      "NN",                                         // two results
  };
  for (const std::string& text : malformed) EXPECT_EQ(said(text), "is malformed") << text;
}

TEST(Pickles, NestedDeeplyOrEndlessAreRefused) {
  const auto refused = [](const std::string& pickle) {
    try {
      parse_pickle(pickle);
      return std::string();
    } catch (const BadInput& error) {
      return std::string(error.what());
    }
  };
  const std::string begin = "\x80\x02";
  EXPECT_NE(refused(begin + std::string(3'000'000, ']') + "."), "");
  EXPECT_NE(refused(begin + std::string(3'000'000, '(') + "."), "");
  std::string nested = begin + ")";
  for (int k = 0; k < 900'000; ++k) nested += '\x85';
  EXPECT_NE(refused(nested + "."), "");
  // A list that contains itself.
  EXPECT_NE(refused(begin + "]q\x01h\x01" + "a."), "");
  // References to one value.
  std::string copies = begin + "Nq\x01";
  for (int k = 0; k < 1'100'000; ++k) copies += "h\x01";
  EXPECT_TRUE(refused(copies + ".").starts_with("data.pkl of the file has more than "));
  EXPECT_EQ(refused(begin + "h\x05."), "data.pkl of the file is malformed");
  EXPECT_EQ(refused(begin + "t."), "data.pkl of the file is malformed");
  EXPECT_EQ(refused(begin + "X\xFF\xFF\xFF\xFF."), "data.pkl of the file is truncated");
}

TEST(BinFiles, AreReadWithAShapeFile) {
  const ScratchFolder folder;
  folder.write("x.bin", std::string("\x00\x3c\x00\xc0", 4));
  folder.write("x.json", R"({"dtype": "float16", "shape": [2, 1]})");
  const FileTensor tensor = read_tensor(folder.path("x.bin"));
  EXPECT_EQ(tensor.dtype, ACL_FLOAT16);
  EXPECT_EQ(tensor.dims, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(tensor.bytes.size(), 4u);

  const std::pair<const char*, const char*> bad[] = {
      {"", "the shape file isn't JSON"},
      {"[1]", R"(the shape file isn't an object such as {"dtype": "float16", "shape": [2, 3]})"},
      {R"({"dtype": "float17", "shape": [2]})", "the shape file has the unrecognized dtype 'float17'"},
      {R"({"dtype": "float16", "shape": [-2]})",
       "the shape in the shape file has an entry that isn't an integer from 0 to 2^63 - 1"},
      {R"({"dtype": "float16", "shape": [3]})",
       "the shape file describes 6 bytes of elements, but the file has 4"},
      {R"({"dtype": "float16", "shape": [1]})",
       "the shape file describes 2 bytes of elements, but the file has 4"},
      {R"({"dtype": "float16", "shape": [9999, 9999, 9999, 9999, 9999]})",
       "the tensor has more than 2^63 - 1 bytes"},
      {R"({"dtype": "float16", "shape": [1,1,1,1,1,1,1,1,2]})",
       "the shape in the shape file has more than 8 dims"},
      {R"({"dtype": "float16", "shape": [[[2]]]})", "the shape file is nested too deeply"},
      {R"({"dtype": "float16", "shape": [1e999]})", "the shape file isn't JSON"}};
  for (const auto& [text, expected] : bad) {
    folder.write("x.json", text);
    EXPECT_EQ(refusal(folder.path("x.bin")), folder.path("x.bin") + ": " + expected);
  }
}

TEST(BinFiles, OfAtbHaveATextHeader) {
  const ScratchFolder folder;
  const auto said = [&](const std::string& text) {
    folder.write("y.bin", text);
    return refusal(folder.path("y.bin")).substr(folder.path("y.bin").size() + 2);
  };
  folder.write("y.bin", "dtype=27\r\ndims=1,2\r\n$End=1\r\nabcd");
  EXPECT_EQ(refusal(folder.path("y.bin")), "");
  folder.write("y.bin", "$Version=1.0\nformat=2\ndtype=27\ndims=1,2\n$End=1\nabcd");
  const FileTensor tensor = read_tensor(folder.path("y.bin"));
  EXPECT_EQ(tensor.dtype, ACL_BF16);
  EXPECT_EQ(tensor.dims, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(std::to_integer<char>(tensor.bytes[0]), 'a');
  EXPECT_EQ(said("dtype=27\ndims=1,2\n$End=1\nabc"),
            "the header describes 4 bytes of elements, but the file has 3");
  EXPECT_EQ(said("dtype=99\ndims=1,2\n$End=1\nabcd"), "the header has dtype 99, which no operator accepts");
  EXPECT_EQ(said("dtype=1\ndims=1,x\n$End=1\nabcd"), "dims of the header isn't a list of integers: 'x'");
  EXPECT_EQ(said("dtype=1\ndims=-1\n$End=1\nabcd"), "the tensor has the dim -1; dims must not be negative");
  EXPECT_EQ(said("dtype=1\ndims=0,-1\n$End=1\n"), "the tensor has the dim -1; dims must not be negative");
  EXPECT_EQ(said("dtype=1,27\ndims=2\n$End=1\nabcd"), "dtype of the header isn't one number");
  EXPECT_EQ(said("dims=2\n$End=1\nabcd"), "the header lacks dtype or dims");
  EXPECT_EQ(said("dtype=1\ndims=2\ndata=z.raw\n$End=1\n"),
            "the elements are in another file, 'z.raw'; convert it with `msprobe parse`");
  EXPECT_EQ(said("dtype=1\ndims=2\n"),
            "the file has neither a shape file FILE.json nor a text header that ends with $End=1");
  EXPECT_EQ(said("abc"),
            "the file has neither a shape file FILE.json nor a text header that ends with $End=1");
}

TEST(NpyFiles, InColumnMajorOrderAreTransposed) {
  const ScratchFolder folder;
  std::string header = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }\n";
  folder.write("z.npy", std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size()) + '\0' +
                            header + "adbecf");
  const FileTensor tensor = read_tensor(folder.path("z.npy"));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(tensor.bytes.data()), 6), "abcdef");
}

TEST(NpyFiles, WithBadHeadersAreRefused) {
  const auto said = [](const std::string& header, char version = 1) {
    const std::string file = std::string("\x93NUMPY") + version + '\0' + static_cast<char>(header.size()) +
                             '\0' + header + "abcdef";
    try {
      parse_npy(file, file.size());
      return std::string();
    } catch (const BadInput& error) {
      return std::string(error.what());
    }
  };
  const std::string order = "'fortran_order': False, ", start = "{'descr': '|u1', " + order;
  EXPECT_EQ(said(start + "'shape': (6,)}"), "");
  EXPECT_EQ(said(start + "'shape': (6,)}", 4), "the .npy format version is 4; accepted are 1 to 3");
  EXPECT_EQ(said(start + order + "'shape': (6,)}"), "the header has the key 'fortran_order' twice");
  EXPECT_EQ(said(start + "'shape': (6,)} x"), "the header has text after the dictionary");
  EXPECT_EQ(said(start + "'shape': (1, 1, 1, 1, 1, 1, 1, 1, 6)}"),
            "the shape in the header has more than 8 dims");
}

TEST(TensorFiles, OfOtherKindsAreRefused) {
  const ScratchFolder folder;
  EXPECT_EQ(refusal("x.txt"),
            "x.txt: unrecognized tensor file; expected FILE.npy, FILE.safetensors[:NAME], FILE.pt[:NAME] or "
            "FILE.bin");
  EXPECT_EQ(refusal(folder.path("none.pt")), folder.path("none.pt") + ": No such file or directory");
  fs::create_directory(folder.path("folder.pt"));
  EXPECT_EQ(refusal(folder.path("folder.pt")), folder.path("folder.pt") + ": this isn't a regular file");
}

TEST(DtypeNames, AreThoseOfTools) {
  for (const char* name : {"torch.float16", "Float16", "float16", "FP16", "ACL_FLOAT16", "half"})
    EXPECT_EQ(dtype_named(name), ACL_FLOAT16) << name;
  EXPECT_EQ(dtype_named("torch.bfloat16"), ACL_BF16);
  EXPECT_EQ(dtype_named("float8_e4m3fn"), ACL_DT_UNDEFINED);
  EXPECT_EQ(dtype_named(""), ACL_DT_UNDEFINED);
  EXPECT_EQ(dtype_named(torch_name(ACL_UINT8)), ACL_UINT8);
}

}  // namespace
