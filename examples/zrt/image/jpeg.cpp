// SPDX-License-Identifier: Apache-2.0
// examples/zrt/image/jpeg.cpp: JPEG, by libjpeg.
#include "formats.hpp"

#include <array>
#include <csetjmp>
#include <cstdio>
#include <jpeglib.h>
// After the library's own header, which it needs.
#include <jerror.h>

namespace image {
namespace {

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
    jpeg_mem_src(&jpeg_, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
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

  [[nodiscard]] zrt::model::ImageSize size() const { return {jpeg_.image_width, jpeg_.image_height}; }
  [[nodiscard]] std::unexpected<zrt::Error> fault() {
    std::array<char, JMSG_LENGTH_MAX> why{};
    errors_.format_message(reinterpret_cast<j_common_ptr>(&jpeg_), why.data());
    return zrt::fail(cuts_off() ? zrt::Errc::truncated_file : zrt::Errc::invalid_file, "the JPEG is ",
                     cuts_off() ? "cut off: " : "damaged: ", std::string_view(why.data()));
  }

 private:
  [[nodiscard]] static Jpeg& of(j_common_ptr jpeg) { return *static_cast<Jpeg*>(jpeg->client_data); }
  [[noreturn]] void leave() { std::longjmp(back_, 1); }
  /// Whether the library's last word is that the file ends early, which it fills up with grey.
  [[nodiscard]] bool cuts_off() const {
    return errors_.msg_code == JWRN_JPEG_EOF || errors_.msg_code == JERR_INPUT_EOF ||
           errors_.msg_code == JWRN_HIT_MARKER;
  }

  jpeg_error_mgr errors_{};
  jpeg_decompress_struct jpeg_{};
  std::jmp_buf back_{};
};

}  // namespace

zrt::Result<zrt::model::RgbImage> read_jpeg(std::string_view bytes) {
  Jpeg file;
  if (!file.begin(bytes)) return file.fault();
  auto out = blank(file.size());
  if (out && !file.finish(out->rgb.data())) return file.fault();
  return out;
}

}  // namespace image
