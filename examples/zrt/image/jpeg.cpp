// SPDX-License-Identifier: Apache-2.0
// examples/zrt/image/jpeg.cpp: JPEG, by libjpeg.
#include "formats.hpp"
#include "orientation.hpp"

#include <array>
#include <csetjmp>
#include <cstdio>
#include <jpeglib.h>
// After the library's own header, which it needs.
#include <jerror.h>

namespace image {
namespace {

/// Passes over the pixels that a progressive file may take. Encoders write about ten; each costs as much time as the
/// whole image, and no more than a few bytes of the file.
constexpr int kMostScans = 100;
/// The segment that holds a camera's notes, and what it begins with there.
constexpr int kNotes = JPEG_APP0 + 1;
constexpr std::string_view kExif("Exif\0\0", 6);

/// libjpeg's reader. The library leaves a call that fails by a jump, over which no object with a destructor may live.
class Jpeg {
 public:
  Jpeg() {
    jpeg_.err = jpeg_std_error(&errors_);
    jpeg_.client_data = this;
    errors_.error_exit = [](j_common_ptr jpeg) { of(jpeg).leave(); };
    errors_.emit_message = [](j_common_ptr jpeg, int level) {
      if (level < 0 && of(jpeg).cuts_off()) of(jpeg).leave();
    };
    errors_.output_message = [](j_common_ptr) {};
  }
  Jpeg(const Jpeg&) = delete;
  Jpeg& operator=(const Jpeg&) = delete;
  ~Jpeg() { jpeg_destroy_decompress(&jpeg_); }

  /// Reads up to the pixels.
  [[nodiscard]] bool begin(std::string_view bytes) {
    if (setjmp(back_) != 0) return false;
    jpeg_create_decompress(&jpeg_);
    jpeg_.progress = &progress_;
    progress_.progress_monitor = [](j_common_ptr jpeg) {
      if (of(jpeg).has_too_many_scans()) of(jpeg).leave();
    };
    jpeg_mem_src(&jpeg_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
    jpeg_save_markers(&jpeg_, kNotes, 0xffff);
    jpeg_read_header(&jpeg_, TRUE);
    jpeg_.out_color_space = JCS_RGB;
    return true;
  }
  /// Writes the pixels to `rgb`.
  [[nodiscard]] bool finish(std::uint8_t* rgb) {
    if (setjmp(back_) != 0) return false;
    jpeg_start_decompress(&jpeg_);
    while (jpeg_.output_scanline < jpeg_.output_height) {
      JSAMPROW line = rgb + std::size_t{jpeg_.output_scanline} * jpeg_.output_width * 3;
      jpeg_read_scanlines(&jpeg_, &line, 1);
    }
    jpeg_finish_decompress(&jpeg_);
    return true;
  }

  /// Of the pixels as the file has them.
  [[nodiscard]] zrt::model::ImageSize size() const { return {jpeg_.image_width, jpeg_.image_height}; }
  [[nodiscard]] Orientation orientation() const {
    for (const jpeg_marker_struct* note = jpeg_.marker_list; note != nullptr; note = note->next) {
      const std::string_view data(reinterpret_cast<const char*>(note->data), note->data_length);
      if (note->marker == kNotes && data.starts_with(kExif)) return exif_orientation(data.substr(kExif.size()));
    }
    return Orientation::top_left;
  }
  [[nodiscard]] std::unexpected<zrt::Error> fault() {
    if (has_too_many_scans())
      return zrt::fail(zrt::Errc::limit_exceeded, "the JPEG has more than ", kMostScans, " scans");
    std::array<char, JMSG_LENGTH_MAX> why{};
    errors_.format_message(reinterpret_cast<j_common_ptr>(&jpeg_), why.data());
    return zrt::fail(cuts_off() ? zrt::Errc::truncated_file : zrt::Errc::invalid_file, "the JPEG is ",
                     cuts_off() ? "cut off: " : "damaged: ", std::string_view(why.data()));
  }

 private:
  [[nodiscard]] static Jpeg& of(j_common_ptr jpeg) { return *static_cast<Jpeg*>(jpeg->client_data); }
  [[noreturn]] void leave() { std::longjmp(back_, 1); }
  [[nodiscard]] bool has_too_many_scans() const { return jpeg_.input_scan_number > kMostScans; }
  /// Whether the library's last word is that the file ends early, which it fills up with grey.
  [[nodiscard]] bool cuts_off() const {
    return errors_.msg_code == JWRN_JPEG_EOF || errors_.msg_code == JERR_INPUT_EOF ||
           errors_.msg_code == JWRN_HIT_MARKER;
  }

  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  jpeg_decompress_struct jpeg_{};
  std::jmp_buf back_{};
};

}  // namespace

zrt::Result<zrt::model::ImageSize> jpeg_size(std::string_view bytes) {
  Jpeg file;
  if (!file.begin(bytes)) return file.fault();
  return turned(file.size(), file.orientation());
}

zrt::Result<zrt::model::RgbImage> read_jpeg(std::string_view bytes, std::uint64_t most_pixels) {
  Jpeg file;
  if (!file.begin(bytes)) return file.fault();
  // The library forgets the notes with the last line of pixels.
  const Orientation orientation = file.orientation();
  auto out = blank(file.size(), most_pixels);
  if (!out) return out;
  if (!file.finish(out->rgb.data())) return file.fault();
  return turned(std::move(*out), orientation);
}

}  // namespace image
