#include "halfstep/calibration/npz.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "halfstep/support/error.h"

namespace halfstep {

NpzFile::NpzFile(std::filesystem::path path)
    : path_(std::move(path)), members_(zip_members(path_)) {
  constexpr std::string_view kSuffix = ".npy";
  std::set<std::string_view> seen;
  for (const ZipMember& member : members_) {
    if (!member.name.ends_with(kSuffix)) {
      throw Error(ErrorKind::invalid_file,
                  "member \"" + member.name + "\" is not an array (.npy); write with np.savez")
          .within(path_.string());
    }
    if (!seen.insert(member.name).second) {
      throw Error(ErrorKind::invalid_file, "member \"" + member.name + "\" is there twice")
          .within(path_.string());
    }
    keys_.push_back(member.name.substr(0, member.name.size() - kSuffix.size()));
  }
}

NpyArray NpzFile::open(std::size_t i) const {
  try {
    return NpyArray(open_zip_member(path_, members_.at(i)));
  } catch (const Error& error) {
    // Errors of the archive name it already.
    const bool named =
        !error.context().empty() && error.context().front().starts_with(path_.string());
    throw named ? error : error.within(path_.string() + "/" + keys_[i]);
  }
}

}  // namespace halfstep
