/* SPDX-License-Identifier: Apache-2.0 */
/* A .npu file: loaded as every program does, run by plain kernels and in the simulator on buffers of exactly the ports' sizes. What would take long is loaded only.
 * The mutator changes fields of records and instructions and puts the checksums right, else nothing would come past them. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "fuzz/support/files.h"
#include "fuzz/support/target.h"
#include "npu/run.h"
#include "runtime/session.h"
#include "support/random.h"

enum { HEADER = 64, ENTRY = 48, MOST_PORTS = 16, MOST_BYTES = 1 << 16 };
static const uint64_t most_work = 1 << 20;

/* -- mutator -- */
static uint64_t load(const uint8_t *at, size_t width) {
  uint64_t v = 0;
  memcpy(&v, at, width);
  return v;
}

static void store_crc(uint8_t *to, const uint8_t *from, size_t n) {
  uint32_t crc = npuc_crc32c(0, from, n);
  memcpy(to, &crc, 4);
}

/* Sections of a table that lies inside the bytes. */
static size_t sections(const uint8_t *bytes, size_t n) {
  size_t count = n >= HEADER ? load(bytes + 24, 4) : 0;
  return count <= 64 && HEADER + count * ENTRY <= n ? count : 0;
}

static uint8_t *section(uint8_t *bytes, size_t n, size_t index, size_t *out_n) {
  const uint8_t *entry = bytes + HEADER + index * ENTRY;
  uint64_t offset = load(entry + 8, 8), size = load(entry + 16, 8);
  if (offset > n || size > n - offset) return NULL;
  *out_n = size;
  return bytes + offset;
}

static void seal(uint8_t *bytes, size_t n) {
  size_t count = sections(bytes, n), size;
  const uint8_t *weights = NULL;
  size_t weights_bytes = 0;
  if (n < HEADER) return;
  for (size_t i = 0; i < count; i++)
    if (memcmp(bytes + HEADER + i * ENTRY, "WGTS", 4) == 0) weights = section(bytes, n, i, &weights_bytes);
  for (size_t i = 0; i < count; i++) { /* WCRC comes last in the file, its own checksum after what it holds */
    uint8_t *entry = bytes + HEADER + i * ENTRY, *data = section(bytes, n, i, &size);
    if (!data || memcmp(entry, "WGTS", 4) == 0) continue;
    if (memcmp(entry, "WCRC", 4) == 0 && weights && size == 4 && weights_bytes <= 1 << 20) store_crc(data, weights, weights_bytes);
    store_crc(entry + 32, data, size);
  }
  store_crc(bytes + 32, bytes + HEADER, count * ENTRY);
  store_crc(bytes + 60, bytes, 60);
}

static void change_field(uint8_t *data, size_t n, uint64_t *random) {
  static const size_t widths[] = {1, 2, 4, 4, 8, 8};
  static const uint64_t values[] = {0,   1,   2,    3,         7,          8,         16,         63,         64,
                                    255, 256, 4096, INT32_MAX, UINT32_MAX, INT64_MAX, UINT64_MAX, 1ull << 36, 1ull << 63};
  size_t width = widths[random_next(random) % 6];
  if (width > n) return;
  size_t at = random_next(random) % (n / width) * width;
  uint64_t old = load(data + at, width), v;
  switch (random_next(random) % 6) {
    case 0:
      v = old + 1;
      break;
    case 1:
      v = old - 1;
      break;
    case 2:
      v = load(data + random_next(random) % (n / width) * width, width); /* another record's */
      break;
    case 3:
      v = old ^ 1ull << random_next(random) % (8 * width);
      break;
    case 4:
      v = random_next(random) % 24;
      break;
    default:
      v = values[random_next(random) % (sizeof values / sizeof *values)];
  }
  memcpy(data + at, &v, width);
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t n, size_t most, unsigned int seed) {
  uint64_t random = seed;
  size_t count = sections(bytes, n), size = 0;
  if (count == 0 || random_next(&random) % 16 == 0) {
    n = LLVMFuzzerMutate(bytes, n, most);
  } else {
    for (size_t k = 1 + random_next(&random) % 3; k > 0; k--) {
      size_t index = random_next(&random) % count;
      uint8_t *data = section(bytes, n, index, &size);
      if (random_next(&random) % 16 == 0) data = bytes + HEADER, size = count * ENTRY;
      if (data) change_field(data, size, &random);
    }
  }
  if (random_next(&random) % 32) seal(bytes, n);
  return n;
}

/* -- running -- */
static uint64_t tensor_bytes(const qgraph *g, int32_t t) { return t < 0 ? 0 : g->tensors[t].bytes; }

/* An upper bound of the kernels' work: each output's bytes times the inputs'. */
static uint64_t node_work(const qgraph *g) {
  uint64_t work = 0;
  for (size_t i = 0; i < g->n_nodes && work < most_work; i++) {
    const qnode *n = &g->nodes[i];
    uint64_t in = 1, out = 1, product;
    for (int32_t k = 0; k < n->n_inputs; k++) in += tensor_bytes(g, n->inputs[k]) < most_work ? tensor_bytes(g, n->inputs[k]) : most_work;
    for (int32_t k = 0; k < n->n_outputs; k++)
      out += tensor_bytes(g, n->outputs[k]) < most_work ? tensor_bytes(g, n->outputs[k]) : most_work;
    work += __builtin_mul_overflow(in, out, &product) ? most_work : product;
  }
  return work;
}

static void *take(size_t bytes, int fill) {
  void *p = malloc(bytes);
  fuzz_expect(p != NULL, "memory");
  return memset(p, fill, bytes);
}

static bool is_small(const npuc_program *p) {
  uint64_t sum = 0;
  if (npuc_program_inputs(p) > MOST_PORTS || npuc_program_outputs(p) > MOST_PORTS) return false;
  for (size_t i = 0; i < p->graph->n_tensors; i++) sum += p->graph->tensors[i].bytes < MOST_BYTES ? p->graph->tensors[i].bytes : MOST_BYTES;
  return sum < MOST_BYTES;
}

/* DMA, array and vector instructions move at most rows x bytes each: what the streams ask for, from their fields. */
static bool is_quick(const npu_program *p) {
  uint64_t instructions = 0, memory = 0, cycles = 0;
  for (size_t i = 0; i < p->n_streams; i++) {
    const npu_stream *s = &p->streams[i];
    memory += s->arena_bytes + s->state_bytes;
    for (int q = 0; q < NPU_QUEUES; q++) instructions += s->queues[q].count;
    if (s->queues[0].count == 0) continue;
    npu_sim_result timed;
    diag *d = npuc_diag_create(NULL, NULL);
    if (npuc_npu_simulate(d, &p->arch, s, &(npu_memory){0}, &(npu_sim_options){.timing_only = true}, &timed) == NPUC_OK)
      cycles += timed.cycles;
    npuc_diag_destroy(d);
  }
  return instructions < 1 << 12 && memory < 1 << 22 && cycles < 1 << 17;
}

static npuc_status run_stream(void *user, diag *d, const npu_program *p, uint32_t stream, void *const *tensors) {
  const npu_stream *s = &p->streams[stream];
  uint8_t *state = s->state_bytes ? npuc_buffer_create(s->state_bytes) : NULL;
  npu_sim_result result;
  (void)user;
  npuc_status status = npuc_npu_run_stream(d, p, s, tensors, state, NULL, &result);
  npuc_buffer_destroy(state);
  return status;
}

static void run(diag *d, const npuc_program *p, size_t configuration, const void *const *inputs, void *const *outputs) {
  npuc_session *s;
  npuc_error error;
  npuc_status status = npuc_session_create(p, &(npuc_session_options){.configuration = configuration}, &s, &error);
  fuzz_expect(status != NPUC_INTERNAL && (status == NPUC_OK || error.code[0]), "a session that cannot be made says why");
  if (status != NPUC_OK) return;
  fuzz_expect_told(d, npuc_session_run_diag(s, d, inputs, outputs));
  if (is_quick(p->programs[configuration])) {
    npuc_session_set_stream_executor(s, run_stream, NULL);
    fuzz_expect_told(d, npuc_session_run_diag(s, d, inputs, outputs));
  }
  npuc_session_destroy(s);
}

static void run_all(diag *d, const npuc_program *p) {
  void *inputs[MOST_PORTS] = {NULL}, *outputs[MOST_PORTS] = {NULL};
  for (size_t i = 0; i < npuc_program_inputs(p); i++) inputs[i] = take(npuc_program_input(p, i)->bytes, 0x35);
  for (size_t i = 0; i < npuc_program_outputs(p); i++) outputs[i] = take(npuc_program_output(p, i)->bytes, 0);
  for (size_t i = 0; i < p->n_configurations && i < 4; i++) run(d, p, i, (const void *const *)inputs, outputs);
  for (size_t i = 0; i < MOST_PORTS; i++) free(inputs[i]), free(outputs[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
  fuzz_files_put("m.npu", bytes, n);
  diag *d = npuc_diag_create(NULL, NULL);
  npuc_program *p;
  npuc_status status = npuc_program_open(d, "m.npu", &p);
  fuzz_expect_told(d, status);
  if (status == NPUC_OK) {
    if (is_small(p) && node_work(p->graph) < most_work) run_all(d, p);
    npuc_program_destroy(p);
  }
  npuc_diag_destroy(d);
  fuzz_files_clear();
  return 0;
}
