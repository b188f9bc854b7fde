#include "cli/input_spec.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "halfstep/support/error.h"
#include "halfstep/support/file.h"

namespace halfstep::cli {
namespace {

const TensorInfo kImageInput{.name = "x", .dtype = Dtype::float32, .shape = {1, 3, 224, 224}};

std::string refusal(const std::string& spec, const TensorInfo& input) {
  try {
    (void)image_request(read_input_spec(spec), "folder", std::vector{input});
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_argument);
    return error.what();
  }
  return "accepted";
}

TEST(InputSpec, ShortForm) {
  const InputSpec spec = read_input_spec(
      " size=224x256 , mean=0.485,0.456,0.406,std=0.2, scale=1,layout=NHWC,order=BGR,resize=pad");
  EXPECT_EQ(spec.size, (std::array<std::int64_t, 2>{224, 256}));
  EXPECT_EQ(spec.mean, (std::vector<double>{0.485, 0.456, 0.406}));
  EXPECT_EQ(spec.std, std::vector<double>{0.2});
  EXPECT_EQ(spec.scale, 1.0);
  EXPECT_EQ(spec.layout, "NHWC");
  EXPECT_EQ(spec.order, "BGR");
  EXPECT_EQ(spec.resize, "pad");
}

TEST(InputSpec, FileSaysTheSame) {
  const TemporaryDirectory directory;
  const auto path = directory.path() / "spec.json";
  std::ofstream(path) << R"({"size": [224, 256], "mean": [1, 2, 3], "order": "BGR"})";
  const InputSpec spec = read_input_spec(path.string());
  EXPECT_EQ(spec.size, (std::array<std::int64_t, 2>{224, 256}));
  EXPECT_EQ(spec.mean, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(spec.order, "BGR");
  std::ofstream(path) << R"({"meen": 1})";
  EXPECT_NE(refusal(path.string(), kImageInput).find("did you mean \"mean\""), std::string::npos);
}

TEST(InputSpec, RefusesWhatIsWrong) {
  for (const char* text :
       {"size=224", "size=0x5", "size=224x-1", "size=1x2x3", "mean=a", "mean=1,2", "std=0",
        "std=1,0,1", "mean=nan", "scale=0", "scale=1,2,3", "layout=NCWH", "order=rgb",
        "resize=bicubic", "siz=2x2", "nonsense", "", "mean=1,mean=2", "size=99999999999x2"}) {
    EXPECT_NE(refusal(text, kImageInput), "accepted") << text;
  }
  EXPECT_NE(refusal("resize=fill", kImageInput).find("one of stretch, crop, pad"),
            std::string::npos);
}

TEST(InputSpec, RequestFollowsTheModel) {
  const Json request = image_request(read_input_spec("mean=0.5"), "f", std::vector{kImageInput});
  EXPECT_EQ(request.at("folder"), "f");
  EXPECT_EQ(request.at("layout"), "NCHW");
  EXPECT_EQ(request.at("height"), 224);
  EXPECT_EQ(request.at("channels"), 3);
  EXPECT_EQ(request.at("scale"), 1.0 / 255);
  EXPECT_EQ(request.at("mean"), (std::vector<double>{0.5, 0.5, 0.5}));
  EXPECT_EQ(request.at("std"), (std::vector<double>{1, 1, 1}));
  EXPECT_EQ(request.at("dtype"), "float32");
  EXPECT_EQ(request.at("batch"), true);
}

TEST(InputSpec, LayoutIsSeenFromTheShape) {
  const TensorInfo last{.name = "x", .shape = {-1, 32, 48, 3}};
  const Json request = image_request(read_input_spec("order=RGB"), "f", std::vector{last});
  EXPECT_EQ(request.at("layout"), "NHWC");
  EXPECT_EQ(request.at("height"), 32);
  EXPECT_EQ(request.at("width"), 48);
  const TensorInfo gray{.name = "x", .shape = {1, 28, 28}};
  const Json one = image_request(read_input_spec("order=RGB"), "f", std::vector{gray});
  EXPECT_EQ(one.at("channels"), 1);
  EXPECT_EQ(one.at("batch"), false);
}

TEST(InputSpec, RefusesWhatDoesNotFitTheModel) {
  EXPECT_NE(refusal("size=200x224", kImageInput).find("does not fit"), std::string::npos);
  EXPECT_NE(refusal("layout=NHWC", kImageInput).find("224 channels"), std::string::npos);
  EXPECT_NE(refusal("order=RGB", {.name = "x", .shape = {1, 3, -1, -1}}).find("add size="),
            std::string::npos);
  EXPECT_NE(refusal("order=RGB", {.name = "x", .shape = {8, 3, 4, 4}}).find("batch"),
            std::string::npos);
  EXPECT_NE(refusal("order=RGB", {.name = "x", .shape = {1, 10}}).find("rank"), std::string::npos);
  EXPECT_NE(refusal("order=RGB", {.name = "x", .dtype = Dtype::int64, .shape = {1, 3, 4, 4}})
                .find("int64"),
            std::string::npos);
  EXPECT_NE(refusal("mean=1", {.name = "x", .dtype = Dtype::uint8, .shape = {1, 3, 4, 4}})
                .find("leave out"),
            std::string::npos);
  EXPECT_NE(refusal("mean=1,2,3", {.name = "x", .shape = {1, 1, 4, 4}}).find("1 channel"),
            std::string::npos);
  EXPECT_THROW(
      (void)image_request(read_input_spec("mean=1"), "f", std::vector{kImageInput, kImageInput}),
      Error);
}

}  // namespace
}  // namespace halfstep::cli
