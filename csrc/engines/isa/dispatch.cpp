#include <cstdlib>
#include <string>

#include "engines/isa/genotype_bits.hpp"
#include "engines/isa/genotype_tables.hpp"
#include "engines/isa/tiles.hpp"
#include "support/errors.hpp"

#if defined(FASTFS_X86)
#include <cpuid.h>
#endif

namespace fastfs::core {

extern const Isa isa_base;
#if defined(FASTFS_X86)
extern const Isa isa_avx2;
extern const Isa isa_avx512;
extern const GenotypeIsa counted_genotypes_avx512;
extern const TableIsa counted_tables_avx512;
#elif defined(FASTFS_ARM64)
extern const Isa isa_neon;
#endif

namespace {

#if defined(FASTFS_X86)
// Returns the registers that the operating system saves: a CPU can have instructions that it must not use.
unsigned saved_state() {
    unsigned low = 0, high = 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

// Returns how many instruction sets of the sequence base, avx2, avx512 this machine has.
int levels() {
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return 1;
    const bool osxsave = c & bit_OSXSAVE, avx = c & bit_AVX, fma = c & bit_FMA;
    if (!osxsave || !avx || !fma) return 1;
    const unsigned state = saved_state();
    if ((state & 0x6) != 0x6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX2)) return 1;
    const unsigned wanted = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
    return (state & 0xe6) == 0xe6 && (b & wanted) == wanted ? 3 : 2;
}
#elif defined(FASTFS_ARM64)
int levels() { return 2; }  // NEON is part of the architecture
#else
int levels() { return 1; }
#endif

// Returns the kernels of the best instruction set of this machine, or of the set that FASTFS_ISA names; throws if the
// machine lacks it.
const Isa& choose_isa() {
    const Isa* const known[] = {
        &isa_base,
#if defined(FASTFS_X86)
        &isa_avx2,
        &isa_avx512,
#elif defined(FASTFS_ARM64)
        &isa_neon,
#endif
    };
    const int available = levels();
    const char* wanted = std::getenv("FASTFS_ISA");
    if (!wanted || !*wanted) return *known[available - 1];
    std::string names;
    for (int level = 0; level < available; ++level) {
        if (known[level]->name == std::string(wanted)) return *known[level];
        names += (level ? ", " : "") + std::string(known[level]->name);
    }
    throw InvalidArgument({"FASTFS_ISA must be one of ", names, " on this machine; got '", wanted, "'"});
}

}  // namespace

const Isa& isa() {
    static const Isa& chosen = choose_isa();
    return chosen;
}

#if defined(FASTFS_X86)
namespace {

// Tests if AVX-512 is in use on a machine that counts the bits of words.
bool counts_bits() {
    static const bool counts = [] {
        unsigned a = 0, b = 0, c = 0, d = 0;
        return &isa() == &isa_avx512 && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c & bit_AVX512VPOPCNTDQ) != 0;
    }();
    return counts;
}

}  // namespace
#endif

const GenotypeIsa& genotype_isa() {
#if defined(FASTFS_X86)
    if (counts_bits()) return counted_genotypes_avx512;
#endif
    return *isa().genotypes;
}

const TableIsa& table_isa() {
#if defined(FASTFS_X86)
    if (counts_bits()) return counted_tables_avx512;
#endif
    return *isa().tables;
}

}  // namespace fastfs::core
