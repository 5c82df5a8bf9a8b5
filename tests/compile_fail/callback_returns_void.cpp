// SPDX-License-Identifier: Apache-2.0
// tests/compile_fail/callback_returns_void.cpp: what hears tokens says whether to go on.
// expect-error: zrt: the callable of generate must be bool\(const zrt::Token&\): true goes on, false ends the request
// expect-error: zrt: the callable of step must be bool\(zrt::RequestId, const zrt::Token&\)
// expect-error: zrt: the callable of evaluate must take \(std::uint32_t position, zrt::Span<const float> logits\)
// expect-error: zrt: the callable of evaluate_steps must be std::int32_t\(std::uint32_t position
#include <zrt/backend/reference.hpp>
#include <zrt/models.hpp>
#include <zrt/zrt.hpp>

extern template class zrt::Engine<zrt::ReferenceBackend>;

void use(zrt::Engine<zrt::ReferenceBackend>& engine) {
#ifdef ZRT_COMPILE_FAIL
  (void)engine.generate({}, [](const zrt::Token&) {});
  (void)engine.step([](const zrt::Token&) { return true; });
  (void)engine.evaluate({}, {}, [](const zrt::Token&) {});
  (void)engine.evaluate_steps({}, 1, [](std::uint32_t, zrt::Span<const float>) {});
#else
  (void)engine.generate({}, [](const zrt::Token&) { return true; });
  (void)engine.step([](zrt::RequestId, const zrt::Token&) { return true; });
  (void)engine.evaluate({}, {}, [](std::uint32_t, zrt::Span<const float>) {});
  (void)engine.evaluate_steps({}, 1, [](std::uint32_t, zrt::Span<const float>) { return 1; });
#endif
}
