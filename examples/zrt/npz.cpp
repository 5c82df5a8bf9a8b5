// SPDX-License-Identifier: Apache-2.0
// examples/zrt/npz.cpp: zip files of .npy files.
#include "npz.hpp"
#include "output.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <zlib.h>

namespace program {
namespace {

constexpr std::string_view kZipEnd("PK\5\6", 4), kZipEntry("PK\1\2", 4), kZipLocal("PK\3\4", 4), kNpySuffix(".npy");
constexpr std::size_t kZipEndBytes = 22, kZipEntryBytes = 46, kZipLocalBytes = 30;
constexpr std::uint64_t kMostZipBytes = std::numeric_limits<std::uint32_t>::max();
/// What deflate makes of a byte at most.
constexpr std::uint64_t kMostInflation = 1032;

std::uint64_t zip_number(std::string_view bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = count; i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}
std::string zip_little(std::uint64_t value, std::size_t count) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) bytes += static_cast<char>(value >> 8 * i & 0xff);
  return bytes;
}
std::uint32_t zip_checksum(std::string_view bytes) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

zrt::Error broken_archive(std::string_view what) {
  return zrt::Error::of(zrt::Errc::invalid_file, "not a .npz file that can be read: ", what);
}

/// A zip file's entry for one of its files.
struct ZipEntry {
  std::string name;
  std::uint64_t flags = 0, method = 0, checksum = 0, packed = 0, size = 0, local = 0;
};

/// Sizes of 4 GiB and more stand in a field of their own, in this order.
zrt::Result<void> widen_sizes(ZipEntry& entry, std::string_view extra) {
  while (extra.size() >= 4) {
    const std::uint64_t kind = zip_number(extra, 0, 2), length = zip_number(extra, 2, 2);
    if (length > extra.size() - 4) break;
    std::string_view data = extra.substr(4, length);
    extra.remove_prefix(4 + length);
    if (kind != 1) continue;
    for (std::uint64_t* field : {&entry.size, &entry.packed, &entry.local}) {
      if (*field != kMostZipBytes || data.size() < 8) continue;
      *field = zip_number(data, 0, 8);
      data.remove_prefix(8);
    }
  }
  if (entry.size == kMostZipBytes || entry.packed == kMostZipBytes || entry.local == kMostZipBytes)
    return std::unexpected(broken_archive("a file's size is not stated"));
  return {};
}

zrt::Result<std::string> inflated_file(std::string_view packed, std::uint64_t size) {
  if (size / kMostInflation > packed.size() || size > kMostZipBytes || packed.size() > kMostZipBytes)
    return std::unexpected(broken_archive("a file in it is larger than what it is packed as can hold, or than 4 GiB"));
  std::string bytes(size, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return zrt::fail(zrt::Errc::out_of_memory, "the system gives zlib no memory");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(size);
  const int ended = inflate(&stream, Z_FINISH);
  const bool whole = ended == Z_STREAM_END && stream.avail_out == 0;
  (void)inflateEnd(&stream);
  if (!whole) return std::unexpected(broken_archive("a file in it is damaged"));
  return bytes;
}

zrt::Result<std::string> content_of(std::string_view archive, const ZipEntry& entry) {
  if ((entry.flags & 1u) != 0) return std::unexpected(broken_archive("it is encrypted"));
  if (entry.local > archive.size() || archive.size() - entry.local < kZipLocalBytes ||
      archive.substr(entry.local, 4) != kZipLocal)
    return std::unexpected(broken_archive("a file does not begin where its entry says"));
  const std::string_view from = archive.substr(entry.local);
  const std::uint64_t head = kZipLocalBytes + zip_number(from, 26, 2) + zip_number(from, 28, 2);
  if (head > from.size() || from.size() - head < entry.packed)
    return std::unexpected(broken_archive("it ends in a file"));
  const std::string_view packed = from.substr(head, entry.packed);
  if (entry.method != 0 && entry.method != 8)
    return std::unexpected(broken_archive("it is neither stored nor deflated"));
  if (entry.method == 0 && entry.packed != entry.size)
    return std::unexpected(broken_archive("a stored file has two sizes"));
  auto bytes = entry.method == 0 ? zrt::Result<std::string>(packed) : inflated_file(packed, entry.size);
  if (bytes && zip_checksum(*bytes) != entry.checksum)
    return std::unexpected(broken_archive("a file's checksum differs"));
  return bytes;
}

/// Reads the entry at the front of `list` and takes it off.
zrt::Result<ZipEntry> next_zip_entry(std::string_view& list) {
  if (list.size() < kZipEntryBytes || !list.starts_with(kZipEntry))
    return std::unexpected(broken_archive("it ends in its list"));
  ZipEntry entry{{},
                 zip_number(list, 8, 2),
                 zip_number(list, 10, 2),
                 zip_number(list, 16, 4),
                 zip_number(list, 20, 4),
                 zip_number(list, 24, 4),
                 zip_number(list, 42, 4)};
  const std::uint64_t name = zip_number(list, 28, 2), extra = zip_number(list, 30, 2),
                      comment = zip_number(list, 32, 2);
  if (list.size() - kZipEntryBytes < name + extra + comment)
    return std::unexpected(broken_archive("it ends in its list"));
  entry.name = std::string(list.substr(kZipEntryBytes, name));
  if (auto r = widen_sizes(entry, list.substr(kZipEntryBytes + name, extra)); !r) return zrt::pass(r);
  list.remove_prefix(kZipEntryBytes + name + extra + comment);
  return entry;
}

/// The list of entries, which stands at the end.
zrt::Result<std::string_view> zip_list(std::string_view archive, std::uint64_t& count) {
  const std::size_t end = archive.rfind(kZipEnd);
  if (end == std::string_view::npos || archive.size() - end < kZipEndBytes)
    return std::unexpected(broken_archive("its last bytes are others"));
  count = zip_number(archive, end + 10, 2);
  const std::uint64_t bytes = zip_number(archive, end + 12, 4), begin = zip_number(archive, end + 16, 4);
  if (begin > end || bytes > end - begin)
    return std::unexpected(broken_archive("its list of files is not where it says"));
  return archive.substr(begin, bytes);
}

}  // namespace

bool is_npz(std::string_view path) { return path.ends_with(".npz"); }

zrt::Result<std::vector<NpzMember>> read_npz(std::string_view archive) {
  std::uint64_t count = 0;
  auto list = zip_list(archive, count);
  if (!list) return zrt::pass(list);
  std::vector<NpzMember> members;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto entry = next_zip_entry(*list);
    if (!entry) return zrt::pass(entry);
    auto bytes = content_of(archive, *entry);
    if (!bytes) return zrt::pass(bytes);
    const std::string_view name = entry->name;
    members.push_back({std::string(name.ends_with(kNpySuffix) ? name.substr(0, name.size() - kNpySuffix.size()) : name),
                       std::move(*bytes)});
  }
  return members;
}

zrt::Result<std::string> write_npz(const std::vector<NpzMember>& members) {
  std::string archive, list;
  for (const NpzMember& member : members) {
    const std::string name = member.name + std::string(kNpySuffix);
    if (archive.size() + list.size() + member.bytes.size() + 2 * name.size() + 256 > kMostZipBytes ||
        members.size() > 0xfffe)
      return zrt::fail(zrt::Errc::size_overflow, "an archive of 4 GiB or more is not written");
    // Version 2.0, the first that has folders; no flag; stored; midnight of the first day that a zip file knows.
    const std::string head = zip_little(20, 2) + zip_little(0, 2) + zip_little(0, 2) + zip_little(0, 2) +
                             zip_little(0x21, 2) + zip_little(zip_checksum(member.bytes), 4) +
                             zip_little(member.bytes.size(), 4) + zip_little(member.bytes.size(), 4) +
                             zip_little(name.size(), 2) + zip_little(0, 2);
    list += std::string(kZipEntry) + zip_little(20, 2) + head + zip_little(0, 2) + zip_little(0, 2) + zip_little(0, 2) +
            zip_little(0, 4) + zip_little(archive.size(), 4) + name;
    archive += std::string(kZipLocal) + head + name + member.bytes;
  }
  const std::size_t begin = archive.size();
  return archive + list + std::string(kZipEnd) + zip_little(0, 2) + zip_little(0, 2) + zip_little(members.size(), 2) +
         zip_little(members.size(), 2) + zip_little(list.size(), 4) + zip_little(begin, 4) + zip_little(0, 2);
}

zrt::Result<std::vector<std::string>> feeds_of_archives(const std::vector<std::string>& feeds) {
  std::vector<std::string> out;
  for (const std::string& feed : feeds) {
    if (!is_npz(feed) || feed.find('=') != std::string::npos) {
      out.push_back(feed);
      continue;
    }
    const auto bytes = read_file(feed);
    if (!bytes) return zrt::pass(bytes);
    const auto members = read_npz(*bytes);
    if (!members) return std::unexpected(of_file(members.error(), feed));
    for (const NpzMember& member : *members) out.push_back(member.name + "=" + feed + ":" + member.name);
  }
  return out;
}

zrt::Result<std::string> read_npy_file(const std::string& path) {
  const std::size_t colon = path.find(".npz:");
  if (colon == std::string::npos) return read_file(path);
  const std::string archive = path.substr(0, colon + 4), name = path.substr(colon + 5);
  const auto bytes = read_file(archive);
  if (!bytes) return bytes;
  auto members = read_npz(*bytes);
  if (!members) return std::unexpected(of_file(members.error(), archive));
  for (NpzMember& member : *members)
    if (member.name == name) return std::move(member.bytes);
  return zrt::fail(zrt::Errc::not_found, std::string_view(archive), " holds no ", std::string_view(name));
}

}  // namespace program
