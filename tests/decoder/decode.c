/* SPDX-License-Identifier: Apache-2.0 */
/* npu-decode: checks a `.npu` file and runs it, written from docs/refnpu.md alone. It shares no line with npuc, so that two readings
 * of the document meet: equal bytes and equal cycles mean that it says what npuc does.
 *
 *   npu-decode FILE.npu [--input NAME=FILE.npy]... [--output DIR] [--config K] [--engine stream|graph] [--register R=V]...
 *              [--order 0..3] [--flip BIT] [--cycles]
 *
 * Without --output it only checks the file. Inputs that are not given are zeros. --order tries the queues in
 * another order (races differ there). --flip changes one bit of INST behind the checksums, so
 * that a test can see a wrong instruction refused or give other bytes. */
#include "check.h"
#include "fail.h"
#include "graph.h"
#include "npy.h"
#include "stream.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct request {
  const char *path, *output;
  bool graph, cycles, flips;
  uint32_t flip; /* bit of INST */
  uint32_t configuration, order;
  uint32_t reg[8];
  const char **inputs; /* NAME=FILE, borrowed from argv */
  size_t input_count;
} request;

static const char *const descr_of[] = {"", "<f4", "|u1", "|i1", "<u2", "<i2", "<i4", "<i8"};

/* q = clamp(round_half_even(x / scale) + zero_point), the quotient in float32. */
static void quantize(host_tensor *t, const npy_array *array) {
  static const int64_t low[] = {0, 0, 0, -128, 0, -32768, INT32_MIN};
  static const int64_t high[] = {0, 0, 255, 127, 65535, 32767, INT32_MAX};
  if (!t->record.is_quantized || t->record.dtype < 2 || t->record.dtype > 6)
    decoder_fail(EXIT_USAGE, "input %s: floats, but the tensor has no scale", t->name);
  for (uint64_t i = 0; i < t->elements; i++) {
    float x;
    memcpy(&x, array->data + 4 * i, sizeof x);
    const float rounded = rintf(x / (float)t->record.scale);
    int64_t q = isnan(rounded) ? 0 : rounded > 4e9F ? (int64_t)4e9 : rounded < -4e9F ? -(int64_t)4e9 : (int64_t)rounded;
    q += t->record.zero_point;
    q = q < low[t->record.dtype] ? low[t->record.dtype] : q > high[t->record.dtype] ? high[t->record.dtype] : q;
    decoder_store(t, i, q);
  }
}

static void read_input(host_tensor *t, const char *path) {
  npy_array array;
  decoder_npy_read(path, &array);
  const bool is_float = strcmp(array.descr, "<f4") == 0 && t->record.dtype != 1;
  if (!is_float && strcmp(array.descr, descr_of[t->record.dtype]) != 0)
    decoder_fail(EXIT_USAGE, "input %s: %s holds %s", t->name, path, array.descr);
  bool fits = array.bytes == (is_float ? 4 * t->elements : t->record.bytes) && array.rank == t->record.rank;
  for (unsigned k = 0; fits && k < array.rank; k++) fits = array.dims[k] == t->record.dims[k];
  if (!fits) decoder_fail(EXIT_USAGE, "input %s: %s has another shape", t->name, path);
  if (is_float)
    quantize(t, &array);
  else
    memcpy(t->data, array.data, array.bytes);
  free(array.data);
}

static void read_inputs(const npu_file *file, const request *wanted, host_tensor *tensors) {
  for (size_t k = 0; k < wanted->input_count; k++) {
    const char *equals = strchr(wanted->inputs[k], '=');
    if (equals == NULL) decoder_fail(EXIT_USAGE, "--input %s: NAME=FILE.npy is meant", wanted->inputs[k]);
    const size_t length = (size_t)(equals - wanted->inputs[k]);
    host_tensor *found = NULL;
    for (uint32_t i = 0; i < file->section[IOTB].records; i++) {
      const io_record io = decoder_io(file, i);
      host_tensor *t = &tensors[io.tensor];
      if (io.direction == 0 && strlen(t->name) == length && memcmp(t->name, wanted->inputs[k], length) == 0) found = t;
    }
    if (found == NULL || !found->owned) decoder_fail(EXIT_USAGE, "--input %s: no such input", wanted->inputs[k]);
    read_input(found, equals + 1);
  }
}

static void write_outputs(const npu_file *file, const request *wanted, const host_tensor *tensors) {
  for (uint32_t i = 0; i < file->section[IOTB].records; i++) {
    const io_record io = decoder_io(file, i);
    if (io.direction != 1) continue;
    const host_tensor *t = &tensors[io.tensor];
    npy_array array = {.rank = t->record.rank, .bytes = t->record.bytes, .data = t->data};
    memcpy(array.descr, descr_of[t->record.dtype], 4);
    memcpy(array.dims, t->record.dims, sizeof array.dims);
    char path[4096];
    int used = snprintf(path, sizeof path, "%s/%s.npy", wanted->output, t->name);
    if (used < 0 || (size_t)used >= sizeof path || strchr(t->name, '/') != NULL)
      decoder_fail(EXIT_ENVIRONMENT, "output %s: no name for a file", t->name);
    decoder_npy_write(path, &array);
  }
}

/* Moves a bound tensor between its row-major bytes and the arena's layout (section 2). */
static void transfer(const binding_record *b, host_tensor *t, uint8_t *arena, bool packs) {
  const uint64_t pitch = b->pixel_pitch;
  for (uint64_t c = 0; c < b->c; c++)
    for (uint64_t y = 0; y < b->h; y++)
      for (uint64_t x = 0; x < b->w; x++) {
        const uint64_t dense = b->order == 0 ? (c * b->h + y) * b->w + x : (y * b->w + x) * b->c + c;
        const uint64_t packed = b->offset + c / b->n * (b->h * b->w * pitch) + (y * b->w + x) * pitch + c % b->n;
        if (packs)
          arena[packed] = t->data[dense];
        else
          t->data[dense] = arena[packed];
      }
}

static void run_stream(const npu_file *file, uint32_t index, const request *wanted, uint8_t *state, host_tensor *tensors) {
  const stream_record stream = decoder_stream(file, index);
  const hardware hw = decoder_hardware(file, stream.configuration);
  machine m;
  decoder_machine_create(&m, &hw);
  m.stream = decoder_string(file, stream.name);
  memcpy(m.reg, wanted->reg, sizeof m.reg);
  uint8_t *weights = file->data + (file->section[WGTS].data - file->data);
  m.dram[0] = (region){weights, file->section[WGTS].bytes};
  m.dram[1] = (region){decoder_alloc(stream.arena_bytes, 1), stream.arena_bytes};
  m.dram[2] = (region){state, stream.state_bytes};
  for (unsigned direction = 0; direction < 2; direction++) {
    for (uint32_t i = 0; i < stream.bindings.count; i++) {
      const binding_record b = decoder_binding(file, stream.bindings.first + i);
      if (b.direction == direction) transfer(&b, &tensors[b.tensor], m.dram[1].data, direction == 0);
    }
    if (direction == 0) decoder_stream_run(&m, file, &stream, wanted->order);
  }
  if (wanted->cycles) {
    const uint64_t cycles = decoder_stream_cycles(file, &stream, wanted->reg);
    printf("%s: %llu cycles, %llu predicted\n", m.stream, (unsigned long long)cycles, (unsigned long long)stream.cycles);
  }
  free(m.dram[1].data);
  decoder_machine_destroy(&m);
}

/* Region 2: one memory for all streams of the configuration. */
static uint8_t *create_state(const npu_file *file, uint32_t configuration) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < file->section[STRM].records; i++) {
    const stream_record s = decoder_stream(file, i);
    if (s.configuration == configuration && s.state_bytes > bytes) bytes = s.state_bytes;
  }
  return decoder_alloc(bytes, 1);
}

static void run_steps(const npu_file *file, const request *wanted, host_tensor *tensors) {
  if (wanted->configuration >= file->section[CONF].records && !wanted->graph)
    decoder_fail(EXIT_USAGE, "--config %u: no such configuration", wanted->configuration);
  uint8_t *state = create_state(file, wanted->configuration);
  for (uint32_t i = 0; i < file->section[STEP].records && !wanted->graph; i++) {
    const step_record step = decoder_step(file, i);
    if (step.configuration != wanted->configuration) continue;
    if (step.kind == 1) run_stream(file, step.stream, wanted, state, tensors);
    for (uint32_t k = 0; k < step.nodes && step.kind == 0; k++) decoder_node_run(file, step.first_node + k, tensors);
  }
  free(state);
  for (uint32_t i = 0; i < file->section[NODE].records && wanted->graph; i++) decoder_node_run(file, i, tensors);
}

static void flip_bit(const npu_file *file, uint32_t bit) {
  const section *instructions = &file->section[INST];
  if (bit / 8 >= instructions->bytes) decoder_fail(EXIT_USAGE, "--flip %u: beyond the last instruction", bit);
  file->data[instructions->data - file->data + bit / 8] ^= (uint8_t)(1U << bit % 8);
}

static uint32_t number(const char *text, const char **out_end) {
  char *end;
  const unsigned long value = strtoul(text, &end, 10);
  if (end == text || value > UINT32_MAX) decoder_fail(EXIT_USAGE, "%s: no number", text);
  *out_end = end;
  return (uint32_t)value;
}

static void read_option(request *wanted, const char *option, const char *value) {
  const char *end = "";
  if (strcmp(option, "--input") == 0)
    wanted->inputs[wanted->input_count++] = value;
  else if (strcmp(option, "--output") == 0)
    wanted->output = value;
  else if (strcmp(option, "--config") == 0)
    wanted->configuration = number(value, &end);
  else if (strcmp(option, "--engine") == 0 && (strcmp(value, "graph") == 0 || strcmp(value, "stream") == 0))
    wanted->graph = strcmp(value, "graph") == 0;
  else if (strcmp(option, "--order") == 0)
    wanted->order = number(value, &end) % ORDERS;
  else if (strcmp(option, "--flip") == 0) {
    wanted->flips = true;
    wanted->flip = number(value, &end);
  } else if (strcmp(option, "--register") == 0 && value[0] >= '0' && value[0] <= '7' && value[1] == '=')
    wanted->reg[value[0] - '0'] = number(value + 2, &end);
  else
    decoder_fail(EXIT_USAGE, "%s %s: no such option", option, value);
  if (*end != '\0') decoder_fail(EXIT_USAGE, "%s %s: no number", option, value);
}

int main(int argc, char **argv) {
  request wanted = {.inputs = decoder_alloc((size_t)argc, sizeof wanted.inputs[0])};
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--cycles") == 0)
      wanted.cycles = true;
    else if (argv[i][0] == '-' && i + 1 < argc) {
      read_option(&wanted, argv[i], argv[i + 1]);
      i++;
    } else if (argv[i][0] != '-' && wanted.path == NULL)
      wanted.path = argv[i];
    else
      decoder_fail(EXIT_USAGE, "%s: not understood", argv[i]);
  }
  if (wanted.path == NULL)
    decoder_fail(EXIT_USAGE,
                 "usage: npu-decode FILE.npu [--input NAME=FILE.npy]... [--output DIR] [--config K] [--engine stream|graph] "
                 "[--register R=V]... [--order 0..3] [--flip BIT] [--cycles]");
  npu_file file;
  decoder_file_read(wanted.path, &file);
  if (wanted.flips) flip_bit(&file, wanted.flip);
  decoder_check(&file);
  if (wanted.output != NULL || wanted.cycles) {
    host_tensor *tensors = decoder_tensors_create(&file);
    read_inputs(&file, &wanted, tensors);
    run_steps(&file, &wanted, tensors);
    if (wanted.output != NULL) write_outputs(&file, &wanted, tensors);
    decoder_tensors_destroy(&file, tensors);
  }
  decoder_file_free(&file);
  free(wanted.inputs);
  return 0;
}
