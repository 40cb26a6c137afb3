/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct record_place { /* for messages */
  const npu_file *file;
  const char *table;
  uint32_t index;
} record_place;

static void require(record_place at, bool holds, const char *what) {
  if (!holds) decoder_fail(EXIT_FILE, "%s: %s record %u: %s", at.file->path, at.table, at.index, what);
}

static void require_zero(record_place at, const uint8_t *data, unsigned bytes) {
  for (unsigned i = 0; i < bytes; i++) require(at, data[i] == 0, "reserved bytes are not 0");
}

static void require_string(record_place at, uint32_t offset) {
  require(at, offset < at.file->section[STRS].bytes, "a string outside STRS");
}

static void require_span(record_place at, span s, section_kind table) {
  const uint64_t records = at.file->section[table].records;
  require(at, s.first <= records && s.count <= records - s.first, "a list or range beyond its table");
}

static uint32_t count_of(const npu_file *file, section_kind kind) {
  const uint64_t records = file->section[kind].records;
  if (records > UINT32_MAX) decoder_fail(EXIT_FILE, "%s: a table of more than 2^32 records", file->path);
  return (uint32_t)records;
}

static void check_strings(const npu_file *file) {
  const section *s = &file->section[STRS];
  if (s->bytes == 0 || s->data[0] != 0 || s->data[s->bytes - 1] != 0)
    decoder_fail(EXIT_FILE, "%s: STRS does not begin with the empty string or not end in NUL", file->path);
}

/* Scale and zero point, where byte 7 says that they hold. */
static bool is_quantization(const tensor_record *t) {
  static const int64_t low[] = {0, 0, 0, -128, 0, -32768, INT32_MIN};
  static const int64_t high[] = {0, 0, 255, 127, 65535, 32767, INT32_MAX};
  const float scale = (float)t->scale;
  return t->dtype >= 2 && t->dtype <= 6 && isfinite(scale) && scale > 0 && t->zero_point >= low[t->dtype] &&
         t->zero_point <= high[t->dtype];
}

static void check_tensor(record_place at, const tensor_record *t) {
  const npu_file *file = at.file;
  const uint8_t *bytes_of = decoder_record(file, TENS, at.index);
  require(at, bytes_of[7] <= 1, "byte 7");
  require_string(at, t->name);
  require_string(at, t->source_name);
  require(at, *decoder_string(file, t->name) != '\0', "an empty name");
  require(at, decoder_element_bytes(t->dtype) != 0, "dtype");
  require(at, t->rank <= 8 && t->role <= 3, "rank or role");
  require(at, !t->is_quantized || is_quantization(t), "scale or zero point");
  uint64_t bytes = decoder_element_bytes(t->dtype);
  for (unsigned k = 0; k < 8; k++) {
    require(at, k < t->rank ? t->dims[k] > 0 : t->dims[k] == 0, "a dim");
    if (k >= t->rank) continue;
    require(at, bytes <= (UINT64_MAX >> 2) / (uint64_t)t->dims[k], "too large");
    bytes *= (uint64_t)t->dims[k];
  }
  require(at, bytes == t->bytes, "bytes are not the product of its dims");
  if (t->role == 1) {
    const uint64_t all = file->section[WGTS].bytes;
    require(at, t->offset % 64 == 0 && t->offset <= all && bytes <= all - t->offset, "a constant outside WGTS or not aligned");
  } else {
    require(at, t->offset == 0, "an offset without being a constant");
  }
  require_zero(at, bytes_of + 108, 20);
}

static int compare_names(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static void check_tensors(const npu_file *file) {
  const uint32_t count = count_of(file, TENS);
  const char **names = decoder_alloc(count, sizeof names[0]);
  for (uint32_t i = 0; i < count; i++) {
    tensor_record t = decoder_tensor(file, i);
    check_tensor((record_place){file, "TENS", i}, &t);
    names[i] = decoder_string(file, t.name);
  }
  qsort(names, count, sizeof names[0], compare_names);
  for (uint32_t i = 1; i < count; i++)
    if (strcmp(names[i - 1], names[i]) == 0) decoder_fail(EXIT_FILE, "%s: two tensors named %s", file->path, names[i]);
  free(names);
}

/* Inputs are constants, model inputs or what an earlier node made; no tensor is made twice. */
static void check_node(record_place at, bool *made) {
  const npu_file *file = at.file;
  const node_record n = decoder_node(file, at.index);
  const uint32_t tensors = count_of(file, TENS);
  require_string(at, n.name);
  require_string(at, n.reason);
  require_string(at, n.source_name);
  require_span(at, n.inputs, INTS);
  require_span(at, n.outputs, INTS);
  require_span(at, n.attributes, ATTR);
  require(at, n.place <= 1, "place");
  require(at, (n.op >= 1 && n.op <= 11) || (n.op >= 16 && n.op <= 28), "no such operator");
  for (uint32_t i = 0; i < n.inputs.count; i++) {
    const int64_t t = decoder_int(file, n.inputs, i);
    require(at, t >= 0 && t < tensors, "an input that is omitted or no tensor");
    require(at, made[t], "an input that nothing before makes");
  }
  require(at, n.inputs.count >= 1 && n.outputs.count >= 1, "no input or no output");
  for (uint32_t i = 0; i < n.outputs.count; i++) {
    const int64_t t = decoder_int(file, n.outputs, i);
    require(at, t >= 0 && t < tensors, "an output that is no tensor");
    require(at, !made[t], "a tensor that is made twice");
    made[t] = true;
  }
  uint32_t keys = 0; /* bit k: key k was seen */
  for (uint32_t i = 0; i < n.attributes.count; i++) {
    const uint32_t bit = 1U << decoder_u32(decoder_record(file, ATTR, (uint64_t)n.attributes.first + i));
    require(at, !(keys & bit), "an attribute that is there twice");
    keys |= bit;
  }
  require_zero(at, decoder_record(file, NODE, at.index) + 44, 20);
}

static void check_nodes(const npu_file *file) {
  const uint32_t tensors = count_of(file, TENS);
  bool *made = decoder_alloc(tensors, sizeof made[0]);
  for (uint32_t i = 0; i < tensors; i++) {
    const unsigned role = decoder_tensor(file, i).role;
    made[i] = role == 1 || role == 2;
  }
  for (uint32_t i = 0; i < count_of(file, ATTR); i++) {
    const uint8_t *r = decoder_record(file, ATTR, i);
    const record_place at = {file, "ATTR", i};
    require(at, decoder_u32(r) >= 1 && decoder_u32(r) <= 29 && decoder_u32(r + 4) == 0, "key");
    require_span(at, (span){decoder_u32(r + 8), decoder_u32(r + 12)}, INTS);
  }
  for (uint32_t i = 0; i < count_of(file, NODE); i++) check_node((record_place){file, "NODE", i}, made);
  bool *given = decoder_alloc(tensors, sizeof given[0]);
  for (uint32_t i = 0; i < count_of(file, IOTB); i++) {
    const io_record io = decoder_io(file, i);
    const record_place at = {file, "IOTB", i};
    require(at, io.tensor < tensors && io.direction <= 1 && io.layout <= 1, "tensor, direction or layout");
    require(at, made[io.tensor], "a tensor that nothing makes");
    const unsigned role = decoder_tensor(file, io.tensor).role;
    require(at, io.direction == 0 ? role == 2 && !given[io.tensor] : role != 0, "a tensor of another role, or an input twice");
    given[io.tensor] |= io.direction == 0;
    require_zero(at, decoder_record(file, IOTB, i) + 12, 20);
  }
  free(given);
  free(made);
}

static void check_configurations(const npu_file *file) {
  for (uint32_t i = 0; i < count_of(file, CONF); i++) {
    const hardware hw = decoder_hardware(file, i);
    const record_place at = {file, "CONF", i};
    require_string(at, decoder_u32(decoder_record(file, CONF, i)));
    require(at, hw.n == 8 || hw.n == 16 || hw.n == 32, "N");
    require(at, hw.sp_bytes >= 4096 && hw.sp_bytes <= 1U << 19 && hw.wb_bytes >= 4 * hw.n * hw.n && hw.wb_bytes <= 1U << 19,
            "memory sizes");
    require(at, hw.acc_rows == 1024 && hw.rf_entries == 512, "rows");
    require(at, hw.dma_bytes >= 1 && hw.dma_bytes <= 1024 && hw.dma_latency <= 65536 && hw.vector_latency <= 1024, "cycles");
    require_zero(at, decoder_record(file, CONF, i) + 36, 28);
  }
}

static void check_binding(record_place at, const stream_record *s) {
  const binding_record b = decoder_binding(at.file, at.index);
  const hardware hw = decoder_hardware(at.file, s->configuration);
  require(at, b.tensor < count_of(at.file, TENS), "no such tensor");
  require(at, b.direction <= 1 && b.order <= 1, "direction or order");
  require(at, b.offset <= s->arena_bytes && b.bytes <= s->arena_bytes - b.offset, "outside the arena");
  require(at, b.n == hw.n, "N is another than the configuration's");
  require(at, b.c >= 1 && b.h >= 1 && b.w >= 1 && b.c <= 1U << 20 && b.h <= 1U << 20 && b.w <= 1U << 20, "C, H or W");
  uint32_t pitch = 4;
  while (pitch < b.c && pitch < b.n) pitch *= 2;
  pitch = b.c >= b.n ? b.n : pitch;
  require(at, b.pixel_pitch == pitch, "pixel pitch");
  const uint64_t blocks = (b.c + b.n - 1) / b.n;
  require(at, blocks * b.h * b.w * pitch == b.bytes, "bytes");
  require(at, decoder_tensor(at.file, b.tensor).bytes == (uint64_t)b.c * b.h * b.w, "another size than its tensor's");
  require_zero(at, decoder_record(at.file, BIND, at.index) + 48, 16);
}

static void check_queue(record_place at, const stream_record *s, unsigned queue, const hardware *hw) {
  const span list = s->queue[queue];
  require(at, list.count >= 1, "an instruction list without HALT");
  insn before = {0};
  for (uint32_t i = 0; i < list.count; i++) {
    insn in;
    const char *why = decoder_insn_decode(decoder_record(at.file, INST, (uint64_t)list.first + i), queue, hw, &in);
    static const uint32_t zero[8];
    /* an IDX that names wrong fields is wrong whatever the registers hold; with zeros no address moves */
    if (why == NULL && before.spec != NULL && before.spec->code == OP_IDX) {
      insn changed = in;
      why = decoder_insn_apply(&before, zero, hw, &changed);
    }
    if (why == NULL && (in.spec->code == OP_HALT) != (i + 1 == list.count))
      why = "HALT is not the last instruction, or the last is not HALT";
    if (why != NULL) decoder_fail(EXIT_FILE, "%s: stream %u, queue %u, instruction %u: %s", at.file->path, at.index, queue, i, why);
    before = in;
  }
}

static void check_stream(record_place at) {
  const npu_file *file = at.file;
  const stream_record s = decoder_stream(file, at.index);
  require_string(at, s.name);
  require(at, s.configuration < count_of(file, CONF), "no such configuration");
  require(at, s.arena_bytes <= (uint64_t)1 << 36 && s.state_bytes <= (uint64_t)1 << 36, "arena or state");
  require_span(at, s.bindings, BIND);
  require_span(at, s.debug, DBUG);
  const hardware hw = decoder_hardware(file, s.configuration);
  for (uint32_t i = 0; i < s.bindings.count; i++) check_binding((record_place){file, "BIND", s.bindings.first + i}, &s);
  for (unsigned q = 0; q < QUEUES; q++) {
    require_span(at, s.queue[q], INST);
    check_queue(at, &s, q, &hw);
  }
  for (uint32_t i = 0; i < s.debug.count; i++) {
    const uint8_t *r = decoder_record(file, DBUG, (uint64_t)s.debug.first + i);
    const record_place place = {file, "DBUG", s.debug.first + i};
    const uint32_t queue = decoder_u32(r);
    require(place, queue < QUEUES, "no such queue");
    require(place, (uint64_t)decoder_u32(r + 4) + decoder_u32(r + 8) <= s.queue[queue].count, "instructions beyond the queue's list");
    require(place, decoder_u32(r + 12) < count_of(file, NODE), "no such node");
    require_zero(place, r + 16, 16);
  }
  require_zero(at, decoder_record(file, STRM, at.index) + 88, 8);
}

/* The steps of each configuration cover all nodes, in order. */
static void check_steps(const npu_file *file) {
  const uint32_t configurations = count_of(file, CONF);
  uint64_t *covered = decoder_alloc(configurations, sizeof covered[0]);
  for (uint32_t i = 0; i < count_of(file, STEP); i++) {
    const step_record s = decoder_step(file, i);
    const record_place at = {file, "STEP", i};
    require(at, s.configuration < configurations && s.kind <= 1 && s.nodes >= 1, "configuration, kind or number of nodes");
    require(at, s.first_node == covered[s.configuration], "does not begin where the step before ended");
    covered[s.configuration] += s.nodes;
    require(at, covered[s.configuration] <= count_of(file, NODE), "nodes beyond the last");
    if (s.kind == 1) {
      require(at, s.stream < count_of(file, STRM), "no such stream");
      require(at, decoder_stream(file, s.stream).configuration == s.configuration, "a stream for another configuration");
    } else {
      require(at, s.stream == 0, "a host step names a stream");
    }
    require_zero(at, decoder_record(file, STEP, i) + 20, 12);
  }
  for (uint32_t i = 0; i < configurations; i++)
    require((record_place){file, "CONF", i}, covered[i] == count_of(file, NODE), "its steps do not cover all nodes");
  free(covered);
}

void decoder_check(const npu_file *file) {
  check_strings(file);
  check_tensors(file);
  check_nodes(file);
  check_configurations(file);
  for (uint32_t i = 0; i < count_of(file, STRM); i++) check_stream((record_place){file, "STRM", i});
  check_steps(file);
}
