/* SPDX-License-Identifier: Apache-2.0 */
/* Reading: one cursor a message, the first problem sticks, so that a reader of a message is a plain loop with a switch. */
#include "formats/protobuf.h"

#include <string.h>

pb_reader npuc_pb_open(const void *bytes, size_t n) {
  const uint8_t *p = bytes;
  static const uint8_t nothing[1] = {0};
  if (!p) p = nothing; /* so that pointer arithmetic is defined on an empty file */
  return (pb_reader){.at = p, .end = p + n, .file = p};
}

static void fail_reader(pb_reader *r, const char *problem) {
  if (!r->problem) r->problem = problem;
}

static bool take_varint(pb_reader *r, uint64_t *out) {
  uint64_t v = 0;
  for (unsigned shift = 0; shift < 70; shift += 7) {
    if (r->at == r->end) {
      fail_reader(r, "a number is cut off");
      return false;
    }
    uint8_t b = *r->at++;
    if (shift == 63 && b > 1) break; /* the tenth byte has room for one bit */
    v |= (uint64_t)(b & 0x7f) << shift;
    if (!(b & 0x80)) {
      *out = v;
      return true;
    }
  }
  fail_reader(r, "a number is longer than 64 bits");
  return false;
}

static uint64_t load_little_endian(const uint8_t *p, size_t width) {
  uint64_t v = 0;
  for (size_t i = 0; i < width; i++) v |= (uint64_t)p[i] << (8 * i);
  return v;
}

static bool take_fixed(pb_reader *r, size_t width, uint64_t *out) {
  if ((size_t)(r->end - r->at) < width) {
    fail_reader(r, "a number is cut off");
    return false;
  }
  *out = load_little_endian(r->at, width);
  r->at += width;
  return true;
}

static bool take_span(pb_reader *r, pb_span *out) {
  uint64_t n;
  if (!take_varint(r, &n)) return false;
  if (n > (uint64_t)(r->end - r->at)) {
    fail_reader(r, "a field is longer than what holds it (the file is cut off or damaged)");
    return false;
  }
  *out = (pb_span){r->at, (size_t)n};
  r->at += n;
  return true;
}

bool npuc_pb_next(pb_reader *r, pb_field *out_field) {
  if (r->problem || r->at == r->end) return false;
  uint64_t tag;
  if (!take_varint(r, &tag)) return false;
  uint64_t number = tag >> 3;
  if (number == 0 || number > 0x1fffffff) {
    fail_reader(r, "a field number is out of range");
    return false;
  }
  *out_field = (pb_field){.number = (uint32_t)number};
  switch (tag & 7) {
    case 0:
      out_field->wire = PB_VARINT;
      return take_varint(r, &out_field->value);
    case 1:
      out_field->wire = PB_FIXED64;
      return take_fixed(r, 8, &out_field->value);
    case 2:
      out_field->wire = PB_LENGTH;
      return take_span(r, &out_field->span);
    case 5:
      out_field->wire = PB_FIXED32;
      return take_fixed(r, 4, &out_field->value);
    default:
      fail_reader(r, "a field has a wire type that protobuf does not use any more");
      return false;
  }
}

npuc_status npuc_pb_finish(const pb_reader *r, diag *d, const char *what) {
  if (!r->problem) return NPUC_OK;
  npuc_status status =
      npuc_fail(d, NPUC_DIAG_E0201, NULL, "%s at byte %llu, inside %s", r->problem, (unsigned long long)(r->at - r->file), what);
  npuc_fix(d, "compare the file's size and checksum with its source, and fetch it again");
  return status;
}

static bool is_wire(pb_reader *r, const pb_field *f, pb_wire wire) {
  if (r->problem) return false;
  if (f->wire == wire) return true;
  fail_reader(r, "a field has another wire type than its message says");
  return false;
}

int64_t npuc_pb_int(pb_reader *r, const pb_field *f) { return is_wire(r, f, PB_VARINT) ? (int64_t)f->value : 0; }

float npuc_pb_float(pb_reader *r, const pb_field *f) {
  float v = 0;
  if (!is_wire(r, f, PB_FIXED32)) return v;
  uint32_t bits = (uint32_t)f->value;
  memcpy(&v, &bits, sizeof v);
  return v;
}

pb_span npuc_pb_span(pb_reader *r, const pb_field *f) { return is_wire(r, f, PB_LENGTH) ? f->span : (pb_span){r->end, 0}; }

pb_reader npuc_pb_message(pb_reader *r, const pb_field *f) {
  pb_span s = npuc_pb_span(r, f);
  if (r->depth >= PB_MAX_DEPTH) {
    fail_reader(r, "messages are nested too deep");
    s = (pb_span){r->end, 0};
  }
  return (pb_reader){.at = s.bytes, .end = s.bytes + s.n, .file = r->file, .problem = r->problem, .depth = r->depth + 1};
}

size_t npuc_pb_count_varints(pb_reader *r, const pb_field *f) {
  if (r->problem) return 0;
  if (f->wire == PB_VARINT) return 1;
  pb_span s = npuc_pb_span(r, f);
  size_t n = 0;
  for (size_t i = 0; i < s.n; i++) n += !(s.bytes[i] & 0x80);
  if (s.n && (s.bytes[s.n - 1] & 0x80)) fail_reader(r, "a packed list is cut off");
  return n;
}

void npuc_pb_read_varints(pb_reader *r, const pb_field *f, int64_t *out, size_t *io_n) {
  if (r->problem) return;
  if (f->wire == PB_VARINT) {
    out[(*io_n)++] = (int64_t)f->value;
    return;
  }
  pb_span s = npuc_pb_span(r, f);
  pb_reader list = {.at = s.bytes, .end = s.bytes + s.n, .file = r->file};
  uint64_t v;
  while (list.at < list.end && take_varint(&list, &v)) out[(*io_n)++] = (int64_t)v;
  if (list.problem) fail_reader(r, list.problem);
}

size_t npuc_pb_count_fixed(pb_reader *r, const pb_field *f, size_t width) {
  if (r->problem) return 0;
  if (f->wire == (width == 4 ? PB_FIXED32 : PB_FIXED64)) return 1;
  pb_span s = npuc_pb_span(r, f);
  if (s.n % width) fail_reader(r, "a packed list is cut off");
  return s.n / width;
}

void npuc_pb_read_fixed(pb_reader *r, const pb_field *f, size_t width, void *out, size_t *io_n) {
  if (r->problem) return;
  uint8_t *to = (uint8_t *)out + *io_n * width;
  if (f->wire != PB_LENGTH) { /* the count has checked the wire */
    for (size_t i = 0; i < width; i++) to[i] = (uint8_t)(f->value >> (8 * i));
    (*io_n)++;
    return;
  }
  size_t n = f->span.n / width;
  if (n) memcpy(to, f->span.bytes, n * width);
  *io_n += n;
}
