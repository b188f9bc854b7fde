#include <gtest/gtest.h>

#include "halfstep/encodings/encoding_table.h"

namespace halfstep {
namespace {

Encoding scaled(float scale, Origin origin = Origin::model) {
  return {.dtype = Dtype::int32, .scale = {scale}, .zero_point = {0}, .origin = origin};
}

TEST(KeptCodes, BelongToTheEncodingTheyWereKeptFor) {
  EncodingTable table;
  table.set("b", scaled(0.5F));
  table.keep_codes("b", {std::byte{1}, std::byte{0}, std::byte{0}, std::byte{1}});
  ASSERT_NE(table.codes("b"), nullptr);
  table.set("b", scaled(0.5F, Origin::override_file));
  EXPECT_NE(table.codes("b"), nullptr) << "the same meaning from another source";
  table.set("b", scaled(0.25F));
  EXPECT_EQ(table.codes("b"), nullptr);
}

TEST(KeptCodes, GoWithTheirTensor) {
  EncodingTable table;
  table.set("b", scaled(0.5F));
  table.keep_codes("b", {std::byte{7}});
  EncodingTable other;
  other.set("b", scaled(2.0F));
  EXPECT_EQ(table.overridden_by(other).codes("b"), nullptr);
  EXPECT_NE(other.overridden_by(table).codes("b"), nullptr);
  table.erase("b");
  EXPECT_EQ(table.codes("b"), nullptr);
}

}  // namespace
}  // namespace halfstep
