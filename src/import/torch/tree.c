/* SPDX-License-Identifier: Apache-2.0 */
/* From the pickle's tree to named tensors. The names that mean something here are torch's rebuild functions and plain containers; a few
 * objects that checkpoints often hold beside their weights are passed over; everything else is refused by name. */
#include <stdio.h>
#include <string.h>

#include "import/torch/pickled.h"

#undef npuc_torch_fail /* the analyzer's view of it */
npuc_status npuc_torch_fail(torch_file *f, const char *where, const char *reason, const char *detail) {
  diag_place place = {.file = f->path, .node = where && where[0] ? where : NULL};
  return npuc_fail(f->d, NPUC_DIAG_E0215, &place, "%s%s%s", reason, detail ? ": " : "", detail ? detail : "");
}

void npuc_torch_keep(torch_file *f, blob *owner) {
  f->owners = npuc_arena_grow(f->arena, f->owners, f->n_owners, f->n_owners + 1, sizeof *f->owners, &f->owners_capacity);
  f->owners[f->n_owners++] = owner;
}

/* -- types -- */
static const struct {
  const char *name;
  dtype type;
} types[] = {{"Float", DTYPE_F32},
             {"Double", DTYPE_F64},
             {"Half", DTYPE_F16},
             {"BFloat16", DTYPE_BF16},
             {"Long", DTYPE_I64},
             {"Int", DTYPE_I32},
             {"Short", DTYPE_I16},
             {"Char", DTYPE_I8},
             {"Byte", DTYPE_U8},
             {"Bool", DTYPE_BOOL},
             {"ComplexFloat", DTYPE_C64},
             {"ComplexDouble", DTYPE_C128},
             {"Untyped", DTYPE_NONE},
             {"float32", DTYPE_F32},
             {"float64", DTYPE_F64},
             {"float16", DTYPE_F16},
             {"bfloat16", DTYPE_BF16},
             {"int64", DTYPE_I64},
             {"int32", DTYPE_I32},
             {"int16", DTYPE_I16},
             {"int8", DTYPE_I8},
             {"uint8", DTYPE_U8},
             {"uint16", DTYPE_U16},
             {"uint32", DTYPE_U32},
             {"uint64", DTYPE_U64},
             {"bool", DTYPE_BOOL},
             {"complex64", DTYPE_C64},
             {"complex128", DTYPE_C128},
             {"float8_e4m3fn", DTYPE_F8E4M3FN},
             {"float8_e5m2", DTYPE_F8E5M2},
             {"float8_e4m3fnuz", DTYPE_F8E4M3FNUZ},
             {"float8_e5m2fnuz", DTYPE_F8E5M2FNUZ},
             {"float8_e8m0fnu", DTYPE_F8E8M0}};

/* "torch.FloatStorage", "torch.storage.UntypedStorage" with suffix "Storage"; "torch.float32" with suffix "". */
static bool type_of_global(const pickle_value *v, const char *suffix, dtype *out) {
  if (!npuc_pickle_is(v, PICKLE_GLOBAL) || strncmp(v->text, "torch.", 6) != 0) return false;
  const char *name = strrchr(v->text, '.') + 1;
  size_t n = strlen(name), n_suffix = strlen(suffix);
  if (n <= n_suffix || strcmp(name + n - n_suffix, suffix) != 0) return false;
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    if (strlen(types[i].name) != n - n_suffix || strncmp(types[i].name, name, n - n_suffix) != 0) continue;
    *out = types[i].type;
    return true;
  }
  return false;
}

npuc_status npuc_torch_storage_id(torch_file *f, const pickle_value *id, storage_id *out_id) {
  if (!npuc_pickle_is(id, PICKLE_TUPLE) || id->n_items < 5 || !npuc_pickle_is(id->items[0], PICKLE_STRING) ||
      strcmp(id->items[0]->text, "storage") != 0 || !npuc_pickle_is(id->items[2], PICKLE_STRING)) {
    return npuc_torch_fail(f, NULL, "a persistent id is none of torch's storages", NULL);
  }
  *out_id = (storage_id){.key = id->items[2]->text};
  if (!type_of_global(id->items[1], "Storage", &out_id->type)) {
    return npuc_torch_fail(f, NULL, "a storage has a class that npuc does not know",
                           npuc_pickle_is(id->items[1], PICKLE_GLOBAL) ? id->items[1]->text : NULL);
  }
  const pickle_value *view = id->n_items > 5 ? id->items[5] : NULL;
  if (!view || view->kind == PICKLE_NONE) return NPUC_OK;
  if (view->kind != PICKLE_TUPLE || view->n_items != 3 || view->items[1]->kind != PICKLE_INT || view->items[1]->integer < 0) {
    return npuc_torch_fail(f, NULL, "a storage is a view that names no offset", out_id->key);
  }
  out_id->offset = view->items[1]->integer;
  return NPUC_OK;
}

/* -- tensors -- */
static bool read_ints(const pickle_value *v, int64_t *out, int32_t *out_n) {
  if (npuc_pickle_is(v, PICKLE_CALL) && npuc_pickle_is_global(v->callable, "torch.Size") && v->args && v->args->n_items == 1)
    v = v->args->items[0];
  if ((!npuc_pickle_is(v, PICKLE_TUPLE) && !npuc_pickle_is(v, PICKLE_LIST)) || v->n_items > MAX_RANK) return false;
  for (size_t i = 0; i < v->n_items; i++) {
    if (v->items[i]->kind != PICKLE_INT) return false;
    out[i] = v->items[i]->integer;
  }
  *out_n = (int32_t)v->n_items;
  return true;
}

static void add_tensor(torch_file *f, const char *name, const tensor *t) {
  f->tensors = npuc_arena_grow(f->arena, f->tensors, f->n, f->n + 1, sizeof *f->tensors, &f->capacity);
  f->tensors[f->n++] = (torch_tensor){.name = name, .value = *t};
}

/* args: storage, offset, sizes, strides, and for version 3 the dtype as the seventh. */
static npuc_status rebuild(torch_file *f, const char *name, const pickle_value *args, bool has_type) {
  strided s = {0};
  int32_t n_strides;
  if (!npuc_pickle_is(args, PICKLE_TUPLE) || args->n_items < 4 || !npuc_pickle_is(args->items[0], PICKLE_PERSISTENT) ||
      args->items[1]->kind != PICKLE_INT || !read_ints(args->items[2], s.sizes, &s.rank) ||
      !read_ints(args->items[3], s.strides, &n_strides) || n_strides != s.rank) {
    return npuc_torch_fail(f, name, "a tensor is rebuilt from something else than storage, offset, sizes and strides (at most 8 axes)",
                           NULL);
  }
  storage_id id = {0};
  NPUC_TRY(npuc_torch_storage_id(f, args->items[0]->args, &id));
  s.type = id.type;
  if (has_type && (args->n_items < 7 || !type_of_global(args->items[6], "", &s.type))) {
    return npuc_torch_fail(f, name, "the tensor's element type is none that npuc knows", NULL);
  }
  if (s.type == DTYPE_NONE) return npuc_torch_fail(f, name, "the tensor's storage has no element type", NULL);
  const torch_storage *storage = npuc_map_get(f->storages, id.key);
  if (!storage) return npuc_torch_fail(f, name, "the tensor's storage is not in the file", id.key);
  if (__builtin_add_overflow(args->items[1]->integer, id.offset, &s.offset)) s.offset = -1;
  s.storage = storage->owner;
  s.data = storage->data;
  s.bytes = storage->bytes;
  tensor t;
  NPUC_TRY(npuc_strided_tensor(f->d, name, &s, &t));
  add_tensor(f, name, &t);
  return NPUC_OK;
}

/* -- the walk -- */
enum { MAX_DEPTH = 64 };
static npuc_status walk(torch_file *f, const pickle_value *v, const char *name, int depth);

static const char *join(torch_file *f, const char *name, const char *part) {
  return name[0] ? npuc_arena_printf(f->arena, "%s.%s", name, part) : npuc_arena_str(f->arena, part);
}

static npuc_status walk_pairs(torch_file *f, const pickle_value *v, const char *name, int depth) {
  for (size_t i = 0; i + 1 < v->n_items; i += 2) {
    const pickle_value *key = v->items[i];
    const char *part = key->kind == PICKLE_STRING ? key->text
                       : key->kind == PICKLE_INT  ? npuc_arena_printf(f->arena, "%lld", (long long)key->integer)
                                                  : "?";
    NPUC_TRY(walk(f, v->items[i + 1], join(f, name, part), depth + 1));
  }
  return NPUC_OK;
}

static npuc_status walk_list(torch_file *f, const pickle_value *v, const char *name, int depth) {
  for (size_t i = 0; i < v->n_items; i++) {
    char part[24];
    snprintf(part, sizeof part, "%zu", i);
    NPUC_TRY(walk(f, v->items[i], join(f, name, part), depth + 1));
  }
  return NPUC_OK;
}

/* Objects that hold no weights and that checkpoints are full of. */
static bool is_harmless(const char *global) {
  static const char *const names[] = {
      "torch.Size",         "torch.device",        "torch.dtype",        "argparse.Namespace", "types.SimpleNamespace",
      "builtins.set",       "builtins.frozenset",  "builtins.slice",     "builtins.range",     "builtins.complex",
      "builtins.bytearray", "collections.Counter", "collections.deque",  "datetime.datetime",  "datetime.timedelta",
      "_codecs.encode",     "__builtin__.set",     "__builtin__.complex"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (strcmp(global, names[i]) == 0) return true;
  }
  return strncmp(global, "numpy.", 6) == 0 || strncmp(global, "pathlib.", 8) == 0;
}

static npuc_status refuse_object(torch_file *f, const char *name, const char *global) {
  npuc_status status = npuc_torch_fail(f, name, "the file holds an object that is no tensor and no plain container", global);
  npuc_fix(f->d, "save the weights alone: torch.save(model.state_dict(), FILE)");
  return status;
}

static npuc_status walk_call(torch_file *f, const pickle_value *v, const char *name, int depth) {
  static const char *const tensors_v2[] = {"torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor"};
  static const char *const wrappers[] = {"torch._utils._rebuild_parameter", "torch._utils._rebuild_parameter_with_state"};
  static const char *const maps[] = {"collections.OrderedDict", "collections.defaultdict"};
  if (!npuc_pickle_is(v->callable, PICKLE_GLOBAL)) return npuc_torch_fail(f, name, "the pickle calls something that is no name", NULL);
  const char *global = v->callable->text;
  for (size_t i = 0; i < 2; i++) {
    if (strcmp(global, tensors_v2[i]) == 0) return rebuild(f, name, v->args, false);
    if (strcmp(global, wrappers[i]) == 0) {
      if (!npuc_pickle_is(v->args, PICKLE_TUPLE) || !v->args->n_items) return npuc_torch_fail(f, name, "a parameter has no data", NULL);
      return walk(f, v->args->items[0], name, depth + 1);
    }
    if (strcmp(global, maps[i]) == 0) return walk_pairs(f, v, name, depth);
  }
  if (strcmp(global, "torch._utils._rebuild_tensor_v3") == 0) return rebuild(f, name, v->args, true);
  if (strcmp(global, "torch._tensor._rebuild_from_type_v2") == 0 && npuc_pickle_is(v->args, PICKLE_TUPLE) && v->args->n_items >= 3) {
    /* (function, class, arguments, state): a subclass that is rebuilt as a plain tensor first */
    pickle_value *inner = NPUC_NEW(f->arena, pickle_value);
    *inner = (pickle_value){.kind = PICKLE_CALL, .callable = v->args->items[0], .args = v->args->items[2]};
    return walk(f, inner, name, depth + 1);
  }
  return is_harmless(global) ? NPUC_OK : refuse_object(f, name, global);
}

static npuc_status walk(torch_file *f, const pickle_value *v, const char *name, int depth) {
  if (depth > MAX_DEPTH || f->budget == 0) return npuc_torch_fail(f, name, "its containers are nested too deeply or share too much", NULL);
  f->budget--;
  switch (v->kind) {
    case PICKLE_DICT:
      return walk_pairs(f, v, name, depth);
    case PICKLE_LIST:
    case PICKLE_TUPLE:
    case PICKLE_SET:
      return walk_list(f, v, name, depth);
    case PICKLE_CALL:
      return walk_call(f, v, name, depth);
    case PICKLE_GLOBAL:
      return is_harmless(v->text) || strncmp(v->text, "torch.", 6) == 0 ? NPUC_OK : refuse_object(f, name, v->text);
    default:
      return NPUC_OK;
  }
}

npuc_status npuc_torch_collect(torch_file *f, const pickle_value *root) {
  NPUC_TRY(walk(f, root, "", 0));
  for (size_t i = 0; i < f->n; i++) {
    if (npuc_map_put(f->by_name, f->tensors[i].name, &f->tensors[i]))
      return npuc_torch_fail(f, f->tensors[i].name, "two tensors have this name", NULL);
  }
  return NPUC_OK;
}
