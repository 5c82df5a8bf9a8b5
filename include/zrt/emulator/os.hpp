// SPDX-License-Identifier: Apache-2.0
// zrt/emulator/os.hpp: the device model in place of an operating system.
#pragma once

#include <zrt/emulator/kfd/driver.hpp>
#include <zrt/emulator/umq/render_node.hpp>

namespace zrt::inline ZRT_ABI::emulator {

/// What a process holds, what stays as long as it lives left out: some files, its event page.
struct LiveHandles {
  std::size_t files = 0;
  std::size_t ranges = 0;  ///< of addresses
  std::size_t doorbells = 0;
  std::size_t buffers = 0;
  std::size_t queues = 0;
  std::size_t events = 0;
  std::size_t syncobjs = 0;
  [[nodiscard]] constexpr std::size_t total() const noexcept {
    return files + ranges + doorbells + buffers + queues + events + syncobjs;
  }
  [[nodiscard]] constexpr bool none() const noexcept { return total() == 0; }
  friend constexpr bool operator==(const LiveHandles&, const LiveHandles&) = default;
};

/// What the queues of a process have done.
class QueueReport {
 public:
  /// What all queues have done, those that were destroyed left out.
  [[nodiscard]] const QueueCounters& counters() const noexcept { return counters_; }
  [[nodiscard]] std::uint64_t doorbells_rung() const noexcept { return doorbells_; }
  /// Why a queue stopped; empty while none has. Good until the next call.
  [[nodiscard]] std::string_view stopped() const noexcept { return stopped_; }

  /// An access that memory did not allow, if there was one.
  [[nodiscard]] QueueFault fault() const noexcept { return fault_; }

  template <class Queues> void add(const Queues& queues) noexcept {
    counters_ += queues.counters();
    doorbells_ += queues.doorbells_rung();
    if (!queues.stopped().empty()) stopped_ = queues.stopped();
    if (queues.fault().happened()) fault_ = queues.fault();
  }

 private:
  QueueCounters counters_{};
  std::uint64_t doorbells_ = 0;
  std::string_view stopped_{};
  QueueFault fault_{};
};

/// A machine with one card and one process, whose system calls these are: those of /dev/kfd and of the card's render
/// node.
///
/// Nothing in it has a thread: queues execute when the process pauses or waits, and time passes with each look at the
/// clock. It stays where it was made, and one thread uses it at a time.
class EmulatedOs {
 public:
  explicit EmulatedOs(const Card& card = {}, GridHook grids = {}, Allocator allocator = system_allocator()) noexcept
      : card_(card),
        allocator_(allocator),
        video_(card.video_bytes),
        process_(allocator),
        grids_(grids),
        driver_(card_, video_, process_, refuse_, grids, allocator),
        files_(allocator) {}
  EmulatedOs(const EmulatedOs&) = delete;
  EmulatedOs& operator=(const EmulatedOs&) = delete;

  [[nodiscard]] pm4::SystemValue open(std::string_view path, bool) noexcept {
    if (const pm4::SystemValue r = count(); r != 0) return r;
    OpenFile file(allocator_);
    if (path == "/dev/kfd" && card_.has_kfd) {
      file.kind = FileKind::calls;
    } else if (path == Name::of("/dev/dri/renderD", card_.render_minor).view()) {
      auto node = Owned<RenderNode>::make(allocator_, card_, video_, vram_lost_, process_, refuse_, grids_, allocator_);
      if (!node) return refuse_(ENOMEM, node.error().text());
      file.kind = FileKind::render;
      file.node = std::move(*node);
    } else if (path.starts_with(pm4::kfd::kTopologyNodes) && card_.has_kfd) {
      std::string_view name = path;
      name.remove_prefix(pm4::kfd::kTopologyNodes.size());
      const auto written = write_topology_file(card_, name, file.text);
      if (!written) return refuse_(ENOMEM, written.error().text());
      if (*written) file.kind = FileKind::text;
      if (is_closed_file(card_, name)) file.kind = FileKind::unreadable;
    }
    if (file.kind == FileKind::closed) return refuse_(ENOENT, "there is no file ", path);
    file.serial = ++opened_;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      if (files_[i].kind != FileKind::closed) continue;
      files_[i] = std::move(file);
      return static_cast<pm4::SystemValue>(i) + kFirstFile;
    }
    if (!files_.push_back(std::move(file))) return refuse_(ENOMEM, "the model has no memory");
    return static_cast<pm4::SystemValue>(files_.size()) - 1 + kFirstFile;
  }

  [[nodiscard]] pm4::SystemValue open_once(std::string_view path) noexcept {
    for (std::size_t i = 0; i < files_.size(); ++i)
      if (files_[i].kept && files_[i].text.view() == path) return static_cast<pm4::SystemValue>(i) + kFirstFile;
    const pm4::SystemValue number = open(path, true);
    if (number < 0) return number;
    OpenFile& file = *find(static_cast<int>(number));
    // A device file has no text of its own.
    if (!file.text.append(path)) {
      file = OpenFile(allocator_);
      return refuse_(ENOMEM, "the model has no memory");
    }
    file.kept = true;
    return number;
  }

  pm4::SystemValue close(int number) noexcept {
    OpenFile* const file = find(number);
    // A file is gone whatever close() says.
    if (file != nullptr) *file = OpenFile(allocator_);
    if (const pm4::SystemValue r = count(); r != 0) return r;
    return file != nullptr ? 0 : refuse_(EBADF, "file ", number, " is not open");
  }

  [[nodiscard]] pm4::SystemValue read(int number, Span<std::byte> to) noexcept {
    if (const pm4::SystemValue r = count(); r != 0) return r;
    OpenFile* const file = find(number);
    if (file != nullptr && file->kind == FileKind::unreadable)
      return refuse_(EPERM, "the process may not use the GPU of file ", number);
    if (file == nullptr || file->kind != FileKind::text) return refuse_(EBADF, "file ", number, " has no text");
    std::string_view rest = file->text.view();
    rest.remove_prefix(file->at);
    const std::size_t size = rest.size() < to.size() ? rest.size() : to.size();
    if (size != 0) std::memcpy(to.data(), rest.data(), size);
    file->at += size;
    return static_cast<pm4::SystemValue>(size);
  }

  [[nodiscard]] pm4::SystemValue ioctl(int number, std::uint32_t request, void* argument) noexcept {
    if (const pm4::SystemValue r = count(); r != 0) return r;
    OpenFile* const file = find(number);
    if (file == nullptr) return refuse_(EBADF, "file ", number, " is not open");
    if (request == fail_request_ && (fail_request_after_ == 0 || --fail_request_after_ == 0))
      return refuse_(fail_request_with_, "the failure that was asked for");
    if (file->kind == FileKind::render) return file->node->call(request, argument, time_);
    if (file->kind != FileKind::calls) return refuse_(ENOTTY, "file ", number, " takes no calls");
    const auto call = [&] {
      return driver_.call(request, argument, [&](int render) -> std::uint64_t {
        const OpenFile* const other = find(render);
        return other != nullptr && other->kind == FileKind::render ? other->serial : 0;
      });
    };
    return request == pm4::kfd::kWaitEvents && argument != nullptr
               ? sleep(call, *static_cast<const pm4::kfd::WaitEvents*>(argument))
               : call();
  }
  [[nodiscard]] pm4::EventPage& event_page() noexcept { return event_page_; }

  [[nodiscard]] pm4::SystemValue map(const pm4::MapRequest& m) noexcept {
    if (const pm4::SystemValue r = count(); r != 0) return r;
    if (m.bytes == 0 || m.bytes % pm4::kPageBytes != 0 || m.address % pm4::kPageBytes != 0)
      return refuse_(EINVAL, "mmap: ", m.bytes, " bytes at ", hex(m.address).view(), ", whole pages expected");
    if (m.file < 0) {
      if (m.address != 0 || m.protection != pm4::Protection::none)
        return refuse_(EINVAL, "mmap: memory of the process alone is modelled as addresses without access");
      const std::uint64_t at = process_.reserve(m.bytes);
      if (at == 0) return refuse_(ENOMEM, "mmap: the model has no memory for ", m.bytes, " bytes");
      return static_cast<pm4::SystemValue>(at);
    }
    const OpenFile* const file = find(m.file);
    if (file == nullptr || (file->kind != FileKind::calls && file->kind != FileKind::render))
      return refuse_(EBADF, "mmap: file ", m.file);
    if (m.protection != pm4::Protection::read_write) return refuse_(EINVAL, "mmap: of a device without access");
    const bool of_gem = file->kind == FileKind::render && m.offset >= GemObjects::kOffsets;
    const bool doorbells = of_gem ? file->node->gem().are_doorbells(m.offset) : file->kind == FileKind::calls;
    if (doorbells && refuse_doorbells_ != 0) return refuse_(refuse_doorbells_, "the failure that was asked for");
    if (of_gem) return file->node->gem().map_for_host(m);
    if (file->kind == FileKind::render) return driver_.buffers().map_for_host(m);
    const pm4::SystemValue at = driver_.queues().map_doorbells(m);
    if (at > 0) ++doorbells_;
    return at;
  }

  pm4::SystemValue unmap(std::uint64_t address, std::uint64_t bytes) noexcept {
    if (const pm4::SystemValue r = count(); r != 0) return r;
    if (driver_.queues().are_doorbells(address)) {
      if (bytes != Queues::kDoorbellBytes || doorbells_ == 0)
        return refuse_(EINVAL, "munmap: ", bytes, " bytes are not the doorbells");
      --doorbells_;
      return 0;
    }
    bool lives = driver_.buffers().lives_in(address, bytes);
    for (const OpenFile& file : files_) {
      if (file.node && file.node->gem().unmap_doorbells(address, bytes)) return 0;
      lives = lives || (file.node && file.node->gem().lives_in(address, bytes));
    }
    if (lives) return refuse_(EINVAL, "munmap: memory of the GPU still lives at ", hex(address).view());
    if (!process_.release(address, bytes))
      return refuse_(EINVAL, "munmap: ", bytes, " bytes at ", hex(address).view(), " are no mapping");
    return 0;
  }

  [[nodiscard]] std::uint64_t now() noexcept { return time_ += 1000; }
  /// A doorbell was rung: a card that is faster than the process has then done what it can.
  void rung() noexcept {
    if (card_.runs_at_doorbell) (void)advance();
  }
  /// Lets queues execute. Where none does anything, more time passes: nobody waits for a queue that hangs.
  void pause() noexcept {
    if (!advance()) time_ += 100'000;
  }
  /// Queues execute nothing for so many nanoseconds.
  void hold_queues(std::uint64_t nanoseconds) noexcept { held_until_ = time_ + nanoseconds; }

  /// Makes the system call after so many others fail with that errno, once; 1 is the next one.
  void fail_call(std::uint64_t number, int error) noexcept {
    fail_at_ = calls_ + number;
    fail_with_ = error;
  }

  /// Makes every ioctl with that request fail with that errno, from the `from`-th of them on, 1 the next one; request 0
  /// makes none fail.
  void fail_request(std::uint32_t request, int error, std::uint64_t from = 1) noexcept {
    fail_request_ = request;
    fail_request_with_ = error;
    fail_request_after_ = from;
  }
  /// Makes every mapping of doorbells fail with that errno; 0 makes none fail.
  void refuse_doorbells(int error) noexcept { refuse_doorbells_ = error; }
  /// Makes every event fail with that errno once the kernel took the page that came with it; 0 makes none fail.
  void refuse_events_behind_page(int error) noexcept { driver_.events().refuse_behind_page(error); }
  /// Another program takes what is left of video memory after so many allocations from now on; 0: at once.
  void fill_video_after(std::uint64_t allocations) noexcept { video_.fill_after(allocations); }

  /// Resets the card: what its queues had to do and what video memory held is lost.
  void reset_device() noexcept {
    ++vram_lost_;
    driver_.queues().reset();
    for (const OpenFile& file : files_)
      if (file.node) file.node->reset();
  }
  /// The next fence that a queue comes to is not written.
  void lose_next_fence() noexcept {
    driver_.queues().lose_next_fence();
    for (const OpenFile& file : files_)
      if (file.node) file.node->queues().lose_next_fence();
  }
  /// No fence is written from now on.
  void lose_every_fence() noexcept { loses_fences_ = true; }
  /// What the model found wrong with the packets of the last queue that stopped; a card would only hang.
  [[nodiscard]] std::string_view complaint() const noexcept { return queues().stopped(); }

  [[nodiscard]] static constexpr bool is_modelled() noexcept { return true; }
  /// System calls so far.
  [[nodiscard]] std::uint64_t calls() const noexcept { return calls_; }
  /// Why the last call was refused, in words.
  [[nodiscard]] std::string_view refusal() const noexcept { return refuse_.reason(); }
  [[nodiscard]] QueueReport queues() const noexcept {
    QueueReport report;
    report.add(driver_.queues());
    for (const OpenFile& file : files_)
      if (file.node) report.add(file.node->queues());
    return report;
  }
  [[nodiscard]] std::uint64_t available_video() const noexcept { return video_.available(); }

  [[nodiscard]] LiveHandles live() const noexcept {
    // The event page stays with the process.
    const std::size_t page = driver_.events().page() != 0 ? 1 : 0;
    LiveHandles live{.ranges = process_.ranges() - page,
                     .doorbells = doorbells_,
                     .buffers = driver_.buffers().count() - page,
                     .queues = driver_.queues().count(),
                     .events = driver_.events().count()};
    for (const OpenFile& file : files_) {
      live.files += file.kind != FileKind::closed && !file.kept;
      if (!file.node) continue;
      live.doorbells += file.node->gem().doorbells_mapped();
      live.buffers += file.node->gem().count();
      live.queues += file.node->queues().count();
      live.syncobjs += file.node->syncobjs().count();
    }
    return live;
  }

 private:
  enum class FileKind : std::uint8_t { closed, calls, render, text, unreadable };
  struct OpenFile {
    explicit OpenFile(const Allocator& allocator) noexcept : text(allocator) {}
    FileKind kind = FileKind::closed;
    bool kept = false;  ///< for as long as the process lives
    std::uint64_t serial = 0;
    String text;
    std::size_t at = 0;
    Owned<RenderNode> node{};
  };
  // As if the process had its three usual ones.
  static constexpr int kFirstFile = 3;

  [[nodiscard]] pm4::SystemValue count() noexcept {
    ++calls_;
    if (calls_ != fail_at_) return 0;
    return refuse_(fail_with_, "the failure that was asked for");
  }
  /// Lets every queue execute up to its next fence. Whether some packet was executed.
  bool advance() noexcept {
    if (time_ < held_until_) return false;
    if (loses_fences_) lose_next_fence();
    bool any = driver_.queues().advance();
    for (const OpenFile& file : files_)
      if (file.node && file.node->queues().advance()) any = true;
    return any;
  }
  /// Looks at events until one is signalled or the time of the wait is over; queues execute meanwhile.
  template <class Look> [[nodiscard]] pm4::SystemValue sleep(Look&& look, const pm4::kfd::WaitEvents& wait) noexcept {
    const std::uint64_t end = time_ + std::uint64_t{wait.timeout} * 1'000'000;
    for (;;) {
      const bool any = advance();
      const pm4::SystemValue looked = look();
      if (looked != 0 || wait.wait_result != pm4::kfd::WaitResult::timeout || time_ >= end) return looked;
      if (!any) time_ = time_ < held_until_ && held_until_ < end ? held_until_ : end;
    }
  }
  [[nodiscard]] OpenFile* find(int number) noexcept {
    if (number < kFirstFile || static_cast<std::size_t>(number - kFirstFile) >= files_.size()) return nullptr;
    OpenFile* const file = &files_[static_cast<std::size_t>(number - kFirstFile)];
    return file->kind == FileKind::closed ? nullptr : file;
  }

  Card card_;
  Allocator allocator_;
  SyscallRefusal refuse_{};
  VideoMemory video_;
  std::uint32_t vram_lost_ = 0;
  ProcessMemory process_;
  GridHook grids_;
  KfdDriver driver_;
  Vector<OpenFile> files_;
  std::size_t doorbells_ = 0;
  std::uint64_t opened_ = 0;
  std::uint64_t calls_ = 0;
  std::uint64_t fail_at_ = 0;
  int fail_with_ = 0;
  std::uint32_t fail_request_ = 0;
  int fail_request_with_ = 0;
  std::uint64_t fail_request_after_ = 0;
  int refuse_doorbells_ = 0;
  bool loses_fences_ = false;
  std::uint64_t time_ = 0;
  std::uint64_t held_until_ = 0;
  pm4::EventPage event_page_{};
};
static_assert(pm4::OperatingSystem<EmulatedOs>);

}  // namespace zrt::inline ZRT_ABI::emulator
