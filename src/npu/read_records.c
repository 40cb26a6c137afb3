/* SPDX-License-Identifier: Apache-2.0 */
#include "npu/read_records.h"

#include <stdlib.h>
#include <string.h>

#include "npu/qgraph.h"

/* Bytes of each record that nothing owns. */
static const struct {
  npu_section_kind kind;
  size_t first, count;
} reserved[] = {{NPU_TENS, 108, 20}, {NPU_NODE, 44, 20}, {NPU_ATTR, 4, 4},   {NPU_STEP, 20, 12}, {NPU_CONF, 36, 28},
                {NPU_STRM, 88, 8},   {NPU_BIND, 48, 16}, {NPU_DBUG, 16, 16}, {NPU_IOTB, 12, 20}};

static npuc_status refuse(diag *d, npu_section_kind kind, size_t index, const char *what) {
  return npuc_fail(d, NPUC_DIAG_E1004, NULL, "%s record %zu: %s", npuc_npu_section_name(kind), index, what);
}

static const void *record(const npu_file *f, npu_section_kind kind, size_t index) {
  return (const uint8_t *)f->sections[kind].data + index * npuc_npu_section_record(kind);
}

static npuc_status check_reserved(diag *d, const npu_file *f) {
  for (size_t k = 0; k < sizeof reserved / sizeof reserved[0]; k++) {
    npu_section_kind kind = reserved[k].kind;
    for (size_t i = 0; i < f->sections[kind].records; i++) {
      const uint8_t *bytes = (const uint8_t *)record(f, kind, i) + reserved[k].first;
      for (size_t b = 0; b < reserved[k].count; b++) {
        if (bytes[b]) return refuse(d, kind, i, "a reserved byte is not 0");
      }
    }
  }
  return NPUC_OK;
}

static npuc_status check_tensors(diag *d, const npu_file *f) {
  for (size_t i = 0; i < f->sections[NPU_TENS].records; i++) {
    const npu_tens_record *t = record(f, NPU_TENS, i);
    if (t->rank > 8 || t->role > QROLE_OUTPUT || t->has_quant > 1) return refuse(d, NPU_TENS, i, "rank, role or byte 7 is out of range");
    for (int k = t->rank; k < 8; k++) {
      if (t->dims[k] != 0) return refuse(d, NPU_TENS, i, "a dim beyond the rank is not 0");
    }
    if (t->role != QROLE_CONSTANT && t->offset != 0) return refuse(d, NPU_TENS, i, "an offset, and the tensor is no constant");
  }
  return NPUC_OK;
}

static npuc_status check_attributes(diag *d, const npu_file *f) {
  for (size_t i = 0; i < f->sections[NPU_ATTR].records; i++) {
    const npu_attr_record *a = record(f, NPU_ATTR, i);
    if (a->key < QATTR_strides || a->key > QATTR_epsilon) return refuse(d, NPU_ATTR, i, "there is no such key");
  }
  return NPUC_OK;
}

static npuc_status check_rest(diag *d, const npu_file *f) {
  for (size_t i = 0; i < f->sections[NPU_STEP].records; i++) {
    const npu_step_record *s = record(f, NPU_STEP, i);
    if (s->kind == 0 && s->stream != 0) return refuse(d, NPU_STEP, i, "a host step names a stream");
  }
  for (size_t i = 0; i < f->sections[NPU_IOTB].records; i++) {
    const npu_iotb_record *port = record(f, NPU_IOTB, i);
    if (port->layout > 1) return refuse(d, NPU_IOTB, i, "layout is 0 or 1");
  }
  return NPUC_OK;
}

static int compare_names(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static npuc_status check_names(diag *d, const npu_file *f) {
  const npu_section *strings = &f->sections[NPU_STRS];
  size_t count = f->sections[NPU_TENS].records;
  const char **names = npuc_xcalloc(count + 1, sizeof *names);
  npuc_status status = NPUC_OK;
  for (size_t i = 0; i < count && status == NPUC_OK; i++) {
    const npu_tens_record *t = record(f, NPU_TENS, i);
    names[i] = t->name < strings->bytes ? (const char *)strings->data + t->name : "";
    if (!*names[i]) status = refuse(d, NPU_TENS, i, "the name is empty or outside STRS");
  }
  if (status == NPUC_OK) qsort(names, count, sizeof *names, compare_names);
  for (size_t i = 1; i < count && status == NPUC_OK; i++) {
    if (strcmp(names[i - 1], names[i]) == 0) status = npuc_fail(d, NPUC_DIAG_E1004, NULL, "two tensors have the name %s", names[i]);
  }
  free(names);
  return status;
}

npuc_status npuc_npu_check_records(diag *d, const npu_file *f) {
  NPUC_TRY(check_reserved(d, f));
  NPUC_TRY(check_tensors(d, f));
  NPUC_TRY(check_names(d, f));
  NPUC_TRY(check_attributes(d, f));
  return check_rest(d, f);
}
