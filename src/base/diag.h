/* SPDX-License-Identifier: Apache-2.0 */
/* Diagnostics: errors are values with a stable code, a place, a reason and ranked fixes.
 *
 * Every function that can fail takes a `diag *` and gathers there what a person needs; it returns the status that the
 * code's line in diagnostics.def says. The library prints nothing: whoever created the `diag` reads the records (the CLI
 * prints them as text or JSON lines, through `on_record` as they come or at the end). Equal (code, op, attribute,
 * severity) records beyond the first few are counted, not repeated. A `diag` is thread-safe for adding. */
#ifndef NPUC_BASE_DIAG_H
#define NPUC_BASE_DIAG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* One enum from the one table: NPUC_DIAG_E0312 etc. */
typedef enum diag_code {
#define DIAG(code, status, name, summary, explanation) NPUC_DIAG_##code,
#include "base/diagnostics.def"
#undef DIAG
  NPUC_DIAG_COUNT
} diag_code;

typedef enum diag_severity { DIAG_ERROR, DIAG_WARNING, DIAG_NOTE } diag_severity;

/* Where: any member may be NULL. Strings are copied. */
typedef struct diag_place {
  const char *file;      /* path as the user wrote it */
  const char *part;      /* graph of a module */
  const char *node;      /* source's name of the node or value */
  const char *op;        /* operator type */
  const char *attribute; /* attribute, input or option name */
} diag_place;

typedef struct diag_record {
  diag_severity severity;
  diag_code code;
  diag_place place;
  const char *reason;
  const char *const *fixes; /* each a command or an action that can be done as it stands; best first */
  size_t n_fixes;
  size_t count; /* how many times it was raised */
} diag_record;

typedef struct diag_info {
  const char *text_code; /* "NPUC-E0312" */
  const char *name;      /* "unknown-operator" */
  npuc_status status;
  const char *summary;     /* one line */
  const char *explanation; /* the story: what it means, why, what to do */
} diag_info;

typedef struct diag diag;

/* Owns its records. `on_record` may be NULL; it is called under the lock, once for each record that is kept. The call comes
 * when the record is complete with its fixes: when the next record arrives, or at npuc_diag_flush or npuc_diag_destroy. */
diag *npuc_diag_create(void (*on_record)(void *user, const diag_record *record), void *user);
void npuc_diag_destroy(diag *d);
void npuc_diag_flush(diag *d);
/* Forgets every record, and the file; what npuc_diag_at gave is gone. */
void npuc_diag_clear(diag *d);

/* Adds an error and returns the status of its code, so that callers write `return npuc_fail(d, NPUC_DIAG_E0201, &place, "...")`.
 * `place` may be NULL. `d` may be NULL (the status alone is returned). */
npuc_status npuc_fail(diag *d, diag_code code, const diag_place *place, const char *format, ...) NPUC_PRINTF(4, 5);
/* What analyzers cannot see across files: a failure is never NPUC_OK, so what an out-parameter is then does not matter. */
static inline npuc_status npuc_diag_never_ok(npuc_status status) { return status == NPUC_OK ? NPUC_INTERNAL : status; }
#ifdef __clang_analyzer__
#define npuc_fail(...) npuc_diag_never_ok(npuc_fail(__VA_ARGS__))
#endif
/* Adds a warning or a note: the work goes on. */
void npuc_warn(diag *d, diag_code code, const diag_place *place, const char *format, ...) NPUC_PRINTF(4, 5);
void npuc_note(diag *d, diag_code code, const diag_place *place, const char *format, ...) NPUC_PRINTF(4, 5);
/* Adds a fix to the latest record. */
void npuc_fix(diag *d, const char *format, ...) NPUC_PRINTF(2, 3);
/* The file that later records without one are about; returns the earlier value to put back. Copied. */
const char *npuc_diag_set_file(diag *d, const char *file);

size_t npuc_diag_count(const diag *d);
const diag_record *npuc_diag_at(const diag *d, size_t index);
/* First error's record, or NULL. */
const diag_record *npuc_diag_first_error(const diag *d);

const diag_info *npuc_diag_info(diag_code code);
/* "E0312", "NPUC-E0312" or the name; false when unknown. */
bool npuc_diag_find(const char *text, diag_code *out_code);

#endif
