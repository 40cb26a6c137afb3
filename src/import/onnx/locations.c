/* SPDX-License-Identifier: Apache-2.0 */
/* Which files hold a model's external data, from the wire alone: only `external_data` is looked at, wherever a TensorProto may stand. */
#include <string.h>

#include "base/map.h"
#include "formats/protobuf.h"
#include "import/onnx/onnx.h"
#include "import/onnx/schema.h"

typedef enum message_kind {
  MESSAGE_GRAPH,
  MESSAGE_NODE,
  MESSAGE_ATTRIBUTE,
  MESSAGE_TENSOR,
  MESSAGE_FUNCTION,
  MESSAGE_SPARSE,
  MESSAGE_OTHER
} message_kind;

/* The message behind a field, where one can hold tensors. */
static message_kind inner_kind(message_kind kind, uint32_t number) {
  enum { SPARSE_VALUES = 1, SPARSE_INDICES = 2 };
  switch (kind) {
    case MESSAGE_GRAPH:
      return number == GRAPH_NODE                 ? MESSAGE_NODE
             : number == GRAPH_INITIALIZER        ? MESSAGE_TENSOR
             : number == GRAPH_SPARSE_INITIALIZER ? MESSAGE_SPARSE
                                                  : MESSAGE_OTHER;
    case MESSAGE_NODE:
      return number == NODE_ATTRIBUTE ? MESSAGE_ATTRIBUTE : MESSAGE_OTHER;
    case MESSAGE_ATTRIBUTE:
      if (number == ATTRIBUTE_T || number == ATTRIBUTE_TENSORS) return MESSAGE_TENSOR;
      if (number == ATTRIBUTE_SPARSE) return MESSAGE_SPARSE;
      return number == ATTRIBUTE_G || number == ATTRIBUTE_GRAPHS ? MESSAGE_GRAPH : MESSAGE_OTHER;
    case MESSAGE_FUNCTION:
      return number == FUNCTION_NODE ? MESSAGE_NODE : MESSAGE_OTHER;
    case MESSAGE_SPARSE:
      return number == SPARSE_VALUES || number == SPARSE_INDICES ? MESSAGE_TENSOR : MESSAGE_OTHER;
    default:
      return MESSAGE_OTHER;
  }
}

static void read_entry(arena *a, pb_reader r, map *locations) {
  pb_field f;
  pb_span key = {0}, text = {0};
  while (npuc_pb_next(&r, &f)) {
    if (f.number == ENTRY_KEY) key = npuc_pb_span(&r, &f);
    if (f.number == ENTRY_VALUE) text = npuc_pb_span(&r, &f);
  }
  if (key.n == 8 && memcmp(key.bytes, "location", 8) == 0 && text.n && !memchr(text.bytes, 0, text.n))
    npuc_map_put(locations, npuc_arena_strn(a, (const char *)text.bytes, text.n), locations);
}

/* Recursion is bounded by the reader's own depth. */
static void walk(arena *a, message_kind kind, pb_reader r, map *locations) {
  pb_field f;
  while (npuc_pb_next(&r, &f)) {
    if (kind == MESSAGE_TENSOR && f.number == TENSOR_EXTERNAL_DATA) read_entry(a, npuc_pb_message(&r, &f), locations);
    message_kind inner = f.wire == PB_LENGTH ? inner_kind(kind, f.number) : MESSAGE_OTHER;
    if (inner != MESSAGE_OTHER) walk(a, inner, npuc_pb_message(&r, &f), locations);
  }
}

void npuc_onnx_locations(arena *a, const void *bytes, size_t n, map *locations) {
  pb_reader r = npuc_pb_open(bytes, n);
  pb_field f;
  while (npuc_pb_next(&r, &f)) {
    if (f.wire != PB_LENGTH) continue;
    if (f.number == MODEL_GRAPH) walk(a, MESSAGE_GRAPH, npuc_pb_message(&r, &f), locations);
    if (f.number == MODEL_FUNCTIONS) walk(a, MESSAGE_FUNCTION, npuc_pb_message(&r, &f), locations);
  }
}
