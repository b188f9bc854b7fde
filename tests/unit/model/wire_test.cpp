#include "halfstep/model/wire.h"

#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/model/model_fixtures.h"

namespace halfstep::wire {
namespace {

std::string failure(const std::string& text) {
  return message_of([&] {
    Reader reader(bytes_of(text), bytes_of(text).data());
    Field field;
    while (reader.next(field)) {
    }
  });
}

TEST(Reader, ReadsFieldsOfEveryType) {
  const std::string text(
      "\x08\x96\x01\x11"
      "12345678"
      "\x1a\x03"
      "abc"
      "\x25"
      "1234",
      22);
  Reader reader(bytes_of(text), bytes_of(text).data());
  Field field;
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.number, 1U);
  EXPECT_EQ(field.varint, 150U);
  EXPECT_EQ(field.whole.size(), 3U);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.number, 2U);
  EXPECT_EQ(field.value.size(), 8U);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.number, 3U);
  EXPECT_EQ(field.type, Type::bytes);
  EXPECT_EQ(field.value.size(), 3U);
  EXPECT_EQ(field.whole.size(), 5U);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.value.size(), 4U);
  EXPECT_FALSE(reader.next(field));
}

TEST(Reader, NamesPlaceAndDamage) {
  EXPECT_EQ(failure("\x08\x01\x1a\x05"
                    "abc"),
            "damaged at byte 4: 5 bytes should follow, but 3 are left (a truncated file, or not an "
            "ONNX model)");
  EXPECT_NE(failure("\x08\x80").find("byte 1: the file ends in the middle of a number"),
            std::string::npos);
  EXPECT_NE(failure("\x08" + std::string(11, '\x80')).find("a number of more than 10 bytes"),
            std::string::npos);
  EXPECT_NE(failure("\x0b").find("unknown wire type 3"), std::string::npos);
  EXPECT_NE(failure(std::string(2, '\0')).find("impossible number 0"), std::string::npos);
  EXPECT_NE(failure("\x11"
                    "1234567")
                .find("8 bytes should follow, but 7"),
            std::string::npos);
  EXPECT_NE(failure("\x1a" + std::string(9, '\xff') + "\x01").find("bytes should follow"),
            std::string::npos);
}

TEST(Varint, SizeAndBytesAgree) {
  for (const std::uint64_t value :
       {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128}, std::uint64_t{16383},
        std::uint64_t{16384}, std::uint64_t{1} << 35U, std::numeric_limits<std::uint64_t>::max()}) {
    std::string text;
    append_varint(text, tag(5, Type::varint));
    const std::size_t tag_size = text.size();
    append_varint(text, value);
    EXPECT_EQ(text.size() - tag_size, varint_size(value));
    Reader reader(bytes_of(text), bytes_of(text).data());
    Field field;
    ASSERT_TRUE(reader.next(field));
    EXPECT_EQ(field.number, 5U);
    EXPECT_EQ(field.varint, value);
  }
}

TEST(ChildKind, FollowsTheSchema) {
  EXPECT_EQ(child_kind(Kind::model, 7), Kind::graph);
  EXPECT_EQ(child_kind(Kind::graph, 5), Kind::tensor);
  EXPECT_EQ(child_kind(Kind::attribute, 6), Kind::graph);
  EXPECT_EQ(child_kind(Kind::function, 7), Kind::node);
  EXPECT_EQ(child_kind(Kind::graph, 2), Kind::none);
  EXPECT_EQ(child_kind(Kind::tensor, 9), Kind::none);
  EXPECT_STREQ(child_name(Kind::graph, 5), "initializer");
}

}  // namespace
}  // namespace halfstep::wire
