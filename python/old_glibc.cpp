// What the headers of a newer glibc use and glibc 2.27 does not have, for modules that run there
// (cmake/HeadroomPortable.cmake). Nothing of it is visible outside of the module.
#include <pthread.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdarg>
#include <ctime>

// NOLINTBEGIN(bugprone-reserved-identifier): these are the C library's names.
extern "C" {

// glibc 2.32: whether libstdc++ may count references without atomic instructions. Never.
extern char __libc_single_threaded;
char __libc_single_threaded = 0;

// glibc 2.33: before that, the headers made a call of these with the version of the structure.
#ifdef __x86_64__
constexpr int kStatVersion = 1;
#else
constexpr int kStatVersion = 0;
#endif
int __xstat(int version, const char* path, struct stat* result);
int __fxstat(int version, int file, struct stat* result);
int __lxstat(int version, const char* path, struct stat* result);
int __xstat64(int version, const char* path, struct stat64* result);
int __fxstat64(int version, int file, struct stat64* result);
int __lxstat64(int version, const char* path, struct stat64* result);

int stat(const char* path, struct stat* result) noexcept {
  return __xstat(kStatVersion, path, result);
}
int fstat(int file, struct stat* result) noexcept { return __fxstat(kStatVersion, file, result); }
int lstat(const char* path, struct stat* result) noexcept {
  return __lxstat(kStatVersion, path, result);
}
int stat64(const char* path, struct stat64* result) noexcept {
  return __xstat64(kStatVersion, path, result);
}
int fstat64(int file, struct stat64* result) noexcept {
  return __fxstat64(kStatVersion, file, result);
}

int lstat64(const char* path, struct stat64* result) noexcept {
  return __lxstat64(kStatVersion, path, result);
}

// glibc 2.28: the same as before where file offsets have 64 bits anyway.
int fcntl(int file, int command, ...);
int fcntl64(int file, int command, ...);
int fcntl64(int file, int command, ...) {
  va_list rest;
  va_start(rest, command);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  return fcntl(file, command, argument);
}

// glibc 2.30: waits until an instant of `clock`. Here it waits as long on the default clock of
// condition variables; where that was set meanwhile and the instant has not come, the wake-up is
// spurious, which callers must expect.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const timespec* until) {
  constexpr long kNsPerSecond = 1'000'000'000;
  timespec now{};
  timespec limit{};
  if (clock_gettime(clock, &now) != 0 || clock_gettime(CLOCK_REALTIME, &limit) != 0) return EINVAL;
  limit.tv_sec += until->tv_sec - now.tv_sec;
  limit.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (limit.tv_nsec < 0) {
    limit.tv_nsec += kNsPerSecond;
    --limit.tv_sec;
  } else if (limit.tv_nsec >= kNsPerSecond) {
    limit.tv_nsec -= kNsPerSecond;
    ++limit.tv_sec;
  }
  const int waited = pthread_cond_timedwait(condition, mutex, &limit);
  if (waited != ETIMEDOUT) return waited;
  clock_gettime(clock, &now);
  const bool passed =
      now.tv_sec > until->tv_sec || (now.tv_sec == until->tv_sec && now.tv_nsec >= until->tv_nsec);
  return passed ? ETIMEDOUT : 0;
}

}  // extern "C"
// NOLINTEND(bugprone-reserved-identifier)
