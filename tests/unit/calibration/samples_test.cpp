#include "halfstep/calibration/samples.h"

#include <cstring>
#include <fstream>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/support/file.h"
#include "tests/unit/calibration/memory_stream.h"
#include "tests/unit/support/onnx_text.h"

namespace halfstep {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const fs::path kData = fs::path(HALFSTEP_TEST_DATA) / "unit/calibration/data";
const std::vector<TensorInfo> kTwo = {{.name = "x", .dtype = Dtype::float32, .shape = {3, 4}},
                                      {.name = "i", .dtype = Dtype::int64, .shape = {2}}};
const std::vector<TensorInfo> kOne = {{.name = "x", .dtype = Dtype::float32, .shape = {-1}}};

/// First values of input "x" of all samples.
std::vector<float> first_values(SampleSource& source) {
  std::vector<float> values;
  while (const auto sample = source.next()) {
    float value = 0;
    std::memcpy(&value, sample->at("x").data, sizeof(value));
    values.push_back(value);
  }
  return values;
}

std::string problem_of(const fs::path& data, std::span<const TensorInfo> inputs,
                       const SampleOptions& options = {}) {
  try {
    const auto source = open_samples(data, inputs, options);
    while (source->next()) {
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_file) << error.what();
    return error.what();
  }
  return "";
}

class Samples : public testing::Test {
 protected:
  [[nodiscard]] fs::path write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_.path() / name, std::ios::binary) << bytes;
    return folder_.path();
  }
  [[nodiscard]] fs::path write_npy(const std::string& name, std::initializer_list<float> values,
                                   const std::string& descr = "<f4") const {
    return write(name, npy_bytes("{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" +
                                     std::to_string(values.size()) + ",), }",
                                 raw<float>(values)));
  }
  [[nodiscard]] fs::path copy(const std::string& from, const std::string& to) const {
    fs::copy_file(kData / from, folder_.path() / to);
    return folder_.path();
  }
  TemporaryDirectory folder_;
};

TEST_F(Samples, FolderOfNpyFilesInNameOrder) {
  static_cast<void>(write_npy("b.npy", {2, 3}));
  static_cast<void>(write_npy("a.npy", {1}));
  static_cast<void>(write("labels.txt", "cat dog"));
  static_cast<void>(write(".hidden.npy", "nothing"));
  const auto source = open_samples(write_npy("c.npy", {4}), kOne);
  EXPECT_EQ(source->size(), 3U);
  EXPECT_THAT(first_values(*source), ElementsAre(1, 2, 4));
  EXPECT_THAT(source->where(), HasSubstr("c.npy"));
}

TEST_F(Samples, FolderOfNpzFiles) {
  // Here the stacked arrays of the archives are one sample of a model with one axis more.
  const std::vector<TensorInfo> inputs = {{.name = "x", .shape = {2, 3, 4}},
                                          {.name = "i", .dtype = Dtype::int64, .shape = {2, 2}}};
  static_cast<void>(copy("stored.npz", "0.npz"));
  static_cast<void>(copy("fortran.npz", "1.npz"));
  const auto source = open_samples(copy("deflated.npz", "2.npz"), inputs);
  int count = 0;
  while (const auto sample = source->next()) {
    ++count;
    EXPECT_EQ(reinterpret_cast<const float*>(sample->at("x").data)[7], 7);
    EXPECT_EQ(sample->at("i").shape, (Shape{2, 2}));
  }
  EXPECT_EQ(count, 3);
}

TEST_F(Samples, StackedArraysAreSlicedAlongTheFirstAxis) {
  for (const char* name : {"stored.npz", "deflated.npz", "zip64.npz", "fortran.npz"}) {
    const auto source = open_samples(kData / name, kTwo);
    EXPECT_EQ(source->size(), 2U);
    const auto sample = source->next();
    EXPECT_EQ(sample->at("x").shape, (Shape{3, 4}));
    EXPECT_EQ(sample->at("i").shape, Shape{2});
    EXPECT_THAT(first_values(*source), ElementsAre(12)) << name;
  }
}

TEST_F(Samples, StackedArraysOfEqualRankKeepTheAxis) {
  const std::vector<TensorInfo> inputs = {{.name = "x", .shape = {-1, 3, 4}},
                                          {.name = "i", .dtype = Dtype::int64, .shape = {1, 2}}};
  const auto source = open_samples(kData / "stored.npz", inputs);
  const auto sample = source->next();
  EXPECT_EQ(sample->at("x").shape, (Shape{1, 3, 4}));
  EXPECT_THAT(first_values(*source), ElementsAre(12));
}

TEST_F(Samples, NumberedKeysInOrderOfTheirNumbers) {
  const std::vector<TensorInfo> inputs = {{.name = "x", .shape = {3, 4}}};
  const auto source = open_samples(kData / "numbered.npz", inputs);
  EXPECT_EQ(source->size(), 3U);
  EXPECT_THAT(first_values(*source), ElementsAre(0, 2, 10));
  EXPECT_THAT(source->where(), HasSubstr("numbered.npz/10"));
}

TEST_F(Samples, NamesWhatIsWrongWithASample) {
  static_cast<void>(write_npy("a.npy", {1, 2}));
  const std::vector<TensorInfo> three = {{.name = "x", .shape = {3}}};
  EXPECT_THAT(problem_of(folder_.path(), three),
              AllOf(HasSubstr("a.npy"), HasSubstr("input \"x\" is float32 [2]"),
                    HasSubstr("wants float32 [3]")));
  EXPECT_THAT(problem_of(folder_.path(), kTwo),
              AllOf(HasSubstr("a.npy"), HasSubstr("\"x\", \"i\"")));
}

TEST_F(Samples, NamesExtraAndMissingArrays) {
  static_cast<void>(copy("stored.npz", "a.npz"));
  const std::vector<TensorInfo> other = {{.name = "x", .shape = {2, 3, 4}}};
  EXPECT_THAT(problem_of(folder_.path(), other),
              AllOf(HasSubstr("a.npz"), HasSubstr("no input \"i\"")));
  EXPECT_THAT(problem_of(kData / "stored.npz", other), HasSubstr("key \"i\""));
  std::vector<TensorInfo> more = kTwo;
  more.push_back({.name = "z", .shape = {1}});
  EXPECT_THAT(problem_of(kData / "stored.npz", more), HasSubstr("no array for input \"z\""));
}

TEST_F(Samples, TypesMustBeExactUnlessCast) {
  const std::vector<TensorInfo> ints = {{.name = "x", .dtype = Dtype::int64, .shape = {2}}};
  static_cast<void>(write_npy("a.npy", {1, 2}));
  EXPECT_THAT(problem_of(folder_.path(), ints), HasSubstr("--cast-inputs"));
  const auto source = open_samples(folder_.path(), ints, {.cast_inputs = true});
  const auto sample = source->next();
  EXPECT_EQ(sample->at("x").dtype, Dtype::int64);
  static_cast<void>(write_npy("b.npy", {1, 0.5F}));
  EXPECT_THAT(problem_of(folder_.path(), ints, {.cast_inputs = true}),
              AllOf(HasSubstr("b.npy"), HasSubstr("\"x\""), HasSubstr("0.5")));
}

TEST_F(Samples, NanIsRefusedWithItsIndex) {
  static_cast<void>(write_npy("a.npy", {1, 2}));
  static_cast<void>(write_npy("b.npy", {1, std::numeric_limits<float>::infinity()}));
  EXPECT_EQ(problem_of(folder_.path(), kOne), "");
  static_cast<void>(write_npy("c.npy", {1, 2, std::numeric_limits<float>::quiet_NaN()}));
  EXPECT_THAT(problem_of(folder_.path(), kOne),
              AllOf(HasSubstr("c.npy"), HasSubstr("\"x\" has NaN at index [2]")));
}

TEST_F(Samples, RefusesDataWithoutSamples) {
  EXPECT_THAT(problem_of(folder_.path(), kOne), HasSubstr("no sample"));
  EXPECT_THAT(problem_of(folder_.path() / "none", kOne), HasSubstr("no such file"));
  EXPECT_THAT(problem_of(kData / "empty.npz", kOne), HasSubstr("empty.npz"));
  EXPECT_THAT(problem_of(kData / "make.py", kOne), HasSubstr("DATA is"));
}

TEST_F(Samples, FoldersOfImagesNeedASpec) {
  static_cast<void>(write("cat.PNG", "x"));
  EXPECT_THAT(problem_of(folder_.path(), kOne), HasSubstr("--input-spec"));
  EXPECT_THAT(problem_of(folder_.path() / "cat.PNG", kOne), HasSubstr("--input-spec"));
  static_cast<void>(write_npy("a.npy", {1}));
  EXPECT_THAT(problem_of(folder_.path(), kOne), HasSubstr("both arrays and images"));
}

TEST_F(Samples, TruncatedFilesAreNamed) {
  static_cast<void>(write("a.npy", "\x93NUMPY"));
  EXPECT_THAT(problem_of(folder_.path(), kOne), HasSubstr("a.npy"));
  fs::remove(folder_.path() / "a.npy");
  static_cast<void>(write("a.npz", "PK"));
  EXPECT_THAT(problem_of(folder_.path(), kOne), HasSubstr("a.npz"));
}

TEST(SampleInputs, LeavesOutInitializers) {
  const Model model = model_from_text(
      "<ir_version: 8, opset_import: [\"\" : 17]> "
      "g (float[N, 3] x, float[3] w, int64 k) => (float[N, 3] y) "
      "<float[3] w = {1, 2, 3}> { y = Mul (x, w) }");
  const auto inputs = sample_inputs(model);
  ASSERT_EQ(inputs.size(), 2U);
  EXPECT_EQ(inputs[0].name, "x");
  EXPECT_EQ(inputs[0].shape, (Shape{-1, 3}));
  EXPECT_EQ(inputs[1].dtype, Dtype::int64);
}

TEST(SampleInputs, RefusesWhatCantBeFed) {
  const Model model = model_from_text(
      "<ir_version: 8, opset_import: [\"\" : 17]> "
      "g (string[2] words) => (string[2] y) { y = Identity (words) }");
  try {
    static_cast<void>(sample_inputs(model));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_THAT(error.what(), HasSubstr("words"));
  }
}

}  // namespace
}  // namespace halfstep
