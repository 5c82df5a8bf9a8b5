// SPDX-License-Identifier: Apache-2.0
// zrt/backend/pm4/os.hpp: the system calls that a transport makes, as a policy.
#pragma once

#include <zrt/core/error.hpp>
#include <zrt/core/mutex.hpp>
#include <zrt/core/span.hpp>

#include <array>
#include <cerrno>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace zrt::inline ZRT_ABI::pm4 {

/// What a system call gave: its value, or an errno negated.
using SystemValue = std::int64_t;

enum class Protection : std::uint8_t { none, read_write };

/// Memory that is wanted in the address space of the process.
struct MapRequest {
  std::uint64_t address = 0;  ///< 0: where the system likes; else exactly there, in place of what is there
  std::uint64_t bytes = 0;
  Protection protection = Protection::none;
  int file = -1;  ///< -1: memory of the process alone
  std::uint64_t offset = 0;
};

/// The page by which interrupts of the GPU name events to /dev/kfd. The kernel takes it from a process once, for good.
struct EventPage {
  Mutex mutex{};
  std::uint64_t address = 0;  ///< 0: the process has none yet
};

/// What a transport needs of an operating system, or of the device model in its place.
///
/// `open` takes a path and whether the file is written to; `read` continues where the last one ended; `now` gives
/// nanoseconds that never go back; `pause` stands between two looks at a fence. `now` and `pause` make no system call.
/// `open_once` opens a file to be written to that stays open while the system lives, and gives the same file each time:
/// what the kernel ties to the file that a process had open first is not lost with its user. `event_page` is the process's.
template <class Os>
concept OperatingSystem =
    requires(Os& os, std::string_view path, bool writes, int file, std::uint32_t request, void* argument,
             Span<std::byte> to, const MapRequest& map, std::uint64_t address, std::uint64_t bytes) {
      { os.open(path, writes) } noexcept -> std::same_as<SystemValue>;
      { os.open_once(path) } noexcept -> std::same_as<SystemValue>;
      { os.close(file) } noexcept -> std::same_as<SystemValue>;
      { os.read(file, to) } noexcept -> std::same_as<SystemValue>;
      { os.ioctl(file, request, argument) } noexcept -> std::same_as<SystemValue>;
      { os.map(map) } noexcept -> std::same_as<SystemValue>;
      { os.unmap(address, bytes) } noexcept -> std::same_as<SystemValue>;
      { os.event_page() } noexcept -> std::same_as<EventPage&>;
      { os.now() } noexcept -> std::same_as<std::uint64_t>;
      { os.pause() } noexcept -> std::same_as<void>;
    };

/// An errno with its name, and what it means to a caller of zrt.
struct SystemError {
  int number = 0;
  std::string_view name{};
  Errc code = Errc::io_error;
};
inline constexpr auto kSystemErrors = std::to_array<SystemError>({
    {EPERM, "EPERM", Errc::io_error},
    {ENOENT, "ENOENT", Errc::unsupported_device},
    {ESRCH, "ESRCH", Errc::io_error},
    {EINTR, "EINTR", Errc::io_error},
    {EIO, "EIO", Errc::io_error},
    {ENXIO, "ENXIO", Errc::unsupported_device},
    {EBADF, "EBADF", Errc::io_error},
    {EAGAIN, "EAGAIN", Errc::io_error},
    {ENOMEM, "ENOMEM", Errc::out_of_memory},
    {EACCES, "EACCES", Errc::io_error},
    {EFAULT, "EFAULT", Errc::io_error},
    {EBUSY, "EBUSY", Errc::io_error},
    {ENODEV, "ENODEV", Errc::unsupported_device},
    {EINVAL, "EINVAL", Errc::io_error},
    {EMFILE, "EMFILE", Errc::io_error},
    {ENOTTY, "ENOTTY", Errc::unsupported_device},
    {ENOSPC, "ENOSPC", Errc::out_of_memory},
    {ENOSYS, "ENOSYS", Errc::unsupported_device},
    {EADDRINUSE, "EADDRINUSE", Errc::io_error},
    {ETIME, "ETIME", Errc::limit_exceeded},
    {EOPNOTSUPP, "EOPNOTSUPP", Errc::unsupported_device},
    {524, "ENOTSUPP", Errc::unsupported_device},  // the kernel's own, which leaves it all the same
});

/// The error of a system call that gave `value`; `what` says which, `of` on what.
[[nodiscard]] inline std::unexpected<Error> system_failure(SystemValue value, std::string_view what,
                                                           std::string_view of) noexcept {
  for (const SystemError& known : kSystemErrors)
    if (known.number == -value) return fail(known.code, what, " ", of, " failed with ", known.name);
  return fail(Errc::io_error, what, " ", of, " failed with errno ", -value);
}

}  // namespace zrt::inline ZRT_ABI::pm4
