/* SPDX-License-Identifier: Apache-2.0 */
/* Archives that are wrong in one thing each: an archive of torch (tests/data/torch) with one place of its JSON changed, or one member, must be refused with the
 * right code and the words that say why. The archive with nothing changed is read: the control. */
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "formats/zip.h"
#include "import/pt2/pt2.h"
#include "support/scratch.h"
#include "support/zip_bytes.h"

#define DATA NPUC_SOURCE_DIR "/tests/data/torch/"
#define NODES "graph_module/graph/nodes"
#define INPUT(node, k) NODES "/" #node "/inputs/" #k "/arg"

typedef struct change {
  const char *file, *member, *place, *json; /* the member whose name ends so; json NULL: the place is removed */
  diag_code code;
  const char *says, *fix; /* in the reason; in a fix, "-": in none */
} change;

/* -- one place of a document -- */
static json_t *step(json_t *at, const char *name) {
  return json_is_array(at) ? json_array_get(at, strtoul(name, NULL, 10)) : json_object_get(at, name);
}

static void edit(json_t *root, const char *place, const char *json) {
  char path[256], *rest = path;
  json_t *at = root;
  (void)snprintf(path, sizeof path, "%s", place);
  for (char *slash; (slash = strchr(rest, '/')); rest = slash + 1) {
    *slash = '\0';
    assert_non_null(at = step(at, rest));
  }
  json_t *to = json ? json_loads(json, JSON_DECODE_ANY, NULL) : NULL;
  assert_true(!json || to);
  if (json_is_array(at))
    assert_int_equal(json_array_set_new(at, strtoul(rest, NULL, 10), to), 0);
  else
    assert_int_equal(json ? json_object_set_new(at, rest, to) : json_object_del(at, rest), 0);
}

/* -- an archive with one member changed -- */
typedef char *rewriter(const uint8_t *data, size_t n, const void *how, size_t *out_n); /* malloc'd */

static char *edited(const uint8_t *data, size_t n, const void *how, size_t *out_n) {
  const change *c = how;
  json_t *root = json_loadb((const char *)data, n, 0, NULL);
  assert_non_null(root);
  edit(root, c->place, c->json);
  char *text = json_dumps(root, JSON_COMPACT);
  json_decref(root);
  *out_n = strlen(text);
  return text;
}

static void rewrite(const char *from, const char *to, const char *member, rewriter *change_it, const void *how, bool twice) {
  mapped_file *file;
  zip_archive *z;
  zip_bytes made = {0};
  bool found = false;
  assert_int_equal(npuc_file_map(NULL, from, &file), NPUC_OK);
  blob *b = npuc_blob_from_file(file);
  npuc_file_release(file);
  assert_int_equal(npuc_zip_open(NULL, from, b, npuc_blob_data(b), npuc_blob_size(b), &z), NPUC_OK);
  for (size_t i = 0; i < npuc_zip_count(z); i++) {
    const zip_member *m = npuc_zip_at(z, i);
    blob *owner;
    const uint8_t *data;
    size_t length = strlen(m->name), n = (size_t)m->bytes;
    assert_int_equal(npuc_zip_read(NULL, z, m, true, &owner, &data), NPUC_OK);
    bool is = member && length >= strlen(member) && strcmp(m->name + length - strlen(member), member) == 0;
    char *text = is && change_it ? change_it(data, n, how, &n) : NULL;
    found = found || is;
    zip_bytes_add(&made, m->name, text ? text : (const char *)data, n);
    if (is && twice) zip_bytes_add(&made, m->name, data, n);
    free(text);
    npuc_blob_release(owner);
  }
  assert_true(found || !member);
  npuc_zip_close(z);
  npuc_blob_release(b);
  zip_bytes_end(&made);
  FILE *out = fopen(to, "wb");
  assert_non_null(out);
  assert_int_equal(fwrite(made.bytes, 1, made.n, out), made.n);
  assert_int_equal(fclose(out), 0);
  zip_bytes_free(&made);
}

static const char *target_path(arena *a, const char *folder) { return npuc_arena_printf(a, "%s/m.pt2", folder); }

/* -- what comes of it -- */
static bool fixes_say(const diag_record *r, const char *words) {
  for (size_t i = 0; i < r->n_fixes; i++) {
    if (strstr(r->fixes[i], words)) return true;
  }
  return false;
}

static void is_refused(const char *path, const change *c) {
  diag *d = npuc_diag_create(NULL, NULL);
  module *m = NULL;
  npuc_status status = npuc_pt2_read(d, path, &m);
  const diag_record *r = npuc_diag_first_error(d);
  if (status == NPUC_OK || !r || r->code != c->code || !strstr(r->reason, c->says))
    print_error("%s: %d %s\n", c->place ? c->place : c->says, status, r ? r->reason : "no error");
  assert_null(m);
  assert_non_null(r);
  assert_int_equal(r->code, c->code);
  assert_int_equal(status, npuc_diag_info(c->code)->status);
  assert_non_null(strstr(r->reason, c->says));
  if (c->fix) assert_int_equal(fixes_say(r, strcmp(c->fix, "-") == 0 ? "run_decompositions" : c->fix), strcmp(c->fix, "-") != 0);
  npuc_diag_destroy(d);
}

static void in_scratch(const change *c, rewriter *change_it, bool twice) {
  arena *a = npuc_arena_create();
  char *folder = npuc_scratch_create(a);
  const char *path = target_path(a, folder);
  rewrite(npuc_arena_printf(a, DATA "%s", c->file), path, c->member, change_it, c, twice);
  is_refused(path, c);
  npuc_scratch_remove(folder);
  npuc_arena_destroy(a);
}

static void changed_programs_are_refused(void **state) {
  (void)state;
  static const change changes[] = {
      /* versions */
      {"net.pt2", "model.json", "schema_version/major", "9", NPUC_DIAG_E0333, "schema is 9.", NULL},
      {"net.pt2", "model.json", "schema_version/major", "6", NPUC_DIAG_E0333, "schema is 6.", NULL},
      {"net.pt2", "model.json", "schema_version", NULL, NPUC_DIAG_E0332, "no schema version", NULL},
      /* operators: the user's line, and the decomposition where it helps */
      {"net.pt2", "model.json", NODES "/2/target", "\"torch.ops.aten.lgamma.default\"", NPUC_DIAG_E0336, "make.py\", line",
       "run_decompositions"},
      {"net.pt2", "model.json", NODES "/2/target", "\"torch.ops.mine.frob.default\"", NPUC_DIAG_E0336, "make.py\", line", "-"},
      {"net.pt2", "model.json", NODES "/2/target", "\"torch.ops.aten.rand.default\"", NPUC_DIAG_E0336, "other numbers on every run", "-"},
      {"net.pt2", "model.json", NODES "/2/target", NULL, NPUC_DIAG_E0332, "no target", NULL},
      /* types */
      {"net.pt2", "model.json", "graph_module/graph/tensor_values/x/dtype", "10", NPUC_DIAG_E0334, "complex", "real and imaginary"},
      {"net.pt2", "model.json", "graph_module/graph/tensor_values/x/dtype", "99", NPUC_DIAG_E0334, "99", NULL},
      {"net.pt2", "model.json", "graph_module/graph/tensor_values/x", NULL, NPUC_DIAG_E0332, "neither type nor shape", NULL},
      {"net.pt2", "model.json", "graph_module/graph/tensor_values/x/sizes/1", "{\"as_int\":-3}", NPUC_DIAG_E0332, "neither a number nor",
       NULL},
      /* custom classes */
      {"net.pt2", "model.json", "graph_module/signature/input_specs/5",
       "{\"custom_obj\":{\"arg\":{\"name\":\"b_count\",\"class_fqn\":\"mine.Box\"},\"custom_obj_name\":\"box\"}}", NPUC_DIAG_E0336,
       "mine.Box", NULL},
      {"net.pt2", "model.json", "graph_module/signature/input_specs/5", "{\"token\":{\"arg\":{\"name\":\"t\"}}}", NPUC_DIAG_E0332,
       "of a kind", NULL},
      /* weights that do not fit */
      {"net.pt2", "weights_config.json", "config/fc.weight/tensor_meta/sizes/0/as_int", "5000", NPUC_DIAG_E0330, "a storage that holds",
       NULL},
      {"net.pt2", "weights_config.json", "config/fc.weight/tensor_meta/sizes/0/as_int", "4611686018427387904", NPUC_DIAG_E0330, "", NULL},
      {"net.pt2", "weights_config.json", "config/fc.weight/tensor_meta/storage_offset/as_int", "-1", NPUC_DIAG_E0330, "", NULL},
      {"net.pt2", "weights_config.json", "config/fc.weight/tensor_meta/strides/1/as_int", "-5", NPUC_DIAG_E0330, "", NULL},
      {"net.pt2", "weights_config.json", "config/fc.weight/tensor_meta/strides", "[]", NPUC_DIAG_E0332, "2 sizes and 0 strides", NULL},
      {"net.pt2", "weights_config.json", "config/fc.weight/tensor_meta/dtype", "10", NPUC_DIAG_E0330, "", NULL},
      {"net.pt2", "weights_config.json", "config/fc.weight/path_name", "\"../../etc/passwd\"", NPUC_DIAG_E0332, "lacks the bytes", NULL},
      {"net.pt2", "weights_config.json", "config/fc.weight", NULL, NPUC_DIAG_E0332, "does not hold", NULL},
      /* what is used before it is made, or never */
      {"net.pt2", "model.json", INPUT(0, 0) "/as_tensor/name", "\"linear\"", NPUC_DIAG_E0335, "defined before", NULL},
      {"net.pt2", "model.json", INPUT(2, 0) "/as_tensor/name", "\"relu\"", NPUC_DIAG_E0335, "defined before", NULL},
      {"net.pt2", "model.json", "graph_module/signature/output_specs/0/buffer_mutation",
       "{\"arg\":{\"name\":\"add__1\"},\"buffer_name\":\"nowhere\"}", NPUC_DIAG_E0332, "does not have", NULL},
      /* graphs inside the graph */
      {"control.pt2", "model.json", INPUT(2, 1), "{\"as_none\":true}", NPUC_DIAG_E0332, "lacks the graph", NULL},
      {"control.pt2", "model.json", INPUT(2, 2) "/as_graph/graph", "{}", NPUC_DIAG_E0332, "lacks the graph", NULL},
      {"control.pt2", "model.json", INPUT(2, 2) "/as_graph/graph/inputs", "[]", NPUC_DIAG_E0332, "takes 0 inputs", NULL},
      {"control.pt2", "model.json", INPUT(2, 2) "/as_graph/graph/outputs", "[]", NPUC_DIAG_E0332, "one branch gives", NULL},
      {"control.pt2", "model.json", INPUT(2, 2) "/as_graph/graph/nodes/0/target", "\"torch.ops.aten.cos_.default\"", NPUC_DIAG_E0336,
       "in place", NULL},
      {"control.pt2", "model.json", INPUT(4, 0) "/as_graph/graph/outputs", "[]", NPUC_DIAG_E0332, "test gives 0", NULL},
      {"control.pt2", "model.json", INPUT(4, 2) "/as_tensors/0/name", "\"sym_size_int_1\"", NPUC_DIAG_E0336, "no tensor", NULL},
      {"control.pt2", "model.json", INPUT(6, 1) "/as_tensors", "[]", NPUC_DIAG_E0336, "nothing that is cut", NULL},
      {"control.pt2", "model.json", INPUT(9, 0) "/as_graph/graph/nodes/0/inputs/0/arg/as_tensor/name", "\"x\"", NPUC_DIAG_E0335,
       "defined before", NULL},
  };
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) in_scratch(&changes[i], edited, false);
}

static void unchanged_programs_are_read(void **state) {
  (void)state;
  static const char *const files[] = {"net.pt2", "control.pt2"};
  for (size_t i = 0; i < 2; i++) {
    arena *a = npuc_arena_create();
    char *folder = npuc_scratch_create(a);
    const char *path = target_path(a, folder);
    module *m;
    rewrite(npuc_arena_printf(a, DATA "%s", files[i]), path, NULL, NULL, NULL, false);
    assert_int_equal(npuc_pt2_read(NULL, path, &m), NPUC_OK);
    npuc_module_destroy(m);
    npuc_scratch_remove(folder);
    npuc_arena_destroy(a);
  }
}

/* -- members -- */
static char *twice_the_key(const uint8_t *data, size_t n, const void *how, size_t *out_n) {
  (void)how;
  static const char head[] = "{\"schema_version\":{\"major\":8,\"minor\":1},";
  char *text = malloc(n + sizeof head);
  assert_non_null(text);
  memcpy(text, head, sizeof head - 1);
  memcpy(text + sizeof head - 1, data + 1, n - 1);
  *out_n = n + sizeof head - 2;
  return text;
}

static char *half(const uint8_t *data, size_t n, const void *how, size_t *out_n) {
  (void)how;
  char *text = malloc(n);
  assert_non_null(text);
  memcpy(text, data, n);
  *out_n = n / 2;
  return text;
}

/* A pickle that would run a command: tests/data/torch/hostile.pt. */
static char *hostile(const uint8_t *data, size_t n, const void *how, size_t *out_n) {
  mapped_file *file;
  (void)data, (void)n, (void)how;
  assert_int_equal(npuc_file_map(NULL, DATA "hostile.pt", &file), NPUC_OK);
  *out_n = npuc_file_size(file);
  char *copy = malloc(*out_n);
  assert_non_null(copy);
  memcpy(copy, npuc_file_bytes(file), *out_n);
  npuc_file_release(file);
  return copy;
}

static void changed_members_are_refused(void **state) {
  (void)state;
  in_scratch(&(change){"net.pt2", "model.json", NULL, NULL, NPUC_DIAG_E0214, "two members have this name", NULL}, NULL, true);
  in_scratch(&(change){"net.pt2", "weight_0", NULL, NULL, NPUC_DIAG_E0214, "two members have this name", NULL}, NULL, true);
  in_scratch(&(change){"net.pt2", "model.json", NULL, NULL, NPUC_DIAG_E0332, "duplicate", NULL}, twice_the_key, false);
  in_scratch(&(change){"net.pt2", "model.json", NULL, NULL, NPUC_DIAG_E0332, "malformed", NULL}, half, false);
  in_scratch(&(change){"net.pt2", "weight_0", NULL, NULL, NPUC_DIAG_E0330, "a storage that holds", NULL}, half, false);
  in_scratch(&(change){"net_pickled.pt2", "weights/model.pt", NULL, NULL, NPUC_DIAG_E0215, "", NULL}, hostile, false);
  assert_int_not_equal(access("pwned", F_OK), 0);
}

/* A member of 1 KiB that claims a gigabyte when inflated. */
static void a_bomb_is_refused(void **state) {
  (void)state;
  static const uint8_t sizes[8] = {0, 4, 0, 0, 0, 0, 0, 64};
  arena *a = npuc_arena_create();
  char *folder = npuc_scratch_create(a);
  const char *path = target_path(a, folder);
  uint8_t data[1024] = {0};
  zip_bytes z = {0};
  zip_bytes_add(&z, "m/models/model.json", data, sizeof data);
  z.directory[10] = 8; /* deflate */
  memcpy(z.directory + 20, sizes, sizeof sizes);
  zip_bytes_end(&z);
  FILE *out = fopen(path, "wb");
  assert_non_null(out);
  assert_int_equal(fwrite(z.bytes, 1, z.n, out), z.n);
  assert_int_equal(fclose(out), 0);
  zip_bytes_free(&z);
  is_refused(path, &(change){.code = NPUC_DIAG_E0214, .says = "claims more bytes"});
  npuc_scratch_remove(folder);
  npuc_arena_destroy(a);
}

/* set_grad_enabled in itself, `depth` deep: each level gives its graph's result. */
static char *nested(const uint8_t *data, size_t n, const void *how, size_t *out_n) {
  enum { DEPTH = 40 };
  const change *c = how;
  (void)data, (void)n;
  static const char open[] =
      "{\"target\":\"torch.ops.higher_order.wrap_with_set_grad_enabled\",\"name\":\"w\",\"outputs\":[{\"as_tensor\":{\"name\":\"y\"}}],"
      "\"inputs\":[{\"name\":\"\",\"arg\":{"
      "\"as_bool\":true}},{\"name\":\"\",\"arg\":{\"as_graph\":{\"name\":\"g\",\"graph\":{\"inputs\":[{\"as_tensor\":{\"name\":\"x\"}}],"
      "\"outputs\":[{\"as_tensor\":{\"name\":"
      "\"y\"}}],\"tensor_values\":{},\"nodes\":[",
                    close[] = "]}}}},{\"name\":\"\",\"arg\":{\"as_tensor\":{\"name\":\"x\"}}}]}";
  char *text = malloc(DEPTH * (sizeof open + sizeof close));
  assert_non_null(text);
  *text = '\0';
  for (int i = 0; i < DEPTH; i++) strcat(text, open);
  for (int i = 0; i < DEPTH; i++) strcat(text, close);
  change deep = *c;
  deep.json = text;
  char *made = edited(data, n, &deep, out_n);
  free(text);
  return made;
}

static void deep_graphs_are_refused(void **state) {
  (void)state;
  in_scratch(&(change){"net.pt2", "model.json", NODES "/0", NULL, NPUC_DIAG_E0332, "nested more than", NULL}, nested, false);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(unchanged_programs_are_read), cmocka_unit_test(changed_programs_are_refused),
      cmocka_unit_test(changed_members_are_refused), cmocka_unit_test(a_bomb_is_refused),
      cmocka_unit_test(deep_graphs_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
