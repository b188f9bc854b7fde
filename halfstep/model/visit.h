#pragma once

#include <type_traits>

#include <onnx/onnx_pb.h>

namespace halfstep {

// Walks over what is nested in a model. Every function takes const or mutable messages and hands
// `visit` the same.

/// `part`, a field that is set of `owner`, as mutable as `owner` is.
template <typename Owner, typename Part>
[[nodiscard]] auto& part_of([[maybe_unused]] Owner& owner, const Part& part) noexcept {
  if constexpr (std::is_const_v<Owner>) {
    return part;
  } else {
    return const_cast<Part&>(part);
  }
}

/// The graphs that one attribute holds.
template <typename Attribute, typename Visitor>
void for_each_graph_in(Attribute& attribute, const Visitor& visit) {
  if (attribute.has_g()) {
    visit(part_of(attribute, attribute.g()));
  }
  for (auto& graph : part_of(attribute, attribute.graphs())) {
    visit(graph);
  }
}

/// `graph`, then every graph below it.
template <typename Graph, typename Visitor>
void for_each_graph(Graph& graph, const Visitor& visit) {
  visit(graph);
  for (auto& node : part_of(graph, graph.node())) {
    for (auto& attribute : part_of(node, node.attribute())) {
      for_each_graph_in(attribute, [&visit](auto& inner) { for_each_graph(inner, visit); });
    }
  }
}

/// Every graph of a model: the main one, those of training, and all below them and below functions.
template <typename Model, typename Visitor>
void for_each_graph_of_model(Model& model, const Visitor& visit) {
  const auto with_inner = [&visit](auto& graph) { for_each_graph(graph, visit); };
  if (model.has_graph()) {
    with_inner(part_of(model, model.graph()));
  }
  for (auto& training : part_of(model, model.training_info())) {
    if (training.has_initialization()) {
      with_inner(part_of(training, training.initialization()));
    }
    if (training.has_algorithm()) {
      with_inner(part_of(training, training.algorithm()));
    }
  }
  for (auto& function : part_of(model, model.functions())) {
    for (auto& node : part_of(function, function.node())) {
      for (auto& attribute : part_of(node, node.attribute())) {
        for_each_graph_in(attribute, with_inner);
      }
    }
  }
}

/// Every node of a model, wherever it is.
template <typename Model, typename Visitor>
void for_each_node(Model& model, const Visitor& visit) {
  for_each_graph_of_model(model, [&visit](auto& graph) {
    for (auto& node : part_of(graph, graph.node())) {
      visit(node);
    }
  });
  for (auto& function : part_of(model, model.functions())) {
    for (auto& node : part_of(function, function.node())) {
      visit(node);
    }
  }
}

/// The tensors that one attribute holds itself, sparse ones aside.
template <typename Attribute, typename Visitor>
void for_each_tensor_in(Attribute& attribute, const Visitor& visit) {
  if (attribute.has_t()) {
    visit(part_of(attribute, attribute.t()));
  }
  for (auto& tensor : part_of(attribute, attribute.tensors())) {
    visit(tensor);
  }
}

/// Every dense tensor of a model: initializers and attributes.
template <typename Model, typename Visitor>
void for_each_tensor(Model& model, const Visitor& visit) {
  for_each_graph_of_model(model, [&visit](auto& graph) {
    for (auto& tensor : part_of(graph, graph.initializer())) {
      visit(tensor);
    }
  });
  for_each_node(model, [&visit](auto& node) {
    for (auto& attribute : part_of(node, node.attribute())) {
      for_each_tensor_in(attribute, visit);
    }
  });
  for (auto& function : part_of(model, model.functions())) {
    for (auto& attribute : part_of(function, function.attribute_proto())) {
      for_each_tensor_in(attribute, visit);
    }
  }
}

/// Every sparse tensor of a model.
template <typename Model, typename Visitor>
void for_each_sparse_tensor(Model& model, const Visitor& visit) {
  for_each_graph_of_model(model, [&visit](auto& graph) {
    for (auto& sparse : part_of(graph, graph.sparse_initializer())) {
      visit(sparse);
    }
  });
  for_each_node(model, [&visit](auto& node) {
    for (auto& attribute : part_of(node, node.attribute())) {
      if (attribute.has_sparse_tensor()) {
        visit(part_of(attribute, attribute.sparse_tensor()));
      }
      for (auto& sparse : part_of(attribute, attribute.sparse_tensors())) {
        visit(sparse);
      }
    }
  });
}

}  // namespace halfstep
