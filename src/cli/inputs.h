/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs and outputs of models on the command line: -i NAME=FILE.npy, --dim, files of ports. */
#ifndef NPUC_CLI_INPUTS_H
#define NPUC_CLI_INPUTS_H

#include "cli/cli.h"
#include "ir/graph.h"
#include "stages/open_model.h"

/* DIR/NAME.npy with characters that no file name takes replaced. */
const char *npuc_cli_port_path(arena *a, const char *folder, const char *name);
/* Likewise, and none that an entry of `list` has as its "file". */
const char *npuc_cli_new_port_path(arena *a, const char *folder, const char *name, const json_t *list);
/* The file that -i names for this port (by either name), or NULL; every -i must name a port of the list, else E0921. */
npuc_status npuc_cli_input_files(cli *c, const char *const *names, const char *const *source_names, size_t n,
                                 const char **out_files) NPUC_MUST_USE;
/* Seeded random: floats uniform in [-1, 1), integers over the dtype's range (8 bits) or [0, 16). `stream` separates inputs. */
void npuc_cli_random(uint64_t seed, uint64_t stream, tensor *t);

/* Every --dim names a symbol of the module's inputs, else E0502. For commands of one model. */
npuc_status npuc_cli_check_dims(cli *c, const module *m) NPUC_MUST_USE;
/* --dim over a module's inputs; symbols left in a first axis become 1, others are an error. */
npuc_status npuc_cli_bind_dims(cli *c, module *m) NPUC_MUST_USE;
/* Both of the above with --batch: symbols of first axes become `batch`, and a first axis that is another number is changed (0: as the model says).
 * out_changed: such a number was changed. */
npuc_status npuc_cli_bind_batch(cli *c, module *m, int64_t batch, bool *out_changed) NPUC_MUST_USE;
/* One tensor for each graph input: from -i (float data is quantized for a quantized input), else random. */
npuc_status npuc_cli_graph_inputs(cli *c, const opened_model *m, tensor **out_inputs) NPUC_MUST_USE;
void npuc_cli_release_inputs(tensor *inputs, size_t n);

/* One output: JSON entry into list, text line, DIR/NAME.npy when -o. */
npuc_status npuc_cli_output(cli *c, json_t *list, const char *name, const tensor *t, const quant *q) NPUC_MUST_USE;
json_t *npuc_cli_describe_tensor(const char *name, const tensor *t, const quant *q);

#endif
