// SPDX-License-Identifier: Apache-2.0
// zrt/ops/params_audit.hpp: field lists of parameter structs, compared with the structs by way of Boost.Hana.
#pragma once

#include <zrt/ops/hana.hpp>

#include <array>
#include <bit>

// Optional, and slow to compile, as zrt/ops/hana.hpp is.

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI {

namespace detail {

/// One member as the struct itself has it.
struct AuditedField {
  std::string_view name{};
  std::size_t offset = 0;
  std::size_t size = 0;
  std::size_t count = 0;
  FieldKind kind = FieldKind::unsigned_integer;
};

template <class P> struct FieldAudit {
  std::array<AuditedField, P::fields.size() + 1> seen{};  ///< one more, so that a member too many is seen
  std::size_t count = 0;
};

/// Visits the members of `inside`, which lies in `whole`, and of the structs among them.
template <class P, class S> constexpr void audit_members(FieldAudit<P>& audit, P& whole, S& inside) {
  boost::hana::unpack(boost::hana::accessors<S>(), [&](auto... accessor) {
    auto visit = [&](auto one) {
      auto& member = boost::hana::second(one)(inside);
      using M = std::remove_reference_t<decltype(member)>;
      if constexpr (boost::hana::Struct<M>::value) {
        audit_members(audit, whole, member);
      } else {
        using Element = typename FieldTraits<M>::Element;
        // Where a member lies shows in the bytes that change with it.
        struct Marked {
          std::array<unsigned char, sizeof(M)> bytes;
        } ones{};
        for (unsigned char& byte : ones.bytes) byte = 1;
        member = std::bit_cast<M>(ones);
        struct Image {
          std::array<unsigned char, sizeof(P)> bytes;
        };
        const Image image = std::bit_cast<Image>(whole);
        member = std::bit_cast<M>(Marked{});
        AuditedField field{boost::hana::first(one).c_str(), 0, sizeof(Element), FieldTraits<M>::kCount,
                           field_kind<Element>()};
        while (field.offset < sizeof(P) && image.bytes[field.offset] == 0) ++field.offset;
        if (audit.count < audit.seen.size()) audit.seen[audit.count++] = field;
      }
    };
    (visit(accessor), ...);
  });
}

template <class P> consteval FieldAudit<P> audit_fields() {
  FieldAudit<P> audit;
  if constexpr (!std::is_empty_v<P>) {
    P params = std::bit_cast<P>(std::array<unsigned char, sizeof(P)>{});
    audit_members(audit, params, params);
  }
  return audit;
}

template <class P> inline constexpr FieldAudit<P> kFieldAudit = audit_fields<P>();

}  // namespace detail

/// Checks field I of O's parameter struct; a compiler that rejects it names op and field.
template <class O, FieldName Field, std::size_t I> struct ParamFieldAudit {
  static constexpr zrt::Field kListed = O::Params::fields[I];
  static constexpr detail::AuditedField kSeen = detail::kFieldAudit<typename O::Params>.seen[I];
  static constexpr bool kPresent = I < detail::kFieldAudit<typename O::Params>.count;

  static_assert(kPresent && kListed.name == kSeen.name,
                "zrt: the field list of a parameter struct names another member here than the struct has");
  static_assert(!kPresent || kListed.offset == kSeen.offset,
                "zrt: the field list of a parameter struct has this member at another offset than the struct");
  static_assert(!kPresent || (kListed.size == kSeen.size && kListed.count == kSeen.count && kListed.kind == kSeen.kind),
                "zrt: the field list of a parameter struct has this member with another type than the struct");
  static constexpr bool kOk = true;
};

/// Checks the field list of O's parameter struct against the struct's own members.
template <class O> struct ParamsAudit {
  static_assert(detail::kFieldAudit<typename O::Params>.count == O::Params::fields.size(),
                "zrt: the field list of a parameter struct has not as many fields as the struct has members");
  static constexpr bool kOk = []<std::size_t... I>(std::index_sequence<I...>) {
    return (ParamFieldAudit<O, kFieldName<typename O::Params, I>, I>::kOk && ...);
  }(std::make_index_sequence<O::Params::fields.size()>());
};

namespace detail {

template <class... O> consteval bool audit_params(boost::mp11::mp_list<O...>) { return (ParamsAudit<O>::kOk && ...); }

}  // namespace detail

/// True when the field list of every op's parameters says what the struct is; does not compile else.
template <class Ops> inline constexpr bool kParamsAudited = detail::audit_params(Ops{});

}  // namespace zrt::inline ZRT_ABI

ZRT_LOAD_TIME_END
