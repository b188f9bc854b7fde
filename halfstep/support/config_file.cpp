#include "halfstep/support/config_file.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

#include <toml++/toml.h>
#include <yaml-cpp/yaml.h>

#include "halfstep/support/error.h"
#include "halfstep/support/file.h"

namespace halfstep {
namespace {

Json scalar_from_yaml(const YAML::Node& node) {
  if (node.Tag() == "!") {  // quoted
    return node.Scalar();
  }
  std::int64_t integer = 0;
  double number = 0;
  bool flag = false;
  if (YAML::convert<std::int64_t>::decode(node, integer)) {
    return integer;
  }
  if (YAML::convert<double>::decode(node, number)) {
    return number;
  }
  if (YAML::convert<bool>::decode(node, flag)) {
    return flag;
  }
  return node.Scalar();
}

/// A tree of a YAML document. An alias stands for a copy of its anchor, and aliases of aliases
/// multiply, so what they become is limited, not what is written.
class YamlTree {
 public:
  [[nodiscard]] Json read(const YAML::Node& node) {
    const std::string place = "line " + std::to_string(node.Mark().line + 1) + ": ";
    require(++nodes_ <= kMaxNodes, place + "more than " + std::to_string(kMaxNodes) +
                                       " values with all aliases written out; a file of settings "
                                       "has fewer");
    require(depth_ < kMaxDepth, place + "values nested more than " + std::to_string(kMaxDepth) +
                                    " deep; a file of settings has fewer levels");
    ++depth_;
    Json value = content(node);
    --depth_;
    return value;
  }

 private:
  static constexpr int kMaxNodes = 20000;
  static constexpr int kMaxDepth = 64;

  [[nodiscard]] Json content(const YAML::Node& node) {
    switch (node.Type()) {
      case YAML::NodeType::Scalar:
        return scalar_from_yaml(node);
      case YAML::NodeType::Sequence: {
        Json array = Json::array();
        for (const YAML::Node& entry : node) {
          array.push_back(read(entry));
        }
        return array;
      }
      case YAML::NodeType::Map:
        return object(node);
      default:
        return nullptr;
    }
  }

  [[nodiscard]] Json object(const YAML::Node& node) {
    Json object = Json::object();
    for (const auto& entry : node) {
      const auto key = entry.first.as<std::string>();
      require(!object.contains(key), "line " + std::to_string(entry.first.Mark().line + 1) +
                                         ": key \"" + key + "\" is given twice");
      object[key] = read(entry.second);
    }
    return object;
  }

  int nodes_ = 0;
  int depth_ = 0;
};

Json from_toml(const toml::node& node) {
  if (const toml::table* table = node.as_table()) {
    Json object = Json::object();
    for (const auto& [key, value] : *table) {
      object[std::string(key.str())] = from_toml(value);
    }
    return object;
  }
  if (const toml::array* array = node.as_array()) {
    Json result = Json::array();
    for (const toml::node& value : *array) {
      result.push_back(from_toml(value));
    }
    return result;
  }
  if (const auto text = node.value_exact<std::string>()) {
    return *text;
  }
  if (const auto flag = node.value_exact<bool>()) {
    return *flag;
  }
  if (const auto integer = node.value_exact<std::int64_t>()) {
    return *integer;
  }
  if (const auto number = node.value_exact<double>()) {
    return *number;
  }
  throw Error(ErrorKind::invalid_argument, "a date or time is no value of this file");
}

Json parse(std::string_view text, const std::string& name) {
  const std::string ending = std::filesystem::path(name).extension().string();
  if (ending == ".yaml" || ending == ".yml") {
    return YamlTree().read(YAML::Load(std::string(text)));
  }
  if (ending == ".toml") {
    return from_toml(toml::parse(text));
  }
  return parse_json(text, name);
}

}  // namespace

Json parse_config(std::string_view text, const std::string& file) {
  try {
    return parse(text, file);
  } catch (const YAML::Exception& error) {
    throw Error(ErrorKind::invalid_argument,
                file + ": line " + std::to_string(error.mark.line + 1) + ", column " +
                    std::to_string(error.mark.column + 1) + ": " + error.msg);
  } catch (const toml::parse_error& error) {
    throw Error(ErrorKind::invalid_argument,
                file + ": line " + std::to_string(error.source().begin.line) + ", column " +
                    std::to_string(error.source().begin.column) + ": " +
                    std::string(error.description()));
  } catch (const Error& error) {
    // The file is configuration, not input: a mistake in it is one of usage.
    const std::string prefix = error.context().front() == file ? "" : file + ": ";
    throw Error(ErrorKind::invalid_argument, prefix + error.what());
  }
}

Json read_config_file(const std::filesystem::path& path) {
  constexpr std::uintmax_t kMaxBytes = 8U << 20U;
  std::error_code missing;  // read_text tells it better
  const std::uintmax_t bytes = std::filesystem::file_size(path, missing);
  require(missing || bytes <= kMaxBytes,
          path.string() + ": has " + std::to_string(bytes) +
              " bytes; a file of settings (recipe, target, spec) has at most 8 MB");
  std::string text;
  try {
    text = read_text(path);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::invalid_file) {
      throw;
    }
    throw Error(ErrorKind::invalid_argument, error.what());  // an option names what is no file
  }
  return parse_config(text, path.string());
}

}  // namespace halfstep
