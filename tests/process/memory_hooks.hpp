// SPDX-License-Identifier: Apache-2.0
// tests/process/memory_hooks.hpp: every way to memory of this process, each telling the test that includes it.
//
// Included once per program, after the program's own `void note(MemoryCall) noexcept`, which must not
// ask for memory.
#pragma once

#include <cerrno>
#include <cstdlib>
#include <support/memory_call.hpp>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

// operator new of the standard library goes through malloc and aligned_alloc.
void* malloc(std::size_t bytes) { return note(MemoryCall::allocate), __libc_malloc(bytes); }
void* calloc(std::size_t count, std::size_t bytes) { return note(MemoryCall::allocate), __libc_calloc(count, bytes); }
void* realloc(void* memory, std::size_t bytes) { return note(MemoryCall::allocate), __libc_realloc(memory, bytes); }
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return note(MemoryCall::allocate), __libc_memalign(alignment, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  return note(MemoryCall::allocate), __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  note(MemoryCall::allocate);
  *memory = __libc_memalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
void free(void* memory) {
  if (memory != nullptr) note(MemoryCall::release);
  __libc_free(memory);
}
void* mmap(void* at, std::size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  note(MemoryCall::map);
  return reinterpret_cast<void*>(syscall(SYS_mmap, at, bytes, protection, flags, file, offset));
}
int munmap(void* at, std::size_t bytes) noexcept {
  note(MemoryCall::map);
  return static_cast<int>(syscall(SYS_munmap, at, bytes));
}
}
