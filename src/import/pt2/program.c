/* SPDX-License-Identifier: Apache-2.0 */
/* The exported program: its signature says what each input is (parameter, buffer, constant, the user's), its nodes are translated in order,
 * its outputs are read last, when every write in place has been done. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "import/pt2/pt2.h"
#include "import/pt2/source.h"

/* -- where a node came from -- */
/* Last frame of the trace that is the user's own, else the last: `"model.py", line 12, in forward`. */
static const char *python_line(pt2_source *s, const char *trace) {
  const char *best = NULL;
  bool own = false;
  for (const char *at = trace; at && (at = strstr(at, "File ")); at += 5) {
    const char *end = strchr(at, '\n');
    size_t n = end ? (size_t)(end - at) : strlen(at);
    const char *line = npuc_arena_strn(s->scratch, at + 5, n - 5);
    bool users = !strstr(line, "torch/nn/") && !strstr(line, "torch/_") && !strstr(line, "torch/functional");
    if (best && own && !users) continue;
    best = line;
    own = users;
  }
  return best;
}

/* nn_module_stack: "key,path,class;key,path,class;..."; the innermost path. */
static const char *module_path(pt2_source *s, const char *stack) {
  if (!stack) return NULL;
  const char *last = strrchr(stack, ';');
  last = last ? last + 1 : stack;
  const char *path = strchr(last, ',');
  if (!path) return NULL;
  size_t n = strcspn(path + 1, ",");
  return n ? npuc_arena_strn(s->scratch, path + 1, n) : NULL;
}

static const location *location_of(pt2_source *s, const char *name, const char *owner, const char *python) {
  arena *a = s->m->arena;
  location *l = NPUC_NEW(a, location);
  l->name = owner ? npuc_arena_printf(a, "%s/%s", owner, name) : npuc_arena_str(a, name);
  if (!python) return l;
  const char **derived = NPUC_NEW_ARRAY(a, 1, const char *);
  derived[0] = npuc_arena_str(a, python);
  l->derived = derived;
  l->n_derived = 1;
  return l;
}

/* -- results -- */
void npuc_pt2_bind(pt2_source *s, const char *name, pt2_binding b) {
  pt2_binding *kept = NPUC_NEW(s->scratch, pt2_binding);
  *kept = b;
  npuc_map_put(s->bindings, name, kept);
}

static json_t *output(const pt2_node *n, size_t index) { return json_array_get(json_object_get(n->json, "outputs"), index); }

static const char *output_name(const pt2_node *n, size_t index) {
  return json_string_value(json_object_get(json_object_get(output(n, index), "as_tensor"), "name"));
}

/* The program's name for the value; an intermediate value that took it gives it back. */
static void take_name(pt2_node *n, value *v, const char *name) {
  if (strcmp(v->name, name) == 0 || !v->producer || v->producer->location != n->location) return;
  value *other = npuc_graph_value(n->s->g, name);
  if (other && (!other->producer || other->producer->location != n->location)) return;
  if (other) npuc_value_rename(other, npuc_graph_unique_name(n->s->g, npuc_arena_printf(n->s->scratch, "%s_i", name)));
  npuc_value_rename(v, name);
}

/* What the program says of the result against what the translation gives: a difference is a fault of the translation. */
static npuc_status check_meta(pt2_node *n, const char *name, value *v) {
  pt2_meta meta;
  NPUC_TRY(npuc_pt2_meta(n->s, name, &meta));
  bool same = v->type == meta.type && (v->shape.rank < 0 || v->shape.rank == meta.shape.rank);
  for (int32_t i = 0; same && i < v->shape.rank; i++) {
    dim a = v->shape.dims[i], b = meta.shape.dims[i];
    same = !dim_is_number(a) || !dim_is_number(b) || a == b;
  }
  if (!same) {
    char ours[128], theirs[128];
    return npuc_pt2_fail(n, NPUC_DIAG_E0338, NULL, "the translation gives %s%s for '%s', the program says %s%s", npuc_dtype_name(v->type),
                         npuc_pt2_shape_text(n->s, &v->shape, ours, sizeof ours), name, npuc_dtype_name(meta.type),
                         npuc_pt2_shape_text(n->s, &meta.shape, theirs, sizeof theirs));
  }
  if (v->producer) {
    for (int32_t i = 0; i < meta.shape.rank; i++) {
      if (v->shape.rank < 0 || !dim_is_number(v->shape.dims[i])) {
        v->shape = meta.shape;
        break;
      }
    }
  }
  return NPUC_OK;
}

static npuc_status bind_tensor(pt2_node *n, const char *name, pt2_tensor *t, bool fresh) {
  value *v;
  if (!name) return npuc_pt2_fail(n, NPUC_DIAG_E0332, NULL, "the program's node has no tensor as its output");
  NPUC_TRY(npuc_pt2_read_tensor(n, t, &v));
  NPUC_TRY(check_meta(n, name, v));
  if (fresh) take_name(n, v, name);
  npuc_pt2_bind(n->s, name, (pt2_binding){.kind = PT2_TENSOR, .tensor = t});
  return NPUC_OK;
}

static bool names(json_t *json, const char *name) {
  const char *key;
  size_t i;
  json_t *part;
  if (json_is_string(json)) return strcmp(json_string_value(json), name) == 0;
  json_array_foreach(json, i, part) if (names(part, name)) return true;
  json_object_foreach(json, key, part) if (names(part, name)) return true;
  return false;
}

bool npuc_pt2_output_is_read(pt2_node *n, size_t index) {
  const char *name = output_name(n, index);
  size_t i;
  json_t *other;
  if (!name || !name[0]) return false;
  json_array_foreach(json_object_get(n->s->body, "nodes"), i, other) {
    if (other != n->json && names(json_object_get(other, "inputs"), name)) return true;
  }
  return names(json_object_get(n->s->body, "outputs"), name);
}

npuc_status npuc_pt2_output_meta(pt2_node *n, size_t index, pt2_meta *out_meta) {
  const char *name = output_name(n, index);
  if (!name) return npuc_pt2_fail(n, NPUC_DIAG_E0332, NULL, "the program's node has no tensor as its output %zu", index);
  return npuc_pt2_meta(n->s, name, out_meta);
}

/* The result has the operand's type and shape, whatever was computed. */
static npuc_status result_in_place(pt2_node *n, value *v) {
  pt2_tensor *self;
  value *old;
  NPUC_TRY(npuc_pt2_window(n, "self", &self));
  NPUC_TRY(npuc_pt2_read_tensor(n, self, &old));
  NPUC_TRY(npuc_pt2_cast(n, v, old->type, &v));
  NPUC_TRY(npuc_pt2_expand_like(n, v, old, &v));
  NPUC_TRY(npuc_pt2_write_tensor(n, self, v));
  return output_name(n, 0) ? bind_tensor(n, output_name(n, 0), self, true) : NPUC_OK;
}

npuc_status npuc_pt2_result(pt2_node *n, value *v) {
  return n->in_place ? result_in_place(n, v) : bind_tensor(n, output_name(n, 0), npuc_pt2_own(n->s, v), true);
}
npuc_status npuc_pt2_result_tensor(pt2_node *n, pt2_tensor *t) { return bind_tensor(n, output_name(n, 0), t, true); }

npuc_status npuc_pt2_results(pt2_node *n, value *const *v, size_t count) {
  json_t *all = json_object_get(n->json, "outputs");
  for (size_t i = 0; i < json_array_size(all); i++) {
    const char *name = output_name(n, i);
    if (!name || !name[0]) continue;
    if (i >= count || !v[i]) {
      /* An output that inference does not have (saved for the backward pass): an error only when something reads it. */
      continue;
    }
    NPUC_TRY(bind_tensor(n, name, npuc_pt2_own(n->s, v[i]), true));
  }
  return NPUC_OK;
}

npuc_status npuc_pt2_result_list(pt2_node *n, pt2_tensor **list, size_t count) {
  json_t *names = json_object_get(output(n, 0), "as_tensors");
  if (!names) return npuc_pt2_fail(n, NPUC_DIAG_E0332, NULL, "the program's node has no list as its output");
  if (json_array_size(names) != count)
    return npuc_pt2_fail(n, NPUC_DIAG_E0338, NULL, "the translation gives %zu tensors, the program says %zu", count,
                         json_array_size(names));
  for (size_t i = 0; i < count; i++) {
    const char *name = json_string_value(json_object_get(json_array_get(names, i), "name"));
    if (name && name[0] && list[i]) NPUC_TRY(bind_tensor(n, name, list[i], true));
  }
  return NPUC_OK;
}

npuc_status npuc_pt2_result_int(pt2_node *n, pt2_int v) {
  json_t *o = output(n, 0), *sym = json_object_get(o, "as_sym_int");
  if (!sym) sym = json_object_get(o, "as_sym_bool");
  const char *name = json_string_value(json_object_get(sym, "as_name"));
  if (!name) return npuc_pt2_fail(n, NPUC_DIAG_E0332, NULL, "the program's node has no number as its output");
  npuc_pt2_bind(n->s, name, (pt2_binding){.kind = PT2_INT, .integer = v});
  return NPUC_OK;
}

/* -- nodes -- */
static npuc_status unknown_operator(pt2_node *n) {
  n->s->n_unknown++;
  const char *refusal = npuc_pt2_refusal(n->target);
  if (refusal) return npuc_pt2_fail(n, NPUC_DIAG_E0336, NULL, "%s", refusal); /* core: no decomposition takes it away */
  npuc_status status = npuc_pt2_fail(n, NPUC_DIAG_E0336, NULL, "npuc has no translation for this operator");
  if (strncmp(n->target, "torch.ops.aten.", 15) == 0) {
    npuc_fix(n->s->d, "export core ATen, which has fewer operators: ep = ep.run_decompositions(); torch.export.save(ep, 'model.pt2')");
  } else {
    npuc_fix(n->s->d, "export a model in which the operator is written in PyTorch's own operators");
  }
  return status;
}

static npuc_status translate(pt2_source *s, json_t *json) {
  pt2_node n = {.s = s,
                .json = json,
                .name = json_string_value(json_object_get(json, "name")),
                .target = json_string_value(json_object_get(json, "target")),
                .arguments = json_object_get(json, "inputs")};
  if (!n.target || !json_is_array(n.arguments))
    return npuc_fail(s->d, NPUC_DIAG_E0332, NULL, "a node of the program has no target or no inputs");
  if (!n.name) n.name = output_name(&n, 0); /* before schema 8.8 nodes had no names of their own */
  if (!n.name) n.name = "node";
  json_t *metadata = json_object_get(json, "metadata");
  n.python = python_line(s, json_string_value(json_object_get(metadata, "stack_trace")));
  n.location = location_of(s, n.name, module_path(s, json_string_value(json_object_get(metadata, "nn_module_stack"))), n.python);
  pt2_translator *translator = npuc_pt2_translator(&n);
  if (!translator) return unknown_operator(&n);
  if (s->n_unknown) return NPUC_UNSUPPORTED; /* what follows may lack its inputs: only the other unknown operators are of interest */
  NPUC_TRY(translator(&n));
  return npuc_pt2_check_used(&n);
}

npuc_status npuc_pt2_nodes(pt2_source *s, json_t *body) {
  size_t i;
  json_t *json;
  npuc_status unknown = NPUC_OK;
  json_t *outer = s->body;
  s->body = body;
  json_array_foreach(json_object_get(body, "nodes"), i, json) {
    npuc_status status = translate(s, json);
    if (status != NPUC_OK) unknown = status;
    if (status != NPUC_OK && !(status == NPUC_UNSUPPORTED && s->n_unknown)) break;
  }
  s->body = outer;
  return unknown;
}

/* -- inputs -- */
static npuc_status bind_payload(pt2_source *s, const char *name, const char *payload) {
  tensor t;
  if (!name || !payload) return npuc_fail(s->d, NPUC_DIAG_E0332, NULL, "an input of the program's signature has no name");
  NPUC_TRY(npuc_pt2_payload(s, payload, &t));
  value *v = npuc_graph_add_constant(s->g, npuc_graph_unique_name(s->g, payload), &t);
  npuc_tensor_release(&t);
  pt2_meta meta;
  NPUC_TRY(npuc_pt2_meta(s, name, &meta));
  if (v->type != meta.type || !npuc_shape_equal(&v->shape, &meta.shape)) {
    diag_place place = {.node = payload};
    return npuc_fail(s->d, NPUC_DIAG_E0332, &place, "the archive's tensor has another type or shape than the program says");
  }
  npuc_pt2_bind(s, name, (pt2_binding){.kind = PT2_TENSOR, .tensor = npuc_pt2_port(s, npuc_arena_str(s->scratch, payload), v)});
  return NPUC_OK;
}

static npuc_status bind_user_tensor(pt2_source *s, const char *name) {
  pt2_meta meta;
  NPUC_TRY(npuc_pt2_meta(s, name, &meta));
  if (npuc_graph_value(s->g, name)) {
    diag_place place = {.node = name};
    return npuc_fail(s->d, NPUC_DIAG_E0332, &place, "two inputs of the program have this name");
  }
  value *v = npuc_graph_add_input(s->g, npuc_graph_unique_name(s->g, name), meta.type, &meta.shape);
  npuc_pt2_bind(s, name, (pt2_binding){.kind = PT2_TENSOR, .tensor = npuc_pt2_port(s, npuc_arena_str(s->scratch, name), v)});
  return NPUC_OK;
}

static npuc_status bind_user_int(pt2_source *s, const char *name) {
  shape one = {.rank = 1, .dims = {1}};
  value *v = npuc_graph_add_input(s->g, npuc_graph_unique_name(s->g, name), DTYPE_I64, &one);
  npuc_pt2_bind(s, name, (pt2_binding){.kind = PT2_INT, .integer = {.value = v}});
  return NPUC_OK;
}

static const char *tensor_name(json_t *spec) { return json_string_value(json_object_get(json_object_get(spec, "arg"), "name")); }

static npuc_status bind_input(pt2_source *s, json_t *entry) {
  json_t *spec;
  if ((spec = json_object_get(entry, "parameter")))
    return bind_payload(s, tensor_name(spec), json_string_value(json_object_get(spec, "parameter_name")));
  if ((spec = json_object_get(entry, "buffer")))
    return bind_payload(s, tensor_name(spec), json_string_value(json_object_get(spec, "buffer_name")));
  if ((spec = json_object_get(entry, "tensor_constant")))
    return bind_payload(s, tensor_name(spec), json_string_value(json_object_get(spec, "tensor_constant_name")));
  if (json_object_get(entry, "constant_input")) return NPUC_OK; /* a Python number that tracing has put into the graph */
  if ((spec = json_object_get(entry, "custom_obj"))) {
    json_t *arg = json_object_get(spec, "arg");
    diag_place place = {.node = json_string_value(json_object_get(arg, "name"))};
    return npuc_fail(s->d, NPUC_DIAG_E0336, &place, "the program uses an object of the class %s, which only its own library can run",
                     json_string_value(json_object_get(arg, "class_fqn")));
  }
  spec = json_object_get(json_object_get(entry, "user_input"), "arg");
  const char *name = json_string_value(json_object_get(json_object_get(spec, "as_tensor"), "name"));
  const char *number = json_string_value(json_object_get(json_object_get(spec, "as_sym_int"), "as_name"));
  if (name) return bind_user_tensor(s, name);
  if (number) return bind_user_int(s, number);
  if (json_is_object(spec)) return NPUC_OK; /* None, a number, a text: constants of the trace */
  return npuc_fail(s->d, NPUC_DIAG_E0332, NULL, "an input of the program's signature is of a kind that npuc does not know");
}

/* -- outputs -- */
/* Takes the name from a value inside the graph that has it; false where an input or another output has it. */
static bool free_name(pt2_source *s, const char *name) {
  value *other = npuc_graph_value(s->g, name);
  if (other && (!other->producer || other->is_output)) return false;
  if (other) npuc_value_rename(other, npuc_graph_unique_name(s->g, npuc_arena_printf(s->scratch, "%s_i", name)));
  return true;
}

/* `v` as the next output called `name`: an input, a constant and what is an output already are wrapped. */
void npuc_pt2_add_output(pt2_source *s, value *v, const char *name) {
  assert(v);
  bool own = strcmp(v->name, name) == 0;
  bool named = own || free_name(s, name);
  if (v->producer && !v->is_output && !own && named) npuc_value_rename(v, name);
  if (!v->producer || v->is_output) {
    node *wrap = npuc_graph_insert_node(s->g, NULL, npuc_op(OP_IDENTITY), npuc_graph_unique_name(s->g, name), &v, 1, 1, NULL);
    wrap->outputs[0]->type = v->type;
    wrap->outputs[0]->shape = v->shape;
    v = wrap->outputs[0];
  }
  npuc_graph_add_output(s->g, v);
}

static npuc_status read_binding(pt2_source *s, const char *name, value **out) {
  const pt2_binding *b = name ? npuc_map_get(s->bindings, name) : NULL;
  diag_place place = {.node = name};
  *out = NULL;
  if (!b && json_object_get(s->metas, name ? name : "")) /* of a node that inference gives fewer results, such as a pool's indices */
    return npuc_fail(s->d, NPUC_DIAG_E0336, &place, "this output of the program is a result that npuc does not compute");
  if (b && b->kind == PT2_COMPLEX)
    return npuc_fail(s->d, NPUC_DIAG_E0334, &place, "an output of the program is complex; give its parts (torch.view_as_real)");
  if (!b || b->kind == PT2_LIST || b->kind == PT2_NOTHING)
    return npuc_fail(s->d, NPUC_DIAG_E0332, &place, "an output of the program is defined nowhere");
  pt2_node reading = {.s = s, .name = name, .target = "output"};
  if (b->kind == PT2_TENSOR) return npuc_pt2_read_tensor(&reading, b->tensor, out);
  *out = b->integer.value ? b->integer.value : npuc_pt2_constant_ints(&reading, &b->integer.number, 1);
  return NPUC_OK;
}

static npuc_status user_output(pt2_source *s, json_t *arg) {
  const char *name = json_string_value(json_object_get(json_object_get(arg, "as_tensor"), "name"));
  if (!name) name = json_string_value(json_object_get(json_object_get(arg, "as_sym_int"), "as_name"));
  if (!name) {
    if (!json_object_get(arg, "as_none"))
      npuc_note(s->d, NPUC_DIAG_E0337, NULL, "an output of the program is a plain number or text and is left out");
    return NPUC_OK;
  }
  value *v;
  NPUC_TRY(read_binding(s, name, &v));
  npuc_pt2_add_output(s, v, name);
  return NPUC_OK;
}

/* Functionalized programs say in their signature which output is the new content of which buffer or input. */
static npuc_status mutation(pt2_source *s, json_t *spec, const char *port) {
  value *v;
  NPUC_TRY(read_binding(s, tensor_name(spec), &v));
  size_t cursor = 0;
  const char *name;
  void *item;
  while (npuc_map_next(s->bindings, &cursor, &name, &item)) {
    const pt2_binding *b = item;
    if (b->kind != PT2_TENSOR) continue;
    pt2_storage *storage = npuc_pt2_storage(b->tensor);
    if (!storage->port || strcmp(storage->port, port) != 0) continue;
    pt2_node writing = {.s = s, .name = port, .target = "output"};
    return npuc_pt2_write_tensor(&writing, b->tensor, v);
  }
  diag_place place = {.node = port};
  return npuc_fail(s->d, NPUC_DIAG_E0332, &place, "the program writes a buffer or input that it does not have");
}

static npuc_status mutations(pt2_source *s, json_t *specs) {
  static const char *const kinds[][2] = {
      {"buffer_mutation", "buffer_name"}, {"parameter_mutation", "parameter_name"}, {"user_input_mutation", "user_input_name"}};
  size_t i;
  json_t *entry;
  json_array_foreach(specs, i, entry) {
    for (size_t k = 0; k < 3; k++) {
      json_t *spec = json_object_get(entry, kinds[k][0]);
      const char *port = json_string_value(json_object_get(spec, kinds[k][1]));
      if (spec && port) NPUC_TRY(mutation(s, spec, port));
    }
  }
  return NPUC_OK;
}

static npuc_status user_outputs(pt2_source *s, json_t *specs) {
  size_t i;
  json_t *entry;
  json_array_foreach(specs, i, entry) {
    json_t *user = json_object_get(entry, "user_output");
    if (!user) user = json_object_get(entry, "loss_output");
    if (user) NPUC_TRY(user_output(s, json_object_get(user, "arg")));
  }
  return NPUC_OK;
}

/* -- states -- */
static bool is_zero(const tensor *t) {
  const uint8_t *p = t->data;
  for (size_t i = 0; i < t->bytes; i++) {
    if (p[i]) return false;
  }
  return true;
}

/* Written whole before anything reads it, as transformers does with the position: what was in it does not matter to any run. */
static bool is_scratch(const pt2_storage *storage) {
  const value *in = storage->initial;
  return in->constant && in->n_uses == 0 && storage->content != in;
}

static void pair_ports(pt2_source *s, value *content, const value *in) {
  const char *next = npuc_graph_unique_name(s->g, npuc_arena_printf(s->scratch, "%s.next", in->name));
  if (content->producer && !content->is_output) npuc_value_rename(content, next);
  npuc_pt2_add_output(s, content, next);
  npuc_map_put(s->m->metadata, npuc_arena_printf(s->scratch, "npuc.state.%zu", s->n_states++),
               npuc_arena_printf(s->m->arena, "%s > %s", s->g->outputs[s->g->n_outputs - 1]->name, in->name));
}

/* Every state begins as zeros. A buffer that begins as something else is read through `begun`, one more state, which is false in the first run:
 *   content = begun ? state : the buffer's own content;   begun.next = true */
static npuc_status first_content(pt2_source *s, value *initial, value *port, value **out) {
  pt2_node choosing = {.s = s, .name = port->name, .target = "state"};
  diag_place place = {.node = port->name};
  shape scalar = SHAPE_SCALAR;
  if (!s->begun) s->begun = npuc_graph_add_input(s->g, npuc_graph_unique_name(s->g, "begun"), DTYPE_BOOL, &scalar);
  npuc_note(s->d, NPUC_DIAG_E0339, &place, "the buffer does not begin as zeros: its first content is taken while the state '%s' is false",
            s->begun->name);
  return npuc_pt2_ternary(&choosing, "Where", s->begun, port, initial, out);
}

/* A written buffer is an input and an output that a caller carries from one run to the next. */
static npuc_status add_state(pt2_source *s, pt2_storage *storage) {
  value *in = storage->initial;
  if (in->constant) {
    const char *name = npuc_arena_str(s->scratch, in->name);
    npuc_value_rename(in, npuc_graph_unique_name(s->g, npuc_arena_printf(s->scratch, "%s.initial", name)));
    value *port = npuc_graph_add_input(s->g, name, in->type, &in->shape), *content = port;
    if (!is_zero(in->constant)) NPUC_TRY(first_content(s, in, port, &content));
    npuc_value_replace(in, content);
    if (storage->content == in) storage->content = content;
    storage->initial = in = port;
  }
  pair_ports(s, storage->content, in);
  return NPUC_OK;
}

static npuc_status add_states(pt2_source *s) {
  for (pt2_storage *state = s->states; state; state = state->next_state) {
    if (!is_scratch(state)) {
      NPUC_TRY(add_state(s, state));
      continue;
    }
    diag_place place = {.node = state->port};
    npuc_note(s->d, NPUC_DIAG_E0337, &place, "the buffer is written before it is read in every run: no state, and no output, comes of it");
  }
  pt2_node ending = {.s = s, .name = "begun", .target = "state"};
  if (s->begun) pair_ports(s, npuc_pt2_constant_int(&ending, DTYPE_BOOL, 1), s->begun);
  return NPUC_OK;
}

/* -- all of it -- */
static npuc_status read_program(pt2_source *s) {
  json_t *whole = json_object_get(s->program, "graph_module"), *body = json_object_get(whole, "graph");
  json_t *signature = json_object_get(whole, "signature");
  json_t *inputs = json_object_get(signature, "input_specs"), *outputs = json_object_get(signature, "output_specs");
  if (!json_is_object(body) || !json_is_array(inputs) || !json_is_array(outputs))
    return npuc_fail(s->d, NPUC_DIAG_E0332, NULL, "the program has no graph or no signature");
  s->g = npuc_graph_create(s->m, "main");
  s->metas = json_object_get(body, "tensor_values");
  s->bindings = npuc_map_create(s->scratch);
  size_t i;
  json_t *entry;
  json_array_foreach(inputs, i, entry) NPUC_TRY(bind_input(s, entry));
  NPUC_TRY(npuc_pt2_nodes(s, body));
  NPUC_TRY(mutations(s, outputs));
  NPUC_TRY(user_outputs(s, outputs));
  NPUC_TRY(add_states(s));
  if (s->g->n_outputs == 0) return npuc_fail(s->d, NPUC_DIAG_E0332, NULL, "the program has no output that is a tensor");
  (void)npuc_graph_remove_dead(s->g);
  NPUC_TRY(npuc_graph_sort(s->d, s->g));
  NPUC_TRY(npuc_graph_infer(s->d, s->g));
  return npuc_module_verify(s->d, s->m, NULL);
}

npuc_status npuc_pt2_read(diag *d, const char *path, module **out_module) {
  *out_module = NULL;
  const char *outer_file = npuc_diag_set_file(d, path);
  module *m = npuc_module_create();
  pt2_source s = {.d = d, .m = m, .scratch = npuc_arena_create()};
  m->source_path = npuc_arena_str(m->arena, path);
  npuc_status status = npuc_pt2_open(&s, path);
  if (status == NPUC_OK) {
    const char *version = json_string_value(json_object_get(s.program, "torch_version"));
    m->producer = npuc_arena_printf(m->arena, "torch %s", version ? version : "of unknown version");
    status = read_program(&s);
  }
  npuc_pt2_close(&s);
  npuc_arena_destroy(s.scratch);
  npuc_diag_set_file(d, outer_file);
  if (status != NPUC_OK) {
    npuc_module_destroy(m);
    return status;
  }
  *out_module = m;
  return NPUC_OK;
}
