#include <cstring>
#include <memory>
#include <set>
#include <string>

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "core.h"
#include "halfstep/core/calculators.h"
#include "halfstep/support/error.h"
#include "json.h"

namespace halfstep::python {
namespace {

class UserObject;

/// All of them, for the end of the process; guarded by Python's lock.
std::set<UserObject*>& user_objects() {
  static std::set<UserObject*> objects;
  return objects;
}

/// An object of a class that the user wrote and registered in Python. Every use takes Python's
/// lock.
class UserObject {
 public:
  UserObject(const std::string& family, const std::string& name, const ResolvedSpec& spec)
      : what_(family + " \"" + name + "\"") {
    const nb::gil_scoped_acquire lock;
    guarded([&] {
      object_ = nb::module_::import_("halfstep._registry")
                    .attr("make_component")(family, name, python_of(to_json(spec.spec())),
                                            std::string(halfstep::name(spec.role())));
    });
    user_objects().insert(this);
  }
  UserObject(const UserObject&) = delete;
  UserObject& operator=(const UserObject&) = delete;
  ~UserObject() {
    const nb::gil_scoped_acquire lock;
    user_objects().erase(this);
    object_.reset();
  }
  /// The object goes; using it is an error from then on.
  void forget() { object_ = nb::none(); }

  /// Calls `work` with the object. What the class raises becomes an Error, so that the library can
  /// say which tensor it was about; the exception itself is kept as the cause of that error.
  template <typename Work>
  void with(Work work) const {
    const nb::gil_scoped_acquire lock;
    guarded([&] { work(object_); });
  }
  [[nodiscard]] const nb::object& object() const { return object_; }

 private:
  template <typename Work>
  void guarded(Work work) const {
    try {
      work();
    } catch (nb::python_error& raised) {
      if (!raised.matches(PyExc_Exception)) {  // KeyboardInterrupt and its kind
        throw;
      }
      const nb::object message =
          nb::module_::import_("halfstep._errors").attr("remember_cause")(raised.value(), what_);
      throw Error(ErrorKind::invalid_argument, nb::cast<std::string>(message));
    }
  }

  std::string what_;
  nb::object object_{};
};

Ranges ranges_from(const nb::object& value) {
  return nb::cast<Ranges>(nb::module_::import_("halfstep._registry").attr("as_ranges")(value));
}

class UserQParamsCalculator final : public QParamsCalculatorBase {
 public:
  UserQParamsCalculator(const std::string& name, const ResolvedSpec& spec)
      : user_("qparams_calculator", name, spec) {}
  void update(const Ranges& batch) override {
    user_.with([&](const nb::object& user) { user.attr("update")(batch); });
  }
  [[nodiscard]] Ranges range() const override {
    Ranges result;
    user_.with([&](const nb::object& user) { result = ranges_from(user.attr("range")()); });
    return result;
  }
  void reset() override {
    user_.with([](const nb::object& user) { user.attr("reset")(); });
  }
  [[nodiscard]] Json state() const override {
    Json result;
    user_.with([&](const nb::object& user) { result = json_of(user.attr("state")()); });
    return result;
  }
  void load_state(const Json& state) override {
    user_.with([&](const nb::object& user) { user.attr("load_state")(python_of(state)); });
  }
  void merge(const QParamsCalculatorBase& other) override {
    const auto* same = dynamic_cast<const UserQParamsCalculator*>(&other);
    require(same != nullptr, "the other calculator is of another class");
    user_.with([&](const nb::object& user) { user.attr("merge")(same->user_.object()); });
  }

 private:
  UserObject user_;
};

class UserRangeCalculator final : public RangeCalculatorBase {
 public:
  UserRangeCalculator(const std::string& name, const ResolvedSpec& spec)
      : user_("range_calculator", name, spec) {}
  [[nodiscard]] Ranges measure(const FloatView& x, const UnitGrid& grid, int) const override {
    Ranges result;
    user_.with([&](const nb::object& user) {
      result = ranges_from(user.attr("measure")(copy_of(x), grid));
      const auto units = static_cast<std::size_t>(grid.units());
      require(result.min.size() == units && result.max.size() == units,
              "measure() gave " + std::to_string(result.min.size()) + " ranges for " +
                  std::to_string(units) + " units");
    });
    result.dtype = dtype_of(x) == Dtype::float64 ? Dtype::float32 : dtype_of(x);
    return result;
  }

 private:
  UserObject user_;
};

class UserFakeQuantize final : public FakeQuantizeImplBase {
 public:
  UserFakeQuantize(const std::string& name, const ResolvedSpec& spec)
      : user_("fake_quantize", name, spec) {}

  void quantize(const FloatView& x, const Mapping& mapping, std::span<std::byte> q,
                int) const override {
    user_.with([&](const nb::object& user) {
      const Tensor codes = tensor_of(user.attr("quantize")(copy_of(x), mapping));
      require(codes.bytes() == q.size(), "quantize() gave " + std::to_string(codes.bytes()) +
                                             " bytes of codes; expected " +
                                             std::to_string(q.size()));
      if (!q.empty()) {
        std::memcpy(q.data(), codes.data, q.size());
      }
    });
  }
  void dequantize(std::span<const std::byte> q, const Mapping& mapping, const FloatSpan& x,
                  int) const override {
    user_.with([&](const nb::object& user) {
      const Dtype stored =
          is_floating(mapping.spec->dtype) ? Dtype::uint8 : get_target_dtype(mapping.spec->dtype);
      const nb::object codes =
          array_of(make_tensor(stored, shape_of(x), std::vector<std::byte>(q.begin(), q.end())));
      write(user.attr("dequantize")(codes, mapping), x);
    });
  }
  void fake_quantize(const FloatView& x, const Mapping& mapping, const FloatSpan& y,
                     int) const override {
    user_.with(
        [&](const nb::object& user) { write(user.attr("fake_quantize")(copy_of(x), mapping), y); });
  }

 private:
  static void write(const nb::object& values, const FloatSpan& target) {
    std::visit(
        [&]<typename T>(const TensorView<T>& to) {
          const FloatArray from = floats_of(values, "the result");
          require(shape_of(from.view) == to.shape(), "the result has the shape " +
                                                         to_text(shape_of(from.view)) +
                                                         "; expected " + to_text(to.shape()));
          std::visit(
              [&]<typename S>(const TensorView<const S>& source) {
                std::vector<T> converted;
                for (const S value : contiguous_copy(source)) {
                  if constexpr (std::is_same_v<S, T>) {
                    converted.push_back(value);
                  } else {
                    converted.push_back(from_float<T>(to_float(value)));
                  }
                }
                scatter(converted, to);
              },
              from.view);
        },
        target);
  }

  UserObject user_;
};

/// The registry keeps names only: it outlives Python, whose objects it must not hold.
void register_component(const std::string& family, const std::string& name) {
  if (family == "qparams_calculator") {
    qparams_calculators().add(name, [name](const ResolvedSpec& spec) {
      return std::make_unique<UserQParamsCalculator>(name, spec);
    });
  } else if (family == "range_calculator") {
    range_calculators().add(name, [name](const ResolvedSpec& spec) {
      return std::make_unique<UserRangeCalculator>(name, spec);
    });
  } else {
    fake_quantizers().add(name, [name](const ResolvedSpec& spec) {
      return std::make_unique<UserFakeQuantize>(name, spec);
    });
  }
}

std::vector<std::string> registered_components(const std::string& family) {
  return family == "qparams_calculator" ? qparams_calculators().names()
         : family == "range_calculator" ? range_calculators().names()
                                        : fake_quantizers().names();
}

/// A class of the user holds the globals of its module, those may hold an object of ours, and that
/// one an object of the class: a circle that Python can't see through, so it is opened at exit.
void forget_user_objects() {
  for (UserObject* object : user_objects()) {
    object->forget();
  }
}

}  // namespace

void bind_families(nb::module_& module) {
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&forget_user_objects));
  module.def("register_component", &register_component, nb::arg("family"), nb::arg("name"));
  module.def("registered_components", &registered_components, nb::arg("family"));

  nb::class_<QParamsCalculatorBase>(module, "QParamsCalculator",
                                    "A calculator of the library, by the name in the spec.")
      .def(nb::new_([](const QuantizationSpec& spec, const std::string& role) {
             return make_qparams_calculator(resolve(spec, parse_role(role)));
           }),
           nb::arg("spec"), nb::arg("role"))
      .def("update", &QParamsCalculatorBase::update, nb::arg("batch"))
      .def("range", &QParamsCalculatorBase::range)
      .def("reset", &QParamsCalculatorBase::reset)
      .def("state", [](const QParamsCalculatorBase& c) { return dict_of(c.state()); })
      .def(
          "load_state",
          [](QParamsCalculatorBase& c, nb::handle state) { c.load_state(json_of(state)); },
          nb::arg("state"))
      .def("merge", &QParamsCalculatorBase::merge, nb::arg("other"));
}

}  // namespace halfstep::python
