/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/graph_page.h"

#include "base/file.h"
#include "report/page.h"

npuc_status npuc_cli_graph_page(cli *c, json_t *parts, const char *file) {
  markup page = {0};
  json_t *document = json_object();
  json_object_set_new(document, "title", npuc_json_text(c->line.arguments[0]));
  json_object_set_new(document, "parts", parts);
  npuc_report_graph_page(document, &page);
  json_decref(document);
  npuc_status status = npuc_file_write_all(c->diag, file, page.text, page.bytes);
  npuc_markup_destroy(&page);
  if (status != NPUC_OK) return status;
  npuc_cli_set(c, "graph", json_string(file));
  npuc_cli_say(c, "graph: %s\n", file);
  return NPUC_OK;
}
