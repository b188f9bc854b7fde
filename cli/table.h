#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace halfstep::cli {

enum class Align : std::uint8_t { left, right };

struct Column {
  std::string title{};
  Align align = Align::left;
};

/// Rows of text in aligned columns, two spaces apart; trailing spaces are left out.
class Table {
 public:
  /// Without any title there is no line of titles.
  explicit Table(std::vector<Column> columns);
  /// As many cells as there are columns; control characters are made visible.
  void add(std::vector<std::string> cells);
  [[nodiscard]] bool empty() const noexcept { return rows_.empty(); }
  [[nodiscard]] std::string text(std::size_t indent = 0) const;

 private:
  [[nodiscard]] std::string line(const std::vector<std::string>& cells,
                                 const std::vector<std::size_t>& widths, std::size_t indent) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_{};
};

}  // namespace halfstep::cli
