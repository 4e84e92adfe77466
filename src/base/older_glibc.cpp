// What the C++ runtime inside the program would ask of a newer C library than the oldest it shall start on (2.34): the
// linker sends these two names here (--wrap). Tested by tests/install_test.cpp, which reads the versions that the
// program asks for, and by every exception thrown.
#include <link.h>
#include <sys/random.h>

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
  search.out->dlfo_map_start = reinterpret_cast<void*>(begin);  // NOLINT(performance-no-int-to-ptr): an address it is
  search.out->dlfo_map_end = reinterpret_cast<void*>(end);      // NOLINT(performance-no-int-to-ptr)
  search.out->dlfo_link_map = nullptr;
  search.out->dlfo_eh_frame =
      reinterpret_cast<void*>(info->dlpi_addr + table->p_vaddr);  // NOLINT(performance-no-int-to-ptr)
  return 1;
}

}  // namespace

// Exceptions come from the program's own code, a refusal of SGLang's is one each: its place is kept, and the list of
// all objects walked for others alone.
extern "C" int __wrap__dl_find_object(void* address, dl_find_object* result) {  // NOLINT(bugprone-reserved-identifier)
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

extern "C" std::uint32_t __wrap_arc4random() {  // NOLINT(bugprone-reserved-identifier)
  std::uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number)) {
  }
  return number;
}
