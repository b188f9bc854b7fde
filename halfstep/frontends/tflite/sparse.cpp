#include "halfstep/frontends/tflite/sparse.h"

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "halfstep/support/error.h"

namespace halfstep::tflite {
namespace {

struct Dimension {
  bool dense = true;
  std::int64_t size = 0;  ///< of a dense one
  std::vector<std::int64_t> segments{}, indices{};
};

std::vector<std::int64_t> index_values(const Table& table, int type_field) {
  const Table holder = table.table(type_field + 1);
  const Vector vector = holder.vector(0);
  const auto widen = [](const auto& values) {
    return std::vector<std::int64_t>(values.begin(), values.end());
  };
  switch (table.get<std::uint8_t>(type_field, 0)) {
    case 1:
      return widen(vector.values<std::int32_t>());
    case 2:
      return widen(vector.values<std::uint16_t>());
    case 3:
      return widen(vector.values<std::uint8_t>());
    default:
      return {};
  }
}

class Densifier {
 public:
  Densifier(const Tensor& tensor, std::uint64_t file_size) : tensor_(tensor) {
    read(file_size);
    element_ = static_cast<std::size_t>(bits(tensor.type) / 8);
    if (element_ == 0) {
      throw Error(ErrorKind::unsupported,
                  "tensor '" + tensor.name + "': is sparse and has elements below 8 bits");
    }
  }

  std::vector<std::byte> run() {
    std::vector<std::byte> dense(static_cast<std::size_t>(count(tensor_.shape)) * element_);
    if (dense.empty()) {
      return dense;
    }
    coordinates_.assign(dimensions_.size(), 0);
    fill(0, 0, dense);
    return dense;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    damaged("sparse tensor '" + tensor_.name + "': " + what);
  }

  void read(std::uint64_t file_size) {
    const std::size_t rank = tensor_.shape.size();
    order_ = tensor_.sparsity.vector(0).values<std::int32_t>();
    block_axes_ = tensor_.sparsity.vector(1).values<std::int32_t>();
    const Vector metadata = tensor_.sparsity.vector(2);
    if (order_.size() != metadata.size() || order_.size() != rank + block_axes_.size() ||
        order_.size() > 16) {
      fail("its order of traversal does not fit its shape");
    }
    if (count(tensor_.shape) / 1000 > file_size) {
      fail("its full content is more than 1000 times as large as the file");
    }
    std::vector<bool> seen(order_.size(), false);
    for (std::size_t i = 0; i < metadata.size(); ++i) {
      const auto axis = static_cast<std::size_t>(order_[i]);
      if (order_[i] < 0 || axis >= order_.size() || seen[axis]) {
        fail("its order of traversal is no order");
      }
      seen[axis] = true;
      const Table entry = metadata.table(i);
      Dimension dimension;
      dimension.dense = entry.get<std::int8_t>(0, 0) == 0;
      dimension.size = entry.get<std::int32_t>(1, 0);
      if (dimension.dense && (dimension.size <= 0 || dimension.size > 1073741824)) {
        fail("a dimension has an impossible size");
      }
      if (!dimension.dense) {
        dimension.segments = index_values(entry, 2);
        dimension.indices = index_values(entry, 4);
      }
      dimensions_.push_back(std::move(dimension));
    }
    read_blocks(rank);
  }

  void read_blocks(std::size_t rank) {
    block_size_.assign(rank, 1);
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const auto axis = static_cast<std::size_t>(order_[i]);
      if (axis < rank) {
        continue;
      }
      const int target = block_axes_[axis - rank];
      if (target < 0 || static_cast<std::size_t>(target) >= rank || !dimensions_[i].dense) {
        fail("a block lies along no axis");
      }
      block_size_[static_cast<std::size_t>(target)] = dimensions_[i].size;
    }
  }

  /// Walks the stored values: level by level, `position` is the number of the parent's entry.
  void fill(std::size_t level, std::int64_t position, std::vector<std::byte>& dense) {
    if (++steps_ > 16 * (dense.size() + 64)) {
      fail("its dimensions are larger than its shape");
    }
    if (level == dimensions_.size()) {
      store(dense);
      return;
    }
    const Dimension& dimension = dimensions_[level];
    auto& coordinate = coordinates_[static_cast<std::size_t>(order_[level])];
    if (dimension.dense) {
      for (std::int64_t i = 0; i < dimension.size; ++i) {
        coordinate = i;
        fill(level + 1, position * dimension.size + i, dense);
      }
      return;
    }
    const auto segment = static_cast<std::size_t>(position);
    if (segment + 1 >= dimension.segments.size()) {
      fail("it has too few segments");
    }
    for (std::int64_t i = dimension.segments[segment]; i < dimension.segments[segment + 1]; ++i) {
      if (i < 0 || static_cast<std::size_t>(i) >= dimension.indices.size()) {
        fail("a segment leads out of its indices");
      }
      coordinate = dimension.indices[static_cast<std::size_t>(i)];
      fill(level + 1, i, dense);
    }
  }

  void store(std::vector<std::byte>& dense) {
    const std::size_t rank = tensor_.shape.size();
    std::uint64_t at = 0;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      std::int64_t coordinate = coordinates_[axis] * block_size_[axis];
      for (std::size_t block = 0; block < block_axes_.size(); ++block) {
        if (static_cast<std::size_t>(block_axes_[block]) == axis) {
          coordinate += coordinates_[rank + block];
        }
      }
      if (coordinate < 0 || coordinate >= tensor_.shape[axis]) {
        fail("an index lies outside of its shape");
      }
      at = at * static_cast<std::uint64_t>(tensor_.shape[axis]) +
           static_cast<std::uint64_t>(coordinate);
    }
    if (next_ >= tensor_.data.size() / element_) {
      fail("it holds too few values");
    }
    std::memcpy(dense.data() + at * element_, tensor_.data.data() + next_ * element_, element_);
    ++next_;
  }

  const Tensor& tensor_;
  std::vector<std::int32_t> order_{}, block_axes_{};
  std::vector<Dimension> dimensions_{};
  std::vector<std::int64_t> block_size_{}, coordinates_{};
  std::size_t element_ = 0, next_ = 0, steps_ = 0;
};

}  // namespace

void make_dense(std::vector<Tensor>& tensors, std::uint64_t file_size) {
  for (Tensor& tensor : tensors) {
    if (!tensor.sparse) {
      continue;
    }
    auto owner = std::make_shared<const std::vector<std::byte>>(Densifier(tensor, file_size).run());
    tensor.data = *owner;
    tensor.owner = std::move(owner);
    tensor.sparse = false;
    tensor.constant = true;
  }
}

}  // namespace halfstep::tflite
