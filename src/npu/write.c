/* SPDX-License-Identifier: Apache-2.0 */
/* Writer of `.npu` files: each table is gathered as bytes, strings and integer lists in pools that the tables point into. */
#include "npu/write.h"

#include <assert.h>
#include <string.h>

#include "base/map.h"

typedef struct byte_list {
  uint8_t *bytes;
  size_t count, capacity;
} byte_list;

typedef struct writer {
  arena *a;
  const qgraph *g;
  const npu_program *p;
  byte_list tables[NPU_SECTION_COUNT];
  map *strings; /* text -> offset + 1, so that every string is there once */
} writer;

static uint32_t add(writer *w, npu_section_kind kind, const void *record, size_t bytes) {
  byte_list *list = &w->tables[kind];
  size_t unit = npuc_npu_section_record(kind);
  list->bytes = npuc_arena_grow(w->a, list->bytes, list->count, list->count + bytes, 1, &list->capacity);
  memcpy(list->bytes + list->count, record, bytes);
  uint32_t index = (uint32_t)(unit ? list->count / unit : list->count);
  list->count += bytes;
  return index;
}

static uint32_t records(const writer *w, npu_section_kind kind) {
  return (uint32_t)(w->tables[kind].count / npuc_npu_section_record(kind));
}

static uint32_t add_string(writer *w, const char *text) {
  if (!text || !*text) return 0;
  const uintptr_t known = (uintptr_t)npuc_map_get(w->strings, text);
  if (known) return (uint32_t)(known - 1);
  uint32_t offset = add(w, NPU_STRS, text, strlen(text) + 1);
  npuc_map_put(w->strings, text, (void *)((uintptr_t)offset + 1));
  return offset;
}

static npu_list add_ints(writer *w, const int64_t *values, uint32_t count) {
  npu_list list = {.first = records(w, NPU_INTS), .count = count};
  add(w, NPU_INTS, values, count * sizeof *values);
  return list;
}

static npu_list add_indices(writer *w, const int32_t *indices, int32_t count) {
  npu_list list = {.first = records(w, NPU_INTS), .count = (uint32_t)count};
  for (int32_t i = 0; i < count; i++) {
    int64_t value = indices[i];
    add(w, NPU_INTS, &value, sizeof value);
  }
  return list;
}

/* Pools grow in the order of these statements: never two of them in one initializer, whose order the language leaves open. */
static void add_tensors(writer *w) {
  for (size_t i = 0; i < w->g->n_tensors; i++) {
    const qtensor *t = &w->g->tensors[i];
    npu_tens_record r = {.dtype = (uint8_t)t->type,
                         .rank = (uint8_t)t->rank,
                         .role = (uint8_t)t->role,
                         .has_quant = t->has_quant,
                         .scale = t->scale,
                         .zero_point = t->zero_point,
                         .offset = t->data ? w->p->constant_offsets[i] : 0,
                         .bytes = t->bytes};
    r.name = add_string(w, t->name);
    r.source = add_string(w, t->source);
    memcpy(r.dims, t->dims, (size_t)t->rank * sizeof r.dims[0]);
    add(w, NPU_TENS, &r, sizeof r);
  }
}

static void add_nodes(writer *w) {
  for (size_t i = 0; i < w->g->n_nodes; i++) {
    const qnode *n = &w->g->nodes[i];
    npu_node_record r = {.op = (uint32_t)n->op, .attributes = {records(w, NPU_ATTR), (uint32_t)n->n_attributes}, .place = n->on_npu};
    r.name = add_string(w, n->name);
    r.inputs = add_indices(w, n->inputs, n->n_inputs);
    r.outputs = add_indices(w, n->outputs, n->n_outputs);
    r.reason = add_string(w, n->place_reason);
    r.source = add_string(w, n->source);
    for (int32_t k = 0; k < n->n_attributes; k++) {
      npu_attr_record attribute = {.key = (uint32_t)n->attributes[k].key,
                                   .values = add_ints(w, n->attributes[k].values, n->attributes[k].count)};
      add(w, NPU_ATTR, &attribute, sizeof attribute);
    }
    add(w, NPU_NODE, &r, sizeof r);
  }
}

static void add_configuration(writer *w) {
  const npu_arch *arch = &w->p->arch;
  npu_conf_record r = {.name = add_string(w, arch->name),
                       .n = arch->n,
                       .scratchpad_bytes = arch->scratchpad_bytes,
                       .weight_buffer_bytes = arch->weight_buffer_bytes,
                       .accumulator_rows = arch->accumulator_rows,
                       .dma_bytes_per_cycle = arch->dma_bytes_per_cycle,
                       .dma_descriptor_cycles = arch->dma_descriptor_cycles,
                       .vector_latency = arch->vector_latency,
                       .row_file_entries = arch->row_file_entries};
  add(w, NPU_CONF, &r, sizeof r);
}

static npu_list add_instructions(writer *w, const instr_list *list) {
  npu_list range = {.first = records(w, NPU_INST), .count = (uint32_t)list->count};
  for (size_t i = 0; i < list->count; i++) {
    uint8_t bytes[ISA_BYTES];
    bool good = npuc_isa_encode(&list->items[i], bytes);
    assert(good); /* lowering makes no other instructions; placement has bounded every field */
    if (good) add(w, NPU_INST, bytes, sizeof bytes);
  }
  return range;
}

static void add_stream(writer *w, const npu_stream *s) {
  npu_strm_record r = {.name = add_string(w, s->name),
                       .arena_bytes = s->arena_bytes,
                       .state_bytes = s->state_bytes,
                       .bindings = {records(w, NPU_BIND), (uint32_t)s->n_bindings},
                       .predicted_cycles = s->predicted_cycles,
                       .macs = s->macs,
                       .debug = {records(w, NPU_DBUG), (uint32_t)s->n_runs}};
  for (size_t i = 0; i < s->n_bindings; i++) {
    const npu_binding *b = &s->bindings[i];
    npu_bind_record bind = {.tensor = (uint32_t)b->tensor,
                            .direction = b->is_output,
                            .offset = b->offset,
                            .bytes = npuc_layout_bytes(&b->layout),
                            .c = b->layout.c,
                            .h = b->layout.h,
                            .w = b->layout.w,
                            .pitch = b->layout.pitch,
                            .n = b->layout.n,
                            .order = (uint32_t)b->layout.order};
    add(w, NPU_BIND, &bind, sizeof bind);
  }
  for (size_t i = 0; i < s->n_runs; i++) {
    npu_dbug_record run = {
        .queue = (uint32_t)s->runs[i].queue, .first = s->runs[i].first, .count = s->runs[i].count, .node = s->runs[i].node};
    add(w, NPU_DBUG, &run, sizeof run);
  }
  for (int q = 0; q < NPU_QUEUES; q++) r.queues[q] = add_instructions(w, &s->queues[q]);
  add(w, NPU_STRM, &r, sizeof r);
}

static void add_steps(writer *w) {
  for (size_t i = 0; i < w->p->n_steps; i++) {
    const npu_step *s = &w->p->steps[i];
    npu_step_record r = {.kind = s->on_npu, .first_node = s->first_node, .n_nodes = s->n_nodes, .stream = s->on_npu ? s->stream : 0};
    add(w, NPU_STEP, &r, sizeof r);
  }
}

static void add_ports(writer *w, const int32_t *tensors, size_t count, uint32_t direction) {
  for (size_t i = 0; i < count; i++) {
    npu_iotb_record r = {.tensor = (uint32_t)tensors[i], .direction = direction, .layout = w->g->tensors[tensors[i]].rank == 4};
    add(w, NPU_IOTB, &r, sizeof r);
  }
}

npuc_status npuc_npu_write(diag *d, const char *path, const qgraph *g, const npu_program *p, const char *meta, uint64_t *out_bytes) {
  arena *a = npuc_arena_create();
  writer w = {.a = a, .g = g, .p = p, .strings = npuc_map_create(a)};
  if (!meta) meta = "{}";
  add(&w, NPU_META, meta, strlen(meta));
  add(&w, NPU_STRS, "", 1);
  add_tensors(&w);
  add_nodes(&w);
  add_configuration(&w);
  for (size_t i = 0; i < p->n_streams; i++) add_stream(&w, &p->streams[i]);
  add_steps(&w);
  add_ports(&w, g->inputs, g->n_inputs, 0);
  add_ports(&w, g->outputs, g->n_outputs, 1);
  npu_section sections[NPU_SECTION_COUNT] = {0};
  for (int kind = 0; kind < NPU_SECTION_COUNT; kind++) {
    size_t unit = npuc_npu_section_record((npu_section_kind)kind);
    sections[kind] =
        (npu_section){.data = w.tables[kind].bytes, .bytes = w.tables[kind].count, .records = unit ? w.tables[kind].count / unit : 0};
  }
  sections[NPU_WGTS] = (npu_section){.data = p->constants, .bytes = p->constants_bytes};
  npuc_status status = npuc_npu_file_write(d, path, sections, out_bytes);
  npuc_arena_destroy(a);
  return status;
}
