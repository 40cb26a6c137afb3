/* SPDX-License-Identifier: Apache-2.0 */
/* The two faces of diagnostics and results: lines for people, JSON for programs. */
#include <stdarg.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/cli.h"

static const char *const severity_names[] = {[DIAG_ERROR] = "error", [DIAG_WARNING] = "warning", [DIAG_NOTE] = "note"};
static const char *const severity_colors[] = {[DIAG_ERROR] = "\033[1;31m", [DIAG_WARNING] = "\033[1;33m", [DIAG_NOTE] = "\033[1;36m"};

static void set_string(json_t *object, const char *key, const char *text) {
  /* A name in a hostile file may be no UTF-8: it is shown with replacement, never dropped silently. */
  json_t *value = text ? json_string(text) : json_null();
  if (!value) value = json_string("(not UTF-8)");
  json_object_set_new(object, key, value);
}

static void write_json_record(FILE *out, const diag_record *r) {
  json_t *o = json_object();
  set_string(o, "event", "diagnostic");
  set_string(o, "severity", severity_names[r->severity]);
  set_string(o, "code", npuc_diag_info(r->code)->text_code);
  set_string(o, "file", r->place.file);
  set_string(o, "part", r->place.part);
  set_string(o, "node", r->place.node);
  set_string(o, "op", r->place.op);
  set_string(o, "attribute", r->place.attribute);
  set_string(o, "reason", r->reason);
  json_t *fixes = json_array();
  for (size_t i = 0; i < r->n_fixes; i++) json_array_append_new(fixes, json_string(r->fixes[i]));
  json_object_set_new(o, "fixes", fixes);
  json_object_set_new(o, "count", json_integer((json_int_t)r->count));
  json_dumpf(o, out, JSON_COMPACT | JSON_ENSURE_ASCII);
  fputc('\n', out);
  json_decref(o);
}

/* Control characters of a hostile name must not reach the terminal. */
static void put_clean(FILE *out, arena *a, const char *text) { fputs(npuc_utf8_clean(a, text), out); }
static void put_line(FILE *out, arena *a, const char *text) { fputs(npuc_utf8_line(a, text), out); }

static void write_text_record(FILE *out, arena *a, const diag_record *r, bool color) {
  fprintf(out, "%s%s[%s]%s: ", color ? severity_colors[r->severity] : "", severity_names[r->severity], npuc_diag_info(r->code)->text_code,
          color ? "\033[0m" : "");
  if (r->place.file) put_line(out, a, r->place.file), fputs(": ", out);
  if (r->place.node) put_line(out, a, r->place.node);
  if (r->place.op) fprintf(out, "%s(%s)", r->place.node ? " " : "", npuc_utf8_line(a, r->place.op));
  if (r->place.node || r->place.op) fputs(": ", out);
  put_line(out, a, r->reason);
  if (r->count > 1) fprintf(out, " (%zu times)", r->count);
  fputc('\n', out);
  for (size_t i = 0; i < r->n_fixes; i++) {
    fputs("help: ", out);
    put_line(out, a, r->fixes[i]);
    fputc('\n', out);
  }
}

void npuc_cli_flush(cli *c) {
  size_t n = npuc_diag_count(c->diag);
  if (c->terminal && !c->json && n > c->diagnostics_shown) fputs("\r\033[K", stderr);
  for (; c->diagnostics_shown < n; c->diagnostics_shown++) {
    const diag_record *r = npuc_diag_at(c->diag, c->diagnostics_shown);
    if (c->log) write_json_record(c->log, r);
    if (c->json)
      write_json_record(stderr, r);
    else if (!c->quiet || r->severity == DIAG_ERROR)
      write_text_record(stderr, c->arena, r, c->color);
  }
}

void npuc_cli_say(const cli *c, const char *format, ...) {
  if (c->json || c->quiet) return;
  va_list args;
  va_start(args, format);
  char *text = npuc_arena_vprintf(c->arena, format, args);
  va_end(args);
  put_clean(stdout, c->arena, text);
}

void npuc_cli_set(cli *c, const char *key, json_t *value) { json_object_set_new(c->result, key, value ? value : json_null()); }
