/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the datasets: each kind opens its files and says how many samples there are, and gives sample `index` of port `port` as a view; what becomes of the view (conversion,
 * preprocessing) is common. */
#ifndef NPUC_STAGES_DATASET_INTERNAL_H
#define NPUC_STAGES_DATASET_INTERNAL_H

#include "stages/dataset.h"

typedef struct port_state {
  sample_port port;
  shape wanted;         /* what one record must be: the port's shape without its batch axis, or all of it where that is no batch */
  preprocess_plan plan; /* of records that have one shape */
} port_state;

struct dataset {
  arena *arena;
  const char *text; /* as given, for messages */
  const preprocess *preprocess;
  port_state *ports;
  size_t n_ports;
  size_t count; /* records */
  size_t rows;  /* records that make one sample: the batch that every port has, else 1 */
  uint64_t seed;
  tensor labels; /* 1-D integers, or type NONE */
  bool has_labels;
  /* A record: fixed-size data has its arrays here, one a port, first axis the samples. */
  tensor *arrays;
  size_t record_stride, record_offset; /* bytes; cifar10's label stands before the picture. Stride 0: the record's own size */
  const char **files;                  /* dir: one a sample */
  const char *folder;
  npuc_status (*sample)(const dataset *s, diag *d, size_t index, tensor *out_inputs);
};

/* The part of DATA after the kind. Each opener fills count, labels, arrays or files, and sample. */
typedef npuc_status dataset_opener(diag *d, dataset *s, const char *path);
dataset_opener npuc_dataset_open_npy, npuc_dataset_open_npz, npuc_dataset_open_raw, npuc_dataset_open_cifar10, npuc_dataset_open_mnist,
    npuc_dataset_open_dir, npuc_dataset_open_random;

/* Samples of `arrays`: checks that the first axes agree, plans each port's conversion. */
npuc_status npuc_dataset_use_arrays(diag *d, dataset *s) NPUC_MUST_USE;
/* One record (shape without batch axis, or with one of 1) into a port. */
npuc_status npuc_dataset_convert(const dataset *s, diag *d, size_t port, const tensor *record, const preprocess_plan *plan,
                                 tensor *out_input) NPUC_MUST_USE;
npuc_status npuc_dataset_plan(diag *d, const dataset *s, size_t port, dtype type, const shape *record,
                              preprocess_plan *out_plan) NPUC_MUST_USE;
/* Labels from PATH when it is there; their number must be `count`. */
npuc_status npuc_dataset_read_labels(diag *d, dataset *s, const char *path) NPUC_MUST_USE;
npuc_status npuc_dataset_fail(diag *d, const dataset *s, diag_code code, const char *format, ...) NPUC_PRINTF(4, 5);
/* The only port, or E1108. */
npuc_status npuc_dataset_expect_one_port(diag *d, const dataset *s, const char *kind) NPUC_MUST_USE;

#endif
