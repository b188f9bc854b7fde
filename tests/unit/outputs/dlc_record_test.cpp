#include "halfstep/outputs/qnn/dlc_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halfstep/outputs/qnn/lower.h"
#include "halfstep/support/error.h"
#include "halfstep/support/json.h"

namespace halfstep::qnn {
namespace {

TEST(DlcRecord, KeepsGroupsAndPlacesAndOnlyWhatSaysSomething) {
  LoweredGraph lowered;
  lowered.graph.ops = {{.name = "conv"}, {.name = "relu"}, {.name = "pool"}};
  lowered.groups = {0, 0, -1};
  lowered.places = {{"a", {.name = "a", .layout = {0, 1}}},
                    {"b", {.name = "b", .layout = {0, 2, 3, 1}}},
                    {"c", {.name = "other", .layout = {0}}}};
  const Json record = dlc_record(lowered);
  EXPECT_EQ(record.dump(),
            R"({"super_groups":{"conv":0,"relu":0},"places":{"b":{"layout":[0,2,3,1]},)"
            R"("c":{"name":"other"}}})");
  EXPECT_EQ(groups_in(record).at("relu"), 0);
  const auto places = places_in(record);
  EXPECT_EQ(places.size(), 2U);
  EXPECT_EQ(places.at("b").layout, (Layout{0, 2, 3, 1}));
  EXPECT_EQ(places.at("c").name, "other");
}

TEST(DlcRecord, NothingIsNothing) {
  EXPECT_TRUE(places_in(Json()).empty());
  EXPECT_TRUE(groups_in(Json::object()).empty());
}

TEST(DlcRecord, NamesWhatIsWrong) {
  EXPECT_THROW((void)groups_in(parse_json(R"({"super_groups":{"a":-1}})", "x")), Error);
  EXPECT_THROW((void)groups_in(parse_json(R"({"super_groups":[]})", "x")), Error);
  EXPECT_THROW((void)places_in(parse_json(R"({"places":{"a":{"layout":[99]}}})", "x")), Error);
  EXPECT_THROW((void)places_in(parse_json(R"({"places":{"a":{"name":1}}})", "x")), Error);
  EXPECT_THROW((void)places_in(parse_json(R"({"places":{"a":2}})", "x")), Error);
}

}  // namespace
}  // namespace halfstep::qnn
