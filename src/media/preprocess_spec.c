/* SPDX-License-Identifier: Apache-2.0 */
/* SPEC, read from its inline form or from JSON and printed back. Both forms end in the same setters, so that they cannot differ. */
#include <jansson.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "media/preprocess.h"

static npuc_status fail_spec(diag *d, const char *key, const char *text) {
  diag_place place = {.attribute = key};
  npuc_status status = npuc_fail(d, NPUC_DIAG_E1110, &place, "--preprocess: '%s' is no value of '%s'", text, key);
  npuc_fix(d, "--preprocess scale=1/255,mean=0.485:0.456:0.406,std=0.229:0.224:0.225");
  return status;
}

/* A decimal number or A/B. strtod follows the locale, which npuc never sets. */
static bool parse_number(const char *text, const char **out_end, double *out) {
  char *end;
  if (!*text || *text == ' ') return false;
  double v = strtod(text, &end);
  if (end == text) return false;
  if (*end == '/') {
    const char *below = end + 1;
    double b = strtod(below, &end);
    if (end == below || b == 0) return false;
    v /= b;
  }
  *out_end = end;
  *out = v;
  return isfinite(v);
}

static npuc_status set_list(diag *d, const char *key, const char *text, double *out, int32_t *out_n) {
  const char *at = text;
  *out_n = 0;
  for (;;) {
    if (*out_n == PREPROCESS_MAX_CHANNELS || !parse_number(at, &at, &out[*out_n])) return fail_spec(d, key, text);
    (*out_n)++;
    if (*at == '\0') return NPUC_OK;
    if (*at++ != ':') return fail_spec(d, key, text);
  }
}

static npuc_status set_size(diag *d, const char *key, const char *text, bool shorter_side, image_size *out) {
  enum { LARGEST = 1 << 16 };
  char *end;
  if (*text < '0' || *text > '9') return fail_spec(d, key, text);
  long first = strtol(text, &end, 10), second = first;
  bool both = *end == 'x';
  if (both) {
    const char *after = end + 1;
    if (*after < '0' || *after > '9') return fail_spec(d, key, text);
    second = strtol(after, &end, 10);
  }
  if (*end || first < 1 || second < 1 || first > LARGEST || second > LARGEST) return fail_spec(d, key, text);
  *out = (image_size){!both && shorter_side ? 0 : first, second};
  return NPUC_OK;
}

static npuc_status set_key(diag *d, preprocess *p, const char *key, const char *text) {
  static const char *const keys[] = {"scale", "mean", "std", "resize", "crop", "layout"};
  const char *end;
  if (strcmp(key, "scale") == 0) return parse_number(text, &end, &p->scale) && !*end ? NPUC_OK : fail_spec(d, key, text);
  if (strcmp(key, "mean") == 0) return set_list(d, key, text, p->mean, &p->n_mean);
  if (strcmp(key, "std") == 0) {
    NPUC_TRY(set_list(d, key, text, p->std, &p->n_std));
    for (int32_t i = 0; i < p->n_std; i++) {
      if (p->std[i] == 0) return fail_spec(d, key, text);
    }
    return NPUC_OK;
  }
  if (strcmp(key, "resize") == 0) return set_size(d, key, text, true, &p->resize);
  if (strcmp(key, "crop") == 0) return set_size(d, key, text, false, &p->crop);
  if (strcmp(key, "layout") == 0) {
    p->layout = strcmp(text, "nchw") == 0 ? LAYOUT_NCHW : strcmp(text, "nhwc") == 0 ? LAYOUT_NHWC : LAYOUT_NONE;
    return p->layout != LAYOUT_NONE ? NPUC_OK : fail_spec(d, key, text);
  }
  diag_place place = {.attribute = key};
  const char *near = npuc_nearest(key, keys, sizeof keys / sizeof *keys);
  npuc_status status =
      npuc_fail(d, NPUC_DIAG_E1110, &place, "--preprocess: there is no key '%s'%s%s%s", key, near ? "; did you mean '" : "",
                near ? near : "", near ? "'?" : "; known are scale, mean, std, resize, crop, layout");
  return status;
}

/* -- inline -- */
static npuc_status parse_inline(diag *d, arena *a, const char *text, preprocess *p) {
  map *seen = npuc_map_create(a);
  for (char *at = npuc_arena_str(a, text); at;) {
    char *comma = strchr(at, ',');
    if (comma) *comma = '\0';
    char *equals = strchr(at, '=');
    if (!equals) {
      diag_place place = {.attribute = at};
      return npuc_fail(d, NPUC_DIAG_E1110, &place, "--preprocess: '%s' is neither KEY=VALUE nor a file", at);
    }
    *equals = '\0';
    if (npuc_map_put(seen, at, p)) {
      diag_place place = {.attribute = at};
      return npuc_fail(d, NPUC_DIAG_E1110, &place, "--preprocess: '%s' is given twice", at);
    }
    NPUC_TRY(set_key(d, p, at, equals + 1));
    at = comma ? comma + 1 : NULL;
  }
  return NPUC_OK;
}

/* -- JSON: the value's text, lists joined by ':' -- */
static const char *json_text(arena *a, const json_t *v) {
  if (json_is_string(v)) return npuc_arena_str(a, json_string_value(v));
  if (json_is_integer(v)) return npuc_arena_printf(a, "%lld", (long long)json_integer_value(v));
  if (json_is_real(v)) return npuc_arena_printf(a, "%.17g", json_real_value(v));
  if (!json_is_array(v)) return "(neither number, text nor list)";
  const char *joined = "";
  for (size_t i = 0; i < json_array_size(v); i++) {
    const json_t *element = json_array_get(v, i);
    if (json_is_array(element)) return "(a list of lists)";
    joined = npuc_arena_printf(a, "%s%s%s", joined, i ? ":" : "", json_text(a, element));
  }
  return joined;
}

static npuc_status parse_json(diag *d, arena *a, const char *path, preprocess *p) {
  diag_place place = {.file = path};
  mapped_file *file;
  NPUC_TRY(npuc_file_map(d, path, &file));
  json_error_t error;
  json_t *root = npuc_file_size(file) <= (size_t)1 << 20
                     ? json_loadb((const char *)npuc_file_bytes(file), npuc_file_size(file), JSON_REJECT_DUPLICATES, &error)
                     : NULL;
  npuc_status status = NPUC_OK;
  if (!json_is_object(root)) {
    status = npuc_fail(d, NPUC_DIAG_E1110, &place, "the preprocessing file is no JSON object%s%s",
                       root || npuc_file_size(file) > (size_t)1 << 20 ? "" : ": ",
                       root || npuc_file_size(file) > (size_t)1 << 20 ? "" : error.text);
  }
  const char *key;
  json_t *v;
  if (status == NPUC_OK) {
    json_object_foreach(root, key, v) {
      status = set_key(d, p, key, json_text(a, v));
      if (status != NPUC_OK) break;
    }
  }
  json_decref(root);
  npuc_file_release(file);
  return status;
}

npuc_status npuc_preprocess_parse(diag *d, arena *a, const char *text, preprocess **out_preprocess) {
  preprocess *p = NPUC_NEW(a, preprocess);
  p->scale = 1;
  *out_preprocess = p;
  if (!*text) return NPUC_OK;
  bool is_file = npuc_path_exists(text) && !npuc_path_is_dir(text);
  if (!is_file && !strchr(text, '=') && strlen(text) > 5 && strcmp(text + strlen(text) - 5, ".json") == 0)
    is_file = true; /* so that its absence is named */
  return is_file ? parse_json(d, a, text, p) : parse_inline(d, a, text, p);
}

/* -- printing -- */
/* The shortest of %.15g to %.17g that reads back the same. */
static const char *number_text(arena *a, double v) {
  for (int digits = 6;; digits++) {
    const char *text = npuc_arena_printf(a, "%.*g", digits, v);
    if (digits == 17 || strtod(text, NULL) == v) return text;
  }
}

static const char *list_text(arena *a, const double *values, int32_t n) {
  const char *text = "";
  for (int32_t i = 0; i < n; i++) text = npuc_arena_printf(a, "%s%s%s", text, i ? ":" : "", number_text(a, values[i]));
  return text;
}

static const char *append(arena *a, const char *text, const char *key, const char *more) {
  return npuc_arena_printf(a, "%s%s%s=%s", text, *text ? "," : "", key, more);
}

static const char *size_text(arena *a, const image_size *s) {
  if (s->height == 0) return npuc_arena_printf(a, "%lld", (long long)s->width);
  return npuc_arena_printf(a, "%lldx%lld", (long long)s->height, (long long)s->width);
}

char *npuc_preprocess_print(arena *a, const preprocess *p) {
  const char *text = "";
  /* 1/255 is how it is said: the reciprocal of a whole number is printed so when it reads back the same. */
  if (p->scale != 1) {
    double inverse = nearbyint(1 / p->scale);
    bool whole = inverse > 1 && inverse < 1e9 && 1 / inverse == p->scale;
    text = append(a, text, "scale", whole ? npuc_arena_printf(a, "1/%lld", (long long)inverse) : number_text(a, p->scale));
  }
  if (p->n_mean) text = append(a, text, "mean", list_text(a, p->mean, p->n_mean));
  if (p->n_std) text = append(a, text, "std", list_text(a, p->std, p->n_std));
  if (p->resize.width) text = append(a, text, "resize", size_text(a, &p->resize));
  if (p->crop.width) text = append(a, text, "crop", size_text(a, &p->crop));
  if (p->layout != LAYOUT_NONE) text = append(a, text, "layout", p->layout == LAYOUT_NCHW ? "nchw" : "nhwc");
  return npuc_arena_str(a, text);
}
