// SPDX-License-Identifier: Apache-2.0
// zrt/text/grammar/string_formats.hpp: the formats of texts that JSON schemas may ask for, as patterns.
#pragma once

#include <zrt/core/slice.hpp>

#include <string_view>

namespace zrt::inline ZRT_ABI::text::grammar::detail {

/// A format: texts of its parts behind each other.
struct StringFormat {
  std::string_view name;
  std::string_view parts[3];
};

inline constexpr std::string_view kFullDate =
    R"(^(?:\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8]))|(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)$)";
inline constexpr std::string_view kFullTime =
    R"(^(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$)";
inline constexpr std::string_view kHostName =
    R"(^(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)*[A-Za-z](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?$)";

/// What is honoured. Each row is a part of what the format allows: the times of RFC 3339 without leap seconds and its
/// durations, names of hosts whose last label no reader takes for a number, addresses of RFC 5321 without quotes, and of
/// RFC 3986 those of http and https.
inline constexpr StringFormat kStringFormats[] = {
    {"date", {kFullDate}},
    {"time", {kFullTime}},
    {"date-time", {kFullDate, "^T$", kFullTime}},
    {"duration",
     {R"(^P(?:\d{1,9}W|(?=\d|T)(?:\d{1,9}D|\d{1,9}M(?:\d{1,9}D)?|\d{1,9}Y(?:\d{1,9}M(?:\d{1,9}D)?)?)?(?:T(?:\d{1,9}S|\d{1,9}M(?:\d{1,9}S)?|\d{1,9}H(?:\d{1,9}M(?:\d{1,9}S)?)?))?)$)"}},
    {"uuid", {R"(^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$)"}},
    {"email", {R"(^(?=.{2,65}$)[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*@$)", kHostName}},
    {"hostname", {kHostName}},
    {"ipv4", {R"(^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)$)"}},
    {"ipv6",
     {R"(^(?:(?:[0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|(?:[0-9a-fA-F]{1,4}:){1,7}:|(?:[0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|(?:[0-9a-fA-F]{1,4}:){1,5}(?::[0-9a-fA-F]{1,4}){1,2}|(?:[0-9a-fA-F]{1,4}:){1,4}(?::[0-9a-fA-F]{1,4}){1,3}|(?:[0-9a-fA-F]{1,4}:){1,3}(?::[0-9a-fA-F]{1,4}){1,4}|(?:[0-9a-fA-F]{1,4}:){1,2}(?::[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:(?::[0-9a-fA-F]{1,4}){1,6}|:(?:(?::[0-9a-fA-F]{1,4}){1,7}|:))$)"}},
    {"uri",
     {"^https?://$", kHostName, R"(^(?::[1-9]\d{0,3})?(?:/(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*)?$)"}},
};

/// Formats of JSON schema that are not honoured. Any other name is one of somebody's own.
inline constexpr std::string_view kOtherFormats[] = {"idn-email",    "idn-hostname",          "uri-reference",
                                                     "iri",          "iri-reference",         "uri-template",
                                                     "json-pointer", "relative-json-pointer", "regex"};

}  // namespace zrt::inline ZRT_ABI::text::grammar::detail
