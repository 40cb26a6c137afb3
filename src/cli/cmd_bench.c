/* SPDX-License-Identifier: Apache-2.0 */
/* npuc bench MODEL [--against PEER]...: how long one run takes, and how long other engines take for the same inputs in the same process, in turns.
 * Times of two different answers say nothing: outputs are compared too. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/build_options.h"
#include "cli/inputs.h"
#include "passes/batch.h"
#include "passes/names.h"
#include "stages/bench.h"
#include "stages/peer.h"

enum { MAX_PEERS = 8, DEFAULT_ROUNDS = 20 };

typedef struct opponent {
  const peer_info *info;
  const char *file; /* what it runs */
  const char *library, *version;
  bool own_file; /* given by --against NAME=FILE */
  void *state;
} opponent;

typedef struct bench {
  cli *c;
  opened_model model;
  npu_engine *npu;
  size_t rounds;
  int64_t batch; /* 0: as the model is */
  bool rebatched;
  bool integer; /* quantized, so that a peer's rounding differs */
  tensor *inputs;
  const char **names, **source_names;
  size_t n_inputs;
  peer_dim *dims;
  size_t n_dims;
  opponent peers[MAX_PEERS];
  size_t n_peers;
  const char *folder; /* of files that are made for peers, or NULL */
  bench_model *ours;
  bench_lane lanes[MAX_PEERS + 1];
} bench;

/* -- the model with its batch -- */

static void note_dims(bench *b, const graph *g, const graph *bound) {
  b->dims = NPUC_NEW_ARRAY(b->c->arena, g->n_inputs * MAX_RANK + 1, peer_dim);
  for (size_t i = 0; i < g->n_inputs; i++) {
    const shape *s = &g->inputs[i]->shape;
    for (int32_t k = 0; k < s->rank; k++)
      if (dim_is_symbol(s->dims[k]))
        b->dims[b->n_dims++] =
            (peer_dim){npuc_arena_str(b->c->arena, npuc_module_symbol_name(g->module, s->dims[k])), bound->inputs[i]->shape.dims[k]};
  }
}

static npuc_status make_input(bench *b, size_t i, const char *name, const shape *s, dtype type, const quant *q) {
  bool quantized = q && npuc_dtype_is_integer(type);
  b->names[i] = name;
  b->integer |= quantized;
  if (!npuc_shape_is_static(s)) {
    npuc_status status =
        npuc_fail(b->c->diag, NPUC_DIAG_E0913, &(diag_place){.node = name}, "input '%s' has a dim that is not a number", name);
    npuc_fix(b->c->diag, "--dim SYMBOL=N");
    return status;
  }
  NPUC_TRY(npuc_tensor_create(b->c->diag, quantized ? DTYPE_F32 : type, s, &b->inputs[i]));
  npuc_cli_random(b->c->seed, i, &b->inputs[i]);
  return NPUC_OK;
}

static void room_for_inputs(bench *b, size_t n) {
  arena *a = b->c->arena;
  b->n_inputs = n;
  b->inputs = NPUC_NEW_ARRAY(a, n + 1, tensor);
  b->names = (const char **)npuc_arena_array(a, n + 1, sizeof(char *));
  b->source_names = (const char **)npuc_arena_array(a, n + 1, sizeof(char *));
}

static npuc_status open_npu(bench *b) {
  cli *c = b->c;
  NPUC_TRY(npuc_npu_engine_open(c->diag, c->arena, b->model.path, "graph", &b->npu));
  const npuc_program *p = b->npu->program;
  if (b->batch > 1)
    return npuc_fail(c->diag, NPUC_DIAG_E0929, &(diag_place){.file = b->model.label, .attribute = "--batch"},
                     "a .npu program runs one sample; `OUT@quantize` is the same network for any batch");
  room_for_inputs(b, npuc_program_inputs(p));
  for (size_t i = 0; i < b->n_inputs; i++) {
    const model_port *port = &b->npu->inputs[i];
    NPUC_TRY(make_input(b, i, port->name, &port->shape, port->type, port->quant));
    b->source_names[i] = npuc_program_input(p, i)->source_name;
  }
  return NPUC_OK;
}

/* Rows first and last of the batch are what the graph says of these rows alone: the batch was no other axis in disguise. */
static npuc_status check_rows(bench *b, const graph *one) {
  cli *c = b->c;
  tensor *rows = NPUC_NEW_ARRAY(c->arena, b->n_inputs + 1, tensor);
  bench_model *m = NULL;
  npuc_status status = NPUC_OK;
  NPUC_TRY(npuc_bench_model_run(b->ours, c->diag));
  for (int64_t row = 0; row < b->batch && status == NPUC_OK; row += b->batch > 1 ? b->batch - 1 : 1) {
    for (size_t i = 0; i < b->n_inputs; i++) {
      rows[i] = b->inputs[i];
      rows[i].shape.dims[0] = 1;
      rows[i].bytes = b->inputs[i].bytes / (size_t)b->batch;
      rows[i].data = (char *)b->inputs[i].data + (size_t)row * rows[i].bytes;
    }
    status = npuc_bench_model_open(c->diag, c->arena, c->pool, one, NULL, rows, &m);
    if (status == NPUC_OK) status = npuc_bench_model_run(m, c->diag);
    for (size_t i = 0; i < one->n_outputs && status == NPUC_OK; i++) {
      const tensor *whole = npuc_bench_model_output(b->ours, i), *single = npuc_bench_model_output(m, i);
      if (whole->bytes != single->bytes * (size_t)b->batch ||
          memcmp((const char *)whole->data + (size_t)row * single->bytes, single->data, single->bytes) != 0)
        status = npuc_fail(c->diag, NPUC_DIAG_E0929, &(diag_place){.file = b->model.label, .node = one->outputs[i]->name},
                           "with a batch of %lld, row %lld differs from the same row alone: the first axis is not the batch",
                           (long long)b->batch, (long long)row);
    }
    npuc_bench_model_close(m);
    m = NULL;
  }
  return status;
}

static npuc_status open_graph(bench *b) {
  cli *c = b->c;
  module *source = npuc_module_clone(b->model.module);
  graph *g = b->model.module->graphs[0];
  npuc_status status = npuc_cli_bind_batch(c, b->model.module, b->batch, &b->rebatched);
  note_dims(b, source->graphs[0], g);
  room_for_inputs(b, g->n_inputs);
  for (size_t i = 0; i < g->n_inputs && status == NPUC_OK; i++) {
    const value *v = g->inputs[i];
    status = make_input(b, i, v->name, &v->shape, v->type, v->quant);
    b->source_names[i] = npuc_source_name(g, c->arena, v->name);
  }
  for (size_t i = 0; i < g->n_outputs; i++) b->integer |= g->outputs[i]->quant != NULL;
  if (status == NPUC_OK) status = npuc_bench_model_open(c->diag, c->arena, c->pool, g, NULL, b->inputs, &b->ours);
  if (status == NPUC_OK && b->rebatched) status = check_rows(b, source->graphs[0]);
  npuc_module_destroy(source);
  return status;
}

/* -- what the peers get -- */

static bool ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

/* The QDQ model that stage 5 leaves beside its integer module. */
static const char *companion(arena *a, const char *path) {
  if (!ends_with(path, ".onnx")) return NULL;
  const char *file = npuc_arena_printf(a, "%.*s.qdq.onnx", (int)(strlen(path) - strlen(".onnx")), path);
  return npuc_path_exists(file) ? file : NULL;
}

static npuc_status default_file(bench *b, const char **out_file) {
  cli *c = b->c;
  const char *path = b->model.path, *qdq = NULL;
  if (b->model.kind == MODEL_NPU) {
    opened_model stage;
    const char *target = strchr(npuc_path_basename(npuc_path_dirname(c->arena, path)), '.');
    const char *text = b->model.out && target ? npuc_arena_printf(c->arena, "%s@quantize%s", b->model.out, target) : NULL;
    if (text) NPUC_TRY(npuc_model_find(c->diag, c->arena, text, &stage));
    if (text) qdq = companion(c->arena, stage.path);
    if (!qdq) {
      npuc_status status = npuc_fail(c->diag, NPUC_DIAG_E0931, &(diag_place){.file = b->model.label}, "peers do not run .npu programs");
      npuc_fix(c->diag, "--against NAME=FILE.onnx names the model that the peer runs");
      return status;
    }
  } else {
    qdq = companion(c->arena, path);
  }
  *out_file = qdq ? qdq : path;
  return NPUC_OK;
}

static npuc_status file_for_peer(bench *b, size_t index, const char **out_file) {
  cli *c = b->c;
  const char *temporary = getenv("TMPDIR");
  char *folder = npuc_arena_printf(c->arena, "%s/npuc-bench-XXXXXX", temporary && *temporary ? temporary : "/tmp");
  if (!b->folder && !mkdtemp(folder))
    return npuc_fail(c->diag, NPUC_DIAG_E0004, &(diag_place){.file = folder}, "the folder cannot be made");
  if (!b->folder) b->folder = folder;
  *out_file = npuc_arena_printf(c->arena, "%s/%zu.onnx", b->folder, index);
  return NPUC_OK;
}

/* What no peer reads, a .pt2 archive, goes to it as the ONNX model that npuc runs, dims and batch included. */
static npuc_status translated(bench *b, size_t index, const char **out_file) {
  source_format format;
  NPUC_TRY(npuc_source_format(b->c->diag, b->model.path, &format));
  if (format != SOURCE_PT2) return NPUC_OK;
  NPUC_TRY(file_for_peer(b, index, out_file));
  return npuc_onnx_write(b->c->diag, b->model.module, *out_file, NULL);
}

/* A file whose first axis is a number cannot be asked for another: a copy with the batch is written. */
static npuc_status file_with_batch(bench *b, size_t index, const char *file, const char **out_file) {
  cli *c = b->c;
  module *m = NULL;
  *out_file = file;
  if (!b->batch || !ends_with(file, ".onnx")) return NPUC_OK;
  NPUC_TRY(npuc_onnx_read(c->diag, file, &m));
  graph *g = m->graphs[0];
  bool differs = false;
  for (size_t i = 0; i < g->n_inputs; i++) {
    const shape *s = &g->inputs[i]->shape;
    differs |= s->rank > 0 && dim_is_number(s->dims[0]) && s->dims[0] != b->batch;
  }
  npuc_status status = NPUC_OK;
  if (differs) {
    status = npuc_graph_set_batch(c->diag, g, b->batch);
    if (status == NPUC_OK) status = file_for_peer(b, index, out_file);
    if (status == NPUC_OK) status = npuc_onnx_write(c->diag, m, *out_file, NULL);
  }
  npuc_module_destroy(m);
  return status;
}

static npuc_status open_peer(bench *b, opponent *p) {
  cli *c = b->c;
  const char *file;
  NPUC_TRY(file_with_batch(b, (size_t)(p - b->peers), p->file, &file));
  if (b->model.kind == MODEL_GRAPH && p->file == b->model.path) NPUC_TRY(translated(b, (size_t)(p - b->peers), &file));
  peer_request request = {.library = p->library,
                          .model = file,
                          .threads = npuc_pool_threads(c->pool),
                          .inputs = b->inputs,
                          .input_names = b->names,
                          .source_names = b->source_names,
                          .n_inputs = b->n_inputs,
                          .n_outputs = npuc_bench_model_outputs(b->ours),
                          .dims = b->dims,
                          .n_dims = b->n_dims};
  return p->info->calls->open(c->diag, c->arena, &request, &p->state, &p->version);
}

/* --against NAME or NAME=FILE; asked before anything is read, so that a missing peer is said at once. */
static npuc_status find_peers(bench *b) {
  cli *c = b->c;
  const char **texts, *names[MAX_PEERS];
  size_t n = npuc_cli_list(&c->line, c->arena, "--against", &texts), n_names;
  const peer_info *table = npuc_peer_table(&n_names);
  for (size_t i = 0; i < n_names; i++) names[i] = table[i].name;
  if (n > MAX_PEERS) return npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = "--against"}, "at most %d peers", MAX_PEERS);
  for (size_t i = 0; i < n; i++) {
    const char *equal = strchr(texts[i], '=');
    const char *name = npuc_arena_strn(c->arena, texts[i], equal ? (size_t)(equal - texts[i]) : strlen(texts[i]));
    opponent *p = &b->peers[i];
    p->info = npuc_peer_find(name);
    if (!p->info) {
      npuc_status status = npuc_fail(c->diag, NPUC_DIAG_E0104, &(diag_place){.attribute = "--against"}, "there is no peer '%s'", name);
      const char *near = npuc_nearest(name, names, n_names);
      if (near) npuc_fix(c->diag, "--against %s", near);
      for (size_t k = 0; k < n_names && !near; k++) npuc_fix(c->diag, "--against %s", names[k]);
      return status;
    }
    p->own_file = equal != NULL;
    p->file = equal ? equal + 1 : NULL;
    if (p->file && !npuc_path_exists(p->file))
      return npuc_fail(c->diag, NPUC_DIAG_E0008, &(diag_place){.file = p->file}, "there is no such file");
    NPUC_TRY(npuc_peer_library(c->diag, c->arena, p->info, npuc_cli_value(&c->line, "--python"), &p->library));
    b->n_peers++;
  }
  return NPUC_OK;
}

/* -- what came of it -- */

/* SQNR below which two engines do not answer the same: rounding of floats apart, or of integers on one side. */
static npuc_status least_sqnr(const bench *b, const opponent *p, double *out_db) {
  return npuc_cli_real(b->c->diag, &b->c->line, "--sqnr", p->own_file || b->integer ? 10.0 : 60.0, out_db);
}

static npuc_status compare(const bench *b, const opponent *p, comparison *out_worst) {
  cli *c = b->c;
  double bound;
  NPUC_TRY(least_sqnr(b, p, &bound));
  *out_worst = (comparison){.sqnr_db = INFINITY, .cosine = 1, .finite = true};
  for (size_t i = 0; i < npuc_bench_model_outputs(b->ours); i++) {
    const tensor *ours = npuc_bench_model_output(b->ours, i);
    tensor theirs = {.type = ours->type};
    comparison found;
    NPUC_TRY(p->info->calls->output(p->state, c->diag, i, &theirs));
    NPUC_TRY(npuc_compare(c->diag, ours, &theirs, &found));
    if (i == 0 || !(found.sqnr_db >= out_worst->sqnr_db)) *out_worst = found;
  }
  if (out_worst->sqnr_db >= bound) return NPUC_OK;
  npuc_status status = npuc_fail(c->diag, NPUC_DIAG_E0920, &(diag_place){.file = p->file},
                                 "%s answers otherwise than npuc: SQNR %.1f dB, at least %.1f wanted; its time is no comparison",
                                 p->info->title, out_worst->sqnr_db, bound);
  npuc_fix(c->diag, "npuc diff %s %s --nodes", b->model.label, p->file);
  npuc_fix(c->diag, "--sqnr DB, where the peer's model may differ more");
  return status;
}

static json_t *times_json(const bench_times *t, const bench_times *cpu) {
  return json_pack("{s:f, s:f, s:f, s:f, s:f}", "median_ms", 1e3 * t->median, "min_ms", 1e3 * t->min, "p10_ms", 1e3 * t->p10, "p90_ms",
                   1e3 * t->p90, "cpu_ms", 1e3 * cpu->median);
}

typedef struct bench_row {
  const char *engine;
  bench_times clock, cpu;
  double sqnr;
  bool is_peer;
} bench_row;

static void print_rows(const bench *b, const bench_row *rows, size_t n) {
  static const char *const header[] = {"engine", "median ms", "min ms", "p10", "p90", "cpu ms", "ratio", "ratio of min", "SQNR dB"};
  enum { COLUMNS = sizeof header / sizeof *header };
  arena *a = b->c->arena;
  const char **cells = (const char **)npuc_arena_array(a, n * COLUMNS, sizeof(char *));
  for (size_t i = 0; i < n; i++) {
    const bench_row *r = &rows[i];
    const char **cell = cells + i * COLUMNS;
    cell[0] = r->engine;
    const double times[] = {r->clock.median, r->clock.min, r->clock.p10, r->clock.p90, r->cpu.median};
    for (size_t k = 0; k < 5; k++) cell[1 + k] = npuc_arena_printf(a, "%.3f", 1e3 * times[k]);
    cell[6] = r->is_peer ? npuc_arena_printf(a, "%.2f", r->clock.median / rows[0].clock.median) : "";
    cell[7] = r->is_peer ? npuc_arena_printf(a, "%.2f", r->clock.min / rows[0].clock.min) : "";
    cell[8] = r->is_peer ? npuc_arena_printf(a, "%.1f", r->sqnr) : "";
  }
  npuc_cli_table(b->c, header, cells, n, COLUMNS, 0x1feu);
}

static json_t *peer_json(const opponent *p, const bench_row *row, const bench_row *ours, const comparison *found) {
  json_t *o = times_json(&row->clock, &row->cpu);
  json_object_set_new(o, "name", json_string(p->info->name));
  json_object_set_new(o, "version", json_string(p->version));
  json_object_set_new(o, "model", json_string(p->file));
  json_object_set_new(o, "library", json_string(p->library));
  json_object_set_new(o, "ratio", json_real(row->clock.median / ours->clock.median));
  json_object_set_new(o, "ratio_min", json_real(row->clock.min / ours->clock.min));
  json_object_set_new(o, "sqnr_db", npuc_json_number(found->sqnr_db));
  json_object_set_new(o, "max_abs", npuc_json_number(found->max_abs));
  return o;
}

static npuc_status report(bench *b) {
  cli *c = b->c;
  bench_row rows[MAX_PEERS + 1];
  npuc_status status = NPUC_OK;
  json_t *peers = json_array();
  size_t best = 0;
  for (size_t i = 0; i <= b->n_peers; i++) {
    bench_row *r = &rows[i];
    *r = (bench_row){.engine = "npuc", .is_peer = i > 0};
    r->clock = npuc_bench_times(b->lanes[i].seconds, b->rounds);
    r->cpu = npuc_bench_times(b->lanes[i].cpu_seconds, b->rounds);
    if (i == 0) continue;
    const opponent *p = &b->peers[i - 1];
    comparison found = {0};
    npuc_status compared = compare(b, p, &found);
    if (status == NPUC_OK) status = compared;
    r->engine = npuc_arena_printf(c->arena, "%s %s", p->info->title, p->version);
    r->sqnr = found.sqnr_db;
    json_array_append_new(peers, peer_json(p, r, &rows[0], &found));
    if (!best || r->clock.median < rows[best].clock.median) best = i;
  }
  json_object_update_missing_new(c->result, times_json(&rows[0].clock, &rows[0].cpu));
  if (best) {
    json_t *peer = json_array_get(peers, best - 1);
    npuc_cli_set(c, "peer", json_incref(peer));
    npuc_cli_set(c, "ratio", json_incref(json_object_get(peer, "ratio")));
    npuc_cli_set(c, "ratio_min", json_incref(json_object_get(peer, "ratio_min")));
  }
  npuc_cli_set(c, "peers", peers);
  print_rows(b, rows, b->n_peers + 1);
  for (size_t i = 0; i < b->n_peers; i++)
    if (strcmp(b->peers[i].file, b->model.path) != 0) npuc_cli_say(c, "%s ran %s\n", b->peers[i].info->title, b->peers[i].file);
  return status;
}

static npuc_status measure(bench *b) {
  cli *c = b->c;
  for (size_t i = 0; i <= b->n_peers; i++) {
    bench_lane *lane = &b->lanes[i];
    *lane = i ? (bench_lane){.run = b->peers[i - 1].info->calls->run, .state = b->peers[i - 1].state}
              : (bench_lane){.run = npuc_bench_model_run, .state = b->ours};
    lane->seconds = NPUC_NEW_ARRAY(c->arena, b->rounds, double);
    lane->cpu_seconds = NPUC_NEW_ARRAY(c->arena, b->rounds, double);
  }
  return npuc_bench_run(c->diag, &c->progress, b->lanes, b->n_peers + 1, b->rounds);
}

static npuc_status prepare(bench *b) {
  cli *c = b->c;
  long long rounds, batch;
  NPUC_TRY(npuc_cli_int(c->diag, &c->line, "--repeat", 1, 1000000, DEFAULT_ROUNDS, &rounds));
  NPUC_TRY(npuc_cli_int(c->diag, &c->line, "--batch", 1, 1 << 20, 0, &batch));
  b->rounds = (size_t)rounds;
  b->batch = batch;
  NPUC_TRY(find_peers(b));
  NPUC_TRY(npuc_model_open(c->diag, c->arena, c->line.arguments[0], &b->model));
  NPUC_TRY(b->model.kind == MODEL_NPU ? open_npu(b) : open_graph(b));
  if (b->npu) NPUC_TRY(npuc_bench_model_open(c->diag, c->arena, c->pool, NULL, b->npu, b->inputs, &b->ours));
  for (size_t i = 0; i < b->n_peers; i++) {
    if (!b->peers[i].file) NPUC_TRY(default_file(b, &b->peers[i].file));
    NPUC_TRY(open_peer(b, &b->peers[i]));
  }
  return NPUC_OK;
}

static npuc_status clean(bench *b, npuc_status status) {
  for (size_t i = 0; i < b->n_peers; i++) b->peers[i].info->calls->close(b->peers[i].state);
  npuc_bench_model_close(b->ours);
  npuc_npu_engine_close(b->npu);
  npuc_cli_release_inputs(b->inputs, b->n_inputs);
  npuc_model_close(&b->model);
  npuc_status removed = b->folder ? npuc_path_remove(b->c->diag, b->folder) : NPUC_OK;
  return status == NPUC_OK ? removed : status;
}

static npuc_status run(cli *c) {
  bench b = {.c = c};
  npuc_status status = prepare(&b);
  if (status == NPUC_OK) {
    npuc_cli_set(c, "model", json_string(b.model.path));
    npuc_cli_set(c, "batch", json_integer(b.n_inputs && b.inputs[0].shape.rank > 0 ? b.inputs[0].shape.dims[0] : 1));
    npuc_cli_set(c, "threads", json_integer((json_int_t)npuc_pool_threads(c->pool)));
    npuc_cli_set(c, "repeat", json_integer((json_int_t)b.rounds));
    status = measure(&b);
  }
  if (status == NPUC_OK) status = report(&b);
  return clean(&b, status);
}

static const option options[] = {
    {"--against", 0, OPTION_LIST, "PEER[=FILE]", "onnxruntime or openvino, in turns with npuc; FILE: what the peer runs instead of MODEL"},
    {"--batch", 0, OPTION_VALUE, "N", "samples in one run (default: as the model says, a symbolic batch is 1)"},
    {"--repeat", 0, OPTION_VALUE, "N", "rounds that are counted (default 20)"},
    {"--dim", 0, OPTION_LIST, "SYMBOL=N", "the number of a symbolic dim"},
    {"--python", 0, OPTION_VALUE, "ENV", "the Python environment (or its interpreter) that has the peers' packages"},
    {"--sqnr", 0, OPTION_VALUE, "DB", "how near the peer's answers must be (default 60; 10 where integers or two files are compared)"},
};
static const option_group group = {"Bench", options, sizeof options / sizeof *options};
static const option_group *const groups[] = {&group, NULL};
static const char *const examples[] = {"npuc bench examples/demo/model.onnx --batch 8 --threads 1",
                                       "npuc bench build/demo@quantize --batch 8 --repeat 5", NULL};

const command npuc_command_bench = {.name = "bench",
                                    .arguments = "MODEL",
                                    .purpose = "time a model, alone or in turns with other engines",
                                    .min_arguments = 1,
                                    .max_arguments = 1,
                                    .groups = groups,
                                    .examples = examples,
                                    .run = run};
