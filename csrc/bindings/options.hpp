// Options of a method: fastfs_fields of the C interface says how a Python dict becomes a struct.
//
//     read_options("fastfs_relief_options", fastfs::default_relief_options(), given, {{"n_rows", n}});
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "fastfs/fastfs.hpp"

namespace fastfs::bindings {

// The sizes that arrays among the options must have, by their names in fastfs.h.
using Sizes = std::vector<std::pair<const char*, py::ssize_t>>;

// Returns a field of a struct; ValueError for an option that isn't in it.
const fastfs_field& field_of(const char* type, const std::string& name);

// The words for the values of an enumeration.
using Words = std::vector<std::pair<const char*, std::int32_t>>;
Words words_of(const fastfs_field& field);
// Returns the value of a word; ValueError, which names the option, if there is no such word.
std::int32_t choose(const std::string& option, const std::string& word, const Words& words);
// Returns the word for a value, "" if there is none.
const char* word_of(std::int32_t value, const Words& words);

// Reads the options into the struct at `options`. A word becomes its value, and True and False become 1 and 0. Arrays
// stay where they are, so the dict must keep them alive; None stands for no array. A size that isn't among `sizes`, but
// has a field, is taken from the array.
void read_fields(const char* type, void* options, const py::dict& given, const Sizes& sizes);

// Returns the options with those that are in the dict overwritten.
template <class Options>
Options read_options(const char* type, Options options, const py::dict& given, const Sizes& sizes = {}) {
    read_fields(type, &options, given, sizes);
    return options;
}

// Adds fastfs_fields to the module, for tests.
void bind_fields(py::module_& m);

}  // namespace fastfs::bindings
