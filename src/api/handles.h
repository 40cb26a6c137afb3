/* SPDX-License-Identifier: Apache-2.0 */
/* What the public handles of npuc/compiler.h are inside. */
#ifndef NPUC_API_HANDLES_H
#define NPUC_API_HANDLES_H

#include "base/diag.h"
#include "base/progress.h"
#include "base/threads.h"
#include "npuc/compiler.h"
#include "tensor/tensor.h"

struct npuc_context {
  diag *diag;
  thread_pool *pool;
  npuc_context_options options;
  progress progress;
};

/* The caller's array as a tensor that borrows it. E0921 where type, dims and bytes do not say the same. `name` is for messages. */
npuc_status npuc_array_tensor(diag *d, const char *name, const npuc_array *array, tensor *out_tensor) NPUC_MUST_USE;

/* What an array may be given for: the names of the inputs. */
typedef struct array_ports {
  size_t n;
  const char *const *names, *const *source_names;
} array_ports;
/* out_places[k]: the array that is input k's. E0921 where one is missing, twice there, or none's. */
npuc_status npuc_array_places(diag *d, const array_ports *ports, const npuc_array *arrays, size_t n_arrays,
                              const npuc_array **out_places) NPUC_MUST_USE;

#endif
