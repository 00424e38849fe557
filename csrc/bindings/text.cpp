#include <cstdint>
#include <string>

#include "arrays.hpp"

namespace fastfs::bindings {

namespace {

// Powers of ten that a double holds exactly.
constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int kLargestPower = 22;
constexpr std::uint64_t kLargestExact = std::uint64_t{1} << 53;

// One more digit still fits in 64 bits below this number.
constexpr std::uint64_t kMostDigits = 1'000'000'000'000'000'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Reads a decimal number as Python's float() does; false for any other text, such as that of a missing value.
bool read_number(const char* at, const char* end, double& value) {
    while (at < end && *at == ' ') ++at;
    while (at < end && end[-1] == ' ') --end;
    const char* const begin = at;
    const bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+')) ++at;

    std::uint64_t digits = 0;
    int exponent = 0;
    bool any = false, all = true, after_point = false;
    for (; at < end && (is_digit(*at) || (*at == '.' && !after_point)); ++at) {
        if (*at == '.') {
            after_point = true;
            continue;
        }
        any = true;
        if (digits >= kMostDigits) {
            all = false;
            continue;
        }
        digits = 10 * digits + static_cast<std::uint64_t>(*at - '0');
        exponent -= after_point;
    }
    if (!any) return false;
    if (at < end && (*at == 'e' || *at == 'E')) {
        ++at;
        const bool down = at < end && *at == '-';
        if (at < end && (*at == '-' || *at == '+')) ++at;
        if (at == end) return false;
        int power = 0;
        for (; at < end && is_digit(*at); ++at) {
            if (power < 10'000) power = 10 * power + (*at - '0');
        }
        exponent += down ? -power : power;
    }
    if (at != end) return false;

    if (all && digits <= kLargestExact && exponent >= -kLargestPower && exponent <= kLargestPower) {
        // Both factors are exact, so one rounding gives the nearest number.
        const double whole = static_cast<double>(digits);
        value = exponent < 0 ? whole / kPowersOfTen[-exponent] : whole * kPowersOfTen[exponent];
        if (negative) value = -value;
        return true;
    }
    value = PyOS_string_to_double(std::string(begin, end).c_str(), nullptr, nullptr);
    if (PyErr_Occurred() != nullptr) throw py::error_already_set();
    return true;
}

// Cells from `first` on as numbers into `out`, up to one that is none; returns its position, or how many there are.
py::ssize_t read_numbers(const py::object& cells, py::ssize_t first, const py::array_t<double>& out) {
    const auto fast = py::reinterpret_steal<py::object>(PySequence_Fast(cells.ptr(), "cells must be a sequence"));
    if (!fast) throw py::error_already_set();
    const py::ssize_t n = PySequence_Fast_GET_SIZE(fast.ptr());
    if (out.ndim() != 1 || out.shape(0) != n || first < 0) {
        throw std::invalid_argument("out must have a place for each cell, and first must not be negative");
    }
    double* const values = const_cast<py::array_t<double>&>(out).mutable_data();
    for (py::ssize_t k = first; k < n; ++k) {
        PyObject* const cell = PySequence_Fast_GET_ITEM(fast.ptr(), k);
        if (!PyUnicode_Check(cell)) throw py::type_error("cells must be strings");
        if (!PyUnicode_IS_ASCII(cell)) return k;
        const char* const text = static_cast<const char*>(PyUnicode_DATA(cell));
        if (!read_number(text, text + PyUnicode_GET_LENGTH(cell), values[k])) return k;
    }
    return n;
}

}  // namespace

void bind_text(py::module_& m) {
    m.def("read_numbers", &read_numbers, py::arg("cells"), py::arg("first"), py::arg("out").noconvert());
}

}  // namespace fastfs::bindings
