/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a model: its graphs, its operators, its nodes. */
#include "report/graph_view.h"
#include "report/page.h"
#include "report/section.h"

static size_t count_nodes(const json_t *parts) {
  size_t i, n = 0;
  const json_t *part;
  json_array_foreach(parts, i, part) n += json_array_size(json_object_get(part, "nodes"));
  return n;
}

static void operators(page *p, const json_t *part) {
  static const char *const columns[] = {"Operator", "#Nodes", "#MACs", NULL};
  json_t *counts = json_object(), *macs = json_object(), *n;
  size_t i;
  const json_t *one;
  const char *op;
  json_array_foreach(json_object_get(part, "nodes"), i, one) {
    const char *name = npuc_json_member_text(one, "op");
    double own = npuc_json_member(one, "macs"), before = json_number_value(json_object_get(macs, name));
    json_object_set_new(counts, name, json_integer(json_integer_value(json_object_get(counts, name)) + 1));
    json_object_set_new(macs, name, json_real(before + (own > 0 ? own : 0)));
  }
  npuc_table_open(p, "Operators", columns);
  json_object_foreach(counts, op, n) npuc_markup_print(
      &p->out, "<tr><th scope=\"row\">%s</th><td class=\"n\">%s</td><td class=\"n\">%s</td></tr>\n", op,
      npuc_format_count(p->arena, json_number_value(n)), npuc_format_count(p->arena, json_number_value(json_object_get(macs, op))));
  npuc_table_close(p);
  json_decref(counts);
  json_decref(macs);
}

static const char *all_names(arena *a, const json_t *names) {
  const char *text = "";
  size_t i;
  const json_t *name;
  json_array_foreach(names, i, name) text = npuc_arena_printf(a, "%s%s%s", text, i ? ", " : "", json_string_value(name));
  return text;
}

static void nodes(page *p, const json_t *part) {
  static const char *const columns[] = {"#", "Node", "Operator", "Inputs", "Outputs", "#MACs", NULL};
  const json_t *list = json_object_get(part, "nodes"), *one;
  size_t i;
  npuc_fold_open(p, "All nodes", json_array_size(list));
  npuc_table_open(p, "Nodes in order of execution", columns);
  json_array_foreach(list, i, one) npuc_markup_print(
      &p->out,
      "<tr><td class=\"n\">%zu</td><th scope=\"row\"><code>%s</code></th><td>%s</td><td><code>%s</code></td><td><code>%s</code></td><td "
      "class=\"n\">%s</td></tr>\n",
      i + 1, npuc_json_member_text(one, "name"), npuc_json_member_text(one, "op"), all_names(p->arena, json_object_get(one, "inputs")),
      all_names(p->arena, json_object_get(one, "outputs")), npuc_format_count(p->arena, npuc_json_member(one, "macs")));
  npuc_table_close(p);
  npuc_fold_close(p, json_array_size(list));
}

void npuc_report_graph_page(const json_t *document, markup *out_page) {
  page p = {.arena = npuc_arena_create()};
  const json_t *parts = json_object_get(document, "parts"), *part;
  const char *title = npuc_json_member_text(document, "title");
  size_t i, n = count_nodes(parts);
  npuc_page_open(&p.out, title);
  npuc_page_head(&p.out, "Model", npuc_base_name(title), npuc_arena_printf(p.arena, "%s nodes", npuc_format_count(p.arena, (double)n)));
  npuc_markup_raw(&p.out, "<main id=\"content\">\n");
  json_array_foreach(parts, i, part) {
    npuc_markup_print(&p.out, "<section>\n<h2>%s</h2>\n", npuc_json_member_text(part, "name"));
    npuc_graph_view(&p.out, part, NULL);
    operators(&p, part);
    nodes(&p, part);
    npuc_markup_raw(&p.out, "</section>\n");
  }
  npuc_page_close(&p.out);
  npuc_arena_destroy(p.arena);
  *out_page = p.out;
}
