#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/arguments.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/json_document.h"
#include "cli/table.h"
#include "cli/text.h"
#include "halfstep/core/dtype.h"
#include "halfstep/support/json.h"
#include "halfstep/targets/target.h"
#include "halfstep/targets/target_json.h"

namespace halfstep::cli {
namespace {

std::string stages_text(const SuperGroup& group) {
  std::string text;
  for (const auto& stage : group.ops) {
    text += text.empty() ? "" : " + ";
    for (const std::string& op : stage) {
      text += (&op == &stage.front() ? "" : "|") + op;
    }
  }
  return text;
}

std::string data_movement_text(const Target& target) {
  std::string text;
  for (const DataMovementOp& op : target.data_movement()) {
    const std::string condition = condition_text(op);
    text += (text.empty() ? "" : ", ") + op.op_type;
    text += condition.empty() ? "" : " (" + condition + ")";
  }
  return text;
}

/// "always: Conv, ConvTranspose" and below it why; one entry for ops with the same rule.
std::string ops_text(const Target& target) {
  std::map<std::pair<QuantizeWhen, std::string>, std::string> groups;
  for (const auto& [op, rule] : target.rules()) {
    std::string& list = groups[{rule.when, rule.why}];
    list += (list.empty() ? "" : ", ") + op;
  }
  std::string text = "quantized ops:\n";
  for (const auto& [rule, list] : groups) {
    text += "  " + wrapped(std::string(name(rule.first)) + ": " + list, 4) + "\n    " +
            wrapped(rule.second, 4) + "\n";
  }
  return text;
}

std::string kernels_text(const KernelFacts& facts, int arch) {
  Table table({{.title = "operator"},
               {.title = "kernels", .align = Align::right},
               {.title = "activations"}});
  for (const auto& [op, kernels] : facts.ops) {
    std::string types;
    std::size_t count = 0;
    for (const Kernel& kernel : kernels.kernels) {
      if (kernel.min_arch > arch || kernel.in.empty()) {
        continue;
      }
      ++count;
      for (std::size_t i = 0; i < kKernelTypes; ++i) {
        const auto type = static_cast<KernelType>(i);
        if (kernel.in[0].has(type) && type != KernelType::plain &&
            (" " + types + " ").find(" " + std::string(name(type)) + " ") == std::string::npos) {
          types += (types.empty() ? "" : " ") + std::string(name(type));
        }
      }
    }
    table.add({op, std::to_string(count), types});
  }
  return table.text();
}

std::string weights_text(const KernelFacts& facts, int arch) {
  Table table({{.title = "weights of"},
               {.title = "bits"},
               {.title = "granularity"},
               {.title = "symmetric"},
               {.title = "source"}});
  for (const WeightRule& rule : facts.weight_rules) {
    if (rule.min_arch > arch) {
      continue;
    }
    std::string ops, bits;
    for (const std::string& op : rule.ops) {
      ops += (ops.empty() ? "" : ", ") + op;
    }
    for (const int width : rule.bits) {
      bits += (bits.empty() ? "" : ", ") + std::to_string(width);
    }
    constexpr std::array<std::string_view, 3> kSymmetry = {"free", "advised", "required"};
    table.add({shortened(ops, 40), bits, std::string(name(rule.granularity)),
               std::string(kSymmetry[static_cast<std::size_t>(rule.symmetry)]), rule.source});
  }
  return table.text();
}

std::string chains_text(const KernelFacts& facts) {
  std::string text;
  for (const ChainOp& op : facts.chains) {
    text += (text.empty() ? "" : ", ") + op.op + (op.rule == "measured" ? " (measured)" : "");
  }
  return text;
}

std::string groups_text(const Target& target) {
  Table groups({{.title = "super group"}, {.title = "ops"}, {.title = "source"}});
  for (const SuperGroup& group : target.super_groups()) {
    groups.add({group.name, stages_text(group), group.source});
  }
  return groups.empty() ? "" : "\n" + groups.text();
}

/// Of a target with tables of kernels.
std::string kernel_target_text(const Target& target) {
  const KernelFacts& facts = *target.kernels();
  return wrapped(target.name() + ": " + target.summary(), 0) + "\n" +
         wrapped("source: " + target.source(), 0) +
         "\ntensors without encoding: " + std::string(name(target.default_float())) +
         "\n\nsame encoding on input and outputs:\n  " + wrapped(chains_text(facts), 2) + "\n\n" +
         kernels_text(facts, target.arch()) + "\n" + weights_text(facts, target.arch()) +
         groups_text(target);
}

std::string target_text(const Target& target) {
  if (target.kernels() != nullptr) {
    return kernel_target_text(target);
  }
  const std::string text =
      wrapped(target.name() + ": " + target.summary(), 0) + "\n" +
      wrapped("source: " + target.source(), 0) +
      "\ntensors without encoding: " + std::string(name(target.default_float())) + "\n\n" +
      ops_text(target) + "\nsame encoding on input and outputs:\n  " +
      wrapped(data_movement_text(target), 2) + "\n";
  return text + groups_text(target);
}

void print_list(const TargetsArguments& arguments, Console& console) {
  Table table({{.title = "target"}, {.title = "summary"}});
  Json list = Json::array();
  for (const std::string& shipped : Target::shipped()) {
    const Target target = Target::load(shipped);
    table.add({shipped, target.summary()});
    list.push_back({{"name", shipped}, {"summary", target.summary()}});
  }
  if (arguments.common.json) {
    Json document = json_document("targets");
    document["targets"] = list;
    console.out << json_text(document);
  } else {
    console.out << table.text();
  }
}

}  // namespace

int run_targets(const TargetsArguments& arguments, Console& console) {
  if (arguments.name.empty()) {
    print_list(arguments, console);
    return 0;
  }
  const Target target = Target::load(arguments.name);
  if (arguments.common.json) {
    Json document = json_document("targets");
    document["target"] = to_json(target);
    console.out << json_text(document);
  } else {
    console.out << target_text(target);
  }
  return 0;
}

}  // namespace halfstep::cli
