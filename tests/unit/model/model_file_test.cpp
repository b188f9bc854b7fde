#include "halfstep/model/model_file.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "halfstep/support/error.h"
#include "halfstep/support/file.h"
#include "tests/unit/model/model_fixtures.h"

namespace halfstep {
namespace {

namespace fs = std::filesystem;

/// A model that came with external data, with a weight of 100 MB that is made when it is written.
class ModelFileTest : public testing::Test {
 protected:
  static constexpr std::int64_t kRows = 25'000;
  static constexpr std::uint64_t kBytes = kRows * 1000 * sizeof(float);

  void SetUp() override {
    onnx::ModelProto proto = large_model();
    auto& weight = *proto.mutable_graph()->mutable_initializer(0);
    put(folder() / "w.bin", std::string(weight.raw_data()));
    weight.clear_raw_data();
    weight.set_data_location(onnx::TensorProto::EXTERNAL);
    auto* entry = weight.add_external_data();
    entry->set_key("location");
    entry->set_value("w.bin");
    put(folder() / "in.onnx", proto.SerializeAsString());
  }

  Model model(bool honest = true) const {
    Model model = Model::load(folder() / "in.onnx");
    onnx::TensorProto& tensor = *model.graph().add_initializer();
    tensor.set_name("made");
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_dims(kRows);
    tensor.add_dims(1000);
    model.set_producer(tensor, {.size = kBytes, .write = [honest](const ByteSink& sink) {
                                  const std::vector<std::byte> row(4000, std::byte{7});
                                  for (std::int64_t i = 0; i < (honest ? kRows : 1); ++i) {
                                    sink(row);
                                  }
                                }});
    return model;
  }
  const fs::path& folder() const { return directory_.path(); }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder()), fs::directory_iterator()));
  }

  TemporaryDirectory directory_{};
};

TEST_F(ModelFileTest, LargeWeightsOfAModelWithExternalDataLieBesideIt) {
  const Model source = model();
  EXPECT_TRUE(needs_external_data(source));
  ModelFile file(folder() / "out.onnx");
  std::uint64_t told = 0;
  file.write(source, [&](std::uint64_t bytes) {
    EXPECT_GE(bytes, told);
    told = bytes;
  });
  EXPECT_TRUE(file.flush().empty());
  EXPECT_EQ(entries(), 2U) << "nothing has a name yet";
  file.commit();
  EXPECT_EQ(entries(), 4U);
  EXPECT_EQ(fs::file_size(folder() / "out.onnx") + fs::file_size(folder() / "out.onnx.data"),
            file.size());
  const Model copy = Model::load(folder() / "out.onnx");
  EXPECT_EQ(copy.data(copy.graph().initializer(0)).span()[5],
            source.data(source.graph().initializer(0)).span()[5]);
  const auto made = copy.graph().initializer(copy.graph().initializer_size() - 1);
  EXPECT_EQ(made.name(), "made");
  EXPECT_EQ(copy.data(made).size(), kBytes);
  EXPECT_EQ(copy.data(made).span()[kBytes - 1], std::byte{7});
}

TEST_F(ModelFileTest, ASmallModelIsOneFile) {
  const Model small = Model::load(folder() / "in.onnx");
  EXPECT_FALSE(needs_external_data(small));
  ModelFile file(folder() / "out.onnx");
  file.write(small);
  EXPECT_FALSE(file.flush().empty());
  file.commit();
  EXPECT_FALSE(fs::exists(folder() / "out.onnx.data"));
}

TEST_F(ModelFileTest, LeavesNothingWithoutCommitAndReplacesBothFilesWithIt) {
  put(folder() / "out.onnx", "old");
  put(folder() / "out.onnx.data", "old data");
  {
    ModelFile file(folder() / "out.onnx");
    file.write(model());
  }
  EXPECT_EQ(read_text(folder() / "out.onnx.data"), "old data");
  EXPECT_EQ(entries(), 4U);
  ModelFile file(folder() / "out.onnx");
  file.write(model());
  file.commit();
  EXPECT_GT(fs::file_size(folder() / "out.onnx.data"), kBytes);
  EXPECT_NO_THROW(Model::load(folder() / "out.onnx"));
}

TEST_F(ModelFileTest, AnErrorWhileWritingLeavesNothing) {
  const auto stop = [&] {
    ModelFile file(folder() / "out.onnx");
    file.write(model(), [](std::uint64_t bytes) { require(bytes < kBytes / 2, "stopped"); });
  };
  EXPECT_EQ(message_of(stop), "stopped");
  EXPECT_EQ(entries(), 2U);
}

TEST_F(ModelFileTest, AProducerKeepsItsWord) {
  const auto write = [&] {
    ModelFile file(folder() / "out.onnx");
    file.write(model(false));
  };
  EXPECT_EQ(message_of(write), "the data of a tensor has 4000 bytes, expected 100000000");
}

TEST_F(ModelFileTest, AProducerMustFitItsTensor) {
  Model small = Model::load(folder() / "in.onnx");
  onnx::TensorProto& tensor = *small.graph().mutable_initializer(0);
  EXPECT_NE(
      message_of([&] { small.set_producer(tensor, {.size = 5}); }).find("cannot hold 5 bytes"),
      std::string::npos);
}

}  // namespace
}  // namespace halfstep
