// Options of a method: a table converts a Python dict to a struct of the C interface.
//
//     read_options(fastfs::default_disc_options(), given,
//                  {{"graph", choice(&fastfs_disc_options::graph, kGraphs)},
//                   {"density", &fastfs_disc_options::density}});
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "fastfs/fastfs.hpp"

namespace fastfs::bindings {

// The words for the values of an enumeration.
using Words = std::vector<std::pair<const char*, int>>;

inline int choose(const std::string& option, const std::string& word, const Words& words) {
    std::string known;
    for (const auto& [name, value] : words) {
        if (word == name) return value;
        known += (known.empty() ? "'" : ", '") + std::string(name) + "'";
    }
    throw std::invalid_argument(option + " must be one of " + known + ", not '" + word + "'");
}

inline const char* word_of(int value, const Words& words) {
    for (const auto& [name, number] : words) {
        if (number == value) return name;
    }
    return "";
}

template <class Options>
struct Field {
    using Read = std::function<void(Options&, const std::string&, const py::handle&)>;

    // Reads a number; True and False become 1 and 0.
    template <class Number>
        requires std::is_arithmetic_v<Number>
    Field(const char* name_, Number Options::* member)
        : name(name_), read([member](Options& options, const std::string& key, const py::handle& value) {
              try {
                  options.*member = value.cast<Number>();
              } catch (const py::cast_error&) {
                  throw py::type_error(key + " must be " + (std::is_integral_v<Number> ? "an integer" : "a number") +
                                       ", not " + py::repr(value).cast<std::string>());
              }
          }) {}

    // Reads the address of a C function; 0 stands for none.
    Field(const char* name_, fastfs_tile_kernel Options::* member)
        : name(name_), read([member](Options& options, const std::string&, const py::handle& value) {
              options.*member = reinterpret_cast<fastfs_tile_kernel>(value.cast<std::uintptr_t>());
          }) {}

    Field(const char* name_, Read read_) : name(name_), read(std::move(read_)) {}

    const char* name;
    Read read;
};

// Reads a word that stands for a number.
template <class Options>
typename Field<Options>::Read choice(std::int32_t Options::* member, Words words) {
    return [member, words](Options& options, const std::string& key, const py::handle& value) {
        options.*member = choose(key, value.cast<std::string>(), words);
    };
}

// Reads a contiguous array of T of this shape, or None; the dict keeps the array alive.
template <class Options, class T>
typename Field<Options>::Read array(const T* Options::* member, std::vector<py::ssize_t> shape) {
    return [member, shape](Options& options, const std::string& key, const py::handle& value) {
        options.*member = data_or_null<T>(py::reinterpret_borrow<py::object>(value), key.c_str(), shape);
    };
}

// Overwrites the options that are in the dict; options that it lacks keep their defaults, and a key that isn't in the
// table is a ValueError.
template <class Options>
Options read_options(Options options, const py::dict& given, const std::vector<Field<Options>>& table) {
    for (const auto& [key_, value] : given) {
        const auto key = key_.template cast<std::string>();
        const Field<Options>* found = nullptr;
        for (const auto& field : table) {
            if (key == field.name) found = &field;
        }
        if (found == nullptr) throw std::invalid_argument("there is no option '" + key + "'");
        found->read(options, key, value);
    }
    return options;
}

}  // namespace fastfs::bindings
