#include "cli/text.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace halfstep::cli {
namespace {

TEST(Text, BytesInDecimalUnits) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(999), "999 B");
  EXPECT_EQ(human_bytes(1000), "1.0 kB");
  EXPECT_EQ(human_bytes(13'412'345), "13.4 MB");
  EXPECT_EQ(human_bytes(999'949), "999.9 kB");
  EXPECT_EQ(human_bytes(999'950), "1.0 MB");
  EXPECT_EQ(human_bytes(2'500'000'000), "2.5 GB");
}

TEST(Text, SecondsInReadableUnits) {
  EXPECT_EQ(human_seconds(0), "0.0 ms");
  EXPECT_EQ(human_seconds(0.0004), "0.4 ms");
  EXPECT_EQ(human_seconds(0.0123), "12 ms");
  EXPECT_EQ(human_seconds(0.9999), "1.00 s");
  EXPECT_EQ(human_seconds(3.417), "3.42 s");
  EXPECT_EQ(human_seconds(12.34), "12.3 s");
  EXPECT_EQ(human_seconds(59.999), "1 min 00 s");
  EXPECT_EQ(human_seconds(125), "2 min 05 s");
  EXPECT_EQ(human_seconds(3720), "1 h 02 min");
  EXPECT_EQ(human_seconds(-1), "?");
  EXPECT_EQ(human_seconds(std::nan("")), "?");
  EXPECT_EQ(human_seconds(std::numeric_limits<double>::infinity()), "?");
}

TEST(Text, Decibel) {
  EXPECT_EQ(decibel(32.149), "32.1 dB");
  EXPECT_EQ(decibel(std::numeric_limits<double>::infinity()), "exact");
  EXPECT_EQ(decibel(-std::numeric_limits<double>::infinity()), "-inf dB");
}

TEST(Text, ControlCharactersAreShown) {
  EXPECT_EQ(printable("a\033[2Jb\n\x7f"), "a\\x1b[2Jb\\x0a\\x7f");
  EXPECT_EQ(printable("größe"), "größe");
}

TEST(Text, WidthCountsCharacters) {
  EXPECT_EQ(display_width("größe"), 5U);
  EXPECT_EQ(display_width(""), 0U);
}

TEST(Text, ShortenedKeepsBothEnds) {
  EXPECT_EQ(shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened("abcdefghij", 8), "ab...hij");
  EXPECT_EQ(shortened("äöüäöüäöüä", 8), "äö...öüä");
  EXPECT_EQ(display_width(shortened("äöüäöüäöüä", 8)), 8U);
}

TEST(Text, Counted) {
  EXPECT_EQ(counted(1, "node"), "1 node");
  EXPECT_EQ(counted(0, "node"), "0 nodes");
}

}  // namespace
}  // namespace halfstep::cli
