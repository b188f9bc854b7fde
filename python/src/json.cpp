#include "json.h"

#include <cstdint>
#include <string>

#include <nanobind/stl/string.h>

#include "halfstep/support/error.h"

namespace halfstep::python {

namespace nb = nanobind;

nb::object python_of(const Json& json) {
  switch (json.type()) {
    case Json::value_t::object: {
      nb::dict dict;
      for (const auto& [key, value] : json.items()) {
        dict[key.c_str()] = python_of(value);
      }
      return dict;
    }
    case Json::value_t::array: {
      nb::list list;
      for (const Json& value : json) {
        list.append(python_of(value));
      }
      return list;
    }
    case Json::value_t::string:
      return nb::cast(json.get<std::string>());
    case Json::value_t::boolean:
      return nb::cast(json.get<bool>());
    case Json::value_t::number_integer:
      return nb::cast(json.get<std::int64_t>());
    case Json::value_t::number_unsigned:
      return nb::cast(json.get<std::uint64_t>());
    case Json::value_t::number_float:
      return nb::cast(json.get<double>());
    default:
      return nb::none();
  }
}

PlainDict dict_of(const Json& json) { return PlainDict(nb::borrow<nb::dict>(python_of(json))); }

Json json_of(nb::handle value) {
  if (value.is_none()) {
    return nullptr;
  }
  if (nb::isinstance<nb::bool_>(value)) {
    return nb::cast<bool>(value);
  }
  if (nb::isinstance<nb::int_>(value)) {
    std::int64_t number = 0;
    return nb::try_cast(value, number) ? Json(number) : Json(nb::cast<double>(nb::float_(value)));
  }
  if (nb::isinstance<nb::float_>(value)) {
    return nb::cast<double>(value);
  }
  if (nb::isinstance<nb::str>(value)) {
    return nb::cast<std::string>(value);
  }
  if (nb::isinstance<nb::dict>(value)) {
    Json object = Json::object();
    for (const auto& [key, item] : nb::borrow<nb::dict>(value)) {
      const auto name = nb::cast<std::string>(nb::str(key));
      try {
        object[name] = json_of(item);
      } catch (const Error& error) {
        throw error.within(name);
      }
    }
    return object;
  }
  if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value)) {
    Json array = Json::array();
    for (const nb::handle item : nb::borrow<nb::sequence>(value)) {
      array.push_back(json_of(item));
    }
    return array;
  }
  // Numbers and arrays of NumPy and of frameworks.
  if (nb::hasattr(value, "tolist") && !nb::isinstance<nb::type_object>(value)) {
    const nb::object plain = value.attr("tolist")();
    if (plain.type().is(value.type())) {
      throw Error(ErrorKind::invalid_argument, "a value without a plain form");
    }
    return json_of(plain);
  }
  throw Error(ErrorKind::invalid_argument,
              "a value of type " + nb::cast<std::string>(value.type().attr("__name__")) +
                  "; expected what JSON can hold");
}

}  // namespace halfstep::python
