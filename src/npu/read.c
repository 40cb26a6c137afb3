/* SPDX-License-Identifier: Apache-2.0 */
/* Reader of `.npu` files for the compiler's side (simulator, inspection): tables to a qgraph and a program of decoded instructions. The container has been checked by
 * src/formats; what a record must say by itself is in read_records.c; here every index, offset and instruction is checked. */
#include <inttypes.h>
#include <string.h>

#include "npu/read_records.h"
#include "npu/write.h"

typedef struct reader {
  diag *d;
  arena *a;
  const npu_file *f;
  qgraph *g;
  npu_program *p;
  uint32_t configuration;
} reader;

#define REFUSE(r, ...) return npuc_fail((r)->d, NPUC_DIAG_E1004, NULL, __VA_ARGS__)

static const void *record(const reader *r, npu_section_kind kind, size_t index) {
  return (const uint8_t *)r->f->sections[kind].data + index * npuc_npu_section_record(kind);
}

static size_t count_of(const reader *r, npu_section_kind kind) { return r->f->sections[kind].records; }

static bool list_inside(npu_list list, size_t records) { return list.first <= records && list.count <= records - list.first; }

/* STRS ends in NUL (checked first), so any offset inside it is a string. */
static npuc_status get_string(const reader *r, uint32_t offset, const char **out_text) {
  const npu_section *strings = &r->f->sections[NPU_STRS];
  if (offset >= strings->bytes) REFUSE(r, "a string lies outside STRS");
  *out_text = (const char *)strings->data + offset;
  return NPUC_OK;
}

static npuc_status get_ints(const reader *r, npu_list list, const int64_t **out_values) {
  if (!list_inside(list, count_of(r, NPU_INTS))) REFUSE(r, "a list lies outside INTS");
  *out_values = (const int64_t *)r->f->sections[NPU_INTS].data + list.first;
  return NPUC_OK;
}

static npuc_status get_indices(const reader *r, npu_list list, int64_t least, const int32_t **out_indices) {
  const int64_t *values = NULL;
  NPUC_TRY(get_ints(r, list, &values));
  int32_t *indices = NPUC_NEW_ARRAY(r->a, list.count, int32_t);
  for (uint32_t i = 0; i < list.count; i++) {
    if (values[i] < least || values[i] >= (int64_t)count_of(r, NPU_TENS)) REFUSE(r, "a node names tensor %" PRId64, values[i]);
    indices[i] = (int32_t)values[i];
  }
  *out_indices = indices;
  return NPUC_OK;
}

static npuc_status read_tensors(reader *r) {
  for (size_t i = 0; i < count_of(r, NPU_TENS); i++) {
    const npu_tens_record *t = record(r, NPU_TENS, i);
    qtensor out = {.type = (dtype)t->dtype,
                   .role = (qrole)t->role,
                   .rank = t->rank,
                   .has_quant = t->has_quant != 0,
                   .scale = t->scale,
                   .zero_point = t->zero_point,
                   .bytes = t->bytes};
    NPUC_TRY(get_string(r, t->name, &out.name));
    NPUC_TRY(get_string(r, t->source, &out.source));
    if (t->bytes == 0) REFUSE(r, "tensor %s has no bytes", out.name);
    memcpy(out.dims, t->dims, sizeof out.dims);
    size_t weights = r->f->sections[NPU_WGTS].bytes;
    if (t->role == QROLE_CONSTANT) {
      if (t->offset > weights || t->bytes > weights - t->offset || t->offset % 64 != 0) REFUSE(r, "tensor %s lies outside WGTS", out.name);
      out.data = (const uint8_t *)r->f->sections[NPU_WGTS].data + t->offset;
    }
    r->p->constant_offsets[i] = t->offset;
    npuc_qgraph_add_tensor(r->g, &out);
  }
  return NPUC_OK;
}

static npuc_status read_attributes(reader *r, npu_list list, const qattr **out_attributes) {
  if (!list_inside(list, count_of(r, NPU_ATTR))) REFUSE(r, "attributes lie outside ATTR");
  qattr *attributes = NPUC_NEW_ARRAY(r->a, list.count, qattr);
  uint64_t seen = 0;
  for (uint32_t i = 0; i < list.count; i++) {
    const npu_attr_record *a = record(r, NPU_ATTR, list.first + i);
    if (seen >> a->key & 1) REFUSE(r, "attribute key %" PRIu32 " is there twice", a->key); /* keys are below 64: read_records.c */
    seen |= (uint64_t)1 << a->key;
    attributes[i] = (qattr){.key = (qattr_key)a->key, .count = a->values.count};
    NPUC_TRY(get_ints(r, a->values, &attributes[i].values));
  }
  *out_attributes = attributes;
  return NPUC_OK;
}

static npuc_status read_nodes(reader *r) {
  for (size_t i = 0; i < count_of(r, NPU_NODE); i++) {
    const npu_node_record *n = record(r, NPU_NODE, i);
    qnode out = {.op = (qop)n->op,
                 .n_inputs = (int32_t)n->inputs.count,
                 .n_outputs = (int32_t)n->outputs.count,
                 .n_attributes = (int32_t)n->attributes.count,
                 .on_npu = n->place == 1};
    NPUC_TRY(get_string(r, n->name, &out.name));
    NPUC_TRY(get_string(r, n->source, &out.source));
    NPUC_TRY(get_string(r, n->reason, &out.place_reason));
    NPUC_TRY(get_indices(r, n->inputs, -1, &out.inputs));
    NPUC_TRY(get_indices(r, n->outputs, 0, &out.outputs));
    NPUC_TRY(read_attributes(r, n->attributes, &out.attributes));
    if (n->place > 1) REFUSE(r, "node %s: place %" PRIu32, out.name, n->place);
    npuc_qgraph_add_node(r->g, &out);
  }
  return NPUC_OK;
}

static npuc_status read_ports(reader *r) {
  for (size_t i = 0; i < count_of(r, NPU_IOTB); i++) {
    const npu_iotb_record *port = record(r, NPU_IOTB, i);
    if (port->tensor >= count_of(r, NPU_TENS) || port->direction > 1) REFUSE(r, "IOTB: record %zu", i);
    if (port->direction == 0)
      npuc_qgraph_add_input(r->g, (int32_t)port->tensor);
    else
      npuc_qgraph_add_output(r->g, (int32_t)port->tensor);
  }
  return NPUC_OK;
}

static npuc_status read_configuration(reader *r) {
  if (r->configuration >= count_of(r, NPU_CONF)) REFUSE(r, "there is no configuration %" PRIu32, r->configuration);
  const npu_conf_record *c = record(r, NPU_CONF, r->configuration);
  npu_arch *arch = &r->p->arch;
  *arch = (npu_arch){.n = c->n,
                     .scratchpad_bytes = c->scratchpad_bytes,
                     .weight_buffer_bytes = c->weight_buffer_bytes,
                     .accumulator_rows = c->accumulator_rows,
                     .dma_bytes_per_cycle = c->dma_bytes_per_cycle,
                     .dma_descriptor_cycles = c->dma_descriptor_cycles,
                     .vector_latency = c->vector_latency,
                     .row_file_entries = c->row_file_entries};
  NPUC_TRY(get_string(r, c->name, &arch->name));
  if (!npuc_npu_arch_valid(arch)) REFUSE(r, "configuration %s is no refnpu", arch->name);
  return NPUC_OK;
}

static npuc_status read_queue(reader *r, npu_list range, npu_queue queue, instr_list *out_list) {
  if (!list_inside(range, count_of(r, NPU_INST))) REFUSE(r, "instructions lie outside INST");
  *out_list = (instr_list){.items = NPUC_NEW_ARRAY(r->a, range.count, instr), .count = range.count, .capacity = range.count};
  for (uint32_t i = 0; i < range.count; i++) {
    instr *in = &out_list->items[i];
    const instr *before = i > 0 ? in - 1 : NULL;
    if (!npuc_isa_decode(record(r, NPU_INST, range.first + i), in))
      REFUSE(r, "queue %d: instruction %" PRIu32 " does not decode", (int)queue, i);
    if (!npuc_isa_queue_allows((isa_op)in->op, queue))
      REFUSE(r, "queue %d: instruction %" PRIu32 " belongs to another queue", (int)queue, i);
    if (in->op == ISA_HALT && i + 1 < range.count) REFUSE(r, "queue %d: HALT is instruction %" PRIu32 " and not the last", (int)queue, i);
    const char *why = npuc_isa_check(in, r->p->arch.n);
    if (!why && before && before->op == ISA_IDX) why = npuc_isa_check_modified(before, in);
    if (why) REFUSE(r, "queue %d, instruction %" PRIu32 ": %s", (int)queue, i, why);
  }
  if (range.count == 0 || out_list->items[range.count - 1].op != ISA_HALT) REFUSE(r, "queue %d does not end in HALT", (int)queue);
  return NPUC_OK;
}

static npuc_status read_bindings(reader *r, const npu_strm_record *record_of, npu_stream *s) {
  if (!list_inside(record_of->bindings, count_of(r, NPU_BIND))) REFUSE(r, "bindings lie outside BIND");
  for (uint32_t i = 0; i < record_of->bindings.count; i++) {
    const npu_bind_record *b = record(r, NPU_BIND, record_of->bindings.first + i);
    if (b->tensor >= count_of(r, NPU_TENS) || b->direction > 1 || b->order > 1 || b->n != r->p->arch.n)
      REFUSE(r, "BIND: record %" PRIu32, i);
    const uint32_t limit = 1 << 20;
    if (b->c < 1 || b->h < 1 || b->w < 1 || b->c > limit || b->h > limit || b->w > limit)
      REFUSE(r, "BIND: record %" PRIu32 " has no size", i);
    npu_binding out = {.tensor = (int32_t)b->tensor,
                       .is_output = b->direction == 1,
                       .offset = b->offset,
                       .layout = npuc_layout_make(b->n, b->c, b->h, b->w, (layout_order)b->order)};
    uint64_t bytes = npuc_layout_bytes(&out.layout);
    bool same = bytes == b->bytes && out.layout.pitch == b->pitch && (uint64_t)b->c * b->h * b->w == r->g->tensors[b->tensor].bytes;
    if (!same || b->offset > s->arena_bytes || bytes > s->arena_bytes - b->offset)
      REFUSE(r, "BIND: record %" PRIu32 " contradicts its tensor or the arena", i);
    npuc_npu_stream_bind(r->p, s, &out);
  }
  return NPUC_OK;
}

static npuc_status read_debug(reader *r, npu_list range, npu_stream *s) {
  if (!list_inside(range, count_of(r, NPU_DBUG))) REFUSE(r, "debug runs lie outside DBUG");
  s->runs = NPUC_NEW_ARRAY(r->a, range.count, npu_debug_run);
  s->n_runs = s->runs_capacity = range.count;
  for (uint32_t i = 0; i < range.count; i++) {
    const npu_dbug_record *run = record(r, NPU_DBUG, range.first + i);
    if (run->queue >= NPU_QUEUES || run->node >= count_of(r, NPU_NODE) || run->first > s->queues[run->queue].count ||
        run->count > s->queues[run->queue].count - run->first)
      REFUSE(r, "DBUG: record %" PRIu32, i);
    s->runs[i] = (npu_debug_run){.queue = (npu_queue)run->queue, .first = run->first, .count = run->count, .node = run->node};
  }
  return NPUC_OK;
}

static npuc_status read_stream(reader *r, size_t index) {
  const npu_strm_record *record_of = record(r, NPU_STRM, index);
  const char *name = "";
  NPUC_TRY(get_string(r, record_of->name, &name));
  /* Every stream keeps its number; those of other configurations stay empty. */
  npu_stream *s = npuc_npu_program_add_stream(r->p, name);
  if (record_of->configuration >= count_of(r, NPU_CONF)) REFUSE(r, "stream %s has no configuration", name);
  if (record_of->configuration != r->configuration) return NPUC_OK;
  const uint64_t limit = (uint64_t)1 << 36;
  if (record_of->arena_bytes > limit || record_of->state_bytes > limit)
    REFUSE(r, "stream %s asks for more memory than addresses reach", name);
  s->arena_bytes = record_of->arena_bytes;
  s->state_bytes = record_of->state_bytes;
  s->predicted_cycles = record_of->predicted_cycles;
  s->macs = record_of->macs;
  for (int q = 0; q < NPU_QUEUES; q++) NPUC_TRY(read_queue(r, record_of->queues[q], (npu_queue)q, &s->queues[q]));
  NPUC_TRY(read_bindings(r, record_of, s));
  return read_debug(r, record_of->debug, s);
}

/* A stream may read what is there before its step, and writes what the step's nodes compute and nothing else: constants lie in a read-only map. */
static npuc_status check_bindings(const reader *r, const npu_step *step, const uint32_t *makers) {
  const npu_stream *s = &r->p->streams[step->stream];
  for (size_t i = 0; i < s->n_bindings; i++) {
    const npu_binding *b = &s->bindings[i];
    uint32_t maker = makers[b->tensor], end = step->first_node + step->n_nodes; /* node index + 1, 0: constant, input or never made */
    bool good = b->is_output ? maker > step->first_node && maker <= end
                : maker      ? maker <= step->first_node
                             : r->g->tensors[b->tensor].role == QROLE_INPUT || r->g->tensors[b->tensor].role == QROLE_CONSTANT;
    if (!good) REFUSE(r, "stream %s: binding %zu is no tensor that its step reads or computes", s->name, i);
  }
  return NPUC_OK;
}

static const uint32_t *find_makers(const reader *r) {
  uint32_t *makers = NPUC_NEW_ARRAY(r->a, r->g->n_tensors, uint32_t);
  for (size_t i = 0; i < r->g->n_nodes; i++) {
    for (int32_t k = 0; k < r->g->nodes[i].n_outputs; k++) makers[r->g->nodes[i].outputs[k]] = (uint32_t)i + 1;
  }
  return makers;
}

static npuc_status read_steps(reader *r) {
  const uint32_t *makers = find_makers(r);
  uint32_t next = 0;
  for (size_t i = 0; i < count_of(r, NPU_STEP); i++) {
    const npu_step_record *s = record(r, NPU_STEP, i);
    if (s->configuration >= count_of(r, NPU_CONF) || s->kind > 1) REFUSE(r, "STEP: record %zu", i);
    if (s->configuration != r->configuration) continue;
    if (s->first_node != next || s->n_nodes == 0 || s->n_nodes > count_of(r, NPU_NODE) - next)
      REFUSE(r, "steps do not cover the nodes in order");
    if (s->kind == 1 && (s->stream >= r->p->n_streams || r->p->streams[s->stream].queues[0].count == 0))
      REFUSE(r, "STEP: record %zu names a stream of another configuration", i);
    next += s->n_nodes;
    const npu_step step = {.on_npu = s->kind == 1, .first_node = s->first_node, .n_nodes = s->n_nodes, .stream = s->stream};
    if (step.on_npu) NPUC_TRY(check_bindings(r, &step, makers));
    npuc_npu_program_add_step(r->p, &step);
  }
  if (next != count_of(r, NPU_NODE)) REFUSE(r, "steps do not cover the nodes");
  return NPUC_OK;
}

npuc_status npuc_npu_read(diag *d, arena *a, const npu_file *f, uint32_t configuration, qgraph **out_graph, npu_program **out_program) {
  reader r = {
      .d = d, .a = a, .f = f, .g = npuc_qgraph_create(a), .p = npuc_npu_program_create(a, &(npu_arch){0}), .configuration = configuration};
  const npu_section *strings = &f->sections[NPU_STRS];
  if (strings->bytes == 0 || ((const char *)strings->data)[strings->bytes - 1] != 0 || ((const char *)strings->data)[0] != 0)
    REFUSE(&r, "STRS does not begin and end with NUL");
  NPUC_TRY(npuc_npu_check_records(d, f));
  if (count_of(&r, NPU_TENS) > INT32_MAX || count_of(&r, NPU_NODE) > INT32_MAX) REFUSE(&r, "too many records");
  NPUC_TRY(npuc_npu_file_check_weights(d, f, 0, npuc_npu_file_weight_blocks(f)));
  r.p->constant_offsets = NPUC_NEW_ARRAY(a, count_of(&r, NPU_TENS), uint64_t);
  NPUC_TRY(read_tensors(&r));
  NPUC_TRY(read_nodes(&r));
  NPUC_TRY(read_ports(&r));
  NPUC_TRY(npuc_qgraph_verify(d, r.g));
  NPUC_TRY(read_configuration(&r));
  for (size_t i = 0; i < count_of(&r, NPU_STRM); i++) NPUC_TRY(read_stream(&r, i));
  NPUC_TRY(read_steps(&r));
  /* Region 0 is never written: the program borrows the file's bytes. */
  r.p->constants = (uint8_t *)(uintptr_t)f->sections[NPU_WGTS].data;
  r.p->constants_bytes = f->sections[NPU_WGTS].bytes;
  *out_graph = r.g;
  *out_program = r.p;
  return NPUC_OK;
}
