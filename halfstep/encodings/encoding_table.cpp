#include "halfstep/encodings/encoding_table.h"

namespace halfstep {

const Encoding* EncodingTable::find(std::string_view tensor) const {
  const auto found = tensors_.find(tensor);
  return found == tensors_.end() ? nullptr : &found->second;
}

void EncodingTable::set(std::string tensor, Encoding encoding) {
  tensors_.insert_or_assign(std::move(tensor), std::move(encoding));
}

void EncodingTable::erase(std::string_view tensor) {
  if (const auto found = tensors_.find(tensor); found != tensors_.end()) {
    tensors_.erase(found);
  }
}

const Encoding* EncodingTable::find_use(const Use& use, std::string_view tensor) const {
  const auto found = uses_.find(use);
  return found == uses_.end() ? find(tensor) : &found->second;
}

void EncodingTable::set_use(Use use, Encoding encoding) {
  uses_.insert_or_assign(std::move(use), std::move(encoding));
}

EncodingTable EncodingTable::overridden_by(const EncodingTable& overrides) const {
  EncodingTable result = *this;
  for (const auto& [tensor, encoding] : overrides.tensors_) {
    result.tensors_.insert_or_assign(tensor, encoding);
  }
  for (const auto& [use, encoding] : overrides.uses_) {
    result.uses_.insert_or_assign(use, encoding);
  }
  return result;
}

}  // namespace halfstep
