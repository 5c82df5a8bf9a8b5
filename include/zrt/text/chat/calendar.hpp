// SPDX-License-Identifier: Apache-2.0
// zrt/text/chat/calendar.hpp: a time as a date in words, as strftime has it.
#pragma once

#include <zrt/text/chat/text_builder.hpp>

namespace zrt::inline ZRT_ABI::text::chat {

/// A date and time of day of the Gregorian calendar.
struct CalendarTime {
  std::int64_t year = 1970;
  unsigned month = 1;    ///< from 1
  unsigned day = 1;      ///< from 1
  unsigned weekday = 4;  ///< from Sunday
  unsigned hour = 0;
  unsigned minute = 0;
  unsigned second = 0;
};

/// The date at `seconds` since 1970. Years are counted from March, so that a leap day ends one.
[[nodiscard]] constexpr CalendarTime calendar_time(std::int64_t seconds) noexcept {
  const std::int64_t days = seconds >= 0 ? seconds / 86400 : -((86399 - seconds) / 86400);
  const auto rest = static_cast<unsigned>(seconds - days * 86400);
  const std::int64_t since = days + 719468;  // from 1 March of year 0
  const std::int64_t era = (since >= 0 ? since : since - 146096) / 146097;
  const auto of_era = static_cast<unsigned>(since - era * 146097);
  const unsigned year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  const unsigned of_year = of_era - (365 * year + year / 4 - year / 100);
  const unsigned month = (5 * of_year + 2) / 153;
  CalendarTime t;
  t.day = of_year - (153 * month + 2) / 5 + 1;
  t.month = month < 10 ? month + 3 : month - 9;
  t.year = static_cast<std::int64_t>(year) + era * 400 + (t.month <= 2 ? 1 : 0);
  t.weekday = static_cast<unsigned>(((days + 4) % 7 + 7) % 7);
  t.hour = rest / 3600;
  t.minute = rest / 60 % 60;
  t.second = rest % 60;
  return t;
}
static_assert(calendar_time(0).year == 1970 && calendar_time(951782400).month == 2 &&
              calendar_time(951782400).day == 29);
static_assert(calendar_time(1785456000).weekday == 5 && calendar_time(-1).year == 1969 &&
              calendar_time(-1).second == 59);

/// Appends `seconds` since 1970 in a format of strftime: %Y %y %m %d %e %B %b %A %a %H %I %M %S %p %%. Any other letter
/// stays as it is.
inline void write_time(std::int64_t seconds, std::string_view format, TextBuilder& out) noexcept {
  constexpr std::string_view months[] = {"January", "February", "March",     "April",   "May",      "June",
                                         "July",    "August",   "September", "October", "November", "December"};
  constexpr std::string_view days[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
  const CalendarTime t = calendar_time(seconds);
  const auto two = [&](unsigned value, char fill) {
    out << (value < 10 ? fill : static_cast<char>('0' + value / 10)) << static_cast<char>('0' + value % 10);
  };
  for (std::size_t i = 0; i < format.size(); ++i) {
    const char letter = format[i] == '%' && i + 1 < format.size() ? format[++i] : '\0';
    switch (letter) {
      case '\0':
        out << format[i];
        break;
      case 'Y':
        out << t.year;
        break;
      case 'y':
        two(static_cast<unsigned>(t.year % 100), '0');
        break;
      case 'm':
        two(t.month, '0');
        break;
      case 'd':
        two(t.day, '0');
        break;
      case 'e':
        two(t.day, ' ');
        break;
      case 'B':
        out << months[t.month - 1];
        break;
      case 'b':
        out << std::string_view(months[t.month - 1].data(), 3);
        break;
      case 'A':
        out << days[t.weekday];
        break;
      case 'a':
        out << std::string_view(days[t.weekday].data(), 3);
        break;
      case 'H':
        two(t.hour, '0');
        break;
      case 'I':
        two(t.hour % 12 == 0 ? 12 : t.hour % 12, '0');
        break;
      case 'M':
        two(t.minute, '0');
        break;
      case 'S':
        two(t.second, '0');
        break;
      case 'p':
        out << (t.hour < 12 ? "AM" : "PM");
        break;
      case '%':
        out << '%';
        break;
      default:
        out << '%' << letter;
    }
  }
}

}  // namespace zrt::inline ZRT_ABI::text::chat
