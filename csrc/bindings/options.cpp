#include "options.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <type_traits>

namespace fastfs::bindings {
namespace {

// Writes a Python number, or the value of a word of the field, to `to`, a field of type Number; throws TypeError or
// ValueError that names the field.
template <class Number>
void put_number(const fastfs_field& field, void* to, const py::handle& value) {
    try {
        *static_cast<Number*>(to) =
            field.n_words > 0 && py::isinstance<py::str>(value)
                ? static_cast<Number>(choose(field.name, value.cast<std::string>(), words_of(field)))
                : value.cast<Number>();
    } catch (const py::cast_error&) {
        throw py::type_error(field.name + std::string(" must be ") +
                             (std::is_integral_v<Number> ? "an integer" : "a number") + "; got " +
                             py::repr(value).cast<std::string>());
    }
}

// Returns where the struct at `options` has the size with this name, or null.
std::int64_t* size_in(const char* type, void* options, const char* size) {
    for (std::int32_t k = 0; const fastfs_field* field = fastfs_fields(type, k); ++k) {
        if (std::strcmp(field->name, size) == 0 && field->type == FASTFS_INT64) {
            return reinterpret_cast<std::int64_t*>(static_cast<char*>(options) + field->offset);
        }
    }
    return nullptr;
}

// Returns the shape that an array option must have: sizes given in `sizes`, or else taken from the array and written to
// the field of the struct that counts them.
std::vector<py::ssize_t> shape_of(const char* type, void* options, const fastfs_field& field, const py::handle& value,
                                  const Sizes& sizes) {
    std::vector<py::ssize_t> shape;
    for (const char* const* name = field.sizes; *name != nullptr; ++name) {
        const auto known = std::find_if(sizes.begin(), sizes.end(),
                                        [&](const auto& size) { return std::strcmp(size.first, *name) == 0; });
        if (known != sizes.end()) {
            shape.push_back(known->second);
        } else if (std::int64_t* size = value.is_none() ? nullptr : size_in(type, options, *name)) {
            const auto given = value.attr("shape").cast<py::tuple>();
            if (shape.size() < given.size()) *size = given[shape.size()].cast<std::int64_t>();
            shape.push_back(*size);
        } else {
            shape.push_back(0);
        }
    }
    return shape;
}

template <class T>
void put_array(const char* type, void* options, const fastfs_field& field, void* to, const py::handle& value,
               const Sizes& sizes) {
    *static_cast<const T**>(to) = data_or_null<T>(py::reinterpret_borrow<py::object>(value), field.name,
                                                  shape_of(type, options, field, value, sizes));
}

template <class Number>
py::object number_at(const fastfs_field& field) {
    return py::cast(*static_cast<const Number*>(field.initial));
}

}  // namespace

const fastfs_field& field_of(const char* type, const std::string& name) {
    for (std::int32_t k = 0; const fastfs_field* field = fastfs_fields(type, k); ++k) {
        if (name == field->name) return *field;
    }
    throw std::invalid_argument("there is no option '" + name + "'");
}

Words words_of(const fastfs_field& field) {
    Words words;
    for (std::int32_t k = 0; k < field.n_words; ++k) words.emplace_back(field.words[k], field.values[k]);
    return words;
}

std::int32_t choose(const std::string& option, const std::string& word, const Words& words) {
    std::string known;
    for (const auto& [name, value] : words) {
        if (word == name) return value;
        known += (known.empty() ? "'" : ", '") + std::string(name) + "'";
    }
    throw std::invalid_argument(option + " must be one of " + known + "; got '" + word + "'");
}

const char* word_of(std::int32_t value, const Words& words) {
    for (const auto& [name, number] : words) {
        if (number == value) return name;
    }
    return "";
}

void read_fields(const char* type, void* options, const py::dict& given, const Sizes& sizes) {
    for (const auto& [key, value] : given) {
        const fastfs_field& field = field_of(type, key.cast<std::string>());
        void* to = static_cast<char*>(options) + field.offset;
        switch (field.type) {
            case FASTFS_INT32:
                put_number<std::int32_t>(field, to, value);
                break;
            case FASTFS_INT64:
                put_number<std::int64_t>(field, to, value);
                break;
            case FASTFS_UINT64:
                put_number<std::uint64_t>(field, to, value);
                break;
            case FASTFS_DOUBLE:
                put_number<double>(field, to, value);
                break;
            case FASTFS_KERNEL:  // the address of a C function; 0 stands for none
                *static_cast<fastfs_tile_kernel*>(to) =
                    reinterpret_cast<fastfs_tile_kernel>(value.cast<std::uintptr_t>());
                break;
            case FASTFS_INT32S:
                put_array<std::int32_t>(type, options, field, to, value, sizes);
                break;
            case FASTFS_INT64S:
                put_array<std::int64_t>(type, options, field, to, value, sizes);
                break;
            default:
                put_array<double>(type, options, field, to, value, sizes);
        }
    }
}

void bind_fields(py::module_& m) {
    m.def(
        "initial_options",
        [](const char* type) {
            py::dict initial;
            for (std::int32_t k = 0; const fastfs_field* field = fastfs_fields(type, k); ++k) {
                py::object value = py::none();
                if (field->type == FASTFS_INT32) {
                    value = number_at<std::int32_t>(*field);
                    const char* word = word_of(value.cast<std::int32_t>(), words_of(*field));
                    if (*word != '\0') value = py::str(word);
                }
                if (field->type == FASTFS_INT64) value = number_at<std::int64_t>(*field);
                if (field->type == FASTFS_UINT64) value = number_at<std::uint64_t>(*field);
                if (field->type == FASTFS_DOUBLE) value = number_at<double>(*field);
                initial[field->name] = value;
            }
            return initial;
        },
        py::arg("type"));
}

}  // namespace fastfs::bindings
