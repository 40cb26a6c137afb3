/* SPDX-License-Identifier: Apache-2.0 */
#include "report/graph_view.h"

#include <math.h>
#include <string.h>

#include "base/map.h"
#include "report/format.h"
#include "report/layered.h"

/* Sizes in pixels at zoom 1. Beyond LARGEST_STATIC nodes a picture of all is of no use on paper or screen. */
enum { NODE_HEIGHT = 42, RANK_HEIGHT = 78, MARGIN = 24, LARGEST_STATIC = 300, LEAST_WIDTH = 84, MOST_WIDTH = 210 };

/* A box: a node, or an input or output of the graph. */
typedef struct box {
  const char *title, *name;
  const char *class; /* npu, host, port, or "" */
  const json_t *node;
} box;

typedef struct drawing {
  arena *a;
  box *boxes;
  layered_graph layout;
  size_t edges_capacity;
  const char **values; /* by edge: the value's name */
  size_t values_capacity;
} drawing;

/* -- boxes and edges -- */

static double text_width(const char *text, double each) {
  size_t n = 0;
  for (const char *s = text; *s; s++) n += ((unsigned char)*s & 0xC0) != 0x80;
  return (double)n * each;
}

static double box_width(const box *b) {
  double width = fmax(text_width(b->title, 7.6), text_width(b->name, 6.2)) + 22;
  return width < LEAST_WIDTH ? LEAST_WIDTH : width > MOST_WIDTH ? MOST_WIDTH : ceil(width);
}

static void add_box(drawing *w, const box *b) {
  w->boxes[w->layout.n_nodes] = *b;
  w->layout.nodes[w->layout.n_nodes++].width = box_width(b);
}

static void add_edge(drawing *w, size_t from, size_t to, const char *value) {
  layered_graph *g = &w->layout;
  g->edges = npuc_arena_grow(w->a, g->edges, g->n_edges, g->n_edges + 1, sizeof *g->edges, &w->edges_capacity);
  w->values = npuc_arena_grow(w->a, w->values, g->n_edges, g->n_edges + 1, sizeof *w->values, &w->values_capacity);
  w->values[g->n_edges] = value;
  g->edges[g->n_edges++] = (layered_edge){.from = (int32_t)from, .to = (int32_t)to};
}

/* Box numbers plus one, since a map holds no NULL. */
static void *as_pointer(size_t i) { return (void *)(uintptr_t)(i + 1); }
static bool find_box(const map *makers, const char *value, size_t *out_box) {
  void *found = *value ? npuc_map_get(makers, value) : NULL;
  *out_box = (size_t)(uintptr_t)found - 1;
  return found != NULL;
}

static void read_values(drawing *w, const map *makers, const json_t *names, size_t to) {
  size_t i, from;
  const json_t *name;
  json_array_foreach(names, i, name) {
    const char *value = json_string_value(name);
    if (value && find_box(makers, value, &from) && from < to) add_edge(w, from, to, value);
  }
}

static void build(drawing *w, const json_t *graph) {
  const json_t *nodes = json_object_get(graph, "nodes"), *inputs = json_object_get(graph, "inputs"),
               *outputs = json_object_get(graph, "outputs"), *one, *made;
  size_t i, k, most = json_array_size(nodes) + json_array_size(inputs) + json_array_size(outputs);
  map *makers = npuc_map_create(w->a);
  w->boxes = NPUC_NEW_ARRAY(w->a, most + 1, box);
  w->layout.nodes = NPUC_NEW_ARRAY(w->a, most + 1, layered_node);
  json_array_foreach(inputs, i, one) {
    npuc_map_put(makers, json_string_value(one), as_pointer(w->layout.n_nodes));
    add_box(w, &(box){.title = "input", .name = json_string_value(one), .class = "port"});
  }
  json_array_foreach(nodes, i, one) {
    size_t to = w->layout.n_nodes;
    const char *place = npuc_json_member_text(one, "place");
    const char *class = strcmp(place, "npu") == 0 || strcmp(place, "host") == 0 ? place : "plain";
    add_box(w, &(box){.title = npuc_json_member_text(one, "op"), .name = npuc_json_member_text(one, "name"), .class = class, .node = one});
    read_values(w, makers, json_object_get(one, "inputs"), to);
    json_array_foreach(json_object_get(one, "outputs"), k, made) if (*json_string_value(made))
        npuc_map_put(makers, json_string_value(made), as_pointer(to));
  }
  json_array_foreach(outputs, i, one) {
    size_t to = w->layout.n_nodes, from;
    add_box(w, &(box){.title = "output", .name = json_string_value(one), .class = "port"});
    if (find_box(makers, json_string_value(one), &from)) add_edge(w, from, to, json_string_value(one));
  }
}

static double x_of(double x) { return floor(x + 0.5) + MARGIN; }
static double y_of(int32_t rank) { return (double)rank * RANK_HEIGHT + MARGIN; } /* upper edge */
static double width_of(const drawing *w) { return ceil(w->layout.width) + 2 * MARGIN; }
static double height_of(const drawing *w) { return y_of(w->layout.n_ranks ? w->layout.n_ranks - 1 : 0) + NODE_HEIGHT + MARGIN; }

/* -- SVG -- */

static void point(markup *m, const char *before, double x, double y) {
  npuc_markup_raw(m, before);
  npuc_markup_number(m, x);
  npuc_markup_raw(m, " ");
  npuc_markup_number(m, y);
}

/* From rank to rank a curve that leaves and arrives upright; through a rank of others a straight line. */
static void edge_path(markup *m, const drawing *w, const layered_edge *e) {
  const layered_node *from = &w->layout.nodes[e->from], *to = &w->layout.nodes[e->to];
  double x = x_of(from->x), y = y_of(from->rank) + NODE_HEIGHT;
  point(m, "M", x, y);
  for (int32_t k = 0; k <= e->n_bends; k++) {
    double next_x = x_of(k < e->n_bends ? e->bends[k] : to->x), next_y = y_of(k < e->n_bends ? from->rank + 1 + k : to->rank);
    double middle = (y + next_y) / 2;
    if (next_x == x) {
      npuc_markup_raw(m, "V");
      npuc_markup_number(m, next_y);
    } else {
      point(m, "C", x, middle);
      point(m, " ", next_x, middle);
      point(m, " ", next_x, next_y);
    }
    x = next_x;
    y = next_y;
    if (k < e->n_bends) {
      y += NODE_HEIGHT;
      npuc_markup_raw(m, "V");
      npuc_markup_number(m, y);
    }
  }
}

static const char *shortened(arena *a, const char *text, double width, double each) {
  size_t most = (size_t)((width - 14) / each), n = 0, bytes = 0;
  if (text_width(text, 1) <= (double)most) return text;
  for (const char *s = text; *s && n + 1 < most; n++) {
    do s++;
    while (((unsigned char)*s & 0xC0) == 0x80);
    bytes = (size_t)(s - text);
  }
  return npuc_arena_printf(a, "%.*s\xe2\x80\xa6", (int)bytes, text);
}

static void draw_box(markup *m, const drawing *w, size_t i) {
  const box *b = &w->boxes[i];
  const layered_node *n = &w->layout.nodes[i];
  double left = x_of(n->x) - n->width / 2, top = y_of(n->rank);
  npuc_markup_print(m, "<g><title>%s %s</title><rect class=\"%s\" rx=\"5\" x=\"", b->title, b->name, b->class);
  npuc_markup_number(m, left);
  npuc_markup_raw(m, "\" y=\"");
  npuc_markup_number(m, top);
  npuc_markup_raw(m, "\" width=\"");
  npuc_markup_number(m, n->width);
  npuc_markup_print(m, "\" height=\"%d\"/><text x=\"", NODE_HEIGHT);
  npuc_markup_number(m, x_of(n->x));
  npuc_markup_raw(m, "\" y=\"");
  npuc_markup_number(m, top + 18);
  npuc_markup_print(m, "\">%s</text><text class=\"name\" x=\"", shortened(w->a, b->title, n->width, 7.6));
  npuc_markup_number(m, x_of(n->x));
  npuc_markup_raw(m, "\" y=\"");
  npuc_markup_number(m, top + 33);
  npuc_markup_print(m, "\">%s</text></g>\n", shortened(w->a, b->name, n->width, 6.2));
}

static void draw(markup *m, const drawing *w, const char *name) {
  if (w->layout.n_nodes > LARGEST_STATIC) {
    npuc_markup_print(
        m, "<p class=\"static\">%zu nodes: the viewer of this graph needs a script; the tables list every node without one.</p>\n",
        w->layout.n_nodes);
    return;
  }
  npuc_markup_raw(m, "<div class=\"static\" tabindex=\"0\" role=\"region\" aria-label=\"Picture of the graph\"><svg width=\"");
  npuc_markup_number(m, width_of(w));
  npuc_markup_raw(m, "\" height=\"");
  npuc_markup_number(m, height_of(w));
  npuc_markup_print(m, "\" role=\"img\" aria-label=\"Graph %s, %zu nodes\">\n<path d=\"", name, w->layout.n_nodes);
  for (size_t e = 0; e < w->layout.n_edges; e++) edge_path(m, w, &w->layout.edges[e]);
  npuc_markup_raw(m, "\"/>\n");
  for (size_t i = 0; i < w->layout.n_nodes; i++) draw_box(m, w, i);
  npuc_markup_raw(m, "</svg></div>\n");
}

/* -- data for the viewer -- */

/* What the report knows of nodes, by name. */
typedef struct facts {
  map *layers, *parity, *histograms; /* name -> json_t *; histograms: of an activation, name -> index + 1 */
  double cycles;
} facts;

static map *index_by(arena *a, const json_t *list, const char *key) {
  map *m = npuc_map_create(a);
  size_t i;
  json_t *entry;
  json_array_foreach(list, i, entry) {
    const char *name = npuc_json_member_text(entry, key);
    if (*name && !npuc_map_get(m, name)) npuc_map_put(m, name, entry);
  }
  return m;
}

static map *index_histograms(arena *a, const json_t *list) {
  map *m = npuc_map_create(a);
  size_t i;
  const json_t *entry;
  json_array_foreach(list, i, entry) npuc_map_put(m, npuc_json_member_text(entry, "tensor"), as_pointer(i));
  return m;
}

static void set_member(json_t *o, const char *key, const json_t *from, const char *member) {
  json_t *v = json_object_get(from, member);
  if (v) json_object_set(o, key, v);
}

static void show_histogram(json_t *list, const facts *f, const char *value) {
  void *found = npuc_map_get(f->histograms, value);
  if (found) json_array_append_new(list, json_integer((json_int_t)(uintptr_t)found - 1));
}

static void add_facts(json_t *o, const facts *f, const json_t *node) {
  static const char *const members[] = {"cycles", "array_busy", "vector_busy", "dma_busy", "utilization"};
  const char *name = npuc_json_member_text(node, "name");
  const json_t *layer = npuc_map_get(f->layers, name), *parity = npuc_map_get(f->parity, name);
  for (size_t k = 0; layer && k < sizeof members / sizeof *members; k++) set_member(o, members[k], layer, members[k]);
  if (layer && f->cycles > 0) json_object_set_new(o, "share", json_real(npuc_json_member(layer, "cycles") / f->cycles));
  set_member(o, "sqnr_db", parity, "sqnr_db");
  set_member(o, "fall_db", parity, "fall_db");
  json_t *shown = json_array();
  size_t i;
  const json_t *value;
  json_array_foreach(json_object_get(node, "outputs"), i, value) show_histogram(shown, f, json_string_value(value));
  const char *weights = json_string_value(json_array_get(json_object_get(node, "inputs"), 1));
  if (weights) show_histogram(shown, f, weights);
  if (json_array_size(shown)) json_object_set(o, "histograms", shown);
  json_decref(shown);
}

static json_t *box_json(const drawing *w, size_t i, const facts *f) {
  const box *b = &w->boxes[i];
  const layered_node *n = &w->layout.nodes[i];
  json_t *o = b->node ? json_copy((json_t *)(uintptr_t)b->node) : json_object();
  json_object_set_new(o, "x", json_real(x_of(n->x)));
  json_object_set_new(o, "y", json_real(y_of(n->rank)));
  json_object_set_new(o, "w", json_real(n->width));
  if (b->node) {
    if (f) add_facts(o, f, b->node);
    return o;
  }
  json_object_set_new(o, "name", json_string(b->name));
  json_object_set_new(o, "op", json_string(b->title));
  json_object_set_new(o, "port", json_true());
  json_object_set_new(o, strcmp(b->title, "input") == 0 ? "outputs" : "inputs", json_pack("[s]", b->name));
  return o;
}

static json_t *edge_json(const drawing *w, size_t e) {
  const layered_edge *edge = &w->layout.edges[e];
  json_t *o = json_pack("[i, i, s]", (int)edge->from, (int)edge->to, w->values[e]);
  for (int32_t k = 0; k < edge->n_bends; k++) json_array_append_new(o, json_integer((json_int_t)x_of(edge->bends[k])));
  return o;
}

static json_t *view_json(const drawing *w, const json_t *graph, const facts *f) {
  json_t *boxes = json_array(), *edges = json_array();
  for (size_t i = 0; i < w->layout.n_nodes; i++) json_array_append_new(boxes, box_json(w, i, f));
  for (size_t e = 0; e < w->layout.n_edges; e++) json_array_append_new(edges, edge_json(w, e));
  return json_pack("{s:f, s:f, s:i, s:i, s:o, s:o, s:O}", "width", width_of(w), "height", height_of(w), "node_height", NODE_HEIGHT,
                   "rank_height", RANK_HEIGHT, "nodes", boxes, "edges", edges, "values", json_object_get(graph, "values"));
}

void npuc_graph_view(markup *m, const json_t *graph, const json_t *report) {
  drawing w = {.a = npuc_arena_create(), .layout = {.gap = 26}};
  build(&w, graph);
  npuc_layered_layout(w.a, &w.layout);
  npuc_markup_raw(m, "<div class=\"graph\">\n");
  draw(m, &w, npuc_json_member_text(graph, "name"));
  facts f = {0};
  if (report)
    f = (facts){.layers = index_by(w.a, json_object_get(report, "layers"), "name"),
                .parity = index_by(w.a, json_object_get(json_object_get(report, "parity"), "nodes"), "node"),
                .histograms = index_histograms(w.a, json_object_get(report, "histograms")),
                .cycles = npuc_json_member(report, "cycles")};
  json_t *data = view_json(&w, graph, report ? &f : NULL);
  npuc_markup_raw(m, "<script type=\"application/json\">");
  npuc_markup_json(m, data);
  npuc_markup_raw(m, "</script>\n</div>\n");
  json_decref(data);
  npuc_arena_destroy(w.a);
}
