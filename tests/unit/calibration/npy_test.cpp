#include "halfstep/calibration/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/calibration/memory_stream.h"

namespace halfstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

NpyArray array_of(const std::string& bytes) {
  return NpyArray(std::make_unique<MemoryStream>(bytes));
}

std::string dictionary(const std::string& descr, const std::string& shape, bool fortran = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + shape + ", }\n";
}

template <typename T>
std::vector<T> values_of(const Tensor& tensor) {
  std::vector<T> values(static_cast<std::size_t>(element_count(tensor.shape)));
  std::memcpy(values.data(), tensor.data, tensor.bytes());
  return values;
}

std::string problem_of(const std::string& bytes) {
  try {
    static_cast<void>(array_of(bytes).read());
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_file);
    return error.what();
  }
  return "";
}

TEST(Npy, ReadsAllVersions) {
  for (const int version : {1, 2, 3}) {
    NpyArray array =
        array_of(npy_bytes(dictionary("<f4", "(2, 2)"), raw<float>({1, 2, 3, 4}), version));
    const Tensor tensor = array.read();
    EXPECT_EQ(tensor.dtype, Dtype::float32);
    EXPECT_EQ(tensor.shape, (Shape{2, 2}));
    EXPECT_THAT(values_of<float>(tensor), ElementsAre(1, 2, 3, 4));
  }
}

TEST(Npy, ReadsEveryType) {
  const std::vector<std::pair<const char*, Dtype>> rows = {
      {"<f2", Dtype::float16}, {"<f4", Dtype::float32}, {"=f8", Dtype::float64},
      {"|i1", Dtype::int8},    {"<i2", Dtype::int16},   {"<i4", Dtype::int32},
      {"<i8", Dtype::int64},   {"|u1", Dtype::uint8},   {"<u2", Dtype::uint16},
      {"<u4", Dtype::uint32},  {"|b1", Dtype::boolean}, {"?", Dtype::boolean}};
  for (const auto& [descr, dtype] : rows) {
    const std::string content(storage_size(dtype) * 3, '\1');
    const Tensor tensor = array_of(npy_bytes(dictionary(descr, "(3,)"), content)).read();
    EXPECT_EQ(tensor.dtype, dtype) << descr;
    EXPECT_EQ(std::memcmp(tensor.data, content.data(), content.size()), 0) << descr;
  }
}

TEST(Npy, SwapsBigEndian) {
  const std::string content("\x00\x00\x00\x01\xFF\xFF\xFF\xFE", 8);
  const Tensor tensor = array_of(npy_bytes(dictionary(">i4", "(2,)"), content)).read();
  EXPECT_THAT(values_of<std::int32_t>(tensor), ElementsAre(1, -2));
}

TEST(Npy, TurnsColumnMajorAround) {
  const std::string content = raw<std::int8_t>({1, 4, 2, 5, 3, 6});
  const Tensor tensor = array_of(npy_bytes(dictionary("|i1", "(2, 3)", true), content)).read();
  EXPECT_THAT(values_of<std::int8_t>(tensor), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Npy, SlicesAreRowsInBothOrders) {
  const std::string rows = raw<std::int8_t>({1, 2, 3, 4, 5, 6});
  const std::string columns = raw<std::int8_t>({1, 4, 2, 5, 3, 6});
  for (const bool fortran : {false, true}) {
    NpyArray array =
        array_of(npy_bytes(dictionary("|i1", "(2, 3)", fortran), fortran ? columns : rows));
    const Tensor first = array.next_slice();
    const Tensor second = array.next_slice();
    EXPECT_EQ(second.shape, Shape{3});
    EXPECT_THAT(values_of<std::int8_t>(first), ElementsAre(1, 2, 3));
    EXPECT_THAT(values_of<std::int8_t>(second), ElementsAre(4, 5, 6));
    EXPECT_THROW(static_cast<void>(array.next_slice()), Error);
  }
}

TEST(Npy, ReadsScalarsAndEmptyArrays) {
  EXPECT_THAT(
      values_of<float>(array_of(npy_bytes(dictionary("<f4", "()"), raw<float>({7}))).read()),
      ElementsAre(7));
  EXPECT_EQ(array_of(npy_bytes(dictionary("<f4", "(2, 0, 3)"), "")).read().shape, (Shape{2, 0, 3}));
}

TEST(Npy, AcceptsOtherSpellingsOfTheHeader) {
  const std::string text = "{\"shape\": (2L,), \"fortran_order\":False,\"descr\":'<i2'}";
  EXPECT_THAT(values_of<std::int16_t>(array_of(npy_bytes(text, raw<std::int16_t>({5, 6}))).read()),
              ElementsAre(5, 6));
}

TEST(Npy, NamesTypesItCantRead) {
  const std::vector<std::pair<const char*, const char*>> rows = {
      {"|O", "Python objects"}, {"<U5", "strings"},   {"|S5", "strings"},        {"<c8", "complex"},
      {"<M8[ns]", "times"},     {"|V2", "raw bytes"}, {"<u8", "64-bit unsigned"}};
  for (const auto& [descr, words] : rows) {
    const std::string text = problem_of(npy_bytes(dictionary(descr, "(1,)"), "12345678"));
    EXPECT_THAT(text, HasSubstr(words)) << descr;
  }
  EXPECT_THAT(problem_of(npy_bytes("{'descr': [('a', '<f4')], 'fortran_order': False, "
                                   "'shape': (1,), }",
                                   "1234")),
              HasSubstr("records"));
}

TEST(Npy, RefusesDamage) {
  const std::string good = npy_bytes(dictionary("<f4", "(2, 2)"), raw<float>({1, 2, 3, 4}));
  EXPECT_THAT(problem_of(""), HasSubstr("too short"));
  EXPECT_THAT(problem_of("PK\3\4 and more"), HasSubstr("not a NumPy array"));
  EXPECT_THAT(problem_of(good.substr(0, good.size() - 1)), HasSubstr("truncated"));
  EXPECT_THAT(problem_of(npy_bytes(dictionary("<f4", "(4,)"), "", 9)), HasSubstr("version 9"));
  EXPECT_THAT(problem_of(npy_bytes("{'descr': '<f4'}", "1234")), HasSubstr("lacks"));
  EXPECT_THAT(problem_of(npy_bytes("{'descr': '<f4', 'more': 1}", "1234")), HasSubstr("\"more\""));
  EXPECT_THAT(problem_of(npy_bytes(dictionary("<f4", "(-1,)"), "")), HasSubstr("shape"));
}

TEST(Npy, RefusesAbsurdShapes) {
  const std::string huge = "(4611686018427387904, 4611686018427387904)";
  EXPECT_THAT(problem_of(npy_bytes(dictionary("<f4", huge), "1234")), HasSubstr("truncated"));
  const std::string empty = "(0, 4611686018427387904, 4611686018427387904)";
  EXPECT_THAT(problem_of(npy_bytes(dictionary("<f4", empty), "")), HasSubstr("truncated"));
  EXPECT_THAT(problem_of(npy_bytes(dictionary("<f4", "(99999999999999999999,)"), "")),
              HasSubstr("shape"));
}

TEST(Npy, EveryTruncationAndEveryChangedByteIsAnErrorOrAnArray) {
  const std::string good = npy_bytes(dictionary("<f4", "(2, 2)"), raw<float>({1, 2, 3, 4}));
  for (std::size_t i = 0; i < good.size(); ++i) {
    EXPECT_NE(problem_of(good.substr(0, i)), "") << "cut at " << i;
    for (const int flip : {0x01, 0x20, 0x80, 0xFF}) {
      std::string changed = good;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      EXPECT_NO_FATAL_FAILURE(static_cast<void>(problem_of(changed)));
    }
  }
}

}  // namespace
}  // namespace halfstep
