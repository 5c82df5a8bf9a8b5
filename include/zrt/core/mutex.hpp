// SPDX-License-Identifier: Apache-2.0
// zrt/core/mutex.hpp: a mutex whose lock does not throw.
#pragma once

#include <zrt/core/config.hpp>

#include <pthread.h>

namespace zrt::inline ZRT_ABI {

/// A plain mutex. Locking one that the thread holds already is a fault of the caller, as ever.
class Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  ~Mutex() { (void)pthread_mutex_destroy(&mutex_); }

  void lock() noexcept { (void)pthread_mutex_lock(&mutex_); }
  void unlock() noexcept { (void)pthread_mutex_unlock(&mutex_); }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
};

/// Holds a mutex for a scope.
class MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) noexcept : mutex_(mutex) { mutex_.lock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  ~MutexLock() { mutex_.unlock(); }

 private:
  Mutex& mutex_;
};

}  // namespace zrt::inline ZRT_ABI
