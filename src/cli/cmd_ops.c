/* SPDX-License-Identifier: Apache-2.0 */
/* npuc ops [NAME]: the op table. */
#include <string.h>

#include "cli/cli.h"
#include "ir/op.h"

static json_t *describe_ports(const op_port *ports, int32_t n) {
  json_t *list = json_array();
  for (int32_t i = 0; i < n; i++)
    json_array_append_new(
        list, json_pack("{s:s, s:b, s:b}", "name", ports[i].name, "optional", (int)ports[i].optional, "variadic", (int)ports[i].variadic));
  return list;
}

static json_t *describe(const op_def *op) {
  json_t *o = json_pack("{s:s, s:s, s:i, s:s}", "type", op->type, "domain", op->domain, "since_version", (int)op->since_version, "summary",
                        op->summary ? op->summary : "");
  json_object_set_new(o, "inputs", describe_ports(op->inputs, op->n_inputs));
  json_object_set_new(o, "outputs", describe_ports(op->outputs, op->n_outputs));
  json_t *attributes = json_array();
  for (int32_t i = 0; i < op->n_attributes; i++) json_array_append_new(attributes, json_string(op->attributes[i].name));
  json_object_set_new(o, "attributes", attributes);
  return o;
}

static void show(const cli *c, const op_def *op) {
  npuc_cli_say(c, "%s%s%s: %s\n", op->domain, *op->domain ? "." : "", op->type, op->summary ? op->summary : "");
  if (op->formula) npuc_cli_say(c, "  %s\n", op->formula);
  for (int32_t i = 0; i < op->n_inputs; i++)
    npuc_cli_say(c, "  input  %-14s %s%s\n", op->inputs[i].name, op->inputs[i].optional ? "(optional) " : "",
                 op->inputs[i].doc ? op->inputs[i].doc : "");
  for (int32_t i = 0; i < op->n_attributes; i++)
    npuc_cli_say(c, "  attribute %-18s %s\n", op->attributes[i].name, op->attributes[i].doc ? op->attributes[i].doc : "");
  if (op->source) npuc_cli_say(c, "  source: %s\n", op->source);
}

static npuc_status run(cli *c) {
  const char *name = c->line.n_arguments ? c->line.arguments[0] : NULL;
  json_t *list = json_array();
  cli_rows rows = {.c = c, .columns = 3};
  bool found = false;
  for (int i = 0; i < OP_COUNT; i++) {
    const op_def *op = npuc_op((op_id)i);
    if (!op || (name && strcmp(op->type, name) != 0)) continue;
    found = true;
    json_array_append_new(list, describe(op));
    if (name)
      show(c, op);
    else
      npuc_cli_row(&rows, op->domain, op->type, op->summary ? op->summary : "");
  }
  npuc_cli_rows_print(&rows);
  npuc_cli_set(c, "operators", list);
  if (found) return NPUC_OK;
  npuc_status status = npuc_fail(c->diag, NPUC_DIAG_E0104, NULL, "there is no operator '%s'", name);
  const char *near = npuc_op_nearest("", name);
  if (near) npuc_fix(c->diag, "npuc ops %s", near);
  return status;
}

static const char *const examples[] = {"npuc ops", "npuc ops Conv", NULL};

const command npuc_command_ops = {.name = "ops",
                                  .arguments = "[NAME]",
                                  .purpose = "list the operators, or show one",
                                  .max_arguments = 1,
                                  .examples = examples,
                                  .run = run};
