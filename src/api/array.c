/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of the caller: what they say of themselves is checked once, here. */
#include <string.h>

#include "api/handles.h"
#include "base/map.h"

npuc_status npuc_array_tensor(diag *d, const char *name, const npuc_array *array, tensor *out_tensor) {
  diag_place place = {.node = name};
  shape s = {.rank = array->rank};
  int64_t elements;
  size_t bytes;
  if (array->rank < 0 || array->rank > MAX_RANK)
    return npuc_fail(d, NPUC_DIAG_E0921, &place, "the array for '%s' has %d axes; from 0 to %d can be", name, array->rank, MAX_RANK);
  for (int32_t k = 0; k < s.rank; k++) {
    s.dims[k] = array->dims[k];
    if (s.dims[k] < 0) return npuc_fail(d, NPUC_DIAG_E0921, &place, "the array for '%s' has a negative dim", name);
  }
  if (array->dtype <= 0 || array->dtype >= DTYPE_END || npuc_dtype_bits((dtype)array->dtype) == 0)
    return npuc_fail(d, NPUC_DIAG_E0921, &place, "the array for '%s' has the element type %d, which is none", name, array->dtype);
  if (!npuc_shape_elements(&s, &elements) || !npuc_dtype_bytes((dtype)array->dtype, elements, &bytes) || bytes != array->bytes ||
      (bytes && !array->data))
    return npuc_fail(d, NPUC_DIAG_E0921, &place, "the array for '%s' is of %zu bytes, which is not what its dims and type make", name,
                     array->bytes);
  *out_tensor = (tensor){.type = (dtype)array->dtype, .shape = s, .data = array->data, .bytes = bytes};
  return NPUC_OK;
}

static size_t place_of(const array_ports *ports, const char *name) {
  for (size_t k = 0; k < ports->n; k++)
    if (strcmp(ports->names[k], name) == 0) return k;
  for (size_t k = 0; k < ports->n; k++)
    if (*ports->source_names[k] && strcmp(ports->source_names[k], name) == 0) return k;
  return ports->n;
}

npuc_status npuc_array_places(diag *d, const array_ports *ports, const npuc_array *arrays, size_t n_arrays, const npuc_array **out_places) {
  for (size_t k = 0; k < ports->n; k++) out_places[k] = NULL;
  for (size_t i = 0; i < n_arrays; i++) {
    size_t k = arrays[i].name ? place_of(ports, arrays[i].name) : i;
    if (k >= ports->n && arrays[i].name) {
      npuc_status status = npuc_fail(d, NPUC_DIAG_E0921, NULL, "the model has no input '%s'", arrays[i].name);
      const char *near = npuc_nearest(arrays[i].name, ports->names, ports->n);
      if (near || ports->n) npuc_fix(d, "%s", near ? near : ports->names[0]);
      return status;
    }
    if (k >= ports->n) return npuc_fail(d, NPUC_DIAG_E0921, NULL, "%zu inputs are given, and the model has %zu", n_arrays, ports->n);
    if (out_places[k]) return npuc_fail(d, NPUC_DIAG_E0921, &(diag_place){.node = ports->names[k]}, "the input is given twice");
    out_places[k] = &arrays[i];
  }
  for (size_t k = 0; k < ports->n; k++)
    if (!out_places[k]) return npuc_fail(d, NPUC_DIAG_E0921, &(diag_place){.node = ports->names[k]}, "the input is not given");
  return NPUC_OK;
}
