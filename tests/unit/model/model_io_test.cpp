#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "halfstep/model/model.h"
#include "halfstep/support/file.h"
#include "tests/unit/model/model_fixtures.h"

namespace halfstep {
namespace {

namespace fs = std::filesystem;

class ModelFiles : public testing::Test {
 protected:
  std::string load_error(const std::string& content) {
    put(path(), content);
    std::string message = message_of([this] { (void)Model::load(path()); });
    if (message.starts_with(path().string() + ": ")) {
      message.erase(0, path().string().size() + 2);
    }
    return message;
  }
  [[nodiscard]] fs::path path() const { return directory_.path() / "m.onnx"; }

  TemporaryDirectory directory_{};
};

TEST_F(ModelFiles, AreReadMappedAndWrittenEqual) {
  const std::string bytes = large_model().SerializeAsString();
  put(path(), bytes);
  const Model model = Model::load(path());
  EXPECT_EQ(model.name(), path().string());
  EXPECT_EQ(model.floats(model.graph().initializer(0))[17], 17.0F);
  model.drop(model.graph().initializer(0));
  EXPECT_EQ(model.floats(model.graph().initializer(0))[17], 17.0F);
  model.save(directory_.path() / "copy.onnx");
  EXPECT_TRUE(read_text(directory_.path() / "copy.onnx") == bytes);
}

TEST_F(ModelFiles, CanBeSavedOverThemselves) {
  put(path(), large_model().SerializeAsString());
  Model model = Model::load(path());
  model.proto().set_producer_name("other");
  model.save(path());
  EXPECT_EQ(Model::load(path()).proto().producer_name(), "other");
  EXPECT_EQ(model.floats(model.graph().initializer(0))[17], 17.0F);
}

TEST_F(ModelFiles, KeepWhatIsNotUnderstood) {
  onnx::ModelProto proto = large_model();
  proto.mutable_unknown_fields()->AddLengthDelimited(1010, "hello");
  proto.mutable_graph()->mutable_unknown_fields()->AddLengthDelimited(1010, "hello");
  proto.mutable_graph()->mutable_initializer(0)->mutable_unknown_fields()->AddLengthDelimited(
      1010, "hello");
  proto.mutable_graph()->mutable_node(0)->mutable_unknown_fields()->AddLengthDelimited(1010,
                                                                                       "hello");
  auto* entry = proto.mutable_graph()->mutable_initializer(0)->add_metadata_props();
  entry->set_key("k");
  entry->set_value("v");
  const std::string bytes = proto.SerializeAsString();
  const Model model = Model::from_bytes(bytes_of(bytes), "m");
  onnx::ModelProto written;
  ASSERT_TRUE(written.ParseFromString(model.serialize()));
  EXPECT_TRUE(written.SerializeAsString() == bytes);
}

TEST_F(ModelFiles, KeepLargeTypedFields) {
  onnx::ModelProto proto = large_model();
  onnx::TensorProto& weight = *proto.mutable_graph()->mutable_initializer(0);
  weight.clear_raw_data();
  for (int i = 0; i < 64 * 64; ++i) {
    weight.add_float_data(static_cast<float>(i));
  }
  const std::string bytes = proto.SerializeAsString();
  const Model model = Model::from_bytes(bytes_of(bytes), "m");
  EXPECT_LT(model.proto().ByteSizeLong(), 1000U);
  EXPECT_EQ(model.floats(model.graph().initializer(0))[4095], 4095.0F);
  onnx::ModelProto written;
  ASSERT_TRUE(written.ParseFromString(model.serialize()));
  EXPECT_TRUE(written.SerializeAsString() == bytes);
}

TEST_F(ModelFiles, ReachTensorsWhereverTheyAre) {
  onnx::ModelProto proto = proto_from_text(R"(
    <ir_version: 8, opset_import: ["" : 17, "local" : 1]>
    g (float[64, 64] x, bool c) => (float[64, 64] y) {
      k = Constant <value = float[1] {1.0}> ()
      z = If (c) <then_branch = t () => (float[64, 64] a) { q = Constant <value = float[1] {2.0}> ()
                                                           a = Add (x, q) },
                  else_branch = e () => (float[64, 64] b) { b = Add (x, k) }>
      y = local.f (z)
    }
    <domain: "local", opset_import: ["" : 17]>
    f (u) => (v) { r = Constant <value = float[1] {3.0}> ()
                   v = Add (u, r) })");
  int found = 0;
  const auto enlarge = [&found](onnx::NodeProto& node) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_t()) {
        fill(*attribute.mutable_t(), {64, 64});
        ++found;
      }
    }
  };
  enlarge(*proto.mutable_graph()->mutable_node(0));
  enlarge(
      *proto.mutable_graph()->mutable_node(1)->mutable_attribute(0)->mutable_g()->mutable_node(0));
  enlarge(*proto.mutable_functions(0)->mutable_node(0));
  ASSERT_EQ(found, 3);
  const std::string bytes = proto.SerializeAsString();
  const Model model = Model::from_bytes(bytes_of(bytes), "m");
  EXPECT_LT(model.proto().ByteSizeLong(), 2000U);
  EXPECT_TRUE(model.serialize() == bytes);
}

TEST_F(ModelFiles, MapExternalData) {
  onnx::ModelProto proto = large_model();
  onnx::TensorProto& weight = *proto.mutable_graph()->mutable_initializer(0);
  fs::create_directory(directory_.path() / "sub");
  put(directory_.path() / "sub" / "w.bin", std::string(100, 'x') + weight.raw_data());
  const std::string inside = large_model().SerializeAsString();
  weight.clear_raw_data();
  weight.set_data_location(onnx::TensorProto::EXTERNAL);
  const auto add = [&weight](const char* key, const char* value) {
    auto* entry = weight.add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  };
  add("location", "sub/w.bin");
  add("offset", "100");
  put(path(), proto.SerializeAsString());
  const Model model = Model::load(path());
  EXPECT_EQ(model.floats(model.graph().initializer(0))[4095], 4095.0F);
  EXPECT_TRUE(model.serialize() == inside);

  add("length", "400");
  EXPECT_EQ(load_error(proto.SerializeAsString()),
            "tensor 'w' (float [64, 64]): external data of 400 bytes, expected 16384 for its shape "
            "and type");
  weight.mutable_external_data(2)->set_value("16384");
  weight.mutable_external_data(1)->set_value("101");
  EXPECT_EQ(load_error(proto.SerializeAsString()),
            "tensor 'w' (float [64, 64]): external data at bytes 101 to 16485 of \"sub/w.bin\", "
            "which has "
            "only 16484 bytes; the file is truncated or of another model");
  weight.mutable_external_data(1)->set_value("18446744073709551615");
  EXPECT_NE(load_error(proto.SerializeAsString()).find("which has only"), std::string::npos);
  weight.mutable_external_data(1)->set_value("-1");
  EXPECT_NE(load_error(proto.SerializeAsString()).find("the offset is \"-1\""), std::string::npos);
  weight.mutable_external_data(1)->set_value("0");
  for (const char* location : {"/etc/passwd", "../w.bin", "sub/../../w.bin", ""}) {
    weight.mutable_external_data(0)->set_value(location);
    EXPECT_NE(load_error(proto.SerializeAsString()).find("expected a path below the directory"),
              std::string::npos)
        << location;
  }
  weight.mutable_external_data(0)->set_value("none.bin");
  EXPECT_NE(load_error(proto.SerializeAsString()).find("none.bin: no such file"),
            std::string::npos);
  EXPECT_NE(
      message_of([&] { (void)Model::from_proto(proto, "m"); }).find("in memory has no directory"),
      std::string::npos);
}

TEST_F(ModelFiles, PutSmallExternalDataIntoTheMessage) {
  onnx::ModelProto proto = large_model();
  onnx::TensorProto& bias = *proto.mutable_graph()->mutable_initializer(1);
  put(directory_.path() / "b.bin", bias.raw_data());
  const std::string raw = bias.raw_data();
  bias.clear_raw_data();
  bias.set_data_location(onnx::TensorProto::EXTERNAL);
  auto* entry = bias.add_external_data();
  entry->set_key("location");
  entry->set_value("b.bin");
  put(path(), proto.SerializeAsString());
  const Model model = Model::load(path());
  EXPECT_EQ(model.graph().initializer(1).raw_data(), raw);
  EXPECT_FALSE(model.graph().initializer(1).has_data_location());
}

TEST_F(ModelFiles, RefuseWhatIsNoModel) {
  EXPECT_EQ(load_error(""), "is empty, expected an ONNX or a TensorFlow Lite model");
  EXPECT_NE(load_error("version https://git-lfs.github.com/spec/v1\n").find("git lfs pull"),
            std::string::npos);
  EXPECT_NE(load_error(std::string("PK\x03\x04....", 8)).find("zip archive"), std::string::npos);
  EXPECT_NE(load_error(std::string("\x1c\0\0\0TFL3....", 12)).find("TensorFlow Lite"),
            std::string::npos);
  EXPECT_NE(load_error("Some text that is no model at all.\n").find("not an ONNX model"),
            std::string::npos);
  EXPECT_NE(load_error(std::string(1000, '\0')).find("not an ONNX model"), std::string::npos);
  EXPECT_NE(load_error(std::string("\x08\x08", 2)).find("has no graph"), std::string::npos);
  EXPECT_NE(message_of([this] {
              (void)Model::load(directory_.path() / "none.onnx");
            }).find("no such file"),
            std::string::npos);
  EXPECT_NE(message_of([this] { (void)Model::load(directory_.path()); }).find("is a directory"),
            std::string::npos);
}

TEST_F(ModelFiles, RefuseEveryTruncation) {
  const std::string bytes = large_model().SerializeAsString();
  std::vector<std::size_t> lengths;
  for (std::size_t length = 1; length < 400; ++length) {
    lengths.push_back(length);
  }
  for (std::size_t length = 400; length < bytes.size(); length += 1001) {
    lengths.push_back(length);
  }
  lengths.push_back(bytes.size() - 1);
  for (const std::size_t length : lengths) {
    EXPECT_NE(message_of([&] {
                (void)Model::from_bytes(bytes_of(std::string_view(bytes).substr(0, length)), "m");
              }),
              "no error")
        << length;
  }
  EXPECT_NE(load_error(bytes.substr(0, 8000)).find("damaged at byte"), std::string::npos);
  EXPECT_NE(load_error(bytes.substr(0, 8000)).find("bytes should follow, but"), std::string::npos);
}

TEST_F(ModelFiles, NeverCrashOnDamage) {
  const std::string bytes = large_model().SerializeAsString();
  int accepted = 0;
  for (std::size_t at = 0; at < 300; ++at) {
    for (const unsigned flip : {1U, 0x80U, 0xFFU}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ flip);
      if (message_of([&] {
            const Model model = Model::from_bytes(bytes_of(damaged), "m");
            (void)model.serialize();
            (void)model.opset();
          }) == "no error") {
        ++accepted;
      }
    }
  }
  EXPECT_GT(accepted, 0);  // letters of names
}

TEST_F(ModelFiles, RefuseDeepNesting) {
  std::string message;  // graph { node { attribute { g { ... } } } }
  for (int i = 0; i < 3000; ++i) {
    for (const char tag : {'\x32', '\x2a', '\x0a'}) {
      std::string outer(1, tag);
      for (std::size_t size = message.size();;) {
        const bool more = size > 127;
        outer += static_cast<char>((size & 127U) | (more ? 128U : 0U));
        size >>= 7U;
        if (!more) {
          break;
        }
      }
      message.insert(0, outer);
    }
  }
  std::string model = "\x3a";
  for (std::size_t size = message.size();;) {
    const bool more = size > 127;
    model += static_cast<char>((size & 127U) | (more ? 128U : 0U));
    size >>= 7U;
    if (!more) {
      break;
    }
  }
  EXPECT_NE(load_error(model + message).find("nested deeper than 100 levels"), std::string::npos);
}

TEST_F(ModelFiles, RefuseForgedTokens) {
  onnx::ModelProto proto = large_model();
  onnx::TensorProto& bias = *proto.mutable_graph()->mutable_initializer(1);
  bias.clear_raw_data();
  bias.set_data_location(onnx::TensorProto::EXTERNAL);
  auto* entry = bias.add_external_data();
  entry->set_key("location");
  entry->set_value("halfstep:blob:0:9");
  EXPECT_NE(load_error(proto.SerializeAsString()).find("which halfstep uses itself"),
            std::string::npos);
  EXPECT_NE(message_of([&] { (void)Model::from_proto(proto, "m"); }).find("outside of the message"),
            std::string::npos);
}

TEST_F(ModelFiles, RefuseDataThatDoesNotFitTheShape) {
  onnx::ModelProto proto = large_model();
  proto.mutable_graph()->mutable_initializer(0)->set_dims(0, 65);
  EXPECT_EQ(load_error(proto.SerializeAsString()),
            "tensor 'w' (float [65, 64]): holds 16384 bytes, expected 16640");
  proto.mutable_graph()->mutable_initializer(0)->set_dims(0, -1);
  EXPECT_NE(load_error(proto.SerializeAsString()).find("expected a type and shape of fixed size"),
            std::string::npos);
  proto.mutable_graph()->mutable_initializer(0)->set_dims(0, 4611686018427387904);
  EXPECT_NE(load_error(proto.SerializeAsString()).find("expected a type and shape"),
            std::string::npos);
}

TEST_F(ModelFiles, AreWrittenForAnEngine) {
  Model model = Model::from_proto(large_model(), "m");
  onnx::TensorProto& shared = *model.graph().add_initializer();
  shared = model.graph().initializer(0);
  shared.set_name("again");
  const fs::path written = model.write_for_engine(directory_.path());
  onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(read_text(written)));
  const auto& external = proto.graph().initializer(0).external_data();
  EXPECT_EQ(external[0].value(), "weights.bin");
  EXPECT_EQ(std::stoll(external[1].value()) % 64, 0);
  EXPECT_EQ(external[2].value(), "16384");
  EXPECT_EQ(proto.graph().initializer(2).external_data(1).value(), external[1].value());
  EXPECT_EQ(fs::file_size(directory_.path() / "weights.bin"), 16384U);
  const Model again = Model::load(written);
  EXPECT_EQ(again.floats(again.graph().initializer(0))[4095], 4095.0F);
  EXPECT_EQ(again.floats(again.graph().initializer(1))[63], 63.0F);
}

}  // namespace
}  // namespace halfstep
