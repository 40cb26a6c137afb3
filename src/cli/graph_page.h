/* SPDX-License-Identifier: Apache-2.0 */
/* `inspect --graph`: the page of a model's graphs. */
#ifndef NPUC_CLI_GRAPH_PAGE_H
#define NPUC_CLI_GRAPH_PAGE_H

#include "cli/cli.h"

/* parts: of npuc_graph_json; its reference is taken. */
npuc_status npuc_cli_graph_page(cli *c, json_t *parts, const char *file) NPUC_MUST_USE;

#endif
