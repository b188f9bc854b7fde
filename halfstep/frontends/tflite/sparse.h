#pragma once

#include <cstdint>
#include <vector>

#include "halfstep/frontends/tflite/file.h"

namespace halfstep::tflite {

/// Gives sparse constants their full content. Source: schema.fbs of LiteRT, SparsityParameters: a
/// dimension is stored densely, or as segments and indices (CSR); block dimensions follow.
/// Errors: invalid_file naming the tensor, also if the full content is more than 1000 times as
/// large as the file.
void make_dense(std::vector<Tensor>& tensors, std::uint64_t file_size);

}  // namespace halfstep::tflite
