/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limit.h"

#include <stdarg.h>
#include <stdatomic.h>

#include "base/arena.h"

static atomic_size_t limit, claimed;

void npuc_memory_limit(size_t bytes) { atomic_store(&limit, bytes); }

bool npuc_memory_claim(size_t bytes) {
  size_t most = atomic_load_explicit(&limit, memory_order_relaxed), held = atomic_load_explicit(&claimed, memory_order_relaxed);
  do {
    if (most && (bytes > most || held > most - bytes)) return false;
  } while (!atomic_compare_exchange_weak_explicit(&claimed, &held, held + bytes, memory_order_relaxed, memory_order_relaxed));
  return true;
}

void npuc_memory_give_back(size_t bytes) { atomic_fetch_sub_explicit(&claimed, bytes, memory_order_relaxed); }

bool npuc_memory_is_limited(size_t bytes, size_t *out_limit, size_t *out_held) {
  size_t most = *out_limit = atomic_load(&limit), held = *out_held = atomic_load(&claimed);
  return most && (bytes > most || held > most - bytes);
}

npuc_status npuc_fail_memory(diag *d, const diag_place *place, size_t bytes, const char *format, ...) {
  size_t most, held;
  bool limited = npuc_memory_is_limited(bytes, &most, &held);
  arena *a = npuc_arena_create();
  va_list args;
  va_start(args, format);
  const char *what = npuc_arena_vprintf(a, format, args);
  va_end(args);
  npuc_status status;
  if (limited) {
    status =
        npuc_fail(d, NPUC_DIAG_E0009, place, "%s: %zu bytes, with %zu in use, are more than the limit of %zu", what, bytes, held, most);
    npuc_fix(d, "--max-memory SIZE");
  } else {
    status = npuc_fail(d, NPUC_DIAG_E0002, place, "%zu bytes for %s", bytes, what);
  }
  npuc_arena_destroy(a);
  return status;
}
