/* SPDX-License-Identifier: Apache-2.0 */
/* Protobuf's wire format, both ways, without schemas: a message is a run of fields
 *
 *   field  = tag payload             tag = varint(number << 3 | wire)
 *   wire 0 = varint                  7 bits a byte, low first, the high bit says "more", at most 10 bytes
 *   wire 1 = 8 bytes, wire 5 = 4 bytes, little-endian
 *   wire 2 = varint(length) bytes    text, bytes, sub-messages and packed lists
 *
 * (wires 3 and 4, the groups of protobuf 1, are refused). Reading copies nothing: lengths are checked against the enclosing
 * span, and what is handed out are views into it. Writing streams: the same emitting code runs twice, first to measure the
 * sub-messages' lengths, then to write, so that no message is ever held in memory. */
#ifndef NPUC_FORMATS_PROTOBUF_H
#define NPUC_FORMATS_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/file.h"

typedef enum pb_wire { PB_VARINT = 0, PB_FIXED64 = 1, PB_LENGTH = 2, PB_FIXED32 = 5 } pb_wire;

typedef struct pb_span {
  const uint8_t *bytes;
  size_t n;
} pb_span;

/* One message being read. The first problem is kept and ends the reading; later calls do nothing. */
typedef struct pb_reader {
  const uint8_t *at, *end;
  const uint8_t *file; /* start of the outermost span, for offsets in messages */
  const char *problem; /* NULL: none so far */
  int depth;
} pb_reader;

typedef struct pb_field {
  uint32_t number;
  pb_wire wire;
  uint64_t value; /* varint or fixed */
  pb_span span;   /* PB_LENGTH */
} pb_field;

enum { PB_MAX_DEPTH = 64 };

pb_reader npuc_pb_open(const void *bytes, size_t n);
/* The next field; false at the end or at a problem. */
bool npuc_pb_next(pb_reader *r, pb_field *out_field);
/* What a loop over npuc_pb_next ends with: NPUC_OK, or E0201 naming `what` (a message's name) and the byte offset. */
npuc_status npuc_pb_finish(const pb_reader *r, diag *d, const char *what) NPUC_MUST_USE;

/* The field's content. A wire type that does not fit is a problem of `r`, and the result is empty or zero. */
int64_t npuc_pb_int(pb_reader *r, const pb_field *f);
float npuc_pb_float(pb_reader *r, const pb_field *f);
pb_span npuc_pb_span(pb_reader *r, const pb_field *f);
pb_reader npuc_pb_message(pb_reader *r, const pb_field *f);
/* A repeated number, packed or not: how many elements this occurrence has, and appending them at out[*io_n]. */
size_t npuc_pb_count_varints(pb_reader *r, const pb_field *f);
void npuc_pb_read_varints(pb_reader *r, const pb_field *f, int64_t *out, size_t *io_n);
/* width 4 or 8: float, fixed32, double, fixed64. `out` is bytes; *io_n counts elements. */
size_t npuc_pb_count_fixed(pb_reader *r, const pb_field *f, size_t width);
void npuc_pb_read_fixed(pb_reader *r, const pb_field *f, size_t width, void *out, size_t *io_n);

/* -- writing -- */
typedef struct pb_writer pb_writer;
/* Measures and then writes what `emit` emits: it is called twice and must emit the same both times. `out_bytes` (may be NULL) is the message's length.
 * More than max_bytes (0: no bound): E0202, nothing is written. */
npuc_status npuc_pb_write(diag *d, file_writer *file, npuc_status (*emit)(void *user, pb_writer *w), void *user, uint64_t max_bytes,
                          uint64_t *out_bytes) NPUC_MUST_USE;
void npuc_pb_put_int(pb_writer *w, uint32_t number, int64_t value);
void npuc_pb_put_float(pb_writer *w, uint32_t number, float value);
void npuc_pb_put_bytes(pb_writer *w, uint32_t number, const void *bytes, size_t n);
void npuc_pb_put_text(pb_writer *w, uint32_t number, const char *text);
/* Lists as proto2 writes them by default: each element with its own tag. */
void npuc_pb_put_ints(pb_writer *w, uint32_t number, const int64_t *values, size_t n);
void npuc_pb_put_floats(pb_writer *w, uint32_t number, const float *values, size_t n);
void npuc_pb_begin(pb_writer *w, uint32_t number);
void npuc_pb_end(pb_writer *w);

#endif
