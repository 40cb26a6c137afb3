/* SPDX-License-Identifier: Apache-2.0 */
/* Driver of lowering: placement, streams, lives and addresses, and the emission of each node in order. */
#include "npu/lower.h"

#include <assert.h>

#include "npu/lower_internal.h"
#include "npu/sim.h"

static bool uses_array(const qnode *n) { return n->op == QOP_QGemm || (n->op == QOP_QConv && npuc_qnode_int(n, QATTR_group, 1) == 1); }

static bool is_inside(const lowering *s, uint32_t node) { return node >= s->first_node && node < s->first_node + s->n_nodes; }

/* -- who makes and reads a tensor -- */

static const int32_t *index_producers(arena *a, const qgraph *g) {
  int32_t *producers = NPUC_NEW_ARRAY(a, g->n_tensors, int32_t);
  for (size_t t = 0; t < g->n_tensors; t++) producers[t] = -1;
  for (size_t i = 0; i < g->n_nodes; i++) {
    for (int32_t k = 0; k < g->nodes[i].n_outputs; k++) producers[g->nodes[i].outputs[k]] = (int32_t)i;
  }
  return producers;
}

static bool node_reads(const qnode *n, int32_t tensor) {
  for (int32_t k = 0; k < n->n_inputs; k++) {
    if (n->inputs[k] == tensor) return true;
  }
  return false;
}

static bool is_model_output(const qgraph *g, int32_t tensor) {
  for (size_t i = 0; i < g->n_outputs; i++) {
    if (g->outputs[i] == tensor) return true;
  }
  return false;
}

/* The tensor whose bytes an alias inside the stream names; itself otherwise. */
static int32_t root_of(const lowering *s, int32_t tensor) {
  for (;;) {
    int32_t node = s->producers[tensor];
    if (node < 0 || !is_inside(s, (uint32_t)node) || !npuc_npu_is_alias(s->g, &s->program->arch, (size_t)node)) return tensor;
    tensor = s->g->nodes[node].inputs[0];
  }
}

/* -- order -- */

static bool is_ready(const lowering *s, const bool *done, uint32_t node) {
  const qnode *n = &s->g->nodes[node];
  for (int32_t k = 0; k < n->n_inputs; k++) {
    if (n->inputs[k] < 0) continue;
    int32_t maker = s->producers[n->inputs[k]];
    if (maker >= 0 && is_inside(s, (uint32_t)maker) && !done[(uint32_t)maker - s->first_node]) return false;
  }
  return true;
}

/* Vector work goes as early as its inputs allow, so that it runs behind the array and not in front of an add; convolutions keep the graph's order. */
static int64_t next_node(const lowering *s, const bool *done) {
  int64_t best = -1;
  for (uint32_t i = 0; i < s->n_nodes; i++) {
    if (done[i] || !is_ready(s, done, s->first_node + i)) continue;
    if (!uses_array(&s->g->nodes[s->first_node + i])) return i;
    if (best < 0) best = i;
  }
  return best;
}

/* A QAdd that reads the convolution's output, which nothing else needs, and whose other operand is there already. */
static int32_t find_fused_add(const lowering *s, const bool *done, uint32_t node) {
  const qnode *n = &s->g->nodes[node];
  int32_t y = n->outputs[0], found = -1;
  if (n->op != QOP_QConv || is_model_output(s->g, y)) return -1;
  for (size_t i = 0; i < s->g->n_nodes; i++) {
    if (!node_reads(&s->g->nodes[i], y)) continue;
    if (found >= 0 || s->g->nodes[i].op != QOP_QAdd || !is_inside(s, (uint32_t)i)) return -1;
    found = (int32_t)i;
  }
  if (found < 0 || !is_ready(s, done, (uint32_t)found)) return -1;
  const qnode *add = &s->g->nodes[found];
  layout a, b;
  bool same = npuc_npu_layout_of(s->g, &s->program->arch, add->inputs[0], &a) &&
              npuc_npu_layout_of(s->g, &s->program->arch, add->inputs[1], &b) && npuc_layout_same(&a, &b);
  return same && add->inputs[0] != add->inputs[1] ? found : -1;
}

static void order_nodes(lowering *s) {
  bool *done = NPUC_NEW_ARRAY(s->scratch, s->n_nodes, bool);
  s->entries = NPUC_NEW_ARRAY(s->scratch, s->n_nodes, lower_entry);
  for (int64_t i; (i = next_node(s, done)) >= 0;) {
    lower_entry *entry = &s->entries[s->n_entries++];
    *entry = (lower_entry){.node = s->first_node + (uint32_t)i, .parameters = NO_BUFFER, .temporaries = {NO_BUFFER, NO_BUFFER}};
    done[i] = true;
    entry->fused_add = find_fused_add(s, done, entry->node);
    if (entry->fused_add >= 0) done[(uint32_t)entry->fused_add - s->first_node] = true;
  }
}

/* -- lives -- */

static uint32_t add_buffer(lowering *s, uint64_t bytes, uint32_t first, uint32_t last) {
  s->buffers = npuc_arena_grow(s->scratch, s->buffers, s->n_buffers, s->n_buffers + 1, sizeof *s->buffers, &s->buffers_capacity);
  s->buffers[s->n_buffers] = (sp_buffer){.bytes = bytes, .first = first, .last = last};
  return (uint32_t)s->n_buffers++;
}

/* The tensor is needed at `position`: makes its buffer, or lets it live that long. */
static void touch(lowering *s, int32_t tensor, uint32_t first, uint32_t last) {
  int32_t root = root_of(s, tensor);
  uint32_t *buffer = &s->buffer_of_tensor[root];
  if (*buffer == NO_BUFFER) {
    layout l;
    (void)npuc_npu_layout_of(s->g, &s->program->arch, root, &l);
    *buffer = add_buffer(s, npuc_layout_bytes(&l), first, last);
  }
  if (s->buffers[*buffer].last < last) s->buffers[*buffer].last = last;
  s->buffer_of_tensor[tensor] = *buffer;
}

static void touch_node(lowering *s, const qnode *n, uint32_t position) {
  uint32_t before = position ? position - 1 : 0;
  for (int32_t k = 0; k < n->n_inputs; k++) {
    /* Constants are parameters and live in images; what comes from outside is loaded one node ahead. */
    if (n->inputs[k] >= 0 && !s->g->tensors[n->inputs[k]].data) touch(s, n->inputs[k], before, position);
  }
  for (int32_t k = 0; k < n->n_outputs; k++) touch(s, n->outputs[k], position, position);
}

static void plan_lives(lowering *s) {
  s->buffer_of_tensor = NPUC_NEW_ARRAY(s->scratch, s->g->n_tensors, uint32_t);
  for (size_t i = 0; i < s->g->n_tensors; i++) s->buffer_of_tensor[i] = NO_BUFFER;
  for (uint32_t position = 0; position < s->n_entries; position++) {
    lower_entry *entry = &s->entries[position];
    const qnode *n = &s->g->nodes[entry->node];
    touch_node(s, n, position);
    if (entry->fused_add >= 0) touch_node(s, &s->g->nodes[entry->fused_add], position);
    entry->image_bytes = npuc_lower_image_bytes(s->g, &s->program->arch, n);
    if (entry->image_bytes) entry->parameters = add_buffer(s, entry->image_bytes, position ? position - 1 : 0, position);
    if (n->op == QOP_QSoftmax) {
      layout l;
      (void)npuc_npu_layout_of(s->g, &s->program->arch, n->outputs[0], &l);
      for (int i = 0; i < MAX_TEMPORARIES; i++) entry->temporaries[i] = add_buffer(s, npuc_layout_bytes(&l), position, position);
    }
    if (n->op == QOP_QNormalize) entry->temporaries[0] = add_buffer(s, s->program->arch.n, position, position);
  }
}

/* -- arena and DMA -- */

static uint64_t arena_place(lowering *s, uint64_t bytes) {
  uint64_t offset = s->stream->arena_bytes;
  s->stream->arena_bytes = (offset + bytes + 63) / 64 * 64;
  return offset;
}

static void bind(lowering *s, int32_t tensor, bool is_output) {
  npu_binding b = {.tensor = tensor, .is_output = is_output};
  (void)npuc_npu_layout_of(s->g, &s->program->arch, tensor, &b.layout);
  b.offset = arena_place(s, npuc_layout_bytes(&b.layout));
  s->arena_offset_of_tensor[tensor] = b.offset;
  npuc_npu_stream_bind(s->program, s->stream, &b);
}

static bool is_read_outside(const lowering *s, int32_t tensor) {
  if (is_model_output(s->g, tensor)) return true;
  for (size_t i = 0; i < s->g->n_nodes; i++) {
    if (!is_inside(s, (uint32_t)i) && node_reads(&s->g->nodes[i], tensor)) return true;
  }
  return false;
}

static bool is_made_inside(const lowering *s, int32_t tensor) {
  int32_t node = s->producers[tensor];
  return node >= 0 && is_inside(s, (uint32_t)node);
}

static void bind_tensors(lowering *s) {
  s->arena_offset_of_tensor = NPUC_NEW_ARRAY(s->scratch, s->g->n_tensors, uint64_t);
  for (size_t t = 0; t < s->g->n_tensors; t++) {
    int32_t tensor = (int32_t)t;
    if (s->g->tensors[t].data || s->buffer_of_tensor[t] == NO_BUFFER) continue;
    if (!is_made_inside(s, tensor))
      bind(s, tensor, false);
    else if (is_read_outside(s, tensor))
      bind(s, tensor, true);
  }
}

static void emit_load(lowering *s, npu_queue queue, int64_t region, uint64_t dram, uint64_t local, uint64_t bytes) {
  instr in = {.op = ISA_DLD};
  in.f[NPU_DLD_region] = region;
  in.f[NPU_DLD_dram] = (int64_t)dram;
  in.f[NPU_DLD_local] = (int64_t)local;
  in.f[NPU_DLD_bytes] = (int64_t)bytes;
  in.f[NPU_DLD_rows] = 1;
  const mem_access accesses[] = {lower_write(local, bytes), {MEMORY_ARENA, dram, dram + bytes, false}};
  npuc_emit_unit(&s->e, queue, &in, accesses, region == 1 ? 2 : 1);
}

static void emit_store(lowering *s, uint64_t dram, uint64_t local, uint64_t bytes) {
  instr in = {.op = ISA_DST};
  in.f[NPU_DST_region] = 1;
  in.f[NPU_DST_dram] = (int64_t)dram;
  in.f[NPU_DST_local] = (int64_t)local;
  in.f[NPU_DST_bytes] = (int64_t)bytes;
  in.f[NPU_DST_rows] = 1;
  const mem_access accesses[] = {lower_read(local, bytes), {MEMORY_ARENA, dram, dram + bytes, true}};
  npuc_emit_unit(&s->e, QUEUE_DMA1, &in, accesses, 2);
}

/* -- emission -- */

/* Loads what lives from `position` on and comes from DRAM: bound inputs, then parameter images. */
static void emit_arrivals(lowering *s, uint32_t position) {
  for (size_t i = 0; i < s->stream->n_bindings; i++) {
    const npu_binding *b = &s->stream->bindings[i];
    const sp_buffer *buffer = &s->buffers[s->buffer_of_tensor[b->tensor]];
    if (!b->is_output && buffer->first == position) emit_load(s, QUEUE_DMA1, 1, b->offset, buffer->address, buffer->bytes);
  }
  for (uint32_t i = position; i < s->n_entries && i <= position + 1; i++) {
    lower_entry *entry = &s->entries[i];
    if (entry->parameters == NO_BUFFER || s->buffers[entry->parameters].first != position) continue;
    s->e.node = entry->node;
    uint8_t *image = npuc_npu_program_add_constant(s->program, entry->image_bytes, &entry->image_offset);
    npuc_lower_image_fill(s->g, &s->program->arch, &s->g->nodes[entry->node], image);
    emit_load(s, QUEUE_DMA1, 0, entry->image_offset, s->buffers[entry->parameters].address, entry->image_bytes);
  }
}

static void emit_node(lowering *s, const lower_entry *entry) {
  const qnode *n = &s->g->nodes[entry->node];
  switch (n->op) {
    case QOP_QConv:
      if (uses_array(n))
        npuc_lower_conv(s, entry);
      else
        npuc_lower_depthwise(s, entry);
      break;
    case QOP_QGemm:
      npuc_lower_conv(s, entry);
      break;
    case QOP_QAdd:
    case QOP_QMul:
      npuc_lower_binary(s, entry);
      break;
    case QOP_Requantize:
    case QOP_Lookup:
      npuc_lower_unary(s, entry);
      break;
    case QOP_QAveragePool:
    case QOP_QGlobalAveragePool:
      npuc_lower_average_pool(s, entry);
      break;
    case QOP_MaxPool:
      npuc_lower_max_pool(s, entry);
      break;
    case QOP_QSoftmax:
      npuc_lower_softmax(s, entry);
      break;
    case QOP_QNormalize:
      npuc_lower_normalize_rows(s, entry);
      break;
    case QOP_Concat:
      npuc_lower_concat(s, entry);
      break;
    case QOP_Split:
      npuc_lower_split(s, entry);
      break;
    case QOP_Slice:
      npuc_lower_slice(s, entry);
      break;
    case QOP_Pad:
      npuc_lower_pad(s, entry);
      break;
    default:
      break; /* aliases: nothing moves */
  }
}

static void emit_departures(lowering *s, const qnode *n) {
  for (int32_t k = 0; k < n->n_outputs; k++) {
    int32_t tensor = n->outputs[k];
    for (size_t i = 0; i < s->stream->n_bindings; i++) {
      const npu_binding *b = &s->stream->bindings[i];
      const sp_buffer *buffer = &s->buffers[s->buffer_of_tensor[tensor]];
      if (b->tensor == tensor && b->is_output) emit_store(s, b->offset, buffer->address, buffer->bytes);
    }
  }
}

static void emit_stream(lowering *s) {
  bind_tensors(s);
  npuc_emit_init(&s->e, s->scratch, s->program, s->stream, s->stream->arena_bytes);
  for (uint32_t position = 0; position < s->n_entries; position++) {
    const lower_entry *entry = &s->entries[position];
    s->e.node = entry->node;
    s->e.parameters = (instr){0}; /* lane parameters of another node may have lain at the same address */
    emit_arrivals(s, position);
    s->e.node = entry->node;
    emit_node(s, entry);
    emit_departures(s, &s->g->nodes[entry->node]);
    if (entry->fused_add >= 0) emit_departures(s, &s->g->nodes[entry->fused_add]);
    s->stream->macs += npuc_qnode_macs(s->g, &s->g->nodes[entry->node]);
  }
  npuc_emit_end(&s->e);
}

/* -- streams -- */

/* Tries the nodes [first, first + count) as one stream; false when they do not fit, and *out_count is then a smaller number to try. */
static bool plan_stream(lowering *s, uint32_t *out_count) {
  order_nodes(s);
  plan_lives(s);
  uint32_t position;
  /* A vector read of N bytes may begin at a tensor's last pixel: N bytes at the end stay free. */
  if (npuc_npu_alloc(s->buffers, s->n_buffers, s->program->arch.scratchpad_bytes - s->program->arch.n, &position)) return true;
  uint32_t fits = s->entries[position].node - s->first_node;
  *out_count = fits > 0 && fits < s->n_nodes ? fits : s->n_nodes - 1;
  return false;
}

/* Occupancy of the scratchpad over the stream's nodes, for people. */
static void record_occupancy(lowering *s) {
  npu_scratch_step *steps = NPUC_NEW_ARRAY(s->arena, s->n_entries, npu_scratch_step);
  for (uint32_t i = 0; i < s->n_entries; i++) steps[i].node = s->entries[i].node;
  for (size_t k = 0; k < s->n_buffers; k++) {
    for (uint32_t i = s->buffers[k].first; i <= s->buffers[k].last && i < s->n_entries; i++) steps[i].bytes += s->buffers[k].bytes;
  }
  s->stream->scratch = steps;
  s->stream->n_scratch = s->n_entries;
}

static npuc_status compile_stream(lowering *outer, uint32_t first, uint32_t most, uint32_t *out_count) {
  uint32_t count = most;
  for (;;) {
    lowering s = *outer;
    s.first_node = first;
    s.n_nodes = count;
    arena *scratch = s.scratch = npuc_arena_create();
    uint32_t smaller = 0;
    bool fits = plan_stream(&s, &smaller);
    if (fits) {
      s.stream = npuc_npu_program_add_stream(s.program, npuc_arena_printf(s.arena, "stream%zu", s.program->n_streams));
      emit_stream(&s);
      record_occupancy(&s);
    }
    npuc_arena_destroy(scratch);
    *out_count = count;
    if (fits) return NPUC_OK;
    if (smaller == 0)
      return npuc_fail(s.d, NPUC_DIAG_E0804, &(diag_place){.node = s.g->nodes[first].source, .op = npuc_qop_name(s.g->nodes[first].op)},
                       "its tensors and parameters do not fit the scratchpad's %u bytes", s.program->arch.scratchpad_bytes);
    count = smaller;
  }
}

static void copy_constants(npu_program *p, const qgraph *g) {
  p->constant_offsets = NPUC_NEW_ARRAY(p->arena, g->n_tensors, uint64_t);
  for (size_t i = 0; i < g->n_tensors; i++) {
    const qtensor *t = &g->tensors[i];
    if (!t->data) continue;
    uint8_t *bytes = npuc_npu_program_add_constant(p, t->bytes, &p->constant_offsets[i]);
    for (size_t k = 0; k < t->bytes; k++) bytes[k] = ((const uint8_t *)t->data)[k];
  }
}

static uint32_t run_length(const qgraph *g, uint32_t first) {
  uint32_t count = 1;
  while (first + count < g->n_nodes && g->nodes[first + count].on_npu == g->nodes[first].on_npu) count++;
  return count;
}

npuc_status npuc_npu_compile(diag *d, arena *a, qgraph *g, const npu_arch *arch, npu_program **out_program) {
  NPUC_TRY(npuc_qgraph_verify(d, g));
  npuc_npu_place_all(g, arch);
  npu_program *p = npuc_npu_program_create(a, arch);
  copy_constants(p, g);
  lowering s = {.d = d, .arena = a, .g = g, .program = p, .producers = index_producers(a, g)};
  for (uint32_t first = 0; first < g->n_nodes;) {
    uint32_t count = run_length(g, first);
    npu_step step = {.on_npu = g->nodes[first].on_npu, .first_node = first};
    if (step.on_npu) {
      NPUC_TRY(compile_stream(&s, first, count, &count));
      step.stream = (uint32_t)p->n_streams - 1;
      npu_stream *stream = &p->streams[step.stream];
      npu_sim_result result;
      NPUC_TRY(npuc_npu_simulate(d, arch, stream, NULL, &(npu_sim_options){.timing_only = true}, &result));
      stream->predicted_cycles = result.cycles;
    }
    step.n_nodes = count;
    npuc_npu_program_add_step(p, &step);
    first += count;
  }
  *out_program = p;
  return NPUC_OK;
}
