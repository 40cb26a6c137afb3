/* SPDX-License-Identifier: Apache-2.0 */
/* npuc simulate FILE.npu: the NPU's simulator; outputs, cycles, and what each layer cost. */
#include <inttypes.h>
#include <string.h>

#include "cli/inputs.h"
#include "cli/npu_view.h"
#include "cli/trace_files.h"
#include "npu/report.h"
#include "stages/open_model.h"

static const char *count_text(arena *a, uint64_t n) { return npuc_arena_printf(a, "%" PRIu64, n); }

static void add_layers(cli *c, const npuc_program *p, const npu_report *r, json_t *list, cli_rows *rows) {
  for (size_t i = 0; i < r->n_layers; i++) {
    const npu_layer_cost *l = &r->layers[i];
    const qnode *n = &p->graph->nodes[l->node];
    json_array_append_new(
        list, json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:f}", "name", n->name, "op", npuc_qop_name(n->op), "source",
                        n->source ? n->source : "", "cycles", (json_int_t)l->cycles, "array_busy", (json_int_t)l->array_busy, "vector_busy",
                        (json_int_t)l->vector_busy, "dma_busy", (json_int_t)l->dma_busy, "array_stall", (json_int_t)l->array_stall, "macs",
                        (json_int_t)l->macs, "utilization", l->utilization));
    npuc_cli_row(rows, n->name, npuc_qop_name(n->op), count_text(c->arena, l->cycles), count_text(c->arena, l->array_busy),
                 count_text(c->arena, l->vector_busy), count_text(c->arena, l->dma_busy),
                 npuc_arena_printf(c->arena, "%.1f %%", 100.0 * l->utilization));
  }
}

static npuc_status report_streams(cli *c, const npuc_program *p, trace_files *traces) {
  json_t *layers = json_array();
  npuc_cli_set(c, "layers", layers);
  const npu_program *plan = p->programs[0];
  static const char *const header[] = {"node", "operator", "cycles", "array", "vector", "dma", "used"};
  cli_rows rows = {.c = c, .header = header, .columns = 7, .right_mask = 0x7c};
  for (size_t i = 0; i < plan->n_streams; i++) {
    static const uint32_t registers[NPU_REGISTERS];
    npu_report report;
    trace *events = NULL;
    NPUC_TRY(npuc_npu_report(c->diag, c->arena, p->graph, plan, &plan->streams[i], registers, traces->files[i] ? &events : NULL, &report));
    add_layers(c, p, &report, layers, &rows);
    if (events) NPUC_TRY(npuc_cli_write_trace(traces, i, events));
  }
  npuc_cli_rows_print(&rows);
  return NPUC_OK;
}

static npuc_status simulate(cli *c, npu_run *r, trace_files *traces) {
  npu_timing timing = {0};
  const npuc_program *p = r->engine->program;
  NPUC_TRY(npuc_npu_engine_time(r->engine, c->diag, r->input_data, r->output_data, NULL, NULL, &timing));
  json_t *outputs = json_array();
  npuc_cli_set(c, "outputs", outputs);
  for (size_t i = 0; i < r->n_outputs; i++)
    NPUC_TRY(npuc_cli_output(c, outputs, r->engine->outputs[i].name, &r->outputs[i], r->engine->outputs[i].quant));
  NPUC_TRY(report_streams(c, p, traces));
  uint32_t n = p->programs[0]->arch.n;
  double used = timing.cycles ? (double)timing.macs / ((double)timing.cycles * n * n) : 0.0;
  npuc_cli_set(c, "target", json_string(p->programs[0]->arch.name));
  npuc_cli_set(c, "cycles", json_integer((json_int_t)timing.cycles));
  npuc_cli_set(c, "macs", json_integer((json_int_t)timing.macs));
  npuc_cli_set(c, "utilization", json_real(used));
  static const char *const queues[] = {"dma0", "dma1", "array", "vector"};
  json_t *units = json_object();
  for (int q = 0; q < NPU_QUEUES; q++)
    json_object_set_new(units, queues[q],
                        json_pack("{s:I, s:I}", "busy", (json_int_t)timing.busy[q], "stalled", (json_int_t)timing.stalled[q]));
  npuc_cli_set(c, "units", units);
  size_t host = 0;
  for (size_t i = 0; i < p->graph->n_nodes; i++) host += !p->graph->nodes[i].on_npu;
  npuc_cli_set(c, "host_nodes", json_integer((json_int_t)host));
  npuc_cli_say(c, "%s: %" PRIu64 " cycles, %" PRIu64 " MACs, array used %.1f %%; %zu node%s on the host\n", p->programs[0]->arch.name,
               timing.cycles, timing.macs, 100.0 * used, host, host == 1 ? "" : "s");
  return NPUC_OK;
}

static npuc_status run(cli *c) {
  opened_model m;
  NPUC_TRY(npuc_model_find(c->diag, c->arena, c->line.arguments[0], &m));
  if (m.kind != MODEL_NPU) {
    npuc_status status =
        npuc_fail(c->diag, NPUC_DIAG_E0906, &(diag_place){.file = m.label}, "simulate runs .npu programs; this is a model");
    npuc_fix(c->diag, "npuc compile %s -t refnpu-n16 -o OUT --calib DATA", m.label);
    return status;
  }
  const char *folder = npuc_cli_value(&c->line, "--output");
  if (folder) NPUC_TRY(npuc_dir_create(c->diag, folder));
  npu_run r;
  trace_files traces = {0};
  npuc_status status = npuc_cli_npu_prepare(c, m.path, "simulator", &r);
  if (status == NPUC_OK) status = npuc_cli_open_traces(c, r.engine->program->programs[0]->n_streams, &traces);
  if (status == NPUC_OK) status = simulate(c, &r, &traces);
  npuc_cli_close_traces(&traces);
  npuc_cli_npu_finish(&r);
  return status;
}

static const option options[] = {
    {"--input", 'i', OPTION_LIST, "NAME=FILE.npy", "an input; those not named are seeded random"},
    {"--output", 'o', OPTION_VALUE, "DIR", "write each output as DIR/NAME.npy"},
    {"--trace", 0, OPTION_VALUE, "FILE", "write what each unit did when, as JSON that Perfetto opens"},
};
static const option_group group = {"Simulate", options, sizeof options / sizeof *options};
static const option_group *const groups[] = {&group, NULL};
static const char *const examples[] = {"npuc simulate build/demo", "npuc simulate build/demo --trace build/demo.trace.json", NULL};

const command npuc_command_simulate = {.name = "simulate",
                                       .arguments = "FILE.npu",
                                       .purpose = "run a program in the NPU's simulator: cycles by layer",
                                       .min_arguments = 1,
                                       .max_arguments = 1,
                                       .groups = groups,
                                       .examples = examples,
                                       .run = run};
