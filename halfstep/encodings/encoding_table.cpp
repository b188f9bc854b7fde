#include "halfstep/encodings/encoding_table.h"

namespace halfstep {
namespace {

bool same_but_origin(const Encoding& first, Encoding second) {
  second.origin = first.origin;
  return first == second;
}

}  // namespace

const Encoding* EncodingTable::find(std::string_view tensor) const {
  const auto found = tensors_.find(tensor);
  return found == tensors_.end() ? nullptr : &found->second;
}

void EncodingTable::set(std::string tensor, Encoding encoding) {
  if (const Encoding* before = find(tensor);
      before != nullptr && !same_but_origin(*before, encoding)) {
    codes_.erase(tensor);
  }
  tensors_.insert_or_assign(std::move(tensor), std::move(encoding));
}

void EncodingTable::erase(std::string_view tensor) {
  if (const auto found = tensors_.find(tensor); found != tensors_.end()) {
    codes_.erase(found->first);
    tensors_.erase(found);
  }
}

void EncodingTable::keep_codes(const std::string& tensor, std::vector<std::byte> codes) {
  codes_.insert_or_assign(tensor, std::move(codes));
}

const std::vector<std::byte>* EncodingTable::codes(std::string_view tensor) const {
  const auto found = codes_.find(tensor);
  return found == codes_.end() ? nullptr : &found->second;
}

const Encoding* EncodingTable::find_use(const Use& use, std::string_view tensor) const {
  const auto found = uses_.find(use);
  return found == uses_.end() ? find(tensor) : &found->second;
}

void EncodingTable::set_use(Use use, Encoding encoding) {
  uses_.insert_or_assign(std::move(use), std::move(encoding));
}

void EncodingTable::erase_use(const Use& use) { uses_.erase(use); }

EncodingTable EncodingTable::overridden_by(const EncodingTable& overrides) const {
  EncodingTable result = *this;
  for (const auto& [tensor, encoding] : overrides.tensors_) {
    result.set(tensor, encoding);
  }
  for (const auto& [tensor, codes] : overrides.codes_) {
    result.keep_codes(tensor, codes);
  }
  for (const auto& [use, encoding] : overrides.uses_) {
    result.uses_.insert_or_assign(use, encoding);
  }
  return result;
}

}  // namespace halfstep
