#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halfstep/engines/qnn/dlc/flat_table.h"
#include "halfstep/engines/qnn/graph.h"

namespace halfstep::qnn::dlc {

/// Where the data of a constant lies in the member model.params.bin.
struct DataPlace {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

/// Reads the tensors of one graph.
class TensorReader {
 public:
  /// `data` and `encodings`: the members model.params.bin and model.encodings.bin.
  /// `budget`: bytes of data that may still be copied; places in the file may overlap.
  TensorReader(std::span<const std::byte> data, std::span<const std::byte> encodings,
               std::uint64_t& budget)
      : data_(data), encodings_(encodings), budget_(budget) {}

  /// `table`: of the member model. Data is filled in if `places` names it.
  /// Errors: invalid_file naming the tensor.
  [[nodiscard]] Tensor read(const FlatTable& table,
                            const std::map<std::string, DataPlace>& places) const;

 private:
  [[nodiscard]] Quantization quantization(const FlatTable& table) const;
  void read_block(const FlatTable& table, Quantization& quantization) const;
  void fill(Tensor& tensor, const DataPlace& place) const;

  std::span<const std::byte> data_;
  std::span<const std::byte> encodings_;
  std::uint64_t& budget_;
};

}  // namespace halfstep::qnn::dlc
