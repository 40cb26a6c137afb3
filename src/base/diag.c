/* SPDX-License-Identifier: Apache-2.0 */
/* Records are kept in the order in which they first came. A code that is raised for each of ten thousand nodes would bury
 * everything else, so of each (severity, code, op, attribute) the first few are kept whole and the rest only counted, on the
 * last one kept. */
#include "base/diag.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

#define KEPT_WHOLE 3

static const diag_info infos[NPUC_DIAG_COUNT] = {
#define DIAG(code, status, name, summary, explanation) {"NPUC-" #code, name, status, summary, explanation},
#include "base/diagnostics.def"
#undef DIAG
};

struct diag {
  pthread_mutex_t lock;
  arena *memory;
  diag_record **records;
  size_t count, capacity;
  /* The record that npuc_fix adds to; NULL after a call that was only counted, so that its fixes are dropped with it. */
  diag_record *latest;
  const char **fixes; /* the latest's, writable */
  size_t fixes_capacity;
  size_t shown; /* records that on_record has seen */
  const char *file;
  void (*on_record)(void *user, const diag_record *record);
  void *user;
};

diag *npuc_diag_create(void (*on_record)(void *user, const diag_record *record), void *user) {
  diag *d = npuc_xcalloc(1, sizeof *d);
  if (pthread_mutex_init(&d->lock, NULL) != 0) {
    free(d);
    return NULL;
  }
  d->memory = npuc_arena_create();
  d->on_record = on_record;
  d->user = user;
  return d;
}

static void show_records(diag *d) {
  for (; d->shown < d->count; d->shown++) {
    if (d->on_record) d->on_record(d->user, d->records[d->shown]);
  }
}

void npuc_diag_flush(diag *d) {
  if (!d) return;
  pthread_mutex_lock(&d->lock);
  show_records(d);
  pthread_mutex_unlock(&d->lock);
}

void npuc_diag_clear(diag *d) {
  pthread_mutex_lock(&d->lock);
  show_records(d);
  npuc_arena_destroy(d->memory);
  d->memory = npuc_arena_create();
  d->records = NULL;
  d->latest = NULL;
  d->fixes = NULL;
  d->file = NULL;
  d->count = d->capacity = d->fixes_capacity = d->shown = 0;
  pthread_mutex_unlock(&d->lock);
}

void npuc_diag_destroy(diag *d) {
  if (!d) return;
  npuc_diag_flush(d);
  pthread_mutex_destroy(&d->lock);
  npuc_arena_destroy(d->memory);
  free(d);
}

static bool same_text(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

static const char *copy_text(arena *memory, const char *text) { return text ? npuc_arena_str(memory, text) : NULL; }

/* The last kept record of this kind when enough of them are kept already, else NULL. */
static diag_record *find_full(const diag *d, diag_severity severity, diag_code code, const diag_place *place) {
  size_t kept = 0;
  for (size_t i = 0; i < d->count; i++) {
    diag_record *r = d->records[i];
    if (r->severity == severity && r->code == code && same_text(r->place.op, place->op) &&
        same_text(r->place.attribute, place->attribute) && ++kept == KEPT_WHOLE)
      return r;
  }
  return NULL;
}

static void add_locked(diag *d, diag_severity severity, diag_code code, const diag_place *place, const char *format, va_list args) {
  static const diag_place nowhere = {0};
  if (!place) place = &nowhere;
  show_records(d);
  diag_record *full = find_full(d, severity, code, place);
  if (full) {
    full->count++;
    d->latest = NULL;
    return;
  }
  diag_record *r = NPUC_NEW(d->memory, diag_record);
  r->severity = severity;
  r->code = code;
  /* A slip on the command line is not about the file that happened to be in work. */
  bool usage = npuc_diag_info(code)->status == NPUC_USAGE;
  r->place.file = copy_text(d->memory, place->file || usage ? place->file : d->file);
  r->place.part = copy_text(d->memory, place->part);
  r->place.node = copy_text(d->memory, place->node);
  r->place.op = copy_text(d->memory, place->op);
  r->place.attribute = copy_text(d->memory, place->attribute);
  r->reason = npuc_arena_vprintf(d->memory, format, args);
  r->count = 1;
  d->records = npuc_arena_grow(d->memory, d->records, d->count, d->count + 1, sizeof *d->records, &d->capacity);
  d->records[d->count++] = r;
  d->latest = r;
  d->fixes = NULL;
  d->fixes_capacity = 0;
}

static void add(diag *d, diag_severity severity, diag_code code, const diag_place *place, const char *format, va_list args) {
  if (!d) return;
  pthread_mutex_lock(&d->lock);
  add_locked(d, severity, code, place, format, args);
  pthread_mutex_unlock(&d->lock);
}

#undef npuc_fail /* the analyzer's view of it, in diag.h */
npuc_status npuc_fail(diag *d, diag_code code, const diag_place *place, const char *format, ...) {
  va_list args;
  va_start(args, format);
  add(d, DIAG_ERROR, code, place, format, args);
  va_end(args);
  return infos[code].status;
}

void npuc_warn(diag *d, diag_code code, const diag_place *place, const char *format, ...) {
  va_list args;
  va_start(args, format);
  add(d, DIAG_WARNING, code, place, format, args);
  va_end(args);
}

void npuc_note(diag *d, diag_code code, const diag_place *place, const char *format, ...) {
  va_list args;
  va_start(args, format);
  add(d, DIAG_NOTE, code, place, format, args);
  va_end(args);
}

void npuc_fix(diag *d, const char *format, ...) {
  if (!d) return;
  va_list args;
  va_start(args, format);
  pthread_mutex_lock(&d->lock);
  diag_record *r = d->latest;
  if (r) {
    d->fixes = npuc_arena_grow(d->memory, d->fixes, r->n_fixes, r->n_fixes + 1, sizeof *d->fixes, &d->fixes_capacity);
    d->fixes[r->n_fixes] = npuc_arena_vprintf(d->memory, format, args);
    r->fixes = d->fixes;
    r->n_fixes++;
  }
  pthread_mutex_unlock(&d->lock);
  va_end(args);
}

const char *npuc_diag_set_file(diag *d, const char *file) {
  if (!d) return NULL;
  pthread_mutex_lock(&d->lock);
  const char *earlier = d->file;
  d->file = copy_text(d->memory, file);
  pthread_mutex_unlock(&d->lock);
  return earlier;
}

size_t npuc_diag_count(const diag *d) { return d ? d->count : 0; }

const diag_record *npuc_diag_at(const diag *d, size_t index) { return d && index < d->count ? d->records[index] : NULL; }

const diag_record *npuc_diag_first_error(const diag *d) {
  for (size_t i = 0; d && i < d->count; i++) {
    if (d->records[i]->severity == DIAG_ERROR) return d->records[i];
  }
  return NULL;
}

const diag_info *npuc_diag_info(diag_code code) { return &infos[code]; }

bool npuc_diag_find(const char *text, diag_code *out_code) {
  for (int i = 0; i < (int)NPUC_DIAG_COUNT; i++) {
    const char *full = infos[i].text_code;
    if (strcmp(text, full) == 0 || strcmp(text, full + strlen("NPUC-")) == 0 || strcmp(text, infos[i].name) == 0) {
      *out_code = (diag_code)i;
      return true;
    }
  }
  return false;
}
