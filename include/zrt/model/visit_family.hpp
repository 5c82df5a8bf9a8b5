// SPDX-License-Identifier: Apache-2.0
// zrt/model/visit_family.hpp: from the name in a file to the family that reads it.
#pragma once

#include <zrt/model/family.hpp>

#include <type_traits>

ZRT_LOAD_TIME_BEGIN

namespace zrt::inline ZRT_ABI::model {

/// Refuses nothing.
struct RefusesNoFamily {
  Result<void> operator()(bool) const noexcept { return {}; }
};

/// Calls `visit` with the family of `List` that opens the file of `meta`, as a std::type_identity. `refuse` is asked
/// where none does: first of the families that open some files of their name, then of those that open all.
///
/// Errors: Errc::unknown_architecture naming it and those that are known; those of `visit` and `refuse`.
template <class List, class Visit, class Refuse = RefusesNoFamily>
Result<void> visit_family(const ConfigReader& meta, Visit visit, Refuse refuse = {}) noexcept {
  return [&]<class... F>(boost::mp11::mp_list<F...>) noexcept -> Result<void> {
    for (const bool some : {true, false}) {
      Result<void> done;
      if (((opens<F>(meta, some) && (done = visit(std::type_identity<F>{}), true)) || ...)) return done;
      if (auto r = refuse(some); !r) return r;
    }
    if (meta.architecture() == "clip")
      return fail(Errc::unknown_architecture, "general.architecture is clip: the file holds an encoder of images or ",
                  "sound, expected the language model that it belongs to");
    Error error =
        Error::of(Errc::unknown_architecture, "general.architecture is ", meta.architecture(), ", this build knows");
    const auto append = [&]<class Each>(std::type_identity<Each>) noexcept {
      for (const std::string_view name : Each::names)
        // A name that two families share is told once.
        if (!OpensSome<Each> || !((!OpensSome<F> && is_named<F>(name)) || ...)) error.append(" ").append(name);
    };
    (append(std::type_identity<F>{}), ...);
    return std::unexpected<Error>(error);
  }(List{});
}

}  // namespace zrt::inline ZRT_ABI::model

ZRT_LOAD_TIME_END
