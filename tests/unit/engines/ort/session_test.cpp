// OrtSession through the public interface: runs, watched tensors, errors, interruption.
#include <chrono>
#include <cstring>
#include <map>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/engines/engine.h"
#include "tests/unit/support/onnx_text.h"

namespace halfstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Engine& engine() {
  static const std::unique_ptr<Engine> shared = make_onnxruntime_engine();
  return *shared;
}

Tensor float_tensor(Shape shape, std::uint32_t seed = 1) {
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  for (float& value : values) {
    seed = seed * 1664525U + 1013904223U;
    value = static_cast<float>(seed >> 8U) * 0x1p-23F - 1.0F;
  }
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return make_tensor(Dtype::float32, std::move(shape), std::move(bytes));
}

std::vector<float> values_of(const Tensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(element_count(tensor.shape)));
  std::memcpy(values.data(), tensor.data, tensor.bytes());
  return values;
}

void add_weight(onnx::ModelProto& model, const std::string& name, const Shape& shape) {
  const Tensor tensor = float_tensor(shape, static_cast<std::uint32_t>(name.size() * 77 + name[0]));
  onnx::TensorProto& weight = *model.mutable_graph()->add_initializer();
  weight.set_name(name);
  weight.set_data_type(onnx::TensorProto::FLOAT);
  weight.mutable_dims()->Add(shape.begin(), shape.end());
  weight.set_raw_data(tensor.data, tensor.bytes());
}

/// Convolutions in blocked layout, with 20 and 40 channels (so with padding for blocks of 8 and
/// 16), a depthwise one, a residual sum, activations whose f(0) is not 0, and what leaves the
/// blocked layout again.
onnx::ModelProto conv_proto() {
  onnx::ModelProto model = proto_from_text(
      "<ir_version: 8, opset_import: [\"\" : 17]> "
      "g (float[1,3,12,12] x) => (float[1,5] y) { "
      "a = Conv <pads = [1,1,1,1]> (x, wa, ba) b = Relu (a) "
      "c = Conv <pads = [1,1,1,1], group = 20> (b, wc, bc) d = Sigmoid (c) "
      "e = Conv (d, we, be) f = Add (b, e) "
      "h = Conv (f, wh, bh) i = MaxPool <kernel_shape = [2,2], strides = [2,2]> (h) "
      "j = Softplus (i) k = GlobalAveragePool (j) l = Flatten (k) "
      "m = MatMul (l, wm) n = Add (m, bm) y = Softmax (n) }");
  add_weight(model, "wa", {20, 3, 3, 3});
  add_weight(model, "ba", {20});
  add_weight(model, "wc", {20, 1, 3, 3});
  add_weight(model, "bc", {20});
  add_weight(model, "we", {20, 20, 1, 1});
  add_weight(model, "be", {20});
  add_weight(model, "wh", {40, 20, 1, 1});
  add_weight(model, "bh", {40});
  add_weight(model, "wm", {40, 5});
  add_weight(model, "bm", {5});
  return model;
}

const std::vector<std::string> kAll = {"a", "b", "c", "d", "e", "f", "h",
                                       "i", "j", "k", "l", "m", "n", "y"};

using Values = std::map<std::string, std::vector<float>>;

/// Watched values in row-major logical order.
struct Watcher {
  SessionOptions options;
  Values values{};
  std::map<std::string, Shape> shapes{};
  std::vector<std::string> order{};

  explicit Watcher(std::vector<std::string> names, int threads = 1, bool optimize = true)
      : options{.threads = threads, .optimize = optimize, .watch = std::move(names)} {
    options.on_value = [this](std::size_t i, const WatchedValue& value) {
      const std::string& name = options.watch[i];
      std::vector<float>& logical = values[name];
      logical.clear();
      for (std::int64_t at = 0; at < element_count(value.shape); ++at) {
        logical.push_back(value.at(at));
      }
      shapes[name] = value.shape;
      order.push_back(name);
    };
  }
};

Values watch(const Model& model, const Sample& sample, Watcher& watcher) {
  const auto session = engine().open(model, watcher.options);
  static_cast<void>(session->run(sample));
  return watcher.values;
}

/// The same tensors as outputs of the model, without any watching.
Values as_outputs(onnx::ModelProto proto, const std::vector<std::string>& names,
                  const Sample& sample, bool optimize = true) {
  for (const std::string& name : names) {
    if (name != "y") {
      proto.mutable_graph()->add_output()->set_name(name);
    }
  }
  const auto session =
      engine().open(Model::from_proto(std::move(proto), "outputs"), {.optimize = optimize});
  const std::vector<Tensor> tensors = session->run(sample);
  Values values;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    values[session->outputs()[i].name] = values_of(tensors[i]);
  }
  return values;
}

const Sample kImage = {{"x", float_tensor({1, 3, 12, 12})}};

std::string message(const std::function<void()>& action, ErrorKind kind) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST(OrtEngine, SaysItsName) { EXPECT_THAT(engine().name(), HasSubstr("ONNX Runtime 1.")); }

TEST(OrtSession, RunsAndDescribesItself) {
  const Model model = model_from_text(
      "<ir_version: 8, opset_import: [\"\" : 17]> "
      "g (float[N, 2] x, int64[2] i) => (float[N, 2] y, int64[2] j) { y = Neg (x) j = Abs (i) }");
  const auto session = engine().open(model, {});
  ASSERT_EQ(session->inputs().size(), 2U);
  EXPECT_EQ(session->inputs()[0].name, "x");
  EXPECT_EQ(session->inputs()[0].shape, (Shape{-1, 2}));
  EXPECT_EQ(session->outputs()[1].dtype, Dtype::int64);
  const Tensor x = float_tensor({3, 2});
  const std::vector<std::int64_t> i = {-4, 5};
  const Tensor tensor{
      .dtype = Dtype::int64, .shape = {2}, .data = reinterpret_cast<const std::byte*>(i.data())};
  const std::vector<Tensor> outputs = session->run({{"x", x}, {"i", tensor}});
  ASSERT_EQ(outputs.size(), 2U);
  EXPECT_EQ(outputs[0].shape, (Shape{3, 2}));
  EXPECT_EQ(values_of(outputs[0])[4], -values_of(x)[4]);
  std::int64_t first = 0;
  std::memcpy(&first, outputs[1].data, sizeof(first));
  EXPECT_EQ(first, 4);
}

TEST(OrtSession, OutputsOutliveTheSession) {
  const Model model = Model::from_proto(conv_proto(), "conv");
  auto session = engine().open(model, {});
  const std::vector<Tensor> outputs = session->run(kImage);
  session.reset();
  float sum = 0;
  for (const float value : values_of(outputs[0])) {
    sum += value;
  }
  EXPECT_NEAR(sum, 1, 1e-5);
}

TEST(OrtSession, WatchedValuesAreThoseOfOutputs) {
  const Model model = Model::from_proto(conv_proto(), "conv");
  Watcher watcher(kAll);
  const Values watched = watch(model, kImage, watcher);
  EXPECT_EQ(watched, as_outputs(conv_proto(), kAll, kImage));
  EXPECT_EQ(watcher.shapes.at("h"), (Shape{1, 40, 12, 12}));
}

TEST(OrtSession, AFewWatchedTensorsLeaveTheOthersFused) {
  const Model model = Model::from_proto(conv_proto(), "conv");
  const std::vector<std::string> few = {"b", "d", "f", "j", "n"};
  Watcher watcher(few);
  Values expected = as_outputs(conv_proto(), few, kImage);
  expected.erase("y");
  EXPECT_EQ(watch(model, kImage, watcher), expected);
}

TEST(OrtSession, WithoutOptimizationsTheGraphStaysAsItIs) {
  const Model model = Model::from_proto(conv_proto(), "conv");
  Watcher watcher(kAll, 1, false);
  EXPECT_EQ(watch(model, kImage, watcher), as_outputs(conv_proto(), kAll, kImage, false));
}

TEST(OrtSession, OrderAndValuesAreTheSameForTwoThreads) {
  const Model model = Model::from_proto(conv_proto(), "conv");
  Watcher one(kAll, 1);
  Watcher two(kAll, 2);
  EXPECT_EQ(watch(model, kImage, one), watch(model, kImage, two));
  EXPECT_EQ(one.order, two.order);
  EXPECT_EQ(one.order.size(), kAll.size());
}

TEST(OrtSession, BlockedTensorsAreSeenInBlocks) {
  const Model model = Model::from_proto(conv_proto(), "conv");
  std::int64_t block = 0;
  bool padded = false;
  std::int64_t count = 0;
  const SessionOptions options{.watch = {"d"},
                               .on_value = [&](std::size_t, const WatchedValue& value) {
                                 block = value.channel_block;
                                 padded = value.padded;
                                 count = value.count;
                               }};
  static_cast<void>(engine().open(model, options)->run(kImage));
  // Machines without blocked layouts give plain ones; with them, 20 channels need padding.
  if (block > 1) {
    EXPECT_TRUE(padded);
    EXPECT_EQ(count, (20 + block - 1) / block * block * 144);
  } else {
    EXPECT_EQ(count, 20 * 144);
  }
}

TEST(OrtSession, WatchesInputsConstantsAndOtherTypes) {
  const Model model = model_from_text(
      "<ir_version: 8, opset_import: [\"\" : 17]> "
      "g (float[3] x) => (float[3] y) <float[3] c = {1, 2, 3}> { "
      "s = Shape (x) h = Cast <to = 10> (x) r = Abs (h) d = Cast <to = 1> (r) "
      "k = Mul (c, c) z = Add (d, k) y = Add (z, c) }");
  const Tensor x = float_tensor({3});
  for (const bool optimize : {true, false}) {
    Watcher watcher({"x", "c", "s", "r", "k", "y"}, 1, optimize);
    const Values values = watch(model, {{"x", x}}, watcher);
    EXPECT_EQ(values.at("x"), values_of(x));
    EXPECT_THAT(values.at("c"), ElementsAre(1, 2, 3));
    EXPECT_THAT(values.at("s"), ElementsAre(3));
    EXPECT_THAT(values.at("k"), ElementsAre(1, 4, 9));
    EXPECT_NEAR(values.at("r")[0], std::abs(values_of(x)[0]), 1e-3);
    EXPECT_EQ(values.at("y").size(), 3U);
    EXPECT_EQ(watcher.order.front(), "x");
  }
}

TEST(OrtSession, AddedOutputsDoNotShow) {
  const Model model = model_from_text(
      "<ir_version: 8, opset_import: [\"\" : 17]> "
      "g (float[3] x) => (float[3] y) { s = Shape (x) h = Cast <to = 10> (x) "
      "d = Cast <to = 1> (h) y = Neg (d) }");
  Watcher watcher({"s", "h"});
  const auto session = engine().open(model, watcher.options);
  ASSERT_EQ(session->outputs().size(), 1U);
  EXPECT_EQ(session->outputs()[0].name, "y");
  EXPECT_EQ(session->run({{"x", float_tensor({3})}}).size(), 1U);
}

TEST(OrtSession, DynamicShapesAndScalars) {
  const Model model = model_from_text(
      "<ir_version: 8, opset_import: [\"\" : 18]> "
      "g (float[N, 4] x, int64[2] k) => (float y) { a = Relu (x) b = Tile (a, k) "
      "c = ReduceSum <keepdims = 0> (b) y = Sqrt (c) }");
  const std::vector<std::int64_t> k = {2, 1};
  Sample sample{{"k", Tensor{.dtype = Dtype::int64,
                             .shape = {2},
                             .data = reinterpret_cast<const std::byte*>(k.data())}}};
  for (const bool optimize : {true, false}) {
    Watcher watcher({"a", "b", "c", "y"}, 1, optimize);
    const auto session = engine().open(model, watcher.options);
    for (const std::int64_t n : {1, 3, 2}) {
      sample["x"] = float_tensor({n, 4});
      static_cast<void>(session->run(sample));
      EXPECT_EQ(watcher.shapes.at("a"), (Shape{n, 4}));
      EXPECT_EQ(watcher.shapes.at("b"), (Shape{2 * n, 4}));
      EXPECT_EQ(watcher.shapes.at("c"), Shape{});
    }
  }
}

TEST(OrtSession, TensorReadBySubgraphs) {
  const Model model = model_from_text(
      "<ir_version: 8, opset_import: [\"\" : 17]> "
      "g (float[4] x, bool b) => (float[4] y) { a = Relu (x) "
      "y = If (b) <then_branch = t () => (float[4] u) { u = Neg (a) }, "
      "else_branch = e () => (float[4] v) { v = Abs (a) }> }");
  const bool flag = true;
  const Sample sample{{"x", float_tensor({4})},
                      {"b", Tensor{.dtype = Dtype::boolean,
                                   .shape = {},
                                   .data = reinterpret_cast<const std::byte*>(&flag)}}};
  for (const bool optimize : {true, false}) {
    Watcher watcher({"a", "y"}, 1, optimize);
    const Values values = watch(model, sample, watcher);
    EXPECT_EQ(values.at("a")[1], -values.at("y")[1]);
  }
}

TEST(OrtSession, WatchedFileEqualsWatchedModel) {
  const TemporaryDirectory folder;
  const Model model = Model::from_proto(conv_proto(), "conv");
  model.save(folder.path() / "m.onnx");
  Watcher from_model({"d", "n"});
  Watcher from_file({"d", "n"});
  const auto session = engine().open(folder.path() / "m.onnx", from_file.options);
  static_cast<void>(session->run(kImage));
  EXPECT_EQ(from_file.values, watch(model, kImage, from_model));
}

TEST(OrtSession, RefusesWrongWatchLists) {
  const Model model = Model::from_proto(conv_proto(), "conv.onnx");
  const auto open = [&](std::vector<std::string> names) {
    return message([&] { static_cast<void>(engine().open(model, {.watch = std::move(names)})); },
                   ErrorKind::invalid_argument);
  };
  EXPECT_THAT(open({"zz"}), HasSubstr("conv.onnx: can't watch \"zz\""));
  EXPECT_THAT(open({"a", "a"}), HasSubstr("twice"));
}

TEST(OrtSession, NamesTheModelThatTheEngineRefuses) {
  const Model model = model_from_text(
      "<ir_version: 8, opset_import: [\"\" : 17, \"my.domain\" : 1]> "
      "g (float[4] x) => (float[4] y) { y = my.domain.Strange (x) }");
  for (const std::vector<std::string>& names : {std::vector<std::string>{}, {"y"}}) {
    const std::string text = message(
        [&] { static_cast<void>(engine().open(model, {.watch = names})); }, ErrorKind::unsupported);
    EXPECT_THAT(text, HasSubstr("test model"));
    EXPECT_THAT(text, HasSubstr("Strange"));
  }
}

TEST(OrtSession, ChecksFeeds) {
  const auto session = engine().open(Model::from_proto(conv_proto(), "conv"), {});
  const auto run = [&](const Sample& sample) {
    return message([&] { static_cast<void>(session->run(sample)); }, ErrorKind::invalid_file);
  };
  EXPECT_THAT(run({}), HasSubstr("no array for input \"x\""));
  EXPECT_THAT(run({{"x", float_tensor({1, 3, 12, 11})}}), HasSubstr("[1, 3, 12, 11]"));
}

TEST(OrtSession, FailureInsideTheModelNamesTheNode) {
  const Model model = model_from_text(
      "<ir_version: 8, opset_import: [\"\" : 17]> "
      "g (float[A] x, float[B] z) => (float[C] y) { y = Add (x, z) }");
  const auto session = engine().open(model, {.optimize = false});
  const std::string text = message(
      [&] {
        static_cast<void>(session->run({{"x", float_tensor({3})}, {"z", float_tensor({4})}}));
      },
      ErrorKind::invalid_file);
  EXPECT_THAT(text, HasSubstr("Add"));
}

TEST(OrtSession, ExceptionsOfTheCallbackArriveUnchanged) {
  const Model model = Model::from_proto(conv_proto(), "conv");
  for (const char* name : {"d", "x", "y"}) {
    const SessionOptions options{.watch = {name}, .on_value = [](std::size_t, const WatchedValue&) {
                                   throw std::out_of_range("mine");
                                 }};
    const auto session = engine().open(model, options);
    EXPECT_THROW(static_cast<void>(session->run(kImage)), std::out_of_range);
  }
}

/// A model that runs for minutes.
Model endless_model() {
  return model_from_text(
      "<ir_version: 8, opset_import: [\"\" : 17]> "
      "g (float[512, 512] x) => (float[512, 512] y) <int64 n = {1000000}, bool t = {1}> { "
      "y = Loop (n, t, x) <body = b (int64 i, bool c, float[512, 512] s) => "
      "(bool d, float[512, 512] r) { d = Identity (c) m = MatMul (s, s) r = Tanh (m) }> }");
}

TEST(OrtSession, StopsSoonAfterCancel) {
  SilentProgress progress;
  const auto session = engine().open(endless_model(), {.progress = &progress});
  std::jthread user([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    progress.cancel();
  });
  const auto start = std::chrono::steady_clock::now();
  message([&] { static_cast<void>(session->run({{"x", float_tensor({512, 512})}})); },
          ErrorKind::interrupted);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(OrtSession, DoesNotStartAfterCancel) {
  SilentProgress progress;
  const Model model = Model::from_proto(conv_proto(), "conv");
  const auto session = engine().open(model, {.progress = &progress});
  progress.cancel();
  message([&] { static_cast<void>(session->run(kImage)); }, ErrorKind::interrupted);
  message([&] { static_cast<void>(engine().open(model, {.progress = &progress})); },
          ErrorKind::interrupted);
}

}  // namespace
}  // namespace halfstep
