#pragma once

#include <span>
#include <string_view>

#include "halfstep/adaptation/state.h"

namespace halfstep {

/// One step of the adaptation. It reads and writes the state, says all it decides as diagnostics,
/// and collects its errors.
struct AdaptationPass {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  void (*run)(AdaptationState& state);
};

/// In the order in which they run.
[[nodiscard]] std::span<const AdaptationPass> adaptation_passes() noexcept;

/// Equal encodings along chains of operators that copy or select values: the narrowest that was
/// asked for, of equal width that of the producer's end. Ends that were asked to be something else
/// keep it: a Convert will stand there. Nothing happens to other operators.
void spread_data_movement(AdaptationState& state);

/// Finds the target's super groups. Their inner tensors get no encoding.
void tag_super_groups(AdaptationState& state);

/// Gives every tensor without encoding the target's default float type, and finds the kernel of
/// every node: what it reads and writes.
void select_precision(AdaptationState& state);

/// Puts a Convert (an Identity with a mark) wherever the producer of a tensor, the user and a
/// consumer want different encodings: from the producer's to the user's, from there to the
/// consumer's; shared by all that need the same, none where they agree.
void insert_converts(AdaptationState& state);

/// Gives constants the encodings of their consumers, and biases the scale that the target reads.
/// A constant that becomes float after the user wanted integers keeps the user's rounding.
void encode_static_tensors(AdaptationState& state);

}  // namespace halfstep
