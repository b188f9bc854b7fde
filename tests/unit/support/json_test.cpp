#include "halfstep/support/json.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "halfstep/support/error.h"

namespace halfstep {
namespace {

std::string message_of(std::string_view text) {
  try {
    (void)parse_json(text, "a.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::invalid_file);
    return error.what();
  }
  return "no error";
}

TEST(ParseJson, KeepsOrderAndExactNumbers) {
  const Json json = parse_json(R"({"z": 0.1, "a": [1, -2, 18446744073709551615], "m": null})", "a");
  EXPECT_EQ(json.dump(), R"({"z":0.1,"a":[1,-2,18446744073709551615],"m":null})");
  EXPECT_EQ(json["z"].get<double>(), 0.1);
}

TEST(ParseJson, AcceptsAByteOrderMark) {
  EXPECT_EQ(parse_json("\xEF\xBB\xBF{\"a\": 1}", "a").dump(), R"({"a":1})");
}

TEST(ParseJson, NamesLineAndColumn) {
  EXPECT_TRUE(message_of("{\n  \"a\": 1,\n  \"b\": ?\n}").starts_with("a.json: line 3, column 8: "))
      << message_of("{\n  \"a\": 1,\n  \"b\": ?\n}");
  EXPECT_TRUE(message_of("").starts_with("a.json: line 1, column 1: ")) << message_of("");
  EXPECT_NE(message_of("{\"a\": 1").find("unexpected end of input"), std::string::npos)
      << message_of("{\"a\": 1");
  EXPECT_EQ(message_of("{\"a\": 1").find("json.exception"), std::string::npos);
}

TEST(ParseJson, RefusesWhatIsNotStrict) {
  for (const char* text : {"{\"a\": 1,}", "{'a': 1}", "[1] 2", "// x\n1", "NaN", "[1e999]",
                           "{\"a\" 1}", "\"\x80\"", "01", "[\"\\u12\"]", "{", "]"}) {
    EXPECT_NE(message_of(text), "no error") << text;
  }
}

TEST(ParseJson, RefusesAKeyGivenTwice) {
  EXPECT_EQ(message_of("{\"a\": 1,\n \"b\": {\"a\": 2, \"c\": 3},\n \"a\": 4}"),
            "a.json: line 3, column 4: the key \"a\" is given twice; keep one");
  EXPECT_EQ(message_of("{\"a\": {\"x\": 1}, \"b\": {\"x\": 1}, \"c\": [{\"x\": 1}, {\"x\": 1}]}"),
            "no error");
}

TEST(ParseJson, RefusesDeepNesting) {
  EXPECT_NE(message_of(std::string(100000, '[')).find("nested deeper than 200"), std::string::npos);
  EXPECT_EQ(message_of(std::string(150, '[') + std::string(150, ']')), "no error");
}

}  // namespace
}  // namespace halfstep
