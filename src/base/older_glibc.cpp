// What the program and the C++ runtime inside it would ask of a newer C library than the oldest it shall start on
// (2.28): the linker sends these names here (--wrap), and takes for all others the versions that were there by then
// (packaging/older_glibc). Tested by tests/install_test.cpp, which reads the versions that the program asks for, and by
// every exception thrown.
// The names are those of the C library and the linker.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming,performance-no-int-to-ptr)
#include <link.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>

#if __GLIBC_PREREQ(2, 35)
#include <dlfcn.h>

namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object* out;
};

// Whether the object holds the address, and where its unwind table lies.
int look(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  auto& search = *static_cast<Search*>(data);
  bool holds = false;
  std::uintptr_t begin = UINTPTR_MAX;
  std::uintptr_t end = 0;
  const ElfW(Phdr)* table = nullptr;
  for (ElfW(Half) i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info->dlpi_phdr[i];
    if (part.p_type == PT_GNU_EH_FRAME) table = &part;
    if (part.p_type != PT_LOAD) continue;
    const std::uintptr_t from = info->dlpi_addr + part.p_vaddr;
    holds = holds || (search.address >= from && search.address < from + part.p_memsz);
    begin = from < begin ? from : begin;
    end = from + part.p_memsz > end ? from + part.p_memsz : end;
  }
  if (!holds || table == nullptr) return 0;
  search.out->dlfo_flags = 0;
  search.out->dlfo_map_start = reinterpret_cast<void*>(begin);  // an address it is
  search.out->dlfo_map_end = reinterpret_cast<void*>(end);
  search.out->dlfo_link_map = nullptr;
  search.out->dlfo_eh_frame = reinterpret_cast<void*>(info->dlpi_addr + table->p_vaddr);
  return 1;
}

}  // namespace

// Exceptions come from the program's own code, a refusal of SGLang's is one each: its place is kept, and the list of
// all objects walked for others alone.
extern "C" int __wrap__dl_find_object(void* address, dl_find_object* result) {
  static const dl_find_object own = [] {
    dl_find_object found{};
    Search search{reinterpret_cast<std::uintptr_t>(&look), &found};
    dl_iterate_phdr(look, &search);
    return found;
  }();
  if (address >= own.dlfo_map_start && address < own.dlfo_map_end) {
    *result = own;
    return 0;
  }
  Search search{reinterpret_cast<std::uintptr_t>(address), result};
  return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}
#endif

extern "C" std::uint32_t __wrap_arc4random() {
  std::uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
  }
  return number;
}

#ifdef __x86_64__
// Until 2.33 these were macros over functions that are told the layout of the structure; 1 is the only one here.
extern "C" {
int __xstat(int layout, const char* path, struct stat* out);
int __lxstat(int layout, const char* path, struct stat* out);
int __fxstat(int layout, int file, struct stat* out);

int __wrap_stat(const char* path, struct stat* out) { return __xstat(1, path, out); }
int __wrap_lstat(const char* path, struct stat* out) { return __lxstat(1, path, out); }
int __wrap_fstat(int file, struct stat* out) { return __fxstat(1, file, out); }
int __wrap_fstat64(int file, struct stat* out) { return __fxstat(1, file, out); }

// Whether counters of references may be counted without locks: never, as far as anyone here can tell.
char __libc_single_threaded = 0;

// Since 2.34 the C library finds the constructors itself; an older one has to be given them, and a newer one takes them
// from an older program.
using Constructor = void (*)(int, char**, char**);
extern Constructor __init_array_start[];  // named by the linker
extern Constructor __init_array_end[];
using Main = int (*)(int, char**, char**);
using Ending = void (*)();
int __real___libc_start_main(Main main, int argc, char** argv, Constructor init, Ending fini, Ending loader_fini,
                             void* stack_end);
int __wrap___libc_start_main(Main main, int argc, char** argv, Constructor /*init*/, Ending fini, Ending loader_fini,
                             void* stack_end) {
  const Constructor init = [](int count, char** words, char** environment) {
    for (Constructor* c = __init_array_start; c != __init_array_end; ++c) (*c)(count, words, environment);
  };
  return __real___libc_start_main(main, argc, argv, init, fini, loader_fini, stack_end);
}
}
#endif
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming,performance-no-int-to-ptr)
