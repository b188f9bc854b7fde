#include "cli/table.h"

#include <gtest/gtest.h>

namespace halfstep::cli {
namespace {

TEST(Table, AlignsAndTrims) {
  Table table({{.title = "op"}, {.title = "n", .align = Align::right}, {.title = "note"}});
  table.add({"Conv", "52", ""});
  table.add({"Größe", "1", "x"});
  EXPECT_EQ(table.text(),
            "op      n  note\n"
            "Conv   52\n"
            "Größe   1  x\n");
}

TEST(Table, WithoutTitlesAndIndented) {
  Table table({{}, {}});
  EXPECT_TRUE(table.empty());
  table.add({"a", "b"});
  table.add({"", "c"});
  EXPECT_EQ(table.text(2), "  a  b\n     c\n");
}

TEST(Table, MissingCellsAreEmptyAndControlCharactersVisible) {
  Table table({{.title = "a"}, {.title = "b"}});
  table.add({"x\ny"});
  EXPECT_EQ(table.text(), "a       b\nx\\x0ay\n");
}

}  // namespace
}  // namespace halfstep::cli
