// Finds the library that SciPy's calls of BLAS reach; fastfs._machine.lapack controls the threads of that library.
#include <cstddef>
#include <cstring>

#include "arrays.hpp"

#if defined(__GLIBC__) && defined(__LP64__)
#include <dlfcn.h>
#include <link.h>
#endif

namespace fastfs::bindings {
namespace {

// Returns the file of the library in which a loaded module's calls of a routine end ("" is the program itself), for
// any prefix and suffix of the routine's name. It is not always the library that the module is linked to, because
// the first library that shows its names to the whole process takes its place. The linker's choice is in the module's
// relocations. If these can't be read, or aren't there yet, the answer is the module itself.
std::string called_library(const std::string& module, const std::string& routine) {
#if defined(__GLIBC__) && defined(__LP64__)
    void* handle = dlopen(module.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) return module;
    const link_map* map = nullptr;
    const bool known = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0;
    dlclose(handle);  // it stays loaded, since Python never unloads a module
    if (!known) return module;
    const char* strings = nullptr;
    const ElfW(Sym)* symbols = nullptr;
    struct {
        const ElfW(Rela) * entries;
        std::size_t bytes;
    } tables[2] = {};
    for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
        const auto value = entry->d_un.d_ptr;  // addresses are relative to the module's with some linkers only
        const auto address = value < map->l_addr ? map->l_addr + value : value;
        switch (entry->d_tag) {
            case DT_STRTAB:
                strings = reinterpret_cast<const char*>(address);
                break;
            case DT_SYMTAB:
                symbols = reinterpret_cast<const ElfW(Sym)*>(address);
                break;
            case DT_RELA:
                tables[0].entries = reinterpret_cast<const ElfW(Rela)*>(address);
                break;
            case DT_RELASZ:
                tables[0].bytes = value;
                break;
            case DT_JMPREL:
                tables[1].entries = reinterpret_cast<const ElfW(Rela)*>(address);
                break;
            case DT_PLTRELSZ:
                tables[1].bytes = value;
                break;
            default:
                break;
        }
    }
    if (strings == nullptr || symbols == nullptr) return module;
    for (const auto& [entries, bytes] : tables) {
        for (std::size_t i = 0; entries != nullptr && i < bytes / sizeof *entries; ++i) {
            const char* name = strings + symbols[ELF64_R_SYM(entries[i].r_info)].st_name;
            if (std::strstr(name, routine.c_str()) == nullptr) continue;
            const void* called = *reinterpret_cast<void* const*>(map->l_addr + entries[i].r_offset);
            Dl_info found;
            link_map* owner = nullptr;
            if (dladdr1(called, &found, reinterpret_cast<void**>(&owner), RTLD_DL_LINKMAP) != 0) return owner->l_name;
        }
    }
#else
    static_cast<void>(routine);  // libraries can't take each other's place there, or we don't know how to tell
#endif
    return module;
}

}  // namespace

void bind_blas(py::module_& m) { m.def("called_library", &called_library, py::arg("module"), py::arg("routine")); }

}  // namespace fastfs::bindings
