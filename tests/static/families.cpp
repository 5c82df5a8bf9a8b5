// SPDX-License-Identifier: Apache-2.0
// tests/static/families.cpp: every family is one, and its program builds for each of its canonical configs.
#include <zrt/model/check_arch.hpp>
#include <zrt/models.hpp>

namespace {

template <class... F> consteval bool build(boost::mp11::mp_list<F...>) {
  return (zrt::model::CheckArch<F>::kOk && ...);
}
static_assert(build(zrt::AllFamilies::List{}));

}  // namespace
