/* SPDX-License-Identifier: Apache-2.0 */
/* npuc profile MODEL: where the time goes. A graph is measured in the executor, step by step; a .npu program's cycles come from the simulator's timing. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/inputs.h"
#include "cli/trace_files.h"
#include "report/machine.h"
#include "stages/npu_engine.h"
#include "stages/profile.h"

enum { DEFAULT_RUNS = 20, DEFAULT_TOP = 30 };

static const char *share_text(arena *a, double part, double whole) {
  return npuc_arena_printf(a, "%.1f %%", whole > 0 ? 100.0 * part / whole : 0.0);
}

static const char *rate_text(arena *a, double macs, double seconds) {
  return macs > 0 && seconds > 0 ? npuc_arena_printf(a, "%.1f", macs / seconds * 1e-9) : "";
}

/* -- graphs -- */

static int slower_first(const void *x, const void *y) {
  const profile_step *const *a = x, *const *b = y;
  if ((*a)->seconds != (*b)->seconds) return ((*a)->seconds < (*b)->seconds) - ((*a)->seconds > (*b)->seconds);
  return (*a > *b) - (*a < *b);
}

static void say_steps(cli *c, const profile *p, size_t top) {
  static const char *const header[] = {"slowest steps", "operators", "ms", "share", "GMAC/s", "live KiB"};
  cli_rows rows = {.c = c, .header = header, .columns = 6, .right_mask = 0x3c};
  const profile_step **steps = (const profile_step **)npuc_arena_array(c->arena, p->n_steps + 1, sizeof *steps);
  double sum = 0;
  for (size_t i = 0; i < p->n_steps; i++) steps[i] = &p->steps[i], sum += p->steps[i].seconds;
  qsort((void *)steps, p->n_steps, sizeof *steps, slower_first);
  for (size_t i = 0; i < p->n_steps && i < top; i++) {
    const profile_step *s = steps[i];
    npuc_cli_row(&rows, s->name, s->ops, npuc_arena_printf(c->arena, "%.3f", 1e3 * s->seconds), share_text(c->arena, s->seconds, sum),
                 rate_text(c->arena, s->macs, s->seconds), npuc_arena_printf(c->arena, "%.1f", (double)s->live_bytes / 1024));
  }
  npuc_cli_rows_print(&rows);
  if (p->n_steps > top) npuc_cli_say(c, "and %zu more; --top %zu shows all\n", p->n_steps - top, p->n_steps);
}

static void say_kinds(cli *c, const profile *p) {
  static const char *const header[] = {"operators", "steps", "ms", "share", "GMAC/s"};
  cli_rows rows = {.c = c, .header = header, .columns = 5, .right_mask = 0x1e};
  profile_kind *kinds;
  size_t n = npuc_profile_kinds(c->arena, p, &kinds);
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += kinds[i].seconds;
  for (size_t i = 0; i < n; i++)
    npuc_cli_row(&rows, kinds[i].ops, npuc_arena_printf(c->arena, "%zu", kinds[i].steps),
                 npuc_arena_printf(c->arena, "%.3f", 1e3 * kinds[i].seconds), share_text(c->arena, kinds[i].seconds, sum),
                 rate_text(c->arena, kinds[i].macs, kinds[i].seconds));
  npuc_cli_rows_print(&rows);
}

static npuc_status profile_model(cli *c, opened_model *m, trace_files *traces) {
  long long runs, top, batch;
  graph *g = m->module->graphs[0];
  tensor *inputs = NULL;
  profile p = {0};
  bool changed;
  NPUC_TRY(npuc_cli_int(c->diag, &c->line, "--repeat", 1, 100000, DEFAULT_RUNS, &runs));
  NPUC_TRY(npuc_cli_int(c->diag, &c->line, "--top", 1, 1 << 30, DEFAULT_TOP, &top));
  NPUC_TRY(npuc_cli_int(c->diag, &c->line, "--batch", 1, 1 << 20, 0, &batch));
  NPUC_TRY(npuc_cli_bind_batch(c, m->module, batch, &changed));
  npuc_graph_forget_shapes(g); /* MACs are those of the dims that are bound now */
  NPUC_TRY(npuc_graph_infer(c->diag, g));
  npuc_status status = npuc_cli_graph_inputs(c, m, &inputs);
  if (status == NPUC_OK) status = npuc_profile_graph(c->diag, c->arena, &c->progress, c->pool, g, inputs, (size_t)runs, &p);
  npuc_cli_release_inputs(inputs, g->n_inputs);
  NPUC_TRY(status);
  npuc_cli_set(c, "engine", json_string("executor"));
  npuc_cli_set(c, "threads", json_integer((json_int_t)npuc_pool_threads(c->pool)));
  npuc_profile_json(&p, c->result);
  npuc_cli_say(c, "%s: %.3f ms a run (median of %zu, %zu thread%s), %zu steps, %.1f KiB of activations\n\n", m->label, 1e3 * p.seconds,
               p.runs, npuc_pool_threads(c->pool), npuc_pool_threads(c->pool) == 1 ? "" : "s", p.n_steps, (double)p.memory_bytes / 1024);
  say_kinds(c, &p);
  npuc_cli_say(c, "\n");
  say_steps(c, &p, (size_t)top);
  if (!traces->files[0]) return NPUC_OK;
  trace *t = npuc_trace_create(c->arena, m->label);
  npuc_profile_trace(&p, t);
  return npuc_cli_write_trace(traces, 0, t);
}

/* -- programs -- */

static void say_layers(cli *c) {
  static const char *const header[] = {"node", "operator", "cycles", "share", "used", "scratchpad KiB"};
  cli_rows rows = {.c = c, .header = header, .columns = 6, .right_mask = 0x3c};
  json_t *layers = json_object_get(c->result, "layers"), *steps = json_object_get(json_object_get(c->result, "memory"), "steps"), *layer,
         *step;
  double total = json_number_value(json_object_get(c->result, "cycles"));
  size_t i, k;
  json_array_foreach(layers, i, layer) {
    const char *name = json_string_value(json_object_get(layer, "name"));
    const char *bytes = "";
    json_array_foreach(steps, k, step) if (strcmp(json_string_value(json_object_get(step, "node")), name) == 0) bytes =
        npuc_arena_printf(c->arena, "%.1f", json_number_value(json_object_get(step, "bytes")) / 1024);
    double cycles = json_number_value(json_object_get(layer, "cycles"));
    npuc_cli_row(&rows, name, json_string_value(json_object_get(layer, "op")), npuc_arena_printf(c->arena, "%.0f", cycles),
                 share_text(c->arena, cycles, total),
                 npuc_arena_printf(c->arena, "%.1f %%", 100 * json_number_value(json_object_get(layer, "utilization"))), bytes);
  }
  npuc_cli_rows_print(&rows);
}

/* The streams' events, and the scratchpad as a counter at the cycle in which each node began. */
static npuc_status trace_streams(cli *c, const npuc_program *p, trace_files *traces) {
  const npu_program *plan = p->programs[0];
  json_t *steps = json_object_get(json_object_get(c->result, "memory"), "steps"), *step;
  for (size_t i = 0; i < plan->n_streams && traces->files[i]; i++) {
    static const uint32_t registers[NPU_REGISTERS];
    npu_report report;
    trace *t = NULL;
    size_t k;
    NPUC_TRY(npuc_npu_report(c->diag, c->arena, p->graph, plan, &plan->streams[i], registers, &t, &report));
    for (size_t at = 0; at < report.n_layers; at++) {
      const npu_layer_cost *layer = &report.layers[at];
      json_array_foreach(steps, k,
                         step) if (strcmp(json_string_value(json_object_get(step, "node")), p->graph->nodes[layer->node].name) == 0)
          npuc_trace_counter(t, "scratchpad", "bytes", (double)layer->first, json_number_value(json_object_get(step, "bytes")));
    }
    NPUC_TRY(npuc_cli_write_trace(traces, i, t));
  }
  return NPUC_OK;
}

static npuc_status profile_program(cli *c, npu_engine *e, trace_files *traces) {
  const npuc_program *p = e->program;
  json_t *memory = NULL;
  NPUC_TRY(npuc_machine_json(c->diag, c->arena, p->graph, p->programs[0], c->result));
  NPUC_TRY(npuc_scratchpad_json(c->diag, c->arena, p->graph, &p->programs[0]->arch, &memory));
  npuc_cli_set(c, "engine", json_string("simulator"));
  npuc_cli_set(c, "target", json_string(p->programs[0]->arch.name));
  npuc_cli_set(c, "memory", memory);
  npuc_cli_say(c, "%s: %.0f cycles, array used %.1f %%, scratchpad of %.0f KiB\n\n", p->programs[0]->arch.name,
               json_number_value(json_object_get(c->result, "cycles")), 100 * json_number_value(json_object_get(c->result, "utilization")),
               json_number_value(json_object_get(memory, "capacity")) / 1024);
  say_layers(c);
  return trace_streams(c, p, traces);
}

static npuc_status run(cli *c) {
  opened_model m;
  npu_engine *npu = NULL;
  trace_files traces = {0};
  NPUC_TRY(npuc_model_open(c->diag, c->arena, c->line.arguments[0], &m));
  npuc_status status = m.kind == MODEL_NPU ? npuc_npu_engine_open(c->diag, c->arena, m.path, "simulator", &npu) : NPUC_OK;
  if (status == NPUC_OK) status = npuc_cli_open_traces(c, npu ? npu->program->programs[0]->n_streams : 1, &traces);
  if (status == NPUC_OK) status = npu ? profile_program(c, npu, &traces) : profile_model(c, &m, &traces);
  npuc_cli_close_traces(&traces);
  npuc_npu_engine_close(npu);
  npuc_model_close(&m);
  return status;
}

static const option options[] = {
    {"--input", 'i', OPTION_LIST, "NAME=FILE.npy", "an input; those not named are seeded random"},
    {"--dim", 0, OPTION_LIST, "SYMBOL=N", "the number of a symbolic dim"},
    {"--batch", 0, OPTION_VALUE, "N", "samples in one run (default: as the model says, a symbolic batch is 1)"},
    {"--repeat", 0, OPTION_VALUE, "N", "runs, whose medians are shown (default 20; a program's cycles are exact)"},
    {"--top", 0, OPTION_VALUE, "N", "list so many steps, the slowest first (default 30; --json has all)"},
    {"--trace", 0, OPTION_VALUE, "FILE", "write what ran when, and the memory, as JSON that Perfetto opens"},
};
static const option_group group = {"Profile", options, sizeof options / sizeof *options};
static const option_group *const groups[] = {&group, NULL};
static const char *const examples[] = {"npuc profile examples/demo/model.onnx --batch 8 --threads 1",
                                       "npuc profile build/demo --trace build/demo.profile.json", NULL};

const command npuc_command_profile = {.name = "profile",
                                      .arguments = "MODEL",
                                      .purpose = "show where a run's time or cycles go, and its memory over time",
                                      .min_arguments = 1,
                                      .max_arguments = 1,
                                      .groups = groups,
                                      .examples = examples,
                                      .run = run};
