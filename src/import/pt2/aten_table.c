/* SPDX-License-Identifier: Apache-2.0 */
/* From a target's name to its translator: "torch.ops.aten.add_.Tensor" is `aten.add`, in place. Overloads share a translator: they differ in
 * which arguments are tensors and which are numbers, which the arguments themselves say. */
#include <string.h>

#include "import/pt2/aten.h"
#include "import/pt2/pt2.h"
#include "import/pt2/source.h"

typedef struct entry {
  const char *name;
  pt2_translator *translator;
  const char *onnx;
} entry;

static const entry entries[] = {
#define ATEN(name, translator, onnx) {name, npuc_aten_##translator, onnx},
#include "import/pt2/aten.def"
#undef ATEN
};

const char *npuc_pt2_operator(size_t index) { return index < sizeof entries / sizeof *entries ? entries[index].name : NULL; }

static const struct refusal {
  const char *name, *reason;
} refusals[] = {
#define ATEN(name, translator, onnx)
#define ATEN_REFUSED(name, reason) {name, reason},
#include "import/pt2/aten.def"
#undef ATEN
};

const char *npuc_pt2_refused_operator(size_t index, const char **out_reason) {
  if (index >= sizeof refusals / sizeof *refusals) return NULL;
  *out_reason = refusals[index].reason;
  return refusals[index].name;
}

static const entry *find(const char *name, size_t n) {
  for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
    if (strlen(entries[i].name) == n && strncmp(entries[i].name, name, n) == 0) return &entries[i];
  }
  return NULL;
}

/* "aten.conv2d" of "torch.ops.aten.conv2d.default"; "_operator.mul" has no overload. */
static size_t packet(const char **name) {
  static const char prefix[] = "torch.ops.";
  bool is_op = strncmp(*name, prefix, sizeof prefix - 1) == 0;
  if (!is_op) return strlen(*name);
  *name += sizeof prefix - 1;
  const char *dot = strchr(*name, '.');
  const char *overload = dot ? strchr(dot + 1, '.') : NULL;
  return overload ? (size_t)(overload - *name) : strlen(*name);
}

pt2_translator *npuc_pt2_translator(pt2_node *n) {
  const char *name = n->target;
  size_t length = packet(&name);
  const entry *e = find(name, length);
  if (!e && length > 1 && name[length - 1] == '_' && (e = find(name, length - 1))) n->in_place = true;
  if (!e) return NULL;
  n->onnx = e->onnx;
  return e->translator;
}

const char *npuc_pt2_refusal(const char *target) {
  size_t n = packet(&target);
  for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
    if (strlen(refusals[i].name) == n && strncmp(refusals[i].name, target, n) == 0) return refusals[i].reason;
  }
  return NULL;
}
