/* SPDX-License-Identifier: Apache-2.0 */
/* Writing: a sub-message's length stands before its content, so its length must be known before it is written. The emitting code
 * therefore runs twice: the measuring run notes each sub-message's length in the order of their beginnings, the writing run reads them back. */
#include <stdlib.h>
#include <string.h>

#include "formats/protobuf.h"

typedef struct pb_open { /* a sub-message whose end has not come yet (measuring) */
  size_t index;          /* in lengths */
  uint64_t outer;        /* bytes of what holds it, so far */
  uint32_t number;
} pb_open;

struct pb_writer {
  file_writer *file; /* NULL while measuring */
  uint64_t *lengths;
  size_t n_lengths, capacity;
  pb_open stack[PB_MAX_DEPTH];
  size_t depth;
  uint64_t bytes; /* measuring: of the message that is open now */
  npuc_status status;
};

static size_t encode_varint(uint64_t v, uint8_t out[10]) {
  size_t n = 0;
  while (v >= 0x80) {
    out[n++] = (uint8_t)(v | 0x80);
    v >>= 7;
  }
  out[n++] = (uint8_t)v;
  return n;
}

static void put(pb_writer *w, const void *bytes, size_t n) {
  if (!w->file) {
    w->bytes += n;
  } else if (w->status == NPUC_OK) {
    w->status = npuc_writer_write(w->file, bytes, n);
  }
}

static void put_varint(pb_writer *w, uint64_t v) {
  uint8_t bytes[10];
  put(w, bytes, encode_varint(v, bytes));
}

static void put_tag(pb_writer *w, uint32_t number, pb_wire wire) { put_varint(w, (uint64_t)number << 3 | (uint64_t)wire); }

void npuc_pb_put_int(pb_writer *w, uint32_t number, int64_t value) {
  put_tag(w, number, PB_VARINT);
  put_varint(w, (uint64_t)value);
}

void npuc_pb_put_float(pb_writer *w, uint32_t number, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint8_t bytes[4] = {(uint8_t)bits, (uint8_t)(bits >> 8), (uint8_t)(bits >> 16), (uint8_t)(bits >> 24)};
  put_tag(w, number, PB_FIXED32);
  put(w, bytes, sizeof bytes);
}

void npuc_pb_put_bytes(pb_writer *w, uint32_t number, const void *bytes, size_t n) {
  put_tag(w, number, PB_LENGTH);
  put_varint(w, n);
  if (n) put(w, bytes, n);
}

void npuc_pb_put_text(pb_writer *w, uint32_t number, const char *text) { npuc_pb_put_bytes(w, number, text, strlen(text)); }

void npuc_pb_put_ints(pb_writer *w, uint32_t number, const int64_t *values, size_t n) {
  for (size_t i = 0; i < n; i++) npuc_pb_put_int(w, number, values[i]);
}

void npuc_pb_put_floats(pb_writer *w, uint32_t number, const float *values, size_t n) {
  for (size_t i = 0; i < n; i++) npuc_pb_put_float(w, number, values[i]);
}

void npuc_pb_begin(pb_writer *w, uint32_t number) {
  if (w->file) {
    if (w->n_lengths == w->capacity) { /* emitted more than was measured */
      w->status = NPUC_INTERNAL;
      return;
    }
    put_tag(w, number, PB_LENGTH);
    put_varint(w, w->lengths[w->n_lengths++]);
    return;
  }
  if (w->depth == PB_MAX_DEPTH) {
    w->status = NPUC_INTERNAL;
    return;
  }
  if (w->n_lengths == w->capacity) {
    w->capacity = w->capacity ? 2 * w->capacity : 256;
    w->lengths = npuc_xrealloc(w->lengths, w->capacity * sizeof *w->lengths);
  }
  w->stack[w->depth++] = (pb_open){.index = w->n_lengths++, .outer = w->bytes, .number = number};
  w->bytes = 0;
}

void npuc_pb_end(pb_writer *w) {
  if (w->file || w->status != NPUC_OK) return;
  const pb_open *open = &w->stack[--w->depth];
  uint64_t inner = w->bytes;
  w->lengths[open->index] = inner;
  w->bytes = open->outer;
  put_tag(w, open->number, PB_LENGTH);
  put_varint(w, inner);
  w->bytes += inner;
}

static npuc_status write_measured(diag *d, pb_writer *w, file_writer *file, npuc_status (*emit)(void *user, pb_writer *w), void *user) {
  uint64_t begin = npuc_writer_offset(file), measured = w->bytes;
  w->file = file;
  w->capacity = w->n_lengths; /* from here on: how many there are to read back */
  w->n_lengths = 0;
  npuc_status status = emit(user, w);
  if (status == NPUC_OK) status = w->status;
  if (status == NPUC_INTERNAL || (status == NPUC_OK && npuc_writer_offset(file) - begin != measured)) {
    status = npuc_fail(d, NPUC_DIAG_E0001, NULL, "a message was emitted differently the second time");
  }
  return status;
}

npuc_status npuc_pb_write(diag *d, file_writer *file, npuc_status (*emit)(void *user, pb_writer *w), void *user, uint64_t max_bytes,
                          uint64_t *out_bytes) {
  pb_writer *w = npuc_xcalloc(1, sizeof *w);
  npuc_status status = emit(user, w);
  if (status == NPUC_OK && w->status != NPUC_OK) status = npuc_fail(d, NPUC_DIAG_E0001, NULL, "messages are nested too deep to write");
  if (status == NPUC_OK && max_bytes && w->bytes > max_bytes) {
    status = npuc_fail(d, NPUC_DIAG_E0202, NULL, "the message has %llu bytes, protobuf readers take at most %llu",
                       (unsigned long long)w->bytes, (unsigned long long)max_bytes);
  }
  if (out_bytes) *out_bytes = w->bytes;
  if (status == NPUC_OK) status = write_measured(d, w, file, emit, user);
  free(w->lengths);
  free(w);
  return status;
}
