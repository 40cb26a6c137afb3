/* SPDX-License-Identifier: Apache-2.0 */
/* DATA: samples with labels, read one at a time from mapped files. `[KIND:]PATH` as docs/cli says: npy, npz, raw, dir, cifar10, mnist, random:N.
 *
 * A dataset is opened for the ports (inputs) of a model: each sample gives one tensor for each port, of one record, or of as many records as the model's fixed batch has rows. Records that are not of the port's dtype (images of bytes)
 * are converted to float32 and go through the preprocessing when there is one. Reading a sample is thread-safe and allocates nothing
 * that outlives the call. */
#ifndef NPUC_STAGES_DATASET_H
#define NPUC_STAGES_DATASET_H

#include "base/diag.h"
#include "media/preprocess.h"
#include "tensor/tensor.h"

typedef struct dataset dataset;

typedef struct sample_port {
  const char *name;
  dtype type;  /* float32 for quantized inputs of an integer module: the caller quantizes */
  shape shape; /* static: what one sample must be. E1101 names both shapes and suggests layout= or the raw dims when they differ */
} sample_port;

/* `preprocess` may be NULL. `seed` is for random:N (uniform [-1, 1), one stream a sample, the same on every machine). */
npuc_status npuc_dataset_open(diag *d, const char *text, const preprocess *p, const sample_port *ports, size_t n_ports, uint64_t seed,
                              dataset **out_dataset) NPUC_MUST_USE;
void npuc_dataset_destroy(dataset *s);
size_t npuc_dataset_count(const dataset *s); /* samples */
/* Records a sample has (1 but for a fixed batch), and records in all; the last sample repeats the last record where that is no multiple. */
size_t npuc_dataset_rows(const dataset *s);
size_t npuc_dataset_records(const dataset *s);
bool npuc_dataset_has_labels(const dataset *s);
int64_t npuc_dataset_label(const dataset *s, size_t record);
/* Fills out_inputs[k].data, whose type, shape and bytes the caller has set to the port's. */
npuc_status npuc_dataset_sample(const dataset *s, diag *d, size_t index, tensor *out_inputs) NPUC_MUST_USE;
/* Empty (E11xx), every sample the same (E11xx), values that are not finite (E11xx, with the sample's index). Reads all of it once, at most `limit` samples. */
npuc_status npuc_dataset_check(const dataset *s, diag *d, size_t limit) NPUC_MUST_USE;

#endif
